"""Logits that hold against a token that it was there before."""

import math

import torch
from torch import Tensor

from ..errors import InputError
from ..functional import require_token_ids
from ..shapes import Float, Int


def penalize_repetition(
    logits: Float[Tensor, "*batch V"], ids: Int[Tensor, "*batch T"], penalty: float | int
) -> Float[Tensor, "*batch V"]:
    """Logits in which every token that occurs in ``ids`` is less likely, once.

    Implements eq-gen-penalties::

        z[i] / r  if z[i] > 0,   r z[i]  otherwise,   for each i in ids

    How often it occurs does not matter. What a logit loses depends on its distance from 0,
    and so on a number that the softmax does not hear.

    Args:
        logits: Unnormalized log-probabilities z.
        ids: What was read and written so far; it may be empty.
        penalty: r > 0. Above 1 repetition becomes less likely, below 1 more, at 1 nothing
            changes.

    Raises:
        InputError: If r is not a positive number, or the ids do not fit the logits.

    References:
        Keskar et al. (2019), arXiv:1909.05858, section 4.1, which divides negative logits too
        and so makes their tokens likelier.
    """
    require_factor(penalty)
    _require_ids(ids, logits)
    found = logits.gather(-1, ids)
    return logits.scatter(-1, ids, torch.where(found > 0, found / penalty, found * penalty))


def penalize_counts(
    logits: Float[Tensor, "*batch V"],
    ids: Int[Tensor, "*batch T"],
    presence: float | int = 0.0,
    frequency: float | int = 0.0,
) -> Float[Tensor, "*batch V"]:
    """Logits from which a part is taken for each token that occurs in ``ids``.

    Implements eq-gen-penalties::

        z[i] − presence · (n[i] > 0) − frequency · n[i],   n[i] = times that i occurs in ids

    Args:
        logits: Unnormalized log-probabilities z.
        ids: What was written so far; it may be empty.
        presence: Taken once [nats]; negative numbers reward.
        frequency: Taken each time [nats].

    Raises:
        InputError: If a penalty is not finite, or the ids do not fit the logits.
    """
    require_terms(presence, frequency)
    _require_ids(ids, logits)
    once = logits.scatter(-1, ids, logits.gather(-1, ids) - presence)
    return once.scatter_add(-1, ids, torch.full_like(ids, -frequency, dtype=logits.dtype))


def _require_ids(ids: Tensor, logits: Tensor) -> None:
    if ids.shape[:-1] != logits.shape[:-1]:
        raise InputError(
            f"ids {tuple(ids.shape)} and logits {tuple(logits.shape)} must have the same rows: "
            f"give ids (*{tuple(logits.shape[:-1])}, tokens)"
        )
    require_token_ids(ids, logits.shape[-1])


def require_factor(penalty: float | int) -> None:
    """Refuse a factor that would turn the order of logits around, or make them NaN."""
    if not (penalty > 0 and math.isfinite(penalty)):
        raise InputError(
            f"repetition_penalty={penalty} must be finite and more than 0; 1 changes nothing"
        )


def require_terms(presence: float | int, frequency: float | int) -> None:
    """Refuse terms that are not finite."""
    for name, value in (("presence_penalty", presence), ("frequency_penalty", frequency)):
        if not math.isfinite(value):
            raise InputError(f"{name}={value} must be finite; 0 changes nothing")
