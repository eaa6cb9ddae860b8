"""From logits to the probabilities that a token is drawn with, and the draw."""

import math

import torch
from torch import Tensor

from ..errors import InputError
from ..shapes import Bool, Float, Int


def token_probabilities(
    logits: Float[Tensor, "*batch V"],
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Float[Tensor, "*batch V"]:
    """Probabilities after temperature, then top-k, then top-p.

    Computes::

        p = softmax(logits / T) over the kept tokens;   T = 0: all mass on the largest logit

    Args:
        logits: Unnormalized log-probabilities; half precision is taken in float32.
        temperature: T ≥ 0. At 0 the lowest id wins a tie.
        top_k: See :func:`keep_top_k`; None = keep all.
        top_p: See :func:`keep_top_p`; None = keep all.

    Returns:
        p, which sums to 1.

    Raises:
        InputError: If an option is out of range, or a logit is NaN.
    """
    _require_options(temperature, top_k, top_p)
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    if logits.isnan().any():
        raise InputError(f"{int(logits.isnan().sum())} of {logits.numel()} logits are NaN")
    if temperature == 0:
        largest = logits == logits.amax(-1, keepdim=True)
        return torch.zeros_like(logits).scatter(-1, largest.int().argmax(-1, keepdim=True), 1.0)
    logits = (logits - logits.amax(-1, keepdim=True)) / temperature
    if top_k is not None:
        logits = logits.masked_fill(~keep_top_k(logits, top_k), -math.inf)
    p = logits.softmax(-1)
    if top_p is None:
        return p
    p = p * keep_top_p(p, top_p)
    return p / p.sum(-1, keepdim=True)


def keep_top_k(logits: Float[Tensor, "*batch V"], k: int) -> Bool[Tensor, "*batch V"]:
    """The k tokens with the largest logits; of equal ones, those with the lowest ids."""
    order = logits.argsort(dim=-1, descending=True, stable=True)
    first = torch.arange(logits.shape[-1], device=logits.device) < k
    return torch.zeros_like(logits, dtype=torch.bool).scatter(
        -1, order, first.expand(order.shape)
    )


def keep_top_p(p: Float[Tensor, "*batch V"], mass: float) -> Bool[Tensor, "*batch V"]:
    """The fewest tokens, likeliest first, whose probabilities reach ``mass``; at least one.

    Computes::

        keep token i  iff  Σ p[j] over the tokens j before i  <  mass,   or i is the first

    Of equally likely tokens the one with the lowest id comes first.
    """
    ranked, order = p.sort(dim=-1, descending=True, stable=True)
    before = ranked.cumsum(-1).roll(1, -1)
    before[..., 0] = -1.0  # nothing stands before the likeliest
    return torch.zeros_like(p, dtype=torch.bool).scatter(-1, order, before < mass)


def draw(p: Float[Tensor, "*batch V"], u: Float[Tensor, "*batch"]) -> Int[Tensor, "*batch"]:
    """Token in whose part of the unit interval ``u`` falls.

    Computes::

        smallest i with p[0] + … + p[i] > u · Σ p

    Args:
        p: Probabilities.
        u: Uniform numbers, 0 ≤ u < 1.

    Returns:
        Token ids; never one of probability 0.
    """
    cumulative = p.cumsum(-1)
    target = u.to(p.dtype).unsqueeze(-1) * cumulative[..., -1:]
    return torch.searchsorted(cumulative, target, right=True).squeeze(-1)


def _require_options(temperature: float, top_k: int | None, top_p: float | None) -> None:
    if not (temperature >= 0 and math.isfinite(temperature)):
        raise InputError(f"temperature={temperature} must be finite and not negative")
    if top_k is not None and top_k < 1:
        raise InputError(f"top_k={top_k} must be at least 1, or None to keep every token")
    if top_p is not None and not 0.0 <= top_p <= 1.0:
        raise InputError(f"top_p={top_p} is outside 0..1")
