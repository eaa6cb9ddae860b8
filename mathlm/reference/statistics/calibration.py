"""Does it happen seventy times in a hundred when the model says 0.7?

References:
    Guo, Pleiss, Sun and Weinberger (2017), arXiv:1706.04599.
"""

from typing import NamedTuple

import numpy as np
from numpy import ndarray

from ...errors import InputError, InputTypeError
from ...shapes import Float, Int
from .softmax import log_softmax


class Reliability(NamedTuple):
    """What a model said and what came true, in bins of what it said; empty bins are left out.

    Args:
        confidence: Mean stated probability in each bin.
        accuracy: Share that came true in each bin.
        counts: Predictions in each bin.
    """

    confidence: Float[ndarray, " K"]
    accuracy: Float[ndarray, " K"]
    counts: Int[ndarray, " K"]


def reliability_curve(confidence: ndarray, correct: ndarray, bins: int = 10) -> Reliability:
    """Stated probability against observed frequency, in bins of equal width.

    Computes::

        conf_k = mean of c_n,   acc_k = mean of [correct_n],   n in bin k: k/K ≤ c_n < (k+1)/K

    A confidence of exactly 1 belongs to the last bin.

    Args:
        confidence: Stated probabilities c, N of them in [0, 1].
        correct: Whether what was stated came true, N booleans.
        bins: Number of bins, K.

    Returns:
        Mean confidence, accuracy and count of each bin that is not empty.

    Raises:
        InputError: If there is nothing to bin, the lengths differ, a confidence is outside
            [0, 1], or bins is below 1.
        InputTypeError: If ``correct`` is not boolean.

    Example:
        >>> said, right = np.array([0.65, 0.65, 0.95]), np.array([True, False, True])
        >>> curve = reliability_curve(said, right)
        >>> curve.confidence, curve.accuracy, curve.counts
        (array([0.65, 0.95]), array([0.5, 1. ]), array([2, 1]))
    """
    _require_predictions(confidence, correct, bins)
    k = np.searchsorted(np.arange(1, bins) / bins, confidence, side="right")
    count = np.bincount(k, minlength=bins)
    used = count > 0
    said = np.bincount(k, weights=confidence, minlength=bins)[used] / count[used]
    true = np.bincount(k, weights=correct, minlength=bins)[used] / count[used]
    return Reliability(said, true, count[used])


def expected_calibration_error(confidence: ndarray, correct: ndarray, bins: int = 10) -> float:
    """Average gap between what was said and what came true.

    Implements eq-ece::

        ECE = Σ_k (N_k / N) |acc_k - conf_k|

    Args:
        confidence: Stated probabilities, in [0, 1].
        correct: Whether what was stated came true.
        bins: Number of bins, K; more bins raise the ECE of any finite sample.

    Returns:
        ECE, between 0 and 1.

    Raises:
        InputError, InputTypeError: As :func:`reliability_curve`.

    Example:
        >>> confidence, correct = np.full(4, 0.75), np.array([True, True, True, False])
        >>> round(float(expected_calibration_error(confidence, correct)), 6)
        0.0
    """
    curve = reliability_curve(confidence, correct, bins)
    gap = np.abs(curve.accuracy - curve.confidence)
    return float((curve.counts * gap).sum() / curve.counts.sum())


def fit_temperature(logits: ndarray, targets: ndarray, steps: int = 50) -> float:
    """Temperature that makes the targets most likely.

    Implements eq-temperature-fit::

        β ← β - (mean E_p[z] - mean z_y) / mean Var_p(z),   p = softmax(β z),   T = 1 / β

    Newton's method on the mean cross-entropy, which is convex in β. A step that would leave
    β > 0, or raise the loss, is halved until it does neither. Scores are counted in their mean
    distance from the top score, so that their unit does not matter.

    Args:
        logits: Scores z, (N, V), one row for each prediction.
        targets: Index y of what came true, N integers.
        steps: Newton steps at most, at least 1; it stops when β is exact to 1e-12, or when
            rounding of the loss hides the rest.

    Returns:
        T > 0; above 1 for a model that was too sure.

    Raises:
        InputError: If the shapes do not fit, a target is out of range, or no temperature is
            best: every target has the top score, the targets score below average, or all
            scores of each row are equal.
        InputTypeError: If the targets are not integers.

    Example:
        >>> logits = np.array([[2 * np.log(3.0), 0.0]] * 4)  # says 9 to 1, and 3 of 4 are right
        >>> round(fit_temperature(logits, np.array([0, 0, 0, 1])), 6)
        2.0
    """
    _require_logits(logits, targets, steps)
    z = logits - logits.max(-1, keepdims=True)
    z_y = z[np.arange(len(z)), targets]
    _require_optimum(z, z_y)
    unit = -float(z.mean())
    z, z_y, beta = z / unit, z_y / unit, 1.0
    for _ in range(steps):
        slope, curvature = _derivatives(z, z_y, beta)
        step = _safe_step(z, z_y, beta, slope / curvature)
        beta -= step
        if abs(step) < 1e-12 * beta:
            break
    return unit / beta


def _loss(z: ndarray, z_y: ndarray, beta: float) -> float:
    log_sum = -log_softmax(beta * z).max(-1)  # the top score is 0
    return float((log_sum - beta * z_y).mean())


def _derivatives(z: ndarray, z_y: ndarray, beta: float) -> tuple[float, float]:
    """First and second derivative of the mean cross-entropy in β."""
    p = np.exp(log_softmax(beta * z))
    mean = (p * z).sum(-1)
    var = (p * (z - mean[:, None]) ** 2).sum(-1)
    return float((mean - z_y).mean()), max(float(var.mean()), np.finfo(float).tiny)


def _safe_step(z: ndarray, z_y: ndarray, beta: float, step: float) -> float:
    before = _loss(z, z_y, beta)
    while beta - step <= 0 or _loss(z, z_y, beta - step) > before + 1e-15 * abs(before):
        step /= 2
        if abs(step) < 1e-14 * beta:
            return 0.0
    return step


def _require_optimum(z: ndarray, z_y: ndarray) -> None:
    if (z_y == 0).all():
        raise InputError(
            f"every one of the {len(z)} targets has the top score, so the loss falls as T goes "
            "to 0 and no temperature is best; fit on data where the model errs"
        )
    if z_y.mean() <= z.mean():
        raise InputError(
            f"targets score {z_y.mean():.6g} on average and all outcomes {z.mean():.6g} (below "
            "the top score): the scores do not favor the targets, so no temperature is best"
        )


def _require_logits(logits: ndarray, targets: ndarray, steps: int) -> None:
    if steps < 1:
        raise InputError(f"steps={steps} must be at least 1")
    if logits.ndim != 2 or logits.shape[:1] != targets.shape or logits.size == 0:
        raise InputError(
            f"logits {logits.shape} and targets {targets.shape} do not fit: need (N, V) and "
            "(N,) with N >= 1"
        )
    if not np.isfinite(logits).all():
        raise InputError("logits must be finite; give impossible outcomes a low score")
    if not np.issubdtype(targets.dtype, np.integer):
        raise InputTypeError(f"targets have dtype {targets.dtype}; need integers")
    if targets.min() < 0 or targets.max() >= logits.shape[1]:
        raise InputError(
            f"targets run from {targets.min()} to {targets.max()}, outside the "
            f"{logits.shape[1]} outcomes"
        )


def _require_predictions(confidence: ndarray, correct: ndarray, bins: int) -> None:
    if confidence.shape != correct.shape or confidence.size == 0 or confidence.ndim != 1:
        raise InputError(
            f"confidence {confidence.shape} and correct {correct.shape} must be rows of one "
            "length, at least 1"
        )
    if correct.dtype != np.bool_:
        raise InputTypeError(f"correct has dtype {correct.dtype}; say True or False")
    if bins < 1:
        raise InputError(f"bins={bins} must be at least 1")
    outside = ~((confidence >= 0) & (confidence <= 1))
    if outside.any():
        raise InputError(f"confidence has the entry {confidence[outside][0]}, outside [0, 1]")
