"""Beam search: the likeliest continuations, as far as a few beams can see."""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from ..errors import InputError, InputTypeError
from ..shapes import Float, Int


class Hypothesis(NamedTuple):
    """A continuation that beam search kept.

    Args:
        ids: All its tokens, those of the start among them, (t,).
        score: Its log-probability given the start [nats], divided by its length to a power.
    """

    ids: Tensor
    score: float


@torch.no_grad()
def beam_search(
    log_probabilities: Callable[[Tensor], Tensor],
    start: Int[Tensor, " T"],
    max_new_tokens: int,
    beams: int,
    end: int | None = None,
    length_penalty: float | int = 0.0,
) -> list[Hypothesis]:
    """Continue ``start``, keeping the few likeliest continuations at each length.

    Implements eq-transformer-decode::

        score(y) = Σᵢ log p(yᵢ | start, y₁ … yᵢ₋₁) / n^length_penalty,   n tokens in y

    At each step every unfinished continuation is extended by every token, and the likeliest
    extensions are kept. One that ends is set aside and keeps its place: the beams that go on
    are one fewer from then on. Of equal ones the extension of the better continuation comes
    first, then the lower token. A single beam is greedy decoding; with as many beams as there
    are sequences the search is exhaustive. Between the two it is a heuristic: the likeliest
    sequence may begin with a token that is dropped, and more beams may find a worse one.

    All that compete at a step are equally long: the penalty changes the order of what is
    returned, not what is found.

    Args:
        log_probabilities: From token ids (N, t) to the log-probabilities (N, V) of the token
            behind each row [nats].
        start: The tokens to continue, at least one.
        max_new_tokens: Tokens after which a continuation is cut off, at least 1.
        beams: Continuations that are kept, at least 1.
        end: Token that ends a continuation, and is its last; None = none does.
        length_penalty: 0 ranks by probability, which favors short continuations; 1 by the mean
            log-probability of a token; more favors long ones.

    Returns:
        At most ``beams`` hypotheses, the best first; those of probability 0 are left out.

    Raises:
        InputError: If an option is out of range, or the log-probabilities are of another shape,
            NaN, or not those of distributions.
        InputTypeError: If ``start`` is not int64.

    References:
        Sutskever et al. (2014), arXiv:1409.3215, section 3.2.
        Wu et al. (2016), arXiv:1609.08144, section 7.
    """
    _require_options(start, max_new_tokens, beams, end, length_penalty)
    live, logp = start.unsqueeze(0), torch.zeros(1, dtype=torch.float64, device=start.device)
    found: list[Hypothesis] = []
    for n in range(1, max_new_tokens + 1):
        step = _require_log_probabilities(log_probabilities(live), live, end)
        live, logp = _best(live, logp.unsqueeze(1) + step.double(), beams - len(found))
        ended = live[:, -1] == (-1 if end is None else end)
        ended |= n == max_new_tokens
        found += _score(live[ended], logp[ended], n**length_penalty)
        live, logp = live[~ended], logp[~ended]
        if not len(live):
            break
    return sorted(found, key=lambda hypothesis: -hypothesis.score)  # stable: ties as found


def _best(live: Tensor, total: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The ``count`` likeliest possible extensions and their log-probabilities."""
    logp, place = total.flatten().sort(descending=True, stable=True)
    logp = logp[:count][logp[:count] > -math.inf]
    rows, tokens = place[: len(logp)] // total.shape[1], place[: len(logp)] % total.shape[1]
    return torch.cat((live[rows], tokens.unsqueeze(1)), 1), logp


def _score(ids: Tensor, logp: Tensor, divisor: float | int) -> list[Hypothesis]:
    return [Hypothesis(i, x / divisor) for i, x in zip(ids, logp.tolist(), strict=True)]


def _require_options(
    start: Tensor, max_new_tokens: int, beams: int, end: int | None, length_penalty: float | int
) -> None:
    if start.ndim != 1 or not len(start):
        raise InputError(f"start has shape {tuple(start.shape)}: give (tokens,), 1 or more")
    if start.dtype != torch.int64:
        found = str(start.dtype).removeprefix("torch.")
        raise InputTypeError(f"start must be int64, got {found}")
    for name, value in (("max_new_tokens", max_new_tokens), ("beams", beams)):
        if value < 1:
            raise InputError(f"{name}={value} must be at least 1")
    if end is not None and end < 0:
        raise InputError(f"end={end} is no token: give its id, or None if nothing ends a text")
    if not math.isfinite(length_penalty):
        raise InputError(f"length_penalty={length_penalty} must be finite")


def _require_log_probabilities(
    logp: Float[Tensor, "N V"], live: Tensor, end: int | None
) -> Float[Tensor, "N V"]:
    """Refuse what is not the logarithm of one distribution for each continuation."""
    if logp.ndim != 2 or len(logp) != len(live) or (end is not None and end >= logp.shape[1]):
        vocabulary = "V" if end is None else f"V > end={end}"
        raise InputError(
            f"log_probabilities gave shape {tuple(logp.shape)} for {len(live)} rows of ids; "
            f"expected ({len(live)}, {vocabulary})"
        )
    mass = logp.double().exp().sum(1)
    off = (mass - 1.0).abs().nan_to_num(math.inf)
    if off.max() > torch.finfo(logp.dtype).eps ** 0.5:
        row = int(off.argmax())
        raise InputError(
            f"the probabilities of row {row} sum to {mass[row]:.4g}, not 1: give "
            "log_softmax(logits)"
        )
    return logp
