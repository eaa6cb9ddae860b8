"""Beam search: the likeliest continuations, as far as a few beams can see."""

import math
from collections.abc import Callable, Sequence
from numbers import Real
from typing import NamedTuple

import torch
from torch import Tensor

from ..errors import InputError, InputTypeError
from ..models import GPT, Recurrent
from ..shapes import Float, Int
from .decoding import evaluating, require_integer, require_prompt
from .kv_reader import IncrementalReader
from .sampling import require_logits
from .stopping import stop_sequences

LARGEST = 2**20  # continuations that an exhaustive search may hold

Divisor = float | int | Callable[[int], float]


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
    length_penalty: Divisor = 0.0,
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
            log-probability of a token; more favors long ones. Or what to divide by, as a
            function of n, such as :func:`wu_length_penalty`.

    Returns:
        At most ``beams`` hypotheses, the best first; those of probability 0 are left out.

    Raises:
        InputError: If an option is out of range, or the log-probabilities are of another shape,
            NaN, or not those of distributions.
        InputTypeError: If ``start`` is not int64, or an argument or what the function gives is
            of another kind.

    Example:
        >>> def coin(ids):  # 0 with probability 0.6, whatever came before
        ...     return torch.tensor([0.6, 0.4]).log().expand(len(ids), 2)
        >>> best, second = beam_search(coin, torch.tensor([0]), max_new_tokens=2, beams=2)
        >>> best.ids, round(best.score, 4)  # 2 ln 0.6
        (tensor([0, 0, 0]), -1.0217)

    References:
        Sutskever et al. (2014), arXiv:1409.3215, section 3.2.
        Wu et al. (2016), arXiv:1609.08144, section 7.
    """
    _require_options(start, max_new_tokens, beams, end, length_penalty)

    def read(live: Tensor, rows: Tensor) -> Tensor:
        return _require_log_probabilities(log_probabilities(live), live, end)

    stop = [] if end is None else [[end]]
    return _search(read, start, max_new_tokens, beams, stop, length_penalty)


@torch.no_grad()
def beam_generate(
    model: GPT | Recurrent,
    ids: Int[Tensor, " T"],
    max_new_tokens: int,
    beams: int,
    stop: Sequence[int | Sequence[int]] | None = None,
    length_penalty: Divisor = 0.0,
    *,
    cache: bool = True,
) -> list[Hypothesis]:
    """The likeliest continuations of a prompt under a language model, by beam search.

    Implements eq-gen-length::

        score(y) = Σᵢ log p(yᵢ | ids, y₁ … yᵢ₋₁) / n^length_penalty,   n tokens in y

    :func:`beam_search` with an :class:`IncrementalReader`: the prompt is read once, each step
    reads one token a beam, and the keys and values of a beam follow it when it moves to another
    row. One beam is :func:`generate` at temperature 0. The model is in evaluation mode
    meanwhile. There are no truncation, no penalties and no constraint here.

    Args:
        model: The language model.
        ids: The prompt (T,), int64, at least one token.
        max_new_tokens: Tokens after which a continuation is cut off, at least 1.
        beams: Continuations that are kept, at least 1.
        stop: Tokens, or sequences of tokens, that end a continuation and are its last; None =
            none does. The prompt is no part of them.
        length_penalty: As in :func:`beam_search`.
        cache: Whether keys and values, or the state of a recurrent model, are kept.

    Returns:
        At most ``beams`` hypotheses, the best first.

    Raises:
        InputError: If an option is out of range, prompt and new tokens are together longer
            than the context, a token is outside the vocabulary, or a logit is NaN.
        InputTypeError: If ``ids`` are not int64, a stop is no token, or an argument is of
            another kind.

    Example:
        >>> from mathlm.models import GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=2, n_heads=2)
        >>> found = beam_generate(GPT(GPTConfig(**sizes)), torch.tensor([84, 111]), 4, beams=3)
        >>> len(found), found[0].score >= found[1].score
        (3, True)
    """
    _require_options(ids, max_new_tokens, beams, None, length_penalty, "ids")
    require_prompt(model, ids.unsqueeze(0), max_new_tokens, None)
    endings = stop_sequences(stop, model.config.vocab_size, None)
    with evaluating(model):
        reader = IncrementalReader(model, 1, len(ids) + max_new_tokens, cache=cache)
        same = torch.arange(beams, device=ids.device)

        def read(live: Tensor, rows: Tensor) -> Tensor:
            if len(rows) != reader.batch or not torch.equal(rows, same[: len(rows)]):
                reader.select(rows)
            logits = reader.read(live[:, reader.length :])
            require_logits(logits)
            return (logits.float() if logits.itemsize < 4 else logits).log_softmax(-1)

        return _search(read, ids, max_new_tokens, beams, endings, length_penalty)


@torch.no_grad()
def exhaustive_search(
    log_probabilities: Callable[[Tensor], Tensor],
    start: Int[Tensor, " T"],
    max_new_tokens: int,
    end: int | None = None,
    length_penalty: Divisor = 0.0,
) -> list[Hypothesis]:
    """Every continuation of ``start``, the best first: what beam search is measured by.

    Computes::

        all y of n tokens, V^n of them without an end, each with the score of beam_search

    Args:
        log_probabilities: As in :func:`beam_search`.
        start: The tokens to continue, at least one.
        max_new_tokens: Tokens after which a continuation is cut off, at least 1.
        end: Token that ends a continuation, and is its last; None = none does.
        length_penalty: As in :func:`beam_search`.

    Returns:
        All continuations of positive probability; of equal ones the shorter first, then the
        one with the lower tokens.

    Raises:
        InputError: As :func:`beam_search`, and if there are more than a million.
        InputTypeError: If ``start`` is not int64.

    Example:
        >>> def coin(ids):  # 0 with probability 0.6, whatever came before
        ...     return torch.tensor([0.6, 0.4]).log().expand(len(ids), 2)
        >>> [found.ids.tolist() for found in exhaustive_search(coin, torch.tensor([0]), 1)]
        [[0, 0], [0, 1]]
    """
    _require_options(start, max_new_tokens, 1, end, length_penalty)
    live, logp = start.unsqueeze(0), torch.zeros(1, dtype=torch.float64, device=start.device)
    found: list[Hypothesis] = []
    for n in range(1, max_new_tokens + 1):
        step = _require_log_probabilities(log_probabilities(live), live, end)
        _require_few(len(live), step.shape[1], n)
        rows, tokens = (step > -math.inf).nonzero(as_tuple=True)
        live = torch.cat((live[rows], tokens.unsqueeze(1)), 1)
        logp = logp[rows] + step[rows, tokens].double()
        ended = (live[:, -1] == (-1 if end is None else end)) | (n == max_new_tokens)
        found += _score(live[ended], logp[ended], _divide_by(length_penalty, n))
        live, logp = live[~ended], logp[~ended]
        if not len(live):
            break
    return sorted(found, key=lambda hypothesis: -hypothesis.score)


def wu_length_penalty(alpha: float | int) -> Callable[[int], float]:
    """What the log-probability of n tokens is divided by in the translation system of Wu.

    Implements eq-gen-length::

        lp(n) = ((5 + n) / 6)^alpha

    At small n it grows more slowly than n^alpha, so that a second token costs little.

    Args:
        alpha: 0 ranks by probability; Wu et al. take values from 0.6 to 0.7.

    Example:
        >>> wu_length_penalty(0.6)(1)  # (5 + 1)^0.6 / 6^0.6
        1.0

    References:
        Wu et al. (2016), arXiv:1609.08144, eq. (14).
    """
    if not isinstance(alpha, Real):
        raise InputTypeError(f"alpha={alpha!r} must be a number")
    if not math.isfinite(alpha):
        raise InputError(f"alpha={alpha} must be finite")
    return lambda n: ((5 + n) / 6) ** alpha


def _search(
    read: Callable[[Tensor, Tensor], Tensor],
    start: Tensor,
    max_new_tokens: int,
    beams: int,
    stop: Sequence[Sequence[int]],
    length_penalty: Divisor,
) -> list[Hypothesis]:
    """The search itself; ``read`` is told from which of its last rows each row descends."""
    live, logp = start.unsqueeze(0), torch.zeros(1, dtype=torch.float64, device=start.device)
    rows = torch.zeros(1, dtype=torch.int64, device=start.device)
    found: list[Hypothesis] = []
    for n in range(1, max_new_tokens + 1):
        total = logp.unsqueeze(1) + read(live, rows).double()
        rows, tokens, logp = _best(total, beams - len(found))
        live = torch.cat((live[rows], tokens.unsqueeze(1)), 1)
        ended = _ends(live[:, len(start) :], stop) | (n == max_new_tokens)
        found += _score(live[ended], logp[ended], _divide_by(length_penalty, n))
        live, rows, logp = live[~ended], rows[~ended], logp[~ended]
        if not len(live):
            break
    return sorted(found, key=lambda hypothesis: -hypothesis.score)  # stable: ties as found


def _best(total: Float[Tensor, "N V"], count: int) -> tuple[Tensor, Tensor, Tensor]:
    """Rows, tokens and log-probabilities of the ``count`` likeliest possible extensions."""
    flat = total.flatten()
    least = flat.topk(min(count, len(flat))).values[-1]
    places = (flat >= least).nonzero()[:, 0]  # those tied with the last too, in their order
    logp, order = flat[places].sort(descending=True, stable=True)
    possible = logp[:count] > -math.inf
    places = places[order[:count][possible]]
    V = total.shape[1]
    return places // V, places % V, logp[:count][possible]


def _ends(new: Int[Tensor, "N n"], stop: Sequence[Sequence[int]]) -> Tensor:
    """Whether each row of new tokens ends with one of the sequences."""
    ended = torch.zeros(len(new), dtype=torch.bool, device=new.device)
    for s in stop:
        if len(s) <= new.shape[1]:
            ended |= (new[:, -len(s) :] == torch.tensor(s, device=new.device)).all(1)
    return ended


def _divide_by(length_penalty: Divisor, n: int) -> float:
    """The divisor of the log-probability of n tokens."""
    try:
        divisor = length_penalty(n) if callable(length_penalty) else n**length_penalty
    except OverflowError:
        divisor = math.inf
    if not isinstance(divisor, Real):
        raise InputTypeError(
            f"length_penalty({n}) gave {divisor!r}: it must be a number to divide by"
        )
    divisor = float(divisor)
    if not 0 < divisor < math.inf:
        raise InputError(
            f"length_penalty={length_penalty} divides the score of {n} tokens by {divisor}: "
            "that must be positive and finite"
        )
    return divisor


def _score(ids: Tensor, logp: Tensor, divisor: float) -> list[Hypothesis]:
    return [Hypothesis(i, x / divisor) for i, x in zip(ids, logp.tolist(), strict=True)]


def _require_options(
    start: Tensor,
    max_new_tokens: int,
    beams: int,
    end: int | None,
    length_penalty: Divisor,
    name: str = "start",
) -> None:
    if not isinstance(start, Tensor):
        raise InputTypeError(f"{name} is a {type(start).__name__}: give a tensor of token ids")
    if start.ndim != 1 or not len(start):
        raise InputError(f"{name} has shape {tuple(start.shape)}: give (tokens,), 1 or more")
    if start.dtype != torch.int64:
        found = str(start.dtype).removeprefix("torch.")
        raise InputTypeError(f"{name} must be int64, got {found}")
    for option, value in (("max_new_tokens", max_new_tokens), ("beams", beams)):
        require_integer(option, value)
        if value < 1:
            raise InputError(f"{option}={value} must be at least 1")
    require_integer("end", 0 if end is None else end)
    if end is not None and end < 0:
        raise InputError(f"end={end} is no token: give its id, or None if nothing ends a text")
    _require_divisor(length_penalty)


def _require_divisor(length_penalty: Divisor) -> None:
    if callable(length_penalty):
        return
    if not isinstance(length_penalty, Real):
        raise InputTypeError(
            f"length_penalty={length_penalty!r} must be a number or a function of n, such as "
            "wu_length_penalty(0.6)"
        )
    if not math.isfinite(length_penalty):
        raise InputError(f"length_penalty={length_penalty} must be finite")


def _require_log_probabilities(
    logp: Float[Tensor, "N V"], live: Tensor, end: int | None
) -> Float[Tensor, "N V"]:
    """Refuse what is not the logarithm of one distribution for each continuation."""
    if not isinstance(logp, Tensor) or not logp.is_floating_point():
        found = logp.dtype if isinstance(logp, Tensor) else f"a {type(logp).__name__}"
        raise InputTypeError(
            f"log_probabilities gave {found}, expected floating-point log-probabilities (N, V)"
        )
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


def _require_few(rows: int, vocabulary: int, n: int) -> None:
    if rows * vocabulary > LARGEST:
        raise InputError(
            f"at {n} tokens there are {rows * vocabulary:,} continuations, more than the "
            f"{LARGEST:,} that are enumerated: take fewer tokens, a smaller vocabulary, or "
            "beam_search"
        )
