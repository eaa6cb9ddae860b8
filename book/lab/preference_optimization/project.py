"""Grader of the project of this page: DPO from the equation, with a gradient check.

from lab.preference_optimization.project import grade
grade(dpo)                # part 1
grade(dpo, check)         # parts 1 and 2
grade(dpo, check, train)  # all of it
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from lab.grading import Case, FaultError, Report, grade_parts
from mathlm.reference import kl_divergence, log_softmax

Array = np.ndarray
CLOSE = 1e-3  # nats: how near to the optimum training has to end
NEAR = 5e-3  # nats: within it the end of a known mistake is recognized


def grade(
    dpo: Callable, check: Callable | None = None, train: Callable | None = None
) -> Report:
    """Test a reader's DPO, part by part.

    Args:
        dpo: ``dpo(logp_w, logp_l, ref_w, ref_l, beta)`` returns the loss of each pair and its
            derivatives in ``logp_w`` and ``logp_l``, each (N,).
        check: ``check(f, gradient, x)`` is the largest error of ``gradient(x)``, relative to
            the largest entry of the numerical gradient of f.
        train: ``train(logp_ref, win, beta)`` is log π, (Y,), at the minimum of the expected
            loss over all pairs.

    Returns:
        A report that prints itself.
    """
    return grade_parts(PARTS, dpo, check, train)


# --- part 1: the loss and its derivatives -----------------------------------------------------

BETA = 0.3


def _pairs() -> tuple[Array, ...]:
    """Log-probabilities of five pairs, by the policy and by the reference."""
    rng = np.random.default_rng(0)
    return tuple(-rng.gamma(4.0, 2.0, size=5) for _ in range(4))


def _sigmoid(m: Array) -> Array:
    return np.exp(-np.logaddexp(0, -m))


def _margins() -> dict[str, Array]:
    """Sentence -> the margin that this mistake gives; "" for the right one."""
    won, lost, ref_w, ref_l = _pairs()
    return {
        "": BETA * (won - ref_w - lost + ref_l),
        "the reference is missing: the margin compares log-ratios to it.": BETA * (won - lost),
        "β is missing in the margin.": won - ref_w - lost + ref_l,
        "the margin is divided by β; it is multiplied by it.": (won - ref_w - lost + ref_l)
        / BETA,
        "the reference has the wrong sign.": BETA * (won + ref_w - lost - ref_l),
        "chosen and rejected are exchanged.": BETA * (lost - ref_l - won + ref_w),
        "the margin is a ratio of log-probabilities; take their difference.": (
            BETA * (won / ref_w - lost / ref_l)
        ),
    }


def _returned(dpo: Callable, *arguments: Any) -> tuple[Array, Array, Array]:
    """The three arrays of a reader's function, or a sentence on what it returns."""
    found = dpo(*arguments)
    if not isinstance(found, tuple) or len(found) != 3:
        raise FaultError(
            "return three arrays: the losses, their derivatives in logp_w and in logp_l."
        )
    wanted = arguments[0].shape
    for name, x in zip(("the loss", "the derivative in logp_w", "that in logp_l"), found,
                       strict=True):  # fmt: skip
        if np.shape(x) != wanted:
            raise FaultError(
                f"{name} has shape {np.shape(x)}; it must have {wanted}, one number for each "
                "pair: do not average."
            )
    return found


def _loss(dpo: Callable, *_: Any) -> str | None:
    found = _returned(dpo, *_pairs(), BETA)[0]
    for said, m in _margins().items():
        if np.allclose(found, np.logaddexp(0, -m)):
            return said or None
    m = _margins()[""]
    if np.allclose(found, np.log(_sigmoid(m))):
        return "the sign is missing: the loss is -log σ(m), which is positive."
    if np.allclose(found, -_sigmoid(m)):
        return "the logarithm is missing: the loss is -log σ(m)."
    return f"the losses are off by up to {np.abs(found - np.logaddexp(0, -m)).max():.2g}."


def _steep() -> tuple[Array, ...]:
    zero = np.zeros(2)
    return np.array([-4000.0, 0.0]), np.array([0.0, -4000.0]), zero, zero


def _large(dpo: Callable, *_: Any) -> str | None:
    found = _returned(dpo, *_steep(), 1.0)[0]
    if not np.isfinite(found).all():
        return (
            f"a margin of -4000 gives the loss {found[0]}, and one of 4000 gives {found[1]}: "
            "the exponential overflows. Use np.logaddexp."
        )
    return None if np.allclose(found, [4000, 0]) else f"margins of ∓4000 give {found.tolist()}."


def _derivatives(dpo: Callable, *_: Any) -> str | None:
    up, down = _returned(dpo, *_pairs(), BETA)[1:]
    m = _margins()[""]
    right = -BETA * _sigmoid(-m)
    wrong = {
        "the weight is σ(m); it is σ(-m), the probability of error.": -BETA * _sigmoid(m),
        "β is missing in the derivatives: the margin depends on logp_w with the factor β.": (
            -_sigmoid(-m)
        ),
        "β stands twice in the derivatives.": -(BETA**2) * _sigmoid(-m),
        "the derivatives have the wrong sign: a larger logp_w lowers the loss.": -right,
        "the derivatives are divided by the number of pairs; each is that of its own loss.": (
            right / len(m)
        ),
    }
    if np.allclose(up, right) and np.allclose(down, -right):
        return None
    if np.allclose(up, right):
        return "the derivative in logp_w is right; that in logp_l is its negative."
    for said, slope in wrong.items():
        if np.allclose(up, slope):
            return said
    return f"the derivative in logp_w is off by up to {np.abs(up - right).max():.2g}."


def _large_derivatives(dpo: Callable, *_: Any) -> str | None:
    up, down = _returned(dpo, *_steep(), 1.0)[1:]
    if not (np.isfinite(up).all() and np.isfinite(down).all()):
        return "the derivative at a margin of ∓4000 is not finite: write σ(-m) with logaddexp."
    if not np.allclose(up, [-1, 0]):
        return f"the derivatives at margins of ∓4000 are {up.tolist()}; they must be -1 and 0."
    return None


# --- part 2: the gradient check ---------------------------------------------------------------


def _cubic(x: Array) -> float:
    return float((x**3).sum() / 3 + x.flat[0] * x.flat[1])


def _slope(x: Array) -> Array:
    g = x**2
    g.flat[0] += x.flat[1]
    g.flat[1] += x.flat[0]
    return g


POINT = np.array([[0.5, -1.0, 2.0], [0.1, 1.5, -0.7]])  # its largest slope is 4


def _error_of(check: Callable, gradient: Callable, factor: float = 1.0) -> float:
    found = check(lambda x: factor * _cubic(x), gradient, POINT.copy())
    if np.shape(found) != ():
        raise FaultError(f"the check returns shape {np.shape(found)}; return one number.")
    return float(found)


def _right(_: Callable, check: Callable, *__: Any) -> str | None:
    x, asked = POINT.copy(), []

    def watched(point: Array) -> float:
        asked.append(np.reshape(point, POINT.shape) - POINT)
        return _cubic(point)

    found = check(watched, _slope, x)
    if not np.array_equal(x, POINT):
        return "the check changes x: work on a copy, and undo every step."
    error = _error_of(check, _slope)
    if error > 1e-4:
        return (
            f"a right gradient gets the error {error:.1g}: differences to one side, a step "
            "that is not undone, a division by h instead of 2h, or a bad h?"
        )
    if found < 0:
        return "the largest error is negative: take absolute values."
    to_both = (np.max(asked, 0) > 1e-14).all() and (np.min(asked, 0) < -1e-14).all()
    return None if to_both else "f is asked to one side of x only: take central differences."


def _wrong(_: Callable, check: Callable, *__: Any) -> str | None:
    last = np.zeros_like(POINT)
    last.flat[-1] = 0.4
    wrong = {
        "with the wrong sign": (lambda x: -_slope(x), 2.0),
        "that is a tenth too long": (lambda x: 1.1 * _slope(x), 0.1),
        "that is wrong in its last entry": (lambda x: _slope(x) + last, 0.1),
    }
    for said, (gradient, size) in wrong.items():
        error = _error_of(check, gradient)
        if error < 1e-3:
            return f"a gradient {said} passes: its error is said to be {error:.1g}."
        if abs(error - size) > 1e-3:
            return f"a gradient {said} has the relative error {size:g}; yours says {error:.2g}."
    return None


def _scale(_: Callable, check: Callable, *__: Any) -> str | None:
    error = _error_of(check, lambda x: 1.1e4 * _slope(x), 1e4)
    if abs(error - 0.1) > 1e-3:
        return (
            f"with f and its gradient 10,000 times as large, a tenth too much is an error of "
            f"{error:.2g}: divide by the largest numerical slope."
        )
    return None


# --- part 3: training -------------------------------------------------------------------------


def _problem() -> tuple[Array, Array, float]:
    """A reference over six completions, their rewards, and β."""
    rng = np.random.default_rng(5)
    return log_softmax(rng.normal(size=6)), 0.6 * rng.normal(size=6), 0.4


def _trained(train: Callable) -> Array:
    logp_ref, r, beta = _problem()
    found = train(logp_ref.copy(), _sigmoid(r[:, None] - r), beta)
    if np.shape(found) != logp_ref.shape:
        raise FaultError(f"train returns shape {np.shape(found)}; return log π, (6,).")
    return np.asarray(found, dtype=float)


def _distribution(_: Callable, __: Callable, train: Callable) -> str | None:
    total = np.exp(_trained(train)).sum()
    if not np.isfinite(total):
        return "the log-probabilities are not finite: is the step size too large?"
    if abs(total - 1) > 1e-6:
        return f"the probabilities sum to {total:.4g}: return log π = z - log Σ exp z."
    return None


def _close(_: Callable, __: Callable, train: Callable) -> str | None:
    logp_ref, r, beta = _problem()
    ends = {
        "it ends where a uniform reference would: start from, and subtract, logp_ref.": r
        / beta,
        "it ends at π_ref e^r: β is missing in the margin.": logp_ref + r,
        "it ends at π_ref e^{rβ}: r̂ is β log π/π_ref.": logp_ref + r * beta,
        "it ends at π_ref e^{-r/β}: chosen and rejected are exchanged.": logp_ref - r / beta,
        "it ends at π_ref e^{r/(2β)}: is the margin counted twice?": logp_ref + r / (2 * beta),
        "it is still at the reference.": logp_ref,
    }
    p = np.exp(_trained(train))
    missed = kl_divergence(p / p.sum(), np.exp(log_softmax(logp_ref + r / beta)))
    if missed < CLOSE:
        return None
    for said, z in ends.items():
        if kl_divergence(p / p.sum(), np.exp(log_softmax(z))) < NEAR:
            return said
    if p.max() > 0.98:
        return (
            "nearly all probability is on one completion: the labels are probabilities; weigh "
            "each ordered pair by win, the won and the lost one."
        )
    return f"it ends {missed:.2g} nats from the optimum: more steps, or a larger step size?"


PARTS = {
    "the loss": (
        Case("loss: five pairs", _loss),
        Case("loss: large margins", _large, ("loss: five pairs",)),
        Case("derivatives: five pairs", _derivatives, ("loss: five pairs",)),
        Case("derivatives: large margins", _large_derivatives, ("derivatives: five pairs",)),
    ),
    "the gradient check": (
        Case("check: a right gradient", _right),
        Case("check: wrong gradients", _wrong, ("check: a right gradient",)),
        Case("check: relative errors", _scale, ("check: wrong gradients",)),
    ),
    "training": (
        Case("train: a distribution", _distribution),
        Case("train: at the optimum", _close, ("train: a distribution",)),
    ),
}
