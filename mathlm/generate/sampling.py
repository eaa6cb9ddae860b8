"""From logits to the probabilities that a token is drawn with, and the draw."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from numbers import Real
from typing import Any

import torch
from torch import Tensor

from ..errors import InputError, InputTypeError
from ..functional import require_token_ids
from ..shapes import Bool, Float, Int
from .truncation import (
    keep_min_p,
    keep_top_k,
    keep_top_p,
    keep_typical,
    require_share,
    require_top_k,
)


def penalize_repetition(
    logits: Float[Tensor, "*batch V"], ids: Int[Tensor, "*batch T"], penalty: float | int
) -> Float[Tensor, "*batch V"]:
    """Repetition penalty: logits in which every token that occurs in ``ids`` is less likely.

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

    Example:
        >>> logits, ids = torch.tensor([2.0, -2.0, 1.0]), torch.tensor([0, 1])
        >>> penalize_repetition(logits, ids, penalty=2.0)
        tensor([ 1., -4.,  1.])

    References:
        Keskar et al. (2019), arXiv:1909.05858, section 4.1, which divides negative logits too
        and so makes their tokens likelier.
    """
    require_factor(penalty)
    _require_ids(ids, logits)
    penalized = torch.where(logits > 0, logits / penalty, logits * penalty)
    return torch.where(_occurs(ids, logits), penalized, logits)


def penalize_counts(
    logits: Float[Tensor, "*batch V"],
    ids: Int[Tensor, "*batch T"],
    presence: float | int = 0.0,
    frequency: float | int = 0.0,
) -> Float[Tensor, "*batch V"]:
    """Presence and frequency penalties: logits less a part for each token in ``ids``.

    Implements eq-gen-penalties::

        z[i] − presence · (n[i] > 0) − frequency · n[i],   n[i] = times that i occurs in ids

    Args:
        logits: Unnormalized log-probabilities z.
        ids: What was written so far; it may be empty.
        presence: Taken once [nats]; negative numbers reward.
        frequency: Taken each time [nats].

    Raises:
        InputError: If a penalty is not finite, or the ids do not fit the logits.

    Example:
        >>> ids = torch.tensor([0, 0, 1])
        >>> penalize_counts(torch.zeros(3), ids, presence=1.0, frequency=0.5)
        tensor([-2.0000, -1.5000,  0.0000])
    """
    require_terms(presence, frequency)
    _require_ids(ids, logits)
    once = torch.where(_occurs(ids, logits), logits - presence, logits)
    return once.scatter_add(-1, ids, torch.full_like(ids, -frequency, dtype=logits.dtype))


def _occurs(
    ids: Int[Tensor, "*batch T"], logits: Float[Tensor, "*batch V"]
) -> Bool[Tensor, "*batch V"]:
    """Which tokens occur; unlike values that are scattered, each has one gradient."""
    return torch.zeros_like(logits, dtype=torch.bool).scatter(-1, ids, True)


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


@dataclass(frozen=True)
class Sampler:
    """How a token is drawn: temperature, top-k, top-p (nucleus sampling) and the others.

    The rules act in the order of :func:`token_probabilities`.

    Args:
        temperature: T ≥ 0, divides the logits; 0 takes the likeliest token, of equally likely
            ones the lowest id.
        top_k: See :func:`keep_top_k`; None = keep all.
        top_p: See :func:`keep_top_p`; None = keep all.
        min_p: See :func:`keep_min_p`; None = keep all.
        typical_p: See :func:`keep_typical`; None = keep all.
        repetition_penalty: See :func:`penalize_repetition`; over prompt and new tokens.
        presence_penalty: See :func:`penalize_counts`; over new tokens.
        frequency_penalty: See :func:`penalize_counts`; over new tokens.

    Raises:
        InputError: If an option is out of range.
        InputTypeError: If one is no number.

    Example:
        >>> greedy = Sampler(temperature=0)
        >>> greedy.probabilities(torch.tensor([1.0, 4.0, 6.0]).log())
        tensor([0., 0., 1.])
    """

    temperature: float | int = 1.0
    top_k: int | None = None
    top_p: float | int | None = None
    min_p: float | int | None = None
    typical_p: float | int | None = None
    repetition_penalty: float | int = 1.0
    presence_penalty: float | int = 0.0
    frequency_penalty: float | int = 0.0

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            missing = value is None and getattr(type(self), name) is None
            if not (missing or isinstance(value, Real)):
                raise InputTypeError(f"{name}={value!r} must be a number")
        if not (self.temperature >= 0 and math.isfinite(self.temperature)):
            raise InputError(f"temperature={self.temperature} must be finite and not negative")
        if self.top_k is not None:
            require_top_k(self.top_k)
        for name in ("top_p", "min_p", "typical_p"):
            if (value := getattr(self, name)) is not None:
                require_share(name, value)
        require_factor(self.repetition_penalty)
        require_terms(self.presence_penalty, self.frequency_penalty)

    @property
    def penalizes(self) -> bool:
        """Whether the tokens so far change the logits."""
        terms = (self.presence_penalty, self.frequency_penalty)
        return self.repetition_penalty != 1 or terms != (0, 0)

    def probabilities(
        self,
        logits: Float[Tensor, "*batch V"],
        prompt: Int[Tensor, "*batch T"] | None = None,
        written: Int[Tensor, "*batch n"] | None = None,
    ) -> Float[Tensor, "*batch V"]:
        """Probabilities after penalties, temperature, top-k, top-p, min-p and typical, in turn.

        Args:
            logits: Unnormalized log-probabilities; half precision is taken in float32, −∞
                stands for a token that cannot come.
            prompt: The tokens that were given; None = none. Only penalties hear them.
            written: The new tokens so far; None = none.

        Returns:
            p, which sums to 1.

        Raises:
            InputError: If a logit is NaN or +∞, or no token can come.
        """
        logits = self.penalized(logits, prompt, written)
        largest = require_logits(logits)
        if not len(largest.flatten()):
            return logits.softmax(-1)
        if self.temperature == 0:
            first = (logits == largest).int().argmax(-1, keepdim=True)
            return torch.zeros_like(logits).scatter(-1, first, 1.0)
        smallest = torch.finfo(logits.dtype).tiny
        if self.temperature < smallest:
            raise InputError(
                f"temperature={self.temperature} is 0 in {logits.dtype}: give 0 for the "
                f"likeliest token, or at least {smallest:.2g}"
            )
        logits = (logits - largest) / self.temperature
        if self.top_k is not None:
            logits = logits.masked_fill(~keep_top_k(logits, self.top_k), -math.inf)
        return self._truncate(logits.softmax(-1))

    def penalized(
        self, logits: Float[Tensor, "*batch V"], prompt: Tensor | None, written: Tensor | None
    ) -> Float[Tensor, "*batch V"]:
        """Logits, in float32 at least, that hear of the tokens so far."""
        if logits.dtype in (torch.float16, torch.bfloat16):
            logits = logits.float()
        if not self.penalizes:
            return logits
        before, so_far = logits, [ids for ids in (prompt, written) if ids is not None]
        if not so_far:
            raise InputError("penalties need the tokens so far: give prompt, written or both")
        if self.repetition_penalty != 1:
            seen = torch.cat(so_far, -1)
            logits = penalize_repetition(logits, seen, self.repetition_penalty)
        if written is not None:
            terms = (self.presence_penalty, self.frequency_penalty)
            logits = penalize_counts(logits, written, *terms)
        self._require_finite(before, logits)
        return logits

    def _require_finite(self, before: Tensor, after: Tensor) -> None:
        """Refuse penalties under which a row has no largest logit any more."""
        if (before.amax(-1).isfinite() & ~after.amax(-1).isfinite()).any():
            raise InputError(
                f"repetition_penalty={self.repetition_penalty}, "
                f"presence_penalty={self.presence_penalty} and "
                f"frequency_penalty={self.frequency_penalty} make logits infinite in "
                f"{after.dtype}: give smaller ones"
            )

    def _truncate(self, p: Float[Tensor, "*batch V"]) -> Float[Tensor, "*batch V"]:
        rules = (
            (keep_top_p, self.top_p),
            (keep_min_p, self.min_p),
            (keep_typical, self.typical_p),
        )
        for keep, share in rules:
            if share is not None:
                p = p * keep(p, share)
                p = p / p.sum(-1, keepdim=True)
        return p


PLAIN = Sampler()


def sampler_of(sampler: Sampler | float | int | None, options: Mapping[str, Any]) -> Sampler:
    """A sampler from what a caller gave: one, or a temperature, and other fields by name.

    Raises:
        InputError: If an option is out of range.
        InputTypeError: If there is no such option, or something is given twice.
    """
    names = sorted(field.name for field in fields(Sampler))
    if unknown := [name for name in options if name not in names]:
        raise InputTypeError(
            f"there is no option {unknown[0]!r}; those of how a token is drawn are "
            f"{', '.join(names)}"
        )
    if isinstance(sampler, Sampler) and not options:
        return sampler
    if isinstance(sampler, Sampler) or (sampler is not None and "temperature" in options):
        raise InputTypeError(
            f"got {sampler} and {', '.join(options)} beside it: give a Sampler, or a "
            "temperature and other options by name"
        )
    first: dict[str, Any] = {} if sampler is None else {"temperature": sampler}
    return Sampler(**first, **options)


def token_probabilities(
    logits: Float[Tensor, "*batch V"],
    temperature: float | int = 1.0,
    top_k: int | None = None,
    top_p: float | int | None = None,
    *,
    min_p: float | int | None = None,
    typical_p: float | int | None = None,
    repetition_penalty: float | int = 1.0,
    presence_penalty: float | int = 0.0,
    frequency_penalty: float | int = 0.0,
    prompt: Int[Tensor, "*batch T"] | None = None,
    written: Int[Tensor, "*batch n"] | None = None,
) -> Float[Tensor, "*batch V"]:
    """Probabilities that a token is drawn with, for options that each change them in turn.

    Implements eq-gen-truncation::

        penalties → temperature → top-k → top-p → min-p → typical
        p = softmax(logits / T) over the kept tokens;   T = 0: all mass on the largest logit

    Each rule sees what those before it left, as probabilities that sum to 1.

    Args:
        logits: Unnormalized log-probabilities; half precision is taken in float32, −∞ stands
            for a token that cannot come.
        temperature: T ≥ 0. At 0 the lowest id wins a tie.
        top_k: See :func:`keep_top_k`; None = keep all.
        top_p: See :func:`keep_top_p`; None = keep all.
        min_p: See :func:`keep_min_p`; None = keep all.
        typical_p: See :func:`keep_typical`; None = keep all.
        repetition_penalty: See :func:`penalize_repetition`; 1 = none.
        presence_penalty: See :func:`penalize_counts`; 0 = none.
        frequency_penalty: See :func:`penalize_counts`; 0 = none.
        prompt: The tokens that were given, for the repetition penalty.
        written: The new tokens so far, for all penalties.

    Returns:
        p, which sums to 1.

    Raises:
        InputError: If an option is out of range, a logit is NaN or +∞, no token can come, or
            there is a penalty and no token that it could be for.

    Example:
        >>> token_probabilities(torch.tensor([1.0, 4.0, 6.0]).log(), top_k=2)
        tensor([0.0000, 0.4000, 0.6000])
    """
    sampler = Sampler(
        temperature,
        top_k,
        top_p,
        min_p,
        typical_p,
        repetition_penalty,
        presence_penalty,
        frequency_penalty,
    )
    return sampler.probabilities(logits, prompt, written)


def require_logits(logits: Float[Tensor, "*batch V"]) -> Float[Tensor, "*batch 1"]:
    """The largest logit of each row, once it is known that it is a number."""
    if not logits.is_floating_point():
        found = str(logits.dtype).removeprefix("torch.")
        raise InputTypeError(f"logits must be floating-point numbers, got {found}")
    if not logits.ndim or not logits.shape[-1]:
        raise InputError(f"logits have shape {tuple(logits.shape)}: give (..., V), V ≥ 1")
    largest = logits.amax(-1, keepdim=True)
    if math.isfinite(largest.sum().item()):
        return largest
    if logits.isnan().any():
        raise InputError(f"{int(logits.isnan().sum())} of {logits.numel()} logits are NaN")
    if (largest == math.inf).any():
        infinite = int((logits == math.inf).sum())
        raise InputError(f"{infinite} of {logits.numel()} logits are +inf: no softmax has them")
    if (largest == -math.inf).any():
        row = (largest.flatten() == -math.inf).nonzero()[0].item()
        raise InputError(f"no token can come in row {row}: all its logits are -inf")
    return largest  # finite, but their sum is not


def draw(p: Float[Tensor, "*batch V"], u: Float[Tensor, "*batch"]) -> Int[Tensor, "*batch"]:
    """Token in whose part of the unit interval ``u`` falls.

    Implements eq-gen-draw::

        smallest i with p[0] + … + p[i] > u · Σ p

    Args:
        p: Probabilities; half precision is summed in float32.
        u: Uniform numbers, 0 ≤ u < 1.

    Returns:
        Token ids; never one of probability 0.

    Raises:
        InputError: If a row has no mass, is NaN or has an entry below 0, a number is outside
            0 ≤ u < 1, or there is not one number for each row.

    Example:
        >>> draw(torch.tensor([[0.5, 0.5]]), torch.tensor([0.75]))
        tensor([1])
    """
    if u.shape != p.shape[:-1]:
        raise InputError(
            f"u has shape {tuple(u.shape)}, expected {tuple(p.shape[:-1])}: one number for "
            "each row of p"
        )
    if p.numel() and p.amin() < 0:
        raise InputError(f"p has an entry {p.amin():.4g}, less than 0")
    wide = torch.promote_types(p.dtype, torch.float32)
    cumulative = p.cumsum(-1, dtype=wide)
    total = cumulative[..., -1:]
    if not (((total > 0) & (total < math.inf)).all() and ((u >= 0) & (u < 1)).all()):
        sums = f"{total.min().item():.4g} to {total.max().item():.4g}"
        raise InputError(
            f"the rows of p sum to {sums}, u is {u.min().item():.4g} to {u.max().item():.4g}: "
            "give rows with a positive sum, and 0 ≤ u < 1"
        )
    below = total.nextafter(torch.zeros_like(total))
    target = torch.minimum(u.to(wide).unsqueeze(-1) * total, below)  # u may round up to 1
    return torch.searchsorted(cumulative, target, right=True).squeeze(-1)
