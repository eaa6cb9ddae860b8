"""Grader of the project of this page: a reward model, and a probe that length cannot help.

from lab.reward_models import project
project.grade(read, loss_and_gradient)                 # parts 1 and 2
project.grade(read, loss_and_gradient, probe, learn)   # all of it
project.on_people(learn, probe)                        # the conversations of this page
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lab.grading import Case, FaultError, Report, advice_on_shapes, grade_by
from mathlm.reference import numerical_gradient, spearman
from mathlm.text import ratings
from mathlm.text.corpora.ratings import Rated

from .length_features import log_length
from .length_learning import PAIRS, WIDTH, Side, split
from .length_pairs import some

Array = NDArray[np.float64]
Read = Callable[[Array, NDArray[np.bool_]], Any]
Loss = Callable[[Array, Array], Any]
Probe = Callable[[Array, Array, NDArray[np.int64], float], Any]
Learn = Callable[[Array, Array], Any]
GOOD, RAISED = 0.9, 0.25  # accuracy wanted at equal length; rise allowed [standard deviations]
WORTH = np.array([1.0, 0.5, 0, 0, 0, 0, 0, 0])  # of the features, at equal length [nats]
OF_LENGTH = np.array([0, 0, 1.0, 1.0, 1.0, 1.0, 0, 0])  # how features grow with log length
LONGER = 2.5  # what a unit of log length is worth to the judges of the test [nats]
HINT = "d has one row for each pair and one column for each feature."


def grade(
    read: Read, loss_and_gradient: Loss, probe: Probe | None = None, learn: Learn | None = None
) -> Report:
    """Test an implementation; parts 3 and 4 if they are given.

    Args:
        read: ``read(states, mask)``: state of each row's last real token, (B, D).
        loss_and_gradient: ``loss_and_gradient(w, d)``: mean loss, and its gradient (F,).
        probe: ``probe(scores, log_length, pairs, width)``: accuracy at equal length.
        learn: ``learn(d, d_length)``: weights (F,) in which length has no part.

    Returns:
        A report: print it, or read ``passed`` and ``faults``.
    """
    tests = [*_of(READING, read), *_of(FITTING, loss_and_gradient)]
    later = {"probe": (PROBING, probe), "learn": (LEARNING, learn)}
    tests += [case for cases, function in later.values() for case in _of(cases, function)]
    missing = [name for name, (_, function) in later.items() if function is None]
    note = f"Not tested yet: {', '.join(missing)}." if missing else ""
    return grade_by(tests, advice=advice_on_shapes(HINT), note=note)


def on_people(
    learn: Learn, probe: Probe, conversations: Sequence[Rated] | None = None
) -> dict[str, tuple[float, float]]:
    """What a reader's way of learning makes of rated conversations, next to plain fitting.

    Args:
        learn: The reader's, as for :func:`grade`.
        probe: The reader's, as for :func:`grade`.
        conversations: None = those of the page.

    Returns:
        For "plain" and for "yours": accuracy on held-out pairs of equal length, and rank
        correlation of the score with length.
    """
    everything = ratings.load() if conversations is None else conversations
    train, held_out, _ = split(everything)
    found = {}
    for name, way in (("plain", _plain), ("yours", learn)):
        scores = held_out.words @ np.asarray(way(*_differences(train)), dtype=np.float64)
        length = log_length(held_out.conversations)
        accuracy = float(probe(scores, length, held_out.pairs, WIDTH))
        found[name] = (accuracy, spearman(scores, length))
    return found


def _differences(side: Side) -> tuple[Array, Array]:
    """Features and log lengths of chosen less those of rejected."""
    chosen, rejected = some(side.pairs, PAIRS).T
    length = log_length(side.conversations)
    return side.words[chosen] - side.words[rejected], length[chosen] - length[rejected]


def _plain(d: Array, d_length: Array) -> Array:
    """Weights without a thought of length, by Newton's method with a small ridge."""
    w = np.zeros(d.shape[1])
    for _ in range(10):
        p = 1 / (1 + np.exp(-d @ w))
        slope = ((1 - p)[:, None] * d).mean(0) - 1e-3 * w
        curvature = (d * (p * (1 - p))[:, None]).T @ d / len(d) + 1e-3 * np.eye(len(w))
        w += np.linalg.solve(curvature, slope)
    return w


def _of(cases: Sequence[Case], function: Callable | None) -> list[Case]:
    """The tests of one part, given the function; none without it."""
    if function is None:
        return []
    return [case._replace(run=partial(case.run, function)) for case in cases]


def _array(found: Any, shape: tuple[int, ...], name: str) -> Array:
    """What was returned as an array of the shape that is wanted."""
    array = np.asarray(found, dtype=np.float64)
    if array.shape != shape:
        raise FaultError(f"{name} has the shape {array.shape}; it must have {shape}.")
    return array


# --- part 1 ---------------------------------------------------------------------------------


def _batch(side: str) -> tuple[Array, NDArray[np.bool_], Array]:
    """States, a mask with padding on one side, and the states that are to be read."""
    lengths, T = (5, 2, 7), 7
    states = np.random.default_rng(1).normal(size=(3, T, 4))
    mask = np.zeros((3, T), dtype=bool)
    for row, n in zip(mask, lengths, strict=True):
        row[slice(0, n) if side == "right" else slice(T - n, T)] = True
    last = [n - 1 if side == "right" else T - 1 for n in lengths]
    return states, mask, states[np.arange(3), last]


def _right(read: Read) -> str | None:
    states, mask, wanted = _batch("right")
    found = _array(read(states, mask), (3, 4), "the result")
    means = (states * mask[..., None]).sum(1) / mask.sum(1, keepdims=True)
    mistakes = {
        "it reads the last column, which is padding in two of three rows.": states[:, -1],
        "it reads the first token, which has seen nothing of the answer.": states[:, 0],
        "it takes the mean over the real tokens; that of the last one is wanted.": means,
    }
    for said, mistake in mistakes.items():
        if np.allclose(found, mistake):
            return said
    return None if np.allclose(found, wanted) else "it reads another place than the last True."


def _left(read: Read) -> str | None:
    states, mask, wanted = _batch("left")
    found = _array(read(states, mask), (3, 4), "the result")
    if np.allclose(found, states[np.arange(3), mask.sum(1) - 1]):
        return (
            "with padding on the left it counts the real tokens and reads that column; the "
            "last True of the mask stands elsewhere."
        )
    return None if np.allclose(found, wanted) else "padding on the left changes what is read."


READING = (Case("reading, padding right", _right), Case("reading, padding left", _left))


# --- part 2 ---------------------------------------------------------------------------------


def _pair(function: Loss, w: Array, d: Array) -> tuple[float, Array]:
    found = function(w, d)
    if not isinstance(found, tuple) or len(found) != 2:
        raise FaultError("it must return two things: the mean loss, and its gradient.")
    return float(_array(found[0], (), "the loss")), _array(found[1], w.shape, "the gradient")


def _case() -> tuple[Array, Array]:
    rng = np.random.default_rng(2)
    return rng.normal(size=3), rng.normal(size=(20, 3))


def _loss(function: Loss) -> str | None:
    w, d = _case()
    found, z = _pair(function, w, d)[0], d @ w
    mistakes = {
        "": np.log1p(np.exp(-z)).mean(),
        "the loss is a sum; the mean over pairs is wanted.": np.log1p(np.exp(-z)).sum(),
        "the loss has the wrong sign: it is to be small where the chosen one scores higher.": (
            -np.log1p(np.exp(-z)).mean()
        ),
        "the loss prefers what was rejected: -log σ(z) with z = d·w.": (
            np.log1p(np.exp(z)).mean()
        ),
        "the loss is in bits; nats are wanted.": np.log1p(np.exp(-z)).mean() / np.log(2),
    }
    for said, mistake in mistakes.items():
        if np.isclose(found, mistake):
            return said or None
    return "the loss is not the mean of -log σ(d·w)."


def _gradient(function: Loss) -> str | None:
    w, d = _case()
    found = _pair(function, w, d)[1]
    wanted = numerical_gradient(lambda v: float(np.log1p(np.exp(-d @ v)).mean()), w)
    p = 1 / (1 + np.exp(-d @ w))
    mistakes = {
        "": wanted,
        "the gradient has the wrong sign: it points to where the loss grows.": -wanted,
        "the gradient is that of the sum; the mean over pairs is wanted.": len(d) * wanted,
        "each pair pulls by the probability of its own choice; it is that of the other one.": (
            -(p[:, None] * d).mean(0)
        ),
    }
    for said, mistake in mistakes.items():
        if np.allclose(found, mistake, atol=1e-6):
            return said or None
    return "the gradient is not that of the mean loss: compare it with central differences."


def _far(function: Loss) -> str | None:
    for z in (1000.0, -1000.0):
        loss, slope = _pair(function, np.ones(1), np.full((2, 1), z))
        if not (np.isfinite(loss) and np.isfinite(slope).all()):
            return f"at a difference of {z:g} nats the loss or its gradient is not finite."
        if not np.isclose(loss, max(0.0, -z)):
            return f"at a difference of {z:g} nats the loss is {loss:g}, not {max(0.0, -z):g}."
        if not np.allclose(slope, max(0.0, -z)):  # -(1 - σ(z)) z
            return f"at a difference of {z:g} nats the gradient is not {max(0.0, -z):g}."
    return None


FITTING = (
    Case("the loss", _loss),
    Case("its gradient", _gradient, ("the loss",)),
    Case("large differences", _far, ("the loss",)),
)


# --- part 3 ---------------------------------------------------------------------------------


def _probed(probe: Probe, scores: Sequence[float], lengths: Sequence[float]) -> float:
    """Accuracy at a width of 0.2 on pairs that are given as (better, worse, better, ...).

    In the arrays of the probe all better ones come first, so that it has to use the pairs.
    """
    pairs = np.arange(len(scores)).reshape(2, -1).T
    better_first, as_long = (np.array(x).reshape(-1, 2).T.ravel() for x in (scores, lengths))
    found = probe(better_first, as_long, pairs, 0.2)
    return float(_array(found, (), "the accuracy"))


def _equal(probe: Probe) -> str | None:
    scores = [1.0, 0, 0, 1, 1, 0, 1, 0, 1, 0]
    lengths = [3.0, 3, 3, 3.1, 3.1, 3, 3, 5, 5, 3]  # the last two pairs are not equally long
    found = _probed(probe, scores, lengths)
    if np.isclose(found, 4 / 5):
        return "it counts all pairs; those that differ in length are to be left out."
    if np.isclose(found, 1 / 3):
        return "it counts where the worse one scores higher: the better one stands first."
    if np.isclose(found, 3 / 4):
        return "it leaves out only one side: take the absolute difference of the log lengths."
    return None if np.isclose(found, 2 / 3) else f"it is {found:.3f} where 2 of 3 are right."


def _ties(probe: Probe) -> str | None:
    found = _probed(probe, [1.0, 1, 1, 0], [3.0, 3, 3, 3])
    if np.isclose(found, 3 / 4):
        return None
    return f"equal scores count one half: it is {found:.3f} for a tie and a right one."


def _edge(probe: Probe) -> str | None:
    found = _probed(probe, [1.0, 0, 0, 1, 0, 1], [3.0, 3, 0.2, 0, 3.3, 3])  # 0.2 exactly
    if np.isclose(found, 1 / 2):
        return None
    return f"pairs that differ by the width at most count: 1 of 2 is right, not {found:.3f}."


PROBING = (Case("pairs of equal length", _equal), Case("ties", _ties), Case("width", _edge))


# --- part 4 ---------------------------------------------------------------------------------


def compared(seed: int, number: int = 6000) -> tuple[Array, Array]:
    """Differences of features and of log length, by judges who like what is long.

    Two features are worth something, four grow with length only, two are noise.
    """
    rng = np.random.default_rng([seed, 5])
    length = rng.normal(size=(2, number))
    x = rng.normal(size=(2, number, len(WORTH))) + length[..., None] * OF_LENGTH
    d, d_length = x[0] - x[1], length[0] - length[1]
    won = rng.logistic(size=number) < d @ WORTH + LONGER * d_length
    sign = np.where(won, 1, -1)
    return d * sign[:, None], d_length * sign


def _weights(learn: Learn, seed: int) -> Array:
    d, d_length = compared(seed)
    found = np.asarray(learn(d.copy(), d_length.copy()), dtype=np.float64)
    if found.shape == (len(WORTH) + 1,):
        raise FaultError(
            f"it returns {len(found)} weights for {len(WORTH)} features: length takes part in "
            "the fit, and is left out of the score."
        )
    return _array(found, WORTH.shape, "the result")


def _longer(learn: Learn) -> str | None:
    """What happens to the scores of answers that get longer and change in nothing else."""
    rises = []
    for seed in range(3):
        w = _weights(learn, seed)
        if not np.isfinite(w).all() or not w.any():
            return "the weights are all 0, or not finite."
        spread = np.linalg.norm(w)  # standard deviation of the scores at one length
        rises.append(float(w @ OF_LENGTH * np.log(2) / spread))
    rise = float(np.mean(rises))
    if abs(rise) <= RAISED:
        return None
    return (
        f"twice the length and nothing else moves a score by {rise:+.2f} standard deviations: "
        "the features carry length. Let it take part in the fit, or learn from equal lengths."
    )


def _orders(learn: Learn) -> str | None:
    """Accuracy on new pairs of equal length, by what the features are really worth."""
    d = np.random.default_rng([9, 5]).normal(size=(20_000, len(WORTH)))
    right = []
    for seed in range(3):
        w = _weights(learn, seed)
        right.append(float((np.sign(d @ w) == np.sign(d @ WORTH)).mean()))
    share = float(np.mean(right))
    if share < 0.5:
        return f"{share:.0%} right on pairs of equal length: it prefers what was rejected."
    if share < GOOD:
        return (
            f"{share:.0%} right on new pairs of equal length, {GOOD:.0%} are wanted: the "
            "weights are noisy, or length is in them. How many pairs does each weight rest on?"
        )
    return None


LEARNING = (
    Case("longer answers", _longer),
    Case("accuracy at equal length", _orders, ("longer answers",)),
)

__all__ = ["compared", "grade", "on_people"]
