"""Grader of the project of this page: skip-gram with negative sampling, by hand."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from lab.grading import Case, FaultError, Report, grade_by
from mathlm.reference import numerical_gradient

Code = Callable[..., Any]
V, D, K = 6, 3, 2
TEXT = np.array([0, 3, 1, 1, 4, 0, 2])  # word 1 stands next to itself
CENTERS, CONTEXTS = np.array([1, 4, 1, 0, 1]), np.array([2, 2, 5, 3, 2])
NEGATIVES = np.array([[3, 3], [0, 5], [4, 0], [5, 2], [2, 1]])
COUNTS = np.array([400, 100, 50, 20, 10, 0])
GROUPS, INNER, OUTER = 4, 6, 3  # planted clusters; words that never meet, and their company


def grade(pairs: Code, draw: Code, loss: Code, gradient: Code, train: Code) -> Report:
    """Test skip-gram with negative sampling: pairs, noise, loss, gradient and training.

    Outputs are compared with what is right and with what common mistakes give. The gradient is
    compared with central differences of *your* loss. Your training gets a made-up text with
    four planted clusters, whose words never meet and only share their neighbors. Tests are put
    off while one that they build on fails.

    Args:
        pairs: ``pairs(ids, window)`` returns centers and contexts.
        draw: ``draw(counts, size, rng)`` returns word numbers of shape ``size`` = (N, k).
        loss: ``loss(W, C, centers, contexts, negatives)`` returns a sum over the pairs [nats].
        gradient: With the same arguments, returns dW and dC.
        train: ``train(ids, V, rng)`` returns the tables W and C.

    Returns:
        A report: print it, or read ``passed`` and ``faults``.
    """
    return grade_by(TESTS, pairs, draw, loss, gradient, train, advice=_advice)


def planted(rng: np.random.Generator, sentences: int = 900) -> tuple[ndarray, ndarray]:
    """A text with clusters: a sentence is a word of one cluster between two of its company.

    Two words of a cluster are at least three places apart, always.

    Returns:
        The text as word numbers, and the cluster of each of the first GROUPS * INNER words; the
        words after them are the company.
    """
    group = rng.integers(GROUPS, size=sentences)
    inner = group * INNER + rng.integers(INNER, size=sentences)
    first, last = GROUPS * INNER + group * OUTER + rng.integers(OUTER, size=(2, sentences))
    return np.stack([first, inner, last], axis=1).ravel(), np.repeat(range(GROUPS), INNER)


def recovered(W: ndarray, cluster: ndarray) -> float:
    """Share of the planted words whose nearest planted word is of their cluster."""
    unit = W[: len(cluster)] / np.linalg.norm(W[: len(cluster)], axis=1, keepdims=True)
    nearest = (unit @ unit.T - 3 * np.eye(len(unit))).argmax(1)
    return float((cluster[nearest] == cluster).mean())


def _advice(error: Exception) -> str:
    """What usually raises such an error here."""
    if isinstance(error, ValueError) and "broadcast" in str(error):
        return (
            "The centers have shape (N, d), the noise vectors (N, k, d): give the first a "
            "middle axis, w[:, None]."
        )
    return ""


def _differ(found: Any, right: Any, mistakes: Mapping[str, Any], name: str) -> None:
    """Say which mistake gives what was found, or how far off it is."""
    found = np.asarray(found, float)
    if found.shape != np.shape(right):
        raise FaultError(f"{name} has shape {found.shape}, expected {np.shape(right)}.")
    if np.allclose(found, right, rtol=1e-6, atol=1e-8):
        return
    for sentence, wrong in mistakes.items():
        if np.allclose(found, wrong, rtol=1e-6, atol=1e-8):
            raise FaultError(sentence)
    raise FaultError(f"{name} is off by up to {np.abs(found - right).max():.2g}.")


# --- pairs and noise ------------------------------------------------------------------------


def _windows(ids: ndarray, offsets: Sequence[int], wrap: bool = False) -> Counter:
    """Pairs of each word with the words at some offsets."""
    n = len(ids)
    return Counter(
        (int(ids[i]), int(ids[(i + r) % n]))
        for i in range(n)
        for r in offsets
        if wrap or 0 <= i + r < n
    )


def _wrong_pairs(right: Counter) -> dict[str, Counter]:
    """What common mistakes make of the test text, with a sentence for each."""
    no_twins = Counter({p: n for p, n in right.items() if p[0] != p[1]})
    return {
        "each position is paired with itself; a center is no context of its own.": _windows(
            TEXT, (-2, -1, 0, 1, 2)
        ),
        "only the words after the center are taken; those before it are neighbors too.": (
            _windows(TEXT, (1, 2))
        ),
        "only the words before the center are taken; those after it are neighbors too.": (
            _windows(TEXT, (-2, -1))
        ),
        "the word at distance `window` on the right is missing: the end of a range does not "
        "belong to it.": _windows(TEXT, (-2, -1, 1)),
        "the window is one too small.": _windows(TEXT, (-1, 1)),
        "the window is one too large.": _windows(TEXT, (-3, -2, -1, 1, 2, 3)),
        "the text is closed to a ring: a negative index reads from its end.": _windows(
            TEXT, (-2, -1, 1, 2), wrap=True
        ),
        "a negative index reads from the end of the text.": _windows(TEXT, (-2, -1, 1, 2))
        + Counter(((0, 0), (0, 2), (3, 2))),
        "a word that stands next to the same word again is a pair like others; compare "
        "positions, not words.": no_twins,
    }


def _pairs(pairs: Code, *_others: Code) -> None:
    found = pairs(TEXT.copy(), 2)
    if (
        not isinstance(found, tuple)
        or len(found) != 2
        or np.shape(found[0]) != np.shape(found[1])
    ):
        raise FaultError("pairs must return two arrays of one length, centers and contexts.")
    centers, contexts = (np.asarray(x).ravel().tolist() for x in found)
    got, right = Counter(zip(centers, contexts, strict=True)), _windows(TEXT, (-2, -1, 1, 2))
    mistakes = _wrong_pairs(right)
    if got != right:
        for sentence, wrong in mistakes.items():
            if got == wrong:
                raise FaultError(sentence)
        more, less = got - right, right - got
        raise FaultError(
            f"for the text {TEXT.tolist()} and window 2, {less.total()} pairs are missing "
            f"{list(less)[:3]} and {more.total()} are too many {list(more)[:3]}."
        )


def _draw(_pairs: Code, draw: Code, *_others: Code) -> None:
    rng = np.random.default_rng(0)
    first = np.asarray(draw(COUNTS.copy(), (4000, 3), rng))
    if first.shape != (4000, 3):
        raise FaultError(
            f"draw must return the shape {(4000, 3)} asked for, not {first.shape}."
        )
    if first.dtype.kind not in "iu" or first.min() < 0 or first.max() >= V:
        raise FaultError(f"draw must return word numbers from 0 to {V - 1}.")
    if np.array_equal(first, draw(COUNTS.copy(), (4000, 3), rng)):
        raise FaultError("a second call draws the same words: use the `rng` that is handed in.")
    if (first == first[:, :1]).all():
        raise FaultError("the k words of a pair are one word k times; draw each by itself.")
    shares = np.bincount(first.ravel(), minlength=V) / first.size
    q = {p: COUNTS**p / (COUNTS**p).sum() for p in (0.75, 1.0, 0.5, 4 / 3)}
    mistakes = {
        "words are drawn as often as they occur; flatten the counts by the power 3/4.": q[1.0],
        "all words are drawn equally often; use the counts.": np.full(V, 1 / V),
        "all words that occur are drawn equally often; use the counts.": (COUNTS > 0) / 5,
        "the counts are raised to 4/3; the power is 3/4.": q[4 / 3],
        "the square root of the counts is taken; the power is 3/4.": q[0.5],
    }
    if np.abs(shares - q[0.75]).sum() > 0.05:
        for sentence, wrong in mistakes.items():
            if np.abs(shares - wrong).sum() < 0.05:
                raise FaultError(sentence)
        raise FaultError(
            f"words are drawn with shares {shares.round(3)}, not {q[0.75].round(3)}."
        )


# --- loss and gradient ----------------------------------------------------------------------


def _tables(scale: float = 1.0) -> tuple[ndarray, ndarray]:
    W, C = scale * np.random.default_rng(0).normal(size=(2, V, D))
    return W, C


def _scores(W: ndarray, C: ndarray) -> tuple[ndarray, ndarray]:
    """Scores of the seen pairs (N) and of the noise (N, k)."""
    w = W[CENTERS]
    return (C[CONTEXTS] * w).sum(-1), (C[NEGATIVES] * w[:, None]).sum(-1)


def _right(W: ndarray, C: ndarray) -> float:
    seen, noise = _scores(W, C)
    return float(np.logaddexp(0, -seen).sum() + np.logaddexp(0, noise).sum())


def _loss(_pairs: Code, _draw: Code, loss: Code, *_others: Code) -> None:
    W, C = _tables()
    seen, noise = (np.logaddexp(0, x) for x in (-_scores(W, C)[0], _scores(W, C)[1]))
    right, as_seen = _right(W, C), np.logaddexp(0, -_scores(W, C)[1])
    mistakes = {
        "the noise is missing: each drawn word adds -log σ(-c·w).": seen.sum(),
        "the seen context is missing: it adds -log σ(c·w).": noise.sum(),
        "noise words are treated like seen ones: their score enters as σ(-c·w).": (
            seen.sum() + as_seen.sum()
        ),
        "it is the log likelihood; the loss is its negative.": -right,
        "it is the mean over the pairs; this loss is their sum.": right / len(CENTERS),
        "the noise of a pair is averaged; its k terms are added.": seen.sum() + noise.sum() / K,
        "it is in bits: take the natural logarithm.": right / np.log(2),
        "the tables are exchanged: centers are rows of W, contexts and noise rows of C.": (
            _right(C, W)
        ),
        "the centers are read from C; they are rows of W.": _right(C, C),
        "the contexts are read from W; they are rows of C.": _right(W, W),
    }
    _differ(loss(W, C, CENTERS, CONTEXTS, NEGATIVES), right, mistakes, "the loss")


def _large(_pairs: Code, _draw: Code, loss: Code, *_others: Code) -> None:
    W, C = _tables(100.0)
    found = float(loss(W, C, CENTERS, CONTEXTS, NEGATIVES))
    if not np.isfinite(found):
        raise FaultError(
            f"scores of some thousands give {found}: σ has become 0 and its logarithm minus "
            "infinity. -log σ(x) = log(1 + e⁻ˣ) is np.logaddexp(0, -x)."
        )
    _differ(found, _right(W, C), {}, "the loss")


def _form(_pairs: Code, _draw: Code, _loss: Code, gradient: Code, _train: Code) -> None:
    W, C = _tables()
    before = W.copy(), C.copy()
    found = gradient(W, C, CENTERS, CONTEXTS, NEGATIVES)
    if not isinstance(found, tuple) or [np.shape(g) for g in found] != [W.shape, C.shape]:
        raise FaultError(f"gradient must return dW and dC, two tables of shape {W.shape}.")
    if not (np.array_equal(W, before[0]) and np.array_equal(C, before[1])):
        raise FaultError(
            "gradient changes the tables; it only says in which direction they go."
        )


def _parts(W: ndarray, C: ndarray) -> tuple[ndarray, ndarray, ndarray, ndarray]:
    """What each pair adds: to w from the seen word and from the noise, to c_o and to c_n."""
    w, (seen, noise) = W[CENTERS], _scores(W, C)
    g_o, g_n = 1 / (1 + np.exp(-seen)) - 1, 1 / (1 + np.exp(-noise))
    return (
        g_o[:, None] * C[CONTEXTS],
        g_n[..., None] * C[NEGATIVES],
        g_o[:, None] * w,
        g_n[..., None] * w[:, None],
    )


def _gather(rows: ndarray, parts: ndarray, once: bool = False) -> ndarray:
    """A table with the parts added to their rows; ``once``: the last one of a row only."""
    table = np.zeros((V, D))
    if once:
        table[rows] += parts
    else:
        np.add.at(table, rows, parts)
    return table


REPEATED = (
    "a word that occurs more than once among them gets one of its gradients only: "
    "`dW[ids] += g` writes a row once; use np.add.at."
)


def _gradient_w(_pairs: Code, _draw: Code, loss: Code, gradient: Code, _train: Code) -> None:
    W, C = _tables()
    found = gradient(W, C, CENTERS, CONTEXTS, NEGATIVES)[0]
    right = numerical_gradient(lambda x: loss(x, C, CENTERS, CONTEXTS, NEGATIVES), W)
    from_seen, from_noise, _, _ = _parts(W, C)
    both = from_seen + from_noise.sum(1)
    mistakes = {
        REPEATED: _gather(CENTERS, both, once=True),
        "the noise words do not push: add g_m c_m for each of them.": _gather(
            CENTERS, from_seen
        ),
        "the seen word does not pull: add g_o c_o.": _gather(CENTERS, from_noise.sum(1)),
        "it has the wrong sign: it is the gradient of the likelihood, not of the loss.": -right,
        "it is divided by the number of pairs; the loss is their sum.": right / len(CENTERS),
        "the pull of the seen word has the strength σ; it is σ - 1.": _gather(
            CENTERS, both + C[CONTEXTS]
        ),
    }
    _differ(found, right, mistakes, "dW")


def _gradient_c(_pairs: Code, _draw: Code, loss: Code, gradient: Code, _train: Code) -> None:
    W, C = _tables()
    found = gradient(W, C, CENTERS, CONTEXTS, NEGATIVES)[1]
    right = numerical_gradient(lambda x: loss(W, x, CENTERS, CONTEXTS, NEGATIVES), C)
    _, _, to_seen, to_noise = _parts(W, C)
    seen, noise = _gather(CONTEXTS, to_seen), _gather(NEGATIVES, to_noise)
    once = _gather(CONTEXTS, to_seen, once=True)
    mistakes = {
        REPEATED: once + _gather(NEGATIVES, to_noise, once=True),
        REPEATED + " ": once + noise,
        REPEATED + "  ": seen + _gather(NEGATIVES, to_noise, once=True),
        "the rows of the noise words are missing.": seen,
        "the rows of the seen contexts are missing.": noise,
        "it has the wrong sign: it is the gradient of the likelihood, not of the loss.": -right,
        "it is divided by the number of pairs; the loss is their sum.": right / len(CENTERS),
    }
    _differ(found, right, mistakes, "dC")


# --- training -------------------------------------------------------------------------------


def _clusters(pairs: Code, draw: Code, _loss: Code, _gradient: Code, train: Code) -> None:
    rng = np.random.default_rng(0)
    text, cluster = planted(rng)
    size = GROUPS * (INNER + OUTER)
    found = train(text.copy(), size, rng)
    if not isinstance(found, tuple) or len(found) != 2:
        raise FaultError("train must return the two tables W and C.")
    W, C = (np.asarray(x, float) for x in found)
    if W.ndim != 2 or W.shape != C.shape or len(W) != size:
        raise FaultError(f"W and C have shapes {W.shape} and {C.shape}, expected ({size}, d).")
    if not (np.isfinite(W).all() and np.isfinite(C).all()):
        raise FaultError("the tables hold NaN or infinity: the step size is too large.")
    if not (W.any() and C.any()):
        raise FaultError(
            "a table is all 0. If both start at 0 every gradient is 0 for ever: begin with "
            "small random vectors in one of them; and both must be updated."
        )
    centers, contexts = (np.asarray(x) for x in pairs(text, 2))
    noise = draw(np.bincount(text, minlength=size), (len(centers), 5), rng)
    seen = (W[centers] * C[contexts]).sum(-1)
    made_up = np.einsum("nd,nkd->nk", W[centers], C[noise])
    cost = np.logaddexp(0, -seen).mean() + np.logaddexp(0, made_up).sum(1).mean()
    if cost > 6 * np.log(2) + 0.01:
        raise FaultError(
            f"after training the loss is {cost:.2f} nats per pair, more than 6 log 2 = 4.16, "
            "which knowing nothing costs: is the gradient added where it must be subtracted, "
            "or is the step too large?"
        )
    share = recovered(W, cluster)
    if share < 0.9:
        raise FaultError(
            f"the loss is {cost:.2f} nats per pair (4.16 at the start), and {share:.0%} of the "
            "planted words have a word of their cluster as nearest neighbor; 90 % is asked. "
            "Are all pairs visited several times, in random order, each time with fresh noise?"
        )


PAIRS, NOISE, LOSS = "pairs: a window of two", "draw: the noise distribution", "loss: by hand"
FORM, GRAD_W, GRAD_C = "gradient: shapes", "gradient: centers (dW)", "gradient: contexts (dC)"
TESTS = (
    Case(PAIRS, _pairs),
    Case(NOISE, _draw),
    Case(LOSS, _loss),
    Case("loss: large scores", _large, (LOSS,)),
    Case(FORM, _form, (LOSS,)),
    Case(GRAD_W, _gradient_w, (FORM,)),
    Case(GRAD_C, _gradient_c, (FORM,)),
    Case("train: planted clusters are found", _clusters, (PAIRS, NOISE)),
)
