"""Analogies between words as sums and as products of cosines: a is to b as c is to what?"""

from collections.abc import Callable

import numpy as np
from numpy import ndarray

from mathlm.errors import InputError, InputTypeError
from mathlm.reference.arrays import integer_array
from mathlm.shapes import Float, Int

ROWS_AT_ONCE = 32  # questions whose scores are in memory together


def solve_analogies(
    vectors: Float[ndarray, "V D"],
    questions: Int[ndarray, "Q 4"],
    k: int = 1,
    exclude: bool = True,
) -> Int[ndarray, "Q k"]:
    """The k words nearest to b - a + c, all vectors taken to length 1 before.

    Implements eq-analogy-add::

        argmax_d  cos(d, b - a + c)  =  argmax_d  cos(d, b) - cos(d, a) + cos(d, c)

    The length of b - a + c is the same for every d and does not matter. Known as 3CosAdd.

    Args:
        vectors: One row a word; every row is a candidate. Scores have this dtype, and float32
            is twice as fast.
        questions: Rows of a, b, c and d. The last column, the answer, is not read.
        k: How many words to return.
        exclude: Whether a, b and c are no candidates. Without this the answer is mostly one of
            them.

    Returns:
        Rows, the best first; among equal scores the lower row.

    Raises:
        InputError: If a row of a question is not there, a vector is zero or not finite, or
            there are not k candidates.
        InputTypeError: If the vectors are not float32 or float64, or the questions no integers.

    References:
        Mikolov, Yih and Zweig (2013), Linguistic regularities in continuous space word
        representations, NAACL.
    """

    def score(to_a: ndarray, to_b: ndarray, to_c: ndarray) -> ndarray:
        return to_b - to_a + to_c

    return _solve(score, vectors, questions, k, exclude)


def solve_analogies_by_product(
    vectors: Float[ndarray, "V D"],
    questions: Int[ndarray, "Q 4"],
    k: int = 1,
    exclude: bool = True,
    eps: float = 1e-3,
) -> Int[ndarray, "Q k"]:
    """The k words that are near to b and to c and far from a, in proportion.

    Implements eq-analogy-mul::

        argmax_d  s(d, b) s(d, c) / (s(d, a) + ε),   s(d, x) = (1 + cos(d, x)) / 2

    One large cosine cannot outweigh two small ones, as it can in a sum. Known as 3CosMul.

    Args:
        vectors: One row a word; every row is a candidate.
        questions: Rows of a, b, c and d. The last column, the answer, is not read.
        k: How many words to return.
        exclude: Whether a, b and c are no candidates.
        eps: ε > 0, which keeps the quotient finite.

    Returns:
        Rows, the best first; among equal scores the lower row.

    Raises:
        InputError: As :func:`solve_analogies`, or if ε is not positive.
        InputTypeError: As :func:`solve_analogies`.

    References:
        Levy and Goldberg (2014), Linguistic regularities in sparse and explicit word
        representations, CoNLL, eq. (5).
    """
    if not 0 < eps < np.inf:
        raise InputError(
            f"eps={eps} must be positive and finite: a word may have cosine -1 with a"
        )

    def score(to_a: ndarray, to_b: ndarray, to_c: ndarray) -> ndarray:
        return (1 + to_b) * (1 + to_c) / (2 * (1 + to_a) + 4 * eps)

    return _solve(score, vectors, questions, k, exclude)


def analogy_accuracy(answers: Int[ndarray, "N k"], questions: Int[ndarray, "Q 4"]) -> float:
    """Share of the questions whose d is among the k answers.

    Args:
        answers: What :func:`solve_analogies` returns.
        questions: Rows of a, b, c and d.

    Raises:
        InputError: If there are no questions, or not one row of answers for each.
        InputTypeError: If a row is no integer.
    """
    answers, questions = np.asarray(answers), np.asarray(questions)
    if answers.ndim != 2 or questions.size == 0 or len(answers) != len(questions):
        raise InputError(
            f"{len(answers)} rows of answers for {len(questions)} questions, of shapes "
            f"{answers.shape} and {questions.shape}; give at least one question, and one row "
            "of k answers for each"
        )
    if questions.shape[1:] != (4,):
        raise InputError(f"questions have shape {questions.shape}, expected (N, 4)")
    for name, rows in (("answers", answers), ("questions", questions)):
        if rows.dtype.kind not in "iu":
            raise InputTypeError(f"{name} must be integers, got {rows.dtype}")
    return float((answers == questions[:, 3:]).any(axis=1).mean())


def _solve(
    score: Callable[[ndarray, ndarray, ndarray], ndarray],
    vectors: ndarray,
    questions: ndarray,
    k: int,
    exclude: bool,
) -> ndarray:
    """The k best candidates by a score of their cosines with a, b and c."""
    unit, shape = _unit_rows(np.asarray(vectors)), np.shape(questions)
    if len(shape) != 2 or shape[1] not in (3, 4):
        raise InputError(
            f"questions have shape {shape}, expected (Q, 4): rows of a, b, c and d"
        )
    asked = integer_array(questions, len(unit), "row")[:, :3]
    if not 1 <= k <= len(unit) - 3 * exclude:
        raise InputError(f"k={k} answers are not among {len(unit)} words, {exclude=}")
    words, place = np.unique(asked, return_inverse=True)
    place = place.reshape(asked.shape)
    cosines = unit[words] @ unit.T  # each word of the questions with every candidate
    answers = np.empty((len(asked), k), dtype=np.int64)
    for start in range(0, len(asked), ROWS_AT_ONCE):
        block = slice(start, start + ROWS_AT_ONCE)
        scores = score(*(cosines[column] for column in place[block].T))
        if exclude:
            np.put_along_axis(scores, asked[block], -np.inf, axis=1)
        answers[block] = _largest(scores, k)
    return answers


def _largest(scores: Float[ndarray, "Q V"], k: int) -> Int[ndarray, "Q k"]:
    """Columns of the k largest entries of each row, by k passes; scores are overwritten."""
    found = np.empty((len(scores), k), dtype=np.int64)
    for i in range(k):
        found[:, i] = scores.argmax(axis=1)
        np.put_along_axis(scores, found[:, i : i + 1], -np.inf, axis=1)
    return found


def _unit_rows(vectors: ndarray) -> ndarray:
    """The rows, each divided by its length."""
    if vectors.dtype not in (np.float32, np.float64):
        raise InputTypeError(f"vectors have dtype {vectors.dtype}, expected float32 or float64")
    if vectors.ndim != 2:
        raise InputError(f"vectors have shape {vectors.shape}, expected (V, D)")
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    bad = ~(np.isfinite(lengths) & (lengths > 0))
    if bad.any():
        row = int(np.argmax(bad))
        raise InputError(f"vector {row} has length {lengths[row, 0]}: it has no direction")
    return vectors / lengths


__all__ = ["analogy_accuracy", "solve_analogies", "solve_analogies_by_product"]
