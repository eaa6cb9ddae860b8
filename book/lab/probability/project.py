"""Grader of the project of this page: a calibrated naive Bayes classifier of plays.

from lab.probability.project import grade
grade(fit, log_posterior)                # part 1
grade(fit, log_posterior, temperature)   # both parts
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from lab.grading import Case, FaultError, Report, Result, grade_by
from mathlm.reference import fit_temperature, softmax

from .letter_models import ALPHABET, first_and_last, tragedies

Documents = list[list[str]]
Fit = Callable[..., Any]
LogPosterior = Callable[[Any, list[str]], Any]
DOCUMENTS = [
    ["to", "be", "or", "not", "to", "be"],
    ["to", "sleep"],
    ["blood", "will", "have", "blood", "then"],
]
PLAYS, ALPHA = [0, 0, 1], 0.5  # 9 different words, 8 of play 0 and 5 of play 1


def passages(length: int = 20) -> tuple[tuple[Documents, list[int]], ...]:
    """Passages of the five tragedies with the numbers of their plays, in three sets.

    Args:
        length: Words of a passage.

    Returns:
        Documents and plays to train on (the first four fifths of each play), to fit a
        temperature on, and to judge on (every second passage of the last fifth each).
    """
    sets: tuple[tuple[Documents, list[int]], ...] = (([], []), ([], []), ([], []))
    for number, play in enumerate(tragedies().values()):
        for place, text in enumerate(first_and_last(play)):
            words = "".join(ALPHABET[i] for i in text).split()
            for n in range(len(words) // length):
                documents, plays = sets[place and 1 + n % 2]
                documents.append(words[n * length : (n + 1) * length])
                plays.append(number)
    return sets


def grade(
    fit: Fit, log_posterior: LogPosterior, temperature: Callable[..., Any] | None = None
) -> Report:
    """Test a naive Bayes classifier and the temperature that calibrates it.

    Args:
        fit: ``fit(documents, plays, alpha)`` counts the words of each play and returns a
            model, of any type.
        log_posterior: ``log_posterior(model, document)`` returns the logarithms of the
            probabilities of the plays, 0 first.
        temperature: ``temperature(scores, plays)`` returns the number by which the rows of
            ``scores`` are to be divided; None tests part 1 alone.

    Returns:
        A report: print it, or read ``passed`` and ``faults``.
    """
    if temperature is None:
        found = grade_by(PART_1, fit, log_posterior, None)
        note = "Part 2 was not tested: call grade(fit, log_posterior, temperature)."
        return Report(found.results + tuple(Result(c.name, ran=False) for c in PART_2), note)
    return grade_by(PART_1 + PART_2, fit, log_posterior, temperature)


def _answer(fit: Fit, log_posterior: LogPosterior, document: str) -> ndarray:
    model = fit(DOCUMENTS, PLAYS, ALPHA)
    return np.asarray(log_posterior(model, document.split()), dtype=float)


def _expected(document: str, **change: Any) -> ndarray:
    """Log-posteriors of the small example, or those of a common mistake."""
    rule = {"alpha": ALPHA, "prior": [2 / 3, 1 / 3], "slots": 10, "once": False, **change}
    vocabulary = sorted({w for d in DOCUMENTS for w in d})
    counts = np.zeros((2, len(vocabulary)))
    for words, play in zip(DOCUMENTS, PLAYS, strict=True):
        for w in words:
            counts[play, vocabulary.index(w)] += 1
    p = (counts + rule["alpha"]) / (
        counts.sum(1, keepdims=True) + rule["alpha"] * rule["slots"]
    )
    asked = document.split()
    asked = list(dict.fromkeys(asked)) if rule["once"] else asked
    score = np.log(rule["prior"]) + sum(np.log(p[:, vocabulary.index(w)]) for w in asked)
    return score - np.logaddexp.reduce(score)


def _shape(fit: Fit, log_posterior: LogPosterior, _: Any) -> None:
    found = _answer(fit, log_posterior, "to be")
    if found.shape != (2,):
        raise FaultError(
            f"with 2 plays log_posterior returns the shape {found.shape}, expected (2,)."
        )
    if (found > 1e-12).any():
        raise FaultError(
            f"log_posterior returns {found}; logarithms of probabilities are never positive."
        )
    if not np.isclose(np.exp(found).sum(), 1):
        raise FaultError(
            f"the probabilities of the plays sum to {np.exp(found).sum():.4g}: subtract the "
            "logsumexp of the scores, the logarithm of the evidence."
        )


MISTAKES: dict[str, dict[str, Any]] = {
    "the prior is missing: add the logarithm of each play's share of the documents.": {
        "prior": [1, 1]
    },
    "the prior counts words; it is the share of documents.": {"prior": [8 / 13, 5 / 13]},
    "alpha is not used: 1 is added to each count instead.": {"alpha": 1.0},
    "alpha must be added V + 1 times below the line too, once for each of the V words and once "
    "for all unseen ones; here it is added V times.": {"slots": 9},
    "alpha is added to the counts, but not to their sum: the probabilities of a play no longer "
    "sum to 1.": {"slots": 0},
    "each word of a document counts once; it must count as often as it occurs.": {"once": True},
}


def _by_hand(fit: Fit, log_posterior: LogPosterior, _: Any) -> None:
    for document in ("to be to be", "blood", "to have blood to"):
        found, expected = _answer(fit, log_posterior, document), _expected(document)
        if np.allclose(found, expected, atol=1e-6):
            continue
        for said, change in MISTAKES.items():
            wrong = _expected(document, **change)
            if np.allclose(found, wrong, atol=1e-6) and not np.allclose(wrong, expected):
                raise FaultError(said)
        raise FaultError(
            f"for {document!r} the probabilities are {np.exp(found).round(4)}, expected "
            f"{np.exp(expected).round(4)}: compare log p(play) and each word's logarithm "
            "with the table in the hint."
        )


def _unseen(fit: Fit, log_posterior: LogPosterior, _: Any) -> None:
    found = _answer(fit, log_posterior, "dagger")
    p = np.array([2 / 3 * ALPHA / (8 + 10 * ALPHA), 1 / 3 * ALPHA / (5 + 10 * ALPHA)])
    if not np.isfinite(found).all():
        raise FaultError(f"a word that no play has makes the answer {found}.")
    if not np.allclose(np.exp(found), p / p.sum(), atol=1e-6):
        raise FaultError(
            f"a word that no play has gives {np.exp(found).round(4)}, expected "
            f"{(p / p.sum()).round(4)}: its count is 0 in every play, its probability is not, "
            "so it must not be skipped."
        )


def _long(fit: Fit, log_posterior: LogPosterior, _: Any) -> None:
    found = _answer(fit, log_posterior, "to be " * 2000)
    if not np.isfinite(found).all() and not np.isneginf(found[1]):
        raise FaultError(
            f"4000 words give {found}: a product of so many probabilities underflows to 0. "
            "Add logarithms."
        )
    if np.isneginf(found).any() or not np.allclose(
        found, _expected("to be " * 2000), rtol=1e-6
    ):
        raise FaultError(
            f"4000 words give {found}, expected {_expected('to be ' * 2000)}: take no "
            "exponential before the largest score is subtracted, and no logarithm of 0."
        )


def _scores(
    fit: Fit, log_posterior: LogPosterior, alpha: float = 0.5
) -> list[tuple[ndarray, ndarray]]:
    """Log-posteriors and plays of the passages to fit and to judge on."""
    train, *others = passages()
    model = fit(*train, alpha)
    return [
        (np.array([log_posterior(model, d) for d in documents]), np.array(plays))
        for documents, plays in others
    ]


def _right(fit: Fit, log_posterior: LogPosterior, _: Any) -> None:
    _, (scores, plays) = _scores(fit, log_posterior)
    share = (scores.argmax(1) == plays).mean()
    if share < 0.6:
        raise FaultError(
            f"of the unread passages {share:.0%} are named correctly; about 66 % can be. The "
            "small example is right, so look at what depends on the number of plays."
        )


def _temperature(_fit: Fit, _: LogPosterior, temperature: Callable[..., Any]) -> None:
    rng = np.random.default_rng(0)
    scores = 6 * rng.normal(size=(4000, 3))
    plays = np.array([rng.choice(3, p=p) for p in softmax(scores, 3.0)])
    found, best = float(temperature(scores, plays)), fit_temperature(scores, plays)
    if not found > 0:
        raise FaultError(f"the temperature is {found}; it must be positive.")
    if abs(found / best - 1) < 0.02:
        return
    if abs(found * best - 1) < 0.02:
        raise FaultError(f"it returns {found:.3f}, one over the temperature {best:.3f}.")
    raise FaultError(
        f"it returns {found:.3f}; the cross-entropy of softmax(scores / T) is smallest at "
        f"T = {best:.3f}."
    )


def _calibrated(fit: Fit, log_posterior: LogPosterior, temperature: Callable[..., Any]) -> None:
    (scores, plays), (judged, truth) = _scores(fit, log_posterior)
    p = softmax(judged, float(temperature(scores, plays)))
    gap = abs(p.max(1).mean() - (p.argmax(1) == truth).mean())
    if gap > 0.05:
        raise FaultError(
            f"on passages that it was not fitted to, the mean confidence is off by {gap:.3f}; "
            "0.03 or less can be reached with one temperature."
        )


SHAPE, BY_HAND, UNSEEN = "shape", "three documents by hand", "an unseen word"
LONG, RIGHT = "a long document", "plays: share of correct answers"
SMALL = "temperature of a small example"
PART_1 = (
    Case(SHAPE, _shape),
    Case(BY_HAND, _by_hand, (SHAPE,)),
    Case(UNSEEN, _unseen, (BY_HAND,)),
    Case(LONG, _long, (BY_HAND,)),
    Case(RIGHT, _right, (UNSEEN, LONG)),
)
PART_2 = (
    Case(SMALL, _temperature),
    Case("plays: calibration", _calibrated, (RIGHT, SMALL)),
)

__all__ = ["FaultError", "Report", "grade", "passages"]
