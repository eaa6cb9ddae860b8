"""The project of the second page of chapter 6: tests of a reader's start for any activation.

from lab.initialization.project import grade
grade(variance)                         # part 1
grade(variance, orthogonal)             # parts 1 and 2
grade(variance, orthogonal, start)      # all three
"""

import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise

import numpy as np
from numpy import ndarray

from lab.grading import Case, FaultError, Report, grade_by

PHI: dict[str, tuple[Callable[[ndarray], ndarray], float]] = {  # and 1 / E φ(z)²
    "the identity": (lambda z: z, 1.0),
    "ReLU": (lambda z: np.maximum(z, 0), 2.0),
    "a leaky ReLU of slope 0.2": (lambda z: np.where(z > 0, z, 0.2 * z), 2 / 1.04),
    "the sine": (np.sin, 2 / (1 - math.exp(-2))),
    "the cosine": (np.cos, 2 / (1 + math.exp(-2))),
}
DEPTH, WIDTH = 30, 48


def grade(
    variance: Callable, orthogonal: Callable | None = None, start: Callable | None = None
) -> Report:
    """Run the tests of the project on a reader's own initialization.

    Args:
        variance: ``variance(phi)`` gives c for which weights of variance c/n_in keep the mean
            square of normal pre-activations, E z² = 1, through the activation phi.
        orthogonal: ``orthogonal(rng, n_out, n_in)`` draws a matrix with orthonormal rows or
            columns, whichever are fewer, all such matrices alike.
        start: ``start(rng, x, widths, phi)`` gives one matrix for each width, such that on the
            batch x the pre-activations of every layer have mean square 1.

    Returns:
        A report that prints itself.
    """
    tests = [Case(f"variance of {name}", partial(_variance, variance, name)) for name in PHI]
    if orthogonal is None:
        note = "Parts 2 and 3 were not tested: call grade(variance, orthogonal, start)."
        return grade_by(tests, note=note)
    shapes = ((4, 4), (3, 7), (7, 3))
    tests += [
        Case(f"orthogonal, {o} × {i}", partial(_orthonormal, orthogonal, o, i))
        for o, i in shapes
    ]
    tests += [Case("orthogonal, random", partial(_draws, orthogonal))]
    tests += [Case("orthogonal, all alike", partial(_uniform, orthogonal))]
    if start is None:
        note = "Part 3 was not tested: call grade(variance, orthogonal, start)."
        return grade_by(tests, note=note)
    tests += [Case("start, shapes", partial(_shapes, start))]
    tests += [Case(f"start with {name}", partial(_keeps, start, name)) for name in PHI]
    return grade_by(tests)


# --- part 1: the variance for an activation ---------------------------------------------------


def _variance(variance: Callable, name: str) -> str | None:
    phi, right = PHI[name]
    found = float(variance(phi))
    if math.isclose(found, right, rel_tol=0.01):
        return None
    z = np.linspace(-8, 8, 4001)
    weight = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi) * (z[1] - z[0])
    spread = weight @ phi(z) ** 2 - (weight @ phi(z)) ** 2
    slips = {
        "it is the root of the variance: return c, not the standard deviation √c": right**0.5,
        "it is the mean square itself: the variance must undo it, so c is one over it": 1
        / right,
        "it uses the variance of φ(z): the next layer adds up squares, and the mean counts": 1
        / spread,
        "the mean was taken over a range of z and not over normal draws": 1
        / float((phi(z) ** 2).mean()),
    }
    for text, wrong in slips.items():
        if math.isclose(found, wrong, rel_tol=0.01):
            return f"variance of {name} is {found:.4g}, expected {right:.4g}: {text}."
    return f"variance of {name} is {found:.4g}, expected {right:.4g} within one percent."


# --- part 2: orthogonal matrices --------------------------------------------------------------


def _orthonormal(orthogonal: Callable, n_out: int, n_in: int) -> str | None:
    W = np.asarray(orthogonal(np.random.default_rng(0), n_out, n_in))
    if W.shape != (n_out, n_in):
        return f"orthogonal(rng, {n_out}, {n_in}) has shape {W.shape}: weights are (out, in)."
    product = W @ W.T if n_out <= n_in else W.T @ W
    if np.allclose(product, np.eye(len(product)), atol=1e-8):
        return None
    if np.allclose(product / product[0, 0], np.eye(len(product)), atol=1e-8):
        return (
            f"The rows or columns of a {n_out} × {n_in} matrix have length "
            f"{product[0, 0] ** 0.5:.3g} and not 1: scaling belongs to part 3."
        )
    side = "rows" if n_out <= n_in else "columns"
    return f"The {side} of a {n_out} × {n_in} matrix are not orthonormal."


def _draws(orthogonal: Callable) -> str | None:
    rng = np.random.default_rng(0)
    first, second = orthogonal(rng, 4, 4), orthogonal(rng, 4, 4)
    again = orthogonal(np.random.default_rng(0), 4, 4)
    if np.allclose(first, second):
        return "Two draws from one generator are the same matrix: draw with the rng you get."
    if not np.allclose(first, again):
        return "Two generators of one seed give two matrices: draw with the rng you get alone."
    return None


def _uniform(orthogonal: Callable) -> str | None:
    rng = np.random.default_rng(1)
    diagonal = np.array([np.diag(orthogonal(rng, 3, 3)) for _ in range(600)])
    error = float(np.sqrt(1 / 3 / 600))  # of a mean of 600 entries of mean square 1/3
    if np.abs(diagonal.mean(0)).max() < 5 * error:
        return None
    return (
        f"Over 600 draws the diagonal entries average {diagonal.mean(0).round(2).tolist()}, "
        "not 0: a QR decomposition fixes signs. Multiply each column of Q by the sign of the "
        "diagonal of R (or draw by an SVD), and every orthogonal matrix is as likely as any."
    )


# --- part 3: a start for a whole network ------------------------------------------------------


def _network(start: Callable, phi: Callable) -> tuple[ndarray, list[ndarray]]:
    rng = np.random.default_rng(2)
    x = 3 * rng.normal(size=(64, 20))
    widths = [WIDTH, 64, 32, *[WIDTH] * (DEPTH - 3)]
    kept = x.copy()
    weights = [np.asarray(W) for W in start(np.random.default_rng(3), x, widths, phi)]
    if not np.array_equal(x, kept):
        raise FaultError("start changes the batch x in place: divide into a new array.")
    return x, weights


def _shapes(start: Callable) -> str | None:
    _, weights = _network(start, np.tanh)
    sizes = [20, WIDTH, 64, 32, *[WIDTH] * (DEPTH - 3)]
    expected = [(n_out, n_in) for n_in, n_out in pairwise(sizes)]
    found = [W.shape for W in weights]
    if found == expected:
        return None
    return (
        f"start returned {len(found)} matrices, the first two of shapes {found[:2]}; expected "
        f"are {len(expected)}, one for each width, beginning {expected[:2]} as (out, in)."
    )


def _keeps(start: Callable, name: str) -> str | None:
    phi, _ = PHI[name]
    h, weights = _network(start, phi)
    squares, after = [], []
    for W in weights:
        z = h @ W.T
        h = phi(z)
        squares.append(float((z**2).mean()))
        after.append(float((h**2).mean()))
    if np.allclose(squares, 1, rtol=1e-6):
        return None
    where = int(np.argmax(~np.isclose(squares, 1, rtol=1e-6)))
    text = (
        f"With {name} the pre-activations of layer {where + 1} have mean square "
        f"{squares[where]:.4g}, expected 1."
    )
    if np.allclose(after, 1, rtol=1e-6):
        return (
            text + " The activations have 1: scale z, before φ, for tanh could never reach 1."
        )
    if where > 0:
        return text + (
            " The layers before it are right: measure on what the scaled layers before give, "
            "layer by layer, and divide by the root of the mean square."
        )
    return text + (
        " Measure z on the batch as it comes, and divide the matrix by the root of its mean "
        "square, not by the mean square itself."
    )


__all__ = ["grade"]
