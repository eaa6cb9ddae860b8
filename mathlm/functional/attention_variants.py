"""What current models change in attention: capped scores, sinks, gates, partial rotation."""

import math

import torch
from torch import Tensor

from ..errors import InputError
from ..shapes import Float
from .attention import require_mask_fits
from .normalization import rms_norm
from .position import rotate_half_split


def soft_cap(x: Float[Tensor, "*batch"], cap: float | int) -> Float[Tensor, "*batch"]:
    """Numbers squeezed smoothly between -cap and cap, small ones nearly unchanged.

    Implements eq-current-cap::

        y = c tanh(x / c),   dy/dx = 1 - (y/c)²

    Args:
        x: Scores or logits.
        cap: c, positive.

    Returns:
        y, |y| ≤ c, in the order of x.

    Raises:
        InputError: If the cap is not positive and finite.

    Example:
        >>> soft_cap(2 * torch.tensor([2.0]).log(), cap=2.0)  # 2 tanh(ln 2)
        tensor([1.2000])

    References:
        Gemma Team (2024), arXiv:2408.00118, section 2.
    """
    if not 0 < cap < math.inf:
        raise InputError(f"cap={cap} must be positive and finite")
    return cap * torch.tanh(x / cap)


def sink_softmax(
    scores: Float[Tensor, "*batch H T S"],
    sinks: Float[Tensor, " H"],
    mask: Tensor | None = None,
) -> Float[Tensor, "*batch H T S"]:
    """Attention weights of scores, of which a learned sink takes a share that reads nothing.

    Implements eq-current-sink::

        A[t, s] = exp(z[t, s]) / (exp(b_h) + Σ_s' exp(z[t, s']))

    Sums are over the keys that the mask shows. A row sums to less than 1. At b = -∞ it is the
    softmax, at b = 0 the softmax with one more key whose score and value are 0.

    Args:
        scores: z, scaled.
        sinks: b, one logit for each head.
        mask: bool, True where a query may attend; broadcasts to the scores.

    Returns:
        Weights; 0 for a query that sees nothing.

    Raises:
        InputError: If the mask does not fit, or there is not one sink for each head.
        InputTypeError: If the mask is not boolean.

    Example:
        >>> sink_softmax(torch.zeros(1, 1, 3), sinks=torch.zeros(1))  # the sink takes a quarter
        tensor([[[0.2500, 0.2500, 0.2500]]])

    References:
        OpenAI (2025), gpt-oss model card, arXiv:2508.10925.
    """
    if sinks.shape != scores.shape[-3:-2]:
        raise InputError(
            f"sinks {tuple(sinks.shape)} must be ({scores.shape[-3]},): one for each head of "
            f"the scores {tuple(scores.shape)}"
        )
    require_mask_fits(mask, tuple(scores.shape))
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    extra = sinks.to(scores.dtype)[:, None, None].expand(*scores.shape[:-1], 1)
    weights = torch.cat((scores, extra), -1).softmax(-1)[..., :-1]
    return weights if mask is None else weights * mask


def attention_gate(
    y: Float[Tensor, "*batch"], gate: Float[Tensor, "*batch"]
) -> Float[Tensor, "*batch"]:
    """What the heads read, each feature let through as far as the query's token says.

    Implements eq-current-gate::

        Ỹ = σ(X W_gᵀ) ⊙ Y

    Args:
        y: What the heads read, before W_o.
        gate: X W_gᵀ, of the same shape.

    Returns:
        Ỹ, smaller than y in each feature.

    Example:
        >>> attention_gate(torch.tensor([2.0, 4.0]), torch.zeros(2))  # σ(0) = 1/2
        tensor([1., 2.])

    References:
        Qiu et al. (2025), arXiv:2505.06708.
    """
    return torch.sigmoid(gate) * y


def rotate_leading(
    x: Float[Tensor, "*batch K"], cos: Float[Tensor, "..."], sin: Float[Tensor, "..."]
) -> Float[Tensor, "*batch K"]:
    """Turn the first features by their angles; the others have no position.

    Implements eq-current-partial::

        x = [x_r; x_p],   y = [rotate(x_r); x_p],   R features turned, K - R not

    Args:
        x: Queries or keys.
        cos: Cosines, broadcastable to ``(*batch, R/2)``, R ≤ K.
        sin: Sines of the same angles.

    Returns:
        Vectors of the same length.

    Raises:
        InputError: If there are more angles than pairs of features.

    Example:
        >>> x = torch.tensor([1.0, 0.0, 5.0])
        >>> rotate_leading(x, torch.zeros(1), torch.ones(1))  # a quarter turn of two features
        tensor([0., 1., 5.])
    """
    R = 2 * cos.shape[-1]
    if x.shape[-1] < R:
        raise InputError(f"{R // 2} angles turn {R} features, and x has {x.shape[-1]}")
    turned = rotate_half_split(x[..., :R], cos, sin)
    return torch.cat((turned, x[..., R:]), -1)


def centered_rms_norm(
    x: Float[Tensor, "*batch D"], gamma: Float[Tensor, " D"], eps: float = 1e-5
) -> Float[Tensor, "*batch D"]:
    """Root-mean-square normalization whose gain is stored as its distance from 1.

    Implements eq-current-gain::

        y = (1 + γ) ⊙ x / √(mean(x²) + ε)

    Weight decay then pulls the gain toward 1, and half precision keeps its digits around 1.

    Args:
        x: Input vectors.
        gamma: γ, 0 at the start.
        eps: Added to the mean square.

    Returns:
        y, with the dtype of x.

    Example:
        >>> centered_rms_norm(torch.tensor([2.0, -2.0]), torch.zeros(2)).round(decimals=3)
        tensor([ 1., -1.])
    """
    wide = torch.promote_types(x.dtype, torch.float32)  # 16 bits would round 1 + γ
    gain = 1 + gamma.to(torch.promote_types(gamma.dtype, wide))
    return rms_norm(x.to(wide), gain, eps).to(x.dtype)
