"""One ability under several metrics: smooth for each step, sharp for the whole task."""

import math

import numpy as np

from mathlm.errors import InputError
from mathlm.scaling.power_law import Numbers, positive
from mathlm.shapes import Bool, Float


def whole_task_accuracy(step_accuracy: Numbers, steps: int) -> Float[np.ndarray, " N"]:
    """Probability that every step of a task is right, if each is right by itself.

    Implements eq-limits-steps::

        a^k

    Args:
        step_accuracy: Probability a of each step.
        steps: How many steps k.

    Returns:
        One probability for each a.

    Raises:
        InputError: If a probability lies outside [0, 1], or there is no step.
    """
    return shares(step_accuracy) ** at_least_one(steps)


def step_accuracy_needed(whole: float | int, steps: int) -> float:
    """Accuracy of each of k steps at which the whole task has a given accuracy.

    Computes::

        whole^(1/k),   so 1 - a ≈ log(1/whole) / k for many steps

    Args:
        whole: Accuracy of the whole task, above 0.
        steps: k.

    Returns:
        a.

    Raises:
        InputError: As :func:`whole_task_accuracy`, or if the whole accuracy is 0.
    """
    [accuracy] = shares([whole])
    if accuracy == 0:
        raise InputError("whole=0 is the accuracy of every step that is never right: give more")
    return float(accuracy ** (1 / at_least_one(steps)))


def enough_steps_right(
    step_accuracy: Numbers, steps: int, needed: int
) -> Float[np.ndarray, " N"]:
    """Probability that at least some of the steps are right.

    Computes::

        Σ_{j >= needed} C(k, j) a^j (1 - a)^(k - j)

    Args:
        step_accuracy: Probability a of each step.
        steps: k.
        needed: How many must be right, from 0 to k.

    Returns:
        One probability for each a.

    Raises:
        InputError: As :func:`whole_task_accuracy`, or if needed lies outside its range.
    """
    a, k = shares(step_accuracy), at_least_one(steps)
    if not 0 <= needed <= k:
        raise InputError(f"needed={needed} must lie between 0 and the {k} steps")
    terms = [math.comb(k, j) * a**j * (1 - a) ** (k - j) for j in range(needed, k + 1)]
    return np.sum(terms, axis=0)


def exact_match_from_loss(loss: Numbers, length: int) -> Float[np.ndarray, " N"]:
    """Probability of a whole answer from the loss of its tokens.

    Computes::

        exp(-length · loss)

    exactly, if the loss is that of this answer; of several answers, whose mean this is not,
    it is the least that their mean can be, by Jensen's inequality.

    Args:
        loss: Mean loss of each token of the answer [nats].
        length: Tokens.

    Returns:
        One probability for each loss.

    Raises:
        InputError: If a loss is not positive, or there is no token.
    """
    return np.exp(-at_least_one(length) * positive("loss", loss))


def sigmoid_accuracy(
    loss: Numbers, middle: float | int, slope: float | int, chance: float | int = 0.0
) -> Float[np.ndarray, " N"]:
    """Accuracy on a task as a sigmoid of the loss.

    Computes::

        chance + (1 - chance) / (1 + exp(slope (loss - middle)))

    Args:
        loss: Of the model on text [nats].
        middle: Loss at which half of what lies above chance is reached.
        slope: Steepness there [1/nat]; positive.
        chance: Accuracy of a guess.

    Returns:
        One accuracy for each loss.

    Raises:
        InputError: If a loss or the slope is not positive, or chance is not below 1.
    """
    if not slope > 0 or not 0 <= chance < 1:
        raise InputError(f"slope={slope} must be positive and chance={chance} in [0, 1)")
    z = slope * (positive("loss", loss) - middle)
    return chance + (1 - chance) * 0.5 * (1 - np.tanh(z / 2))


def answer_scores(
    right: Bool[np.ndarray, "N T"], logp: Float[np.ndarray, "N T"]
) -> dict[str, float]:
    """The same answers under three metrics.

    Args:
        right: Whether each token of each answer was the most probable one.
        logp: Log-probability of each right token [nats].

    Returns:
        ``token``: share of tokens right; ``exact``: share of answers with every token right;
        ``loss``: mean of -logp [nats/token]; ``independent``: ``Π_t`` of the share right at
        token t, which ``exact`` would be if mistakes did not come together.

    Raises:
        InputError: If the shapes differ, there is no token, or a logp is above 0.
    """
    if right.shape != logp.shape or right.size == 0:
        raise InputError(f"right {right.shape} and logp {logp.shape} must be equal, not empty")
    if not (logp <= 1e-9).all():
        raise InputError(f"logp holds {logp.max():.3g}; log-probabilities are 0 or less")
    return {
        "token": float(right.mean()),
        "exact": float(right.all(1).mean()),
        "loss": float(-logp.mean()),
        "independent": float(right.mean(0).prod()),
    }


def shares(values: Numbers) -> Float[np.ndarray, " N"]:
    """A row of numbers from 0 to 1."""
    row = np.asarray(values, dtype=float)
    if row.ndim != 1 or not ((row >= 0) & (row <= 1)).all():
        raise InputError(f"{row.tolist()} must be one row of probabilities between 0 and 1")
    return row


def at_least_one(count: int) -> int:
    """A number of steps or tokens."""
    if count < 1:
        raise InputError(f"a task of {count} steps has no accuracy; expected at least 1")
    return count
