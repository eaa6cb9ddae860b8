"""Updates of a matrix that have a low rank."""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd.function import once_differentiable

from ..errors import InputError
from ..shapes import Float


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

    @staticmethod
    def forward(ctx: Any, x: Tensor, A: Tensor) -> Tensor:
        """Multiply, and keep both as they are."""
        ctx.save_for_backward(x, A)
        return F.linear(x.to(A.dtype), A)

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
    """
    wide = torch.promote_types(torch.promote_types(W.dtype, A.dtype), torch.float32)
    return (W.to(wide) + scale * (B.to(wide) @ A.to(wide))).to(W.dtype)
