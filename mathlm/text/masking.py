"""Masked tokens (BERT) and span corruption (T5): what is hidden and asked for, as data."""

from collections.abc import Sequence

import numpy as np
from numpy import ndarray
from numpy.random import Generator

from ..errors import DataError, InputError, InputTypeError
from ..shapes import Bool, Int
from .ngrams import as_ids

IGNORED = -100
BERT_SHARES = (0.8, 0.1, 0.1)


def mask_tokens(
    ids: Int[ndarray, "*batch T"],
    rng: Generator,
    *,
    mask_id: int,
    vocab_size: int,
    special: Sequence[int] = (),
    rate: float | int = 0.15,
    shares: tuple[float | int, float | int, float | int] = BERT_SHARES,
) -> tuple[Int[ndarray, "*batch T"], Int[ndarray, "*batch T"]]:
    """Hide some tokens of each row, and say what stood there.

    Computes::

        m = round(rate · n), at least 1, of the n tokens of a row that are not special
        each of them becomes [MASK], a random token, or stays, with the three shares

    Every set of m tokens is equally likely. A random token is drawn evenly from those of the
    vocabulary that are not special, and so may be the one that stood there. Rows of special
    tokens alone stay as they are.

    Args:
        ids: Token ids, one text a row.
        rng: Source of the randomness.
        mask_id: Id of ``[MASK]``; counts as special.
        vocab_size: V.
        special: Ids that are never chosen and never drawn, such as padding.
        rate: Share of the tokens that are predicted, 0 < rate ≤ 1.
        shares: Probability that a chosen token is hidden, replaced and left alone.

    Returns:
        The ids to read, and the targets: the chosen tokens where they stood, -100 elsewhere.

    Raises:
        InputError: If there are no ids, one is outside the vocabulary, a number is out of
            range, or all tokens of the vocabulary are special.
        InputTypeError: If the ids are not integers.
        DataError: If no row has a token that may be chosen.

    Example:
        >>> ids = np.array([[5, 6, 7]])
        >>> every = {"rate": 1.0, "shares": (1, 0, 0)}
        >>> rng = np.random.default_rng(0)
        >>> read, targets = mask_tokens(ids, rng, mask_id=0, vocab_size=8, **every)
        >>> read, targets
        (array([[0, 0, 0]]), array([[5, 6, 7]]))

    References:
        Devlin et al. (2019), arXiv:1810.04805, section 3.1 and appendix A.1.
    """
    _require_ids(ids, vocab_size)
    _require_shares(rate, shares)
    ordinary = _ordinary(vocab_size, [mask_id, *special])
    chosen = choose_tokens(ordinary[ids], rng, rate)
    hidden, drawn, _ = _assign(chosen, rng, shares)
    masked = ids.astype(np.int64)
    masked[hidden] = mask_id
    masked[drawn] = rng.choice(np.flatnonzero(ordinary), int(drawn.sum()))
    return masked, np.where(chosen, ids.astype(np.int64), IGNORED)


def choose_tokens(
    candidates: Bool[ndarray, "*batch T"], rng: Generator, rate: float | int = 0.15
) -> Bool[ndarray, "*batch T"]:
    """Which candidates of each row are chosen: a share of them, at least one, at random.

    Args:
        candidates: True where a token may be chosen.
        rng: Source of the randomness.
        rate: Share of the candidates of a row, 0 < rate ≤ 1.

    Raises:
        InputError: If the rate is out of range.
        DataError: If there is no candidate in any row.

    Example:
        >>> candidates = np.array([[False, True, True, True, True]])  # not [CLS]
        >>> chosen = choose_tokens(candidates, np.random.default_rng(0), rate=0.5)
        >>> int(chosen.sum()), bool(chosen[0, 0])
        (2, False)
    """
    if not 0 < rate <= 1:
        raise InputError(f"rate={rate} is outside 0 < rate <= 1")
    if not candidates.any():
        raise DataError("no token may be chosen: all are special")
    n = candidates.sum(-1, keepdims=True)
    m = np.where(n == 0, 0, np.maximum(1, np.rint(rate * n)))
    lots = np.where(candidates, rng.random(candidates.shape), 2.0)  # special ones come last
    return lots.argsort(-1).argsort(-1) < m


def _assign(
    chosen: Bool[ndarray, "*batch T"], rng: Generator, shares: tuple
) -> Bool[ndarray, "3 *batch T"]:
    """Each chosen token to one of three fates."""
    fate = rng.choice(3, chosen.shape, p=np.array(shares, np.float64))
    return chosen & (fate == np.arange(3).reshape(3, *[1] * chosen.ndim))


def _ordinary(vocab_size: int, special: Sequence[int]) -> Bool[ndarray, " V"]:
    """True for each token of the vocabulary that is not special."""
    outside = [token for token in special if not 0 <= token < vocab_size]
    if outside:
        raise InputError(f"special token {outside[0]} is outside 0..{vocab_size - 1}")
    ordinary = np.ones(vocab_size, bool)
    ordinary[list(special)] = False
    if not ordinary.any():
        raise InputError(f"all {vocab_size} tokens of the vocabulary are special")
    return ordinary


def _require_ids(ids: ndarray, vocab_size: int) -> None:
    if ids.dtype.kind not in "iu":
        raise InputTypeError(f"token ids must be integers, got {ids.dtype}")
    if ids.size == 0 or ids.ndim == 0:
        raise InputError(f"ids have shape {ids.shape}; give at least one token in a row")
    bad = (ids < 0) | (ids >= vocab_size)
    if bad.any():
        place = tuple(map(int, np.argwhere(bad)[0]))
        raise InputError(
            f"token id {ids[place]} at {list(place)} is outside 0..{vocab_size - 1}"
        )


def _require_shares(rate: float | int, shares: tuple) -> None:
    if not 0 < rate <= 1:
        raise InputError(f"rate={rate} is outside 0 < rate <= 1")
    if not (min(shares) >= 0 and abs(sum(shares) - 1) < 1e-9):
        raise InputError(f"shares {shares} must be at least 0 and sum to 1, got {sum(shares)}")


LARGEST_ID = np.iinfo(np.int64).max


def draw_spans(
    length: int, rng: Generator, *, rate: float | int = 0.15, mean_length: float | int = 3.0
) -> Int[ndarray, "N 2"]:
    """Where N spans start and stop, drawn so that every placement is equally likely.

    Computes::

        m = round(rate · length), at least 1,    N = round(m / mean_length), at least 1

    m tokens lie in the spans and N of them are not empty. Two spans never touch, so that what
    stands between them tells them apart; N is lowered where there is no room for so many.

    Args:
        length: Tokens of the text, n.
        rng: Source of the randomness.
        rate: Share of the tokens in spans, 0 < rate ≤ 1.
        mean_length: Mean length of a span, at least 1 [tokens].

    Returns:
        Start and stop of each span, from left to right.

    Raises:
        InputError: If the text is empty or a number is out of range.

    Example:
        >>> spans = draw_spans(20, np.random.default_rng(0), rate=0.3, mean_length=3)
        >>> len(spans), int((spans[:, 1] - spans[:, 0]).sum())  # two spans with six tokens
        (2, 6)

    References:
        Raffel et al. (2020), arXiv:1910.10683, section 3.1.4.
    """
    if length < 1:
        raise InputError(f"length={length}: a text without tokens has no span")
    if not 0 < rate <= 1:
        raise InputError(f"rate={rate} is outside 0 < rate <= 1")
    if not mean_length >= 1:
        raise InputError(f"mean_length={mean_length} must be at least 1 token")
    m = max(1, round(rate * length))
    N = min(max(1, round(m / mean_length)), length - m + 1)
    inside = _parts(m, N, rng)
    between = _parts(length - m + 2, N + 1, rng)  # the two ends may be empty: 1 is added, ...
    starts = np.cumsum(between[:-1] + np.append(0, inside[:-1])) - 1  # ... and taken away
    return np.stack([starts, starts + inside], axis=1)


def corrupt_spans(
    ids: Sequence[int] | Int[ndarray, " T"],
    rng: Generator,
    *,
    sentinels: Sequence[int] | Int[ndarray, " M"],
    rate: float | int = 0.15,
    mean_length: float | int = 3.0,
) -> tuple[Int[ndarray, " S"], Int[ndarray, " R"]]:
    """Span corruption: a text with holes, and what was in them.

    Computes::

        source = text with span i replaced by sentinelᵢ
        target = sentinel₁ span₁ … sentinel_N span_N sentinel_{N+1}

    The two together have as many tokens as the text and 2 N + 1 sentinels. See
    :func:`draw_spans` for the spans and :func:`restore_spans` for the way back.

    Args:
        ids: Tokens of one text.
        rng: Source of the randomness.
        sentinels: Ids that stand for holes, in their order; none may occur in the text.
        rate: Share of the tokens that are cut out.
        mean_length: Mean length of a hole [tokens].

    Returns:
        Source, for the encoder, and target, for the decoder; without begin or end tokens.

    Raises:
        InputError: If a number is out of range, or there are too few sentinels.
        InputTypeError: If ids are not integers.
        DataError: If the text holds a sentinel.

    Example:
        >>> ids, rng = np.arange(10), np.random.default_rng(0)
        >>> one = {"rate": 0.2, "mean_length": 2.0}
        >>> read, targets = corrupt_spans(ids, rng, sentinels=[98, 99], **one)
        >>> len(read), len(targets)  # a hole of two, and what was in it between two sentinels
        (9, 4)

    References:
        Raffel et al. (2020), arXiv:1910.10683, figure 2.
    """
    ids, marks = _as_text(ids, "ids"), _as_sentinels(sentinels)
    _require_no_sentinel(ids, marks)
    return cut_spans(ids, draw_spans(len(ids), rng, rate=rate, mean_length=mean_length), marks)


def cut_spans(
    ids: Sequence[int] | Int[ndarray, " T"],
    spans: Int[ndarray, "N 2"],
    sentinels: Sequence[int] | Int[ndarray, " M"],
) -> tuple[Int[ndarray, " S"], Int[ndarray, " R"]]:
    """The source and the target of :func:`corrupt_spans`, for spans that are given.

    Args:
        ids: Tokens of one text.
        spans: Start and stop of each, from left to right, not empty, not touching.
        sentinels: Ids that stand for holes, one more than there are spans.

    Raises:
        InputError: If the spans do not lie so in the text, or there are too few sentinels.
        InputTypeError: If ids are not integers.
        DataError: If the text holds a sentinel.

    Example:
        >>> read, targets = cut_spans([1, 2, 3, 4], np.array([[1, 3]]), sentinels=[98, 99])
        >>> read, targets
        (array([ 1, 98,  4]), array([98,  2,  3, 99]))
    """
    ids, marks = _as_text(ids, "ids"), _as_sentinels(sentinels)
    _require_no_sentinel(ids, marks)
    _require_spans(spans, len(ids))
    if len(marks) < len(spans) + 1:
        raise InputError(
            f"{len(spans)} spans need {len(spans) + 1} sentinels, one to end the target; "
            f"got {len(marks)}"
        )
    pieces = np.split(ids, spans.ravel())  # kept, cut, kept, cut, ... kept
    ends = np.split(marks[: len(spans) + 1], len(spans) + 1)  # each mark as an array
    source = [x for kept, mark in zip(pieces[:-1:2], ends, strict=False) for x in (kept, mark)]
    target = [x for mark, cut in zip(ends, pieces[1::2], strict=False) for x in (mark, cut)]
    return np.concatenate([*source, pieces[-1]]), np.concatenate([*target, ends[-1]])


def restore_spans(
    source: Sequence[int] | Int[ndarray, " S"],
    target: Sequence[int] | Int[ndarray, " R"],
    *,
    sentinels: Sequence[int] | Int[ndarray, " M"],
) -> Int[ndarray, " T"]:
    """The text of which :func:`corrupt_spans` made source and target.

    Computes::

        text = source with sentinelᵢ replaced by what stands behind sentinelᵢ in the target

    A model's answer need not have the form of a target: a hole that it leaves empty and a
    filling without a hole are errors, so that a malformed answer is never counted as right.

    Args:
        source: Text with sentinels for holes.
        target: Fillings, each behind its sentinel, and one sentinel at the end.
        sentinels: Those that :func:`corrupt_spans` was given.

    Raises:
        DataError: If the sentinels of the two are not the first ones in their order, with one
            more in the target, which begins and ends with one, or a hole stays empty.
        InputError: If a sentinel stands twice in ``sentinels``.
        InputTypeError: If ids are not integers.

    Example:
        >>> from mathlm.text import corrupt_spans
        >>> ids, rng = np.arange(10), np.random.default_rng(0)
        >>> read, targets = corrupt_spans(ids, rng, sentinels=[98, 99], rate=0.4)
        >>> restore_spans(read, targets, sentinels=[98, 99]).tolist() == ids.tolist()
        True
    """
    marks = _as_sentinels(sentinels)
    source, target = _as_text(source, "source"), _as_text(target, "target")
    holes, fillings = np.isin(source, marks), np.isin(target, marks)
    N = int(holes.sum())
    for name, found, expected in (
        ("source", source[holes], N),
        ("target", target[fillings], N + 1),
    ):
        if not np.array_equal(found, marks[:expected]):
            raise DataError(
                f"the {name} has the sentinels {found.tolist()}, expected "
                f"{marks[:expected].tolist()}: the first {expected} in their order"
            )
    if not (fillings[0] and fillings[-1]):
        raise DataError("the target must begin and end with a sentinel")
    filled = np.split(target, np.flatnonzero(fillings))[1:-1]  # each with its sentinel in front
    if empty := [i for i, filling in enumerate(filled) if len(filling) == 1]:
        raise DataError(f"the target leaves hole {empty[0]} of {N} empty")
    pieces = np.split(source, np.flatnonzero(holes))
    joined = [np.concatenate([f[1:], p[1:]]) for f, p in zip(filled, pieces[1:], strict=True)]
    return np.concatenate([pieces[0], *joined])


def _parts(total: int, count: int, rng: Generator) -> Int[ndarray, " N"]:
    """``total`` as a sum of ``count`` positive integers, each such sum equally likely."""
    cuts = np.sort(rng.choice(total - 1, count - 1, replace=False)) + 1
    return np.diff(cuts, prepend=0, append=total)


def _as_text(ids: Sequence[int] | ndarray, name: str) -> Int[ndarray, " T"]:
    array = np.asarray(ids)
    if array.size == 0:
        raise InputError(f"{name} are empty: there is nothing to cut or to fill")
    if isinstance(ids, str) or array.dtype.kind not in "iu":
        raise InputTypeError(f"{name} must be integers, got {array.dtype}")
    return as_ids(array, LARGEST_ID)


def _as_sentinels(sentinels: Sequence[int] | ndarray) -> Int[ndarray, " M"]:
    marks = _as_text(sentinels, "sentinels")
    if len(np.unique(marks)) < len(marks):
        raise InputError(f"a sentinel stands twice in {marks.tolist()}")
    return marks


def _require_no_sentinel(ids: ndarray, marks: ndarray) -> None:
    found = np.flatnonzero(np.isin(ids, marks))
    if found.size:
        raise DataError(f"token {found[0]} of the text is {ids[found[0]]}, a sentinel")


def _require_spans(spans: Int[ndarray, "N 2"], length: int) -> None:
    edges = spans.ravel()
    if not len(spans) or edges[0] < 0 or edges[-1] > length or (np.diff(edges) < 1).any():
        raise InputError(
            f"spans {spans.tolist()} must lie in 0..{length} from left to right, hold a token "
            "each and not touch"
        )
