"""Updates of a matrix that have a low rank."""

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from ..errors import InputError
from ..shapes import Float
from .attention import attention_weights


def lora_scale(rank: int, alpha: float | int, rank_stabilized: bool = False) -> float:
    """Factor of a low-rank update.

    Implements eq-small-scale::

        s = α / r,   or with rank_stabilized   s = α / √r

    Args:
        rank: r, at least 1.
        alpha: α > 0.
        rank_stabilized: Whether the factor falls with the root of the rank alone.

    Returns:
        s.

    Raises:
        InputError: If the rank is below 1, or α is not positive and finite.

    Example:
        >>> lora_scale(rank=8, alpha=16)
        2.0

    References:
        Hu et al. (2021), arXiv:2106.09685, section 4.1.
        Kalajdzievski (2023), arXiv:2312.03732, theorem 3.2.
    """
    if rank < 1:
        raise InputError(f"rank={rank} must be at least 1: an update of rank 0 is none")
    if not (alpha > 0 and math.isfinite(alpha)):
        raise InputError(f"alpha={alpha} must be positive and finite: it scales the update")
    return alpha / math.sqrt(rank) if rank_stabilized else alpha / rank


def low_rank_update(
    x: Float[Tensor, "*batch I"],
    A: Float[Tensor, "R I"],
    B: Float[Tensor, "O R"],
    scale: float | int = 1.0,
    dropout: float | int = 0.0,
) -> Float[Tensor, "*batch O"]:
    """What a low-rank update adds to the outputs of a linear map.

    Implements eq-small-lora::

        Δy = s B A x

    without the matrix B A: 2 r (I + O) operations for a vector in place of 2 I O. Inputs are
    brought to the dtype of A, which is that of the result.

    Args:
        x: Inputs of the map.
        A: Reads r numbers from an input.
        B: Writes them to the outputs.
        scale: s; see :func:`lora_scale`.
        dropout: Probability with which an entry of x is set to 0, the others being divided by
            the rest; 0 in evaluation.

    Returns:
        One vector of changes for each input.

    Example:
        >>> A, B = torch.tensor([[1.0, 2.0]]), torch.tensor([[1.0], [0.0]])
        >>> low_rank_update(torch.ones(2), A, B)  # B (A x)
        tensor([3., 0.])
    """
    narrow = x.dtype.itemsize < A.dtype.itemsize
    if narrow and dropout == 0 and not torch.is_autocast_enabled(x.device.type):
        return F.linear(ReadNarrow.apply(x, A) * scale, B)
    x = x.to(A.dtype)
    if dropout > 0:
        x = F.dropout(x, float(dropout))
    return F.linear(F.linear(x, A) * scale, B)


class ReadNarrow(torch.autograd.Function):
    """A x in the dtype of A, of which autograd keeps x in its own, narrower dtype.

    Computes::

        y = A x,   ∂L/∂x = Aᵀ ∂L/∂y,   ∂L/∂A = ∂L/∂y xᵀ
    """

    generate_vmap_rule = True  # for torch.func

    @staticmethod
    def forward(x: Tensor, A: Tensor) -> Tensor:
        """Multiply."""
        return F.linear(x.to(A.dtype), A)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, Tensor], output: Tensor) -> None:
        """Keep both as they are."""
        ctx.save_for_backward(*inputs)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor | None, Tensor | None]:
        """Gradients by x and A, those that are asked for."""
        x, A = ctx.saved_tensors
        of_x, of_A = ctx.needs_input_grad
        dx = (dy @ A).to(x.dtype) if of_x else None
        dA = dy.reshape(-1, len(A)).mT @ x.reshape(-1, A.shape[1]).to(A.dtype) if of_A else None
        return dx, dA


def merged_weight(
    W: Float[Tensor, "O I"],
    A: Float[Tensor, "R I"],
    B: Float[Tensor, "O R"],
    scale: float | int = 1.0,
) -> Float[Tensor, "O I"]:
    """The matrix that does what a matrix and its low-rank update do together.

    Implements eq-small-merge::

        W' = round(W + s B A)

    in float32, or float64 if one of them is; the sum alone is rounded to the dtype of W.

    Args:
        W: The matrix that was updated.
        A: Of the update.
        B: Of the update.
        scale: s; see :func:`lora_scale`.

    Returns:
        W', of the dtype of W.

    Example:
        >>> A, B = torch.tensor([[1.0, 2.0]]), torch.tensor([[1.0], [0.0]])
        >>> merged_weight(torch.zeros(2, 2), A, B)
        tensor([[1., 2.],
                [0., 0.]])
    """
    wide = torch.promote_types(torch.promote_types(W.dtype, A.dtype), torch.float32)
    return (W.to(wide) + scale * (B.to(wide) @ A.to(wide))).to(W.dtype)


def bottleneck(
    x: Float[Tensor, "*batch D"],
    W_down: Float[Tensor, "w D"],
    b_down: Float[Tensor, " w"],
    W_up: Float[Tensor, "D w"],
    b_up: Float[Tensor, " D"],
    activation: Callable[[Tensor], Tensor],
) -> Float[Tensor, "*batch D"]:
    """A vector, and what a narrow network makes of it.

    Implements eq-small-bottleneck::

        y = x + W_up f(W_down x + b_down) + b_up

    Args:
        x: Vectors.
        W_down: Reads w numbers from a vector.
        b_down: Added to them.
        W_up: Writes them back.
        b_up: Added to what is written.
        activation: f, number by number.

    Returns:
        One vector for each input; x itself where W_up and b_up are 0.

    Example:
        >>> W_down, W_up = torch.tensor([[1.0, 1.0]]), torch.tensor([[1.0], [0.0]])
        >>> x, b_down, b_up = torch.tensor([1.0, 2.0]), torch.zeros(1), torch.zeros(2)
        >>> bottleneck(x, W_down, b_down, W_up, b_up, torch.relu)  # adds 1 + 2 to the first
        tensor([4., 2.])

    References:
        Houlsby et al. (2019), arXiv:1902.00751, section 2.1.
    """
    return x + F.linear(activation(F.linear(x, W_down, b_down)), W_up, b_up)


def gated_prefix(
    q: Float[Tensor, "B H T K"],
    k: Float[Tensor, "G m K"],
    v: Float[Tensor, "G m K"],
    gate: Float[Tensor, " H"],
    *,
    scale: float | int | None = None,
) -> tuple[Float[Tensor, "B H T K"], Float[Tensor, "B H T m"]]:
    """What the heads read from a prefix that has a softmax of its own.

    Implements eq-small-gated::

        zₕ = gₕ softmax(Qₕ K_Pᵀ / √d_k) V_P

    It is added to what the heads read from the text. At g = 0 it is exactly 0; whatever g is,
    the weights of the text among itself stay as they are.

    Args:
        q: Queries.
        k: Keys of the prefix, K_P; H/G query heads share one.
        v: Values of the prefix, V_P.
        gate: g, one number for each head.
        scale: Factor of the scores in place of 1/√d_k.

    Returns:
        z, and the weights, of which each row sums to 1.

    Raises:
        InputError: If the key/value heads do not divide the query heads.

    Example:
        >>> q, k = torch.zeros(1, 1, 1, 2), torch.zeros(1, 2, 2)  # equal scores
        >>> v = torch.tensor([[[1.0, 0.0], [3.0, 0.0]]])
        >>> z, weights = gated_prefix(q, k, v, gate=torch.tensor([0.5]))
        >>> z.tolist(), weights.tolist()
        ([[[[1.0, 0.0]]]], [[[[0.5, 0.5]]]])

    References:
        Zhang et al. (2023), arXiv:2303.16199, section 3.2.
    """
    H, G = q.shape[1], len(k)
    if H % G:
        raise InputError(f"{G} key/value heads of the prefix do not divide {H} query heads")
    k, v = (x.repeat_interleave(H // G, 0) for x in (k, v))
    weights = attention_weights(q, k.expand(len(q), *k.shape), scale=scale)
    return gate[:, None, None] * (weights @ v), weights
