"""Which tokens may be drawn: rules that drop the others."""

import math
from numbers import Integral

import torch
from torch import Tensor

from ..errors import InputError, InputTypeError
from ..shapes import Bool, Float, Int

FEW = 512  # likeliest tokens that are looked at first; more only where these are too few


def keep_top_k(logits: Float[Tensor, "*batch V"], k: int) -> Bool[Tensor, "*batch V"]:
    """Top-k sampling: the k tokens of the largest logits; of equal ones, those of lowest ids.

    Raises:
        InputError: If k is less than 1, or a logit is NaN.

    Example:
        >>> keep_top_k(torch.tensor([1.0, 3.0, 2.0]), k=2)
        tensor([False,  True,  True])
    """
    require_top_k(k)
    if logits.numel() and logits.amax().isnan():
        raise InputError(f"{int(logits.isnan().sum())} of {logits.numel()} logits are NaN")
    if k >= logits.shape[-1]:
        return torch.ones_like(logits, dtype=torch.bool)
    last = logits.topk(k).values[..., -1:]
    keep = logits >= last
    if (keep.sum(-1) == k).all():
        return keep
    above, equal = logits > last, logits == last  # more than k: the last ones are equal
    room = k - above.sum(-1, keepdim=True)
    return above | (equal & (equal.cumsum(-1) <= room))


def keep_top_p(p: Float[Tensor, "*batch V"], mass: float | int) -> Bool[Tensor, "*batch V"]:
    """Nucleus sampling (top-p): the fewest tokens, likeliest first, that reach ``mass``.

    Implements eq-gen-sets::

        keep token i  iff  Σ p[j] over the tokens j before i  <  mass,   or i is the first

    Of equally likely tokens the one with the lowest id comes first.

    Raises:
        InputError: If ``mass`` is outside 0..1, or p is not a distribution in each row.

    Example:
        >>> keep_top_p(torch.tensor([0.5, 0.3, 0.2]), mass=0.7)
        tensor([ True,  True, False])

    References:
        Holtzman et al. (2020), arXiv:1904.09751, section 3.1.
    """
    require_share("mass", mass)
    _require_probabilities(p)
    return _fewest(p, p, mass)


def keep_min_p(p: Float[Tensor, "*batch V"], share: float | int) -> Bool[Tensor, "*batch V"]:
    """Min-p sampling: the tokens at least ``share`` times as likely as the likeliest.

    Implements eq-gen-sets::

        keep token i  iff  p[i] ≥ share · max p

    Raises:
        InputError: If ``share`` is outside 0..1, or p is not a distribution in each row.

    Example:
        >>> keep_min_p(torch.tensor([0.5, 0.3, 0.2]), share=0.5)  # at least half of the largest
        tensor([ True,  True, False])

    References:
        Nguyen et al. (2024), arXiv:2407.01082, section 3.
    """
    require_share("share", share)
    _require_probabilities(p)
    return p >= share * p.amax(-1, keepdim=True)


def keep_typical(p: Float[Tensor, "*batch V"], mass: float | int) -> Bool[Tensor, "*batch V"]:
    """Locally typical sampling: the fewest tokens, most typical first, that reach ``mass``.

    Implements eq-gen-sets::

        token i is the more typical, the smaller  |−log p[i] − H|,   H = −Σ p log p

    A typical token is about as surprising as the model expects: the likeliest may be dropped.
    Of equally typical tokens the one with the lowest id comes first.

    Raises:
        InputError: If ``mass`` is outside 0..1, or p is not a distribution in each row.

    Example:
        >>> keep_typical(torch.tensor([0.25, 0.25, 0.25, 0.25]), mass=1.0)
        tensor([True, True, True, True])

    References:
        Meister et al. (2023), arXiv:2202.00666, section 4.
    """
    require_share("mass", mass)
    _require_probabilities(p)
    entropy = torch.special.entr(p).sum(-1, keepdim=True)
    return _fewest(-(p.log() + entropy).abs(), p, mass)


def _fewest(
    score: Float[Tensor, "*batch V"], p: Float[Tensor, "*batch V"], mass: float | int
) -> Bool[Tensor, "*batch V"]:
    """The fewest tokens, largest score first, whose probabilities reach ``mass``."""
    for size in (FEW, p.shape[-1]):
        order = _first(score, size)
        before = p.gather(-1, order).cumsum(-1).roll(1, -1)
        before[..., 0] = -1.0  # nothing stands before the first
        kept = before < mass
        if size >= p.shape[-1] or _settled(score.gather(-1, order), kept):
            break
    return torch.zeros_like(p, dtype=torch.bool).scatter(-1, order, kept)


def _first(score: Float[Tensor, "*batch V"], size: int) -> Int[Tensor, "*batch N"]:
    """Ids of the largest scores, falling; of equal ones the lowest id first."""
    if size >= score.shape[-1]:
        return score.argsort(dim=-1, descending=True, stable=True)
    ids = score.topk(size, sorted=False).indices.sort(dim=-1).values
    return ids.gather(-1, score.gather(-1, ids).argsort(dim=-1, descending=True, stable=True))


def _settled(ranked: Float[Tensor, "*batch N"], kept: Bool[Tensor, "*batch N"]) -> bool:
    """Whether the last token kept is above the last one looked at: no other equals it."""
    last = kept.sum(-1, keepdim=True) - 1
    return bool((ranked.gather(-1, last) > ranked[..., -1:]).all())


def _require_probabilities(p: Float[Tensor, "*batch V"]) -> None:
    if not p.is_floating_point():
        found = str(p.dtype).removeprefix("torch.")
        raise InputTypeError(f"probabilities must be floating-point numbers, got {found}")
    off = (p.sum(-1) - 1.0).abs().nan_to_num(math.inf).flatten()
    if not len(off):
        return
    if off.max() > torch.finfo(p.dtype).eps ** 0.5:
        row = int(off.argmax())
        total = p.flatten(0, -2)[row].sum() if p.ndim > 1 else p.sum()
        raise InputError(
            f"the probabilities of row {row} sum to {total:.4g}, not 1: give softmax(logits)"
        )
    if p.amin() < 0:
        raise InputError(f"a probability is {p.amin():.4g}, less than 0: give softmax(logits)")


def require_top_k(k: int) -> None:
    """Refuse to keep no token, or a part of one."""
    if not isinstance(k, Integral):
        raise InputTypeError(f"top_k={k!r} must be an integer")
    if k < 1:
        raise InputError(f"top_k={k} must be at least 1, or None to keep every token")


def require_share(name: str, value: float | int) -> None:
    """Refuse what is no part of a whole; NaN is none."""
    if not 0.0 <= value <= 1.0:
        raise InputError(f"{name}={value} is outside 0..1")
