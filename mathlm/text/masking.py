"""Tokens of a text hidden and asked for: BERT's objective, as data."""

from collections.abc import Sequence

import numpy as np
from numpy import ndarray
from numpy.random import Generator

from ..errors import DataError, InputError, InputTypeError
from ..shapes import Bool, Int

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
    return masked, np.where(chosen, ids, IGNORED)


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
