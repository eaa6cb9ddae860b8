"""Normalization of vectors over their features."""

import torch.nn.functional as F
from torch import Tensor

from ..shapes import Float


def layer_norm(
    x: Float[Tensor, "*batch D"],
    gamma: Float[Tensor, " D"],
    beta: Float[Tensor, " D"] | None = None,
    eps: float = 1e-5,
) -> Float[Tensor, "*batch D"]:
    """Standardize each vector over its features, then scale and shift.

    Computes::

        y = γ ⊙ (x - μ) / √(var + ε) + β,   var biased (1/D)

    Mean and variance of half-precision vectors are taken in float32. A vector of equal entries
    gives β.

    Args:
        x: Input vectors.
        gamma: Gain γ.
        beta: Shift β; None = 0.
        eps: Added to the variance, in units of x².

    Returns:
        y, with the dtype of x.

    References:
        Ba, Kiros and Hinton (2016), arXiv:1607.06450, eq. (3)-(4).
    """
    beta = None if beta is None else beta.to(x.dtype)
    return F.layer_norm(x, x.shape[-1:], gamma.to(x.dtype), beta, eps)


def rms_norm(
    x: Float[Tensor, "*batch D"], gamma: Float[Tensor, " D"], eps: float = 1e-5
) -> Float[Tensor, "*batch D"]:
    """Divide each vector by its root mean square, then scale.

    Computes::

        y = γ ⊙ x / √(mean(x²) + ε)

    The mean square of half-precision vectors is taken in float32.

    Args:
        x: Input vectors.
        gamma: Gain γ.
        eps: Added to the mean square, in units of x².

    Returns:
        y, with the dtype of x.

    References:
        Zhang and Sennrich (2019), arXiv:1910.07467, eq. (4).
    """
    return F.rms_norm(x, x.shape[-1:], gamma.to(x.dtype), eps)
