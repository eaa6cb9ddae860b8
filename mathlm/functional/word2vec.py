"""Negative sampling: telling the words that were seen from words that were drawn."""

import math

from torch import Tensor
from torch.nn.functional import logsigmoid

from ..errors import InputError
from ..shapes import Float


def negative_sampling_loss(
    w: Float[Tensor, "*batch P D"],
    c_positive: Float[Tensor, "*batch P D"],
    c_negative: Float[Tensor, "*batch N D"],
    k: float | int | None = None,
) -> Float[Tensor, "*batch P"]:
    """Cost of telling each context word that was seen from words that were drawn.

    Computes::

        ℓ_p = -log σ(c_p·w_p) - (k / N) Σ_{n=1..N} log σ(-c_n·w_p)

    With P = 1 and N = k this is negative sampling as published. Here P pairs share N draws: one
    product of matrices scores them all, each pair hears of N words in place of k, and the mean
    of ℓ over the draws stays the same.

    Args:
        w: Vectors of the centers of P pairs.
        c_positive: Vectors of the contexts of the same pairs.
        c_negative: Vectors of the N words that were drawn, N ≥ 1.
        k: What the draws weigh beside the one word that was seen, positive; None = N.

    Returns:
        ℓ [nats] for each pair, unreduced.

    Raises:
        InputError: If k is not positive and finite, no word was drawn, or the shapes do not
            fit.

    Example:
        >>> zero = torch.zeros(1, 2)
        >>> negative_sampling_loss(zero, zero, torch.zeros(3, 2), k=3)  # 4 ln 2
        tensor([2.7726])

    References:
        Mikolov et al. (2013), arXiv:1310.4546, eq. (4).
    """
    _require_fit(w, c_positive, c_negative, k)
    drawn = c_negative.shape[-2]
    score = (w * c_positive).sum(-1)  # (*batch, P)
    scores = w @ c_negative.mT  # (*batch, P, N)
    weight = 1.0 if k is None else k / drawn
    return -logsigmoid(score) - weight * logsigmoid(-scores).sum(-1)


def _require_fit(
    w: Tensor, c_positive: Tensor, c_negative: Tensor, k: float | int | None
) -> None:
    if k is not None and not 0 < k < math.inf:
        raise InputError(f"k={k} negative samples: must be positive and finite")
    batch, D = w.shape[:-2], w.shape[-1]
    fits = c_negative.ndim == w.ndim and c_negative.shape[:-2] == batch
    if w.ndim < 2 or c_positive.shape != w.shape or not fits or c_negative.shape[-1] != D:
        raise InputError(
            f"w {tuple(w.shape)}, c_positive {tuple(c_positive.shape)} and c_negative "
            f"{tuple(c_negative.shape)} do not fit: expected (..., P, D) twice and (..., N, D)"
        )
    if not w.numel() or not c_negative.numel():
        raise InputError(
            f"there are {w.shape[-2]} pairs and {c_negative.shape[-2]} drawn words of width "
            f"{D}; give at least one of each"
        )


__all__ = ["negative_sampling_loss"]
