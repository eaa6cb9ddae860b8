"""Moving demos of linear algebra: a matrix on the plane, and a line through a cloud."""

import math

import numpy as np
from numpy import ndarray

from mathlm.errors import InputError
from mathlm.plot.demo import (
    Demo,
    live_text,
    number,
    scientific,
    script_beside,
    select,
    slider,
    value,
)
from mathlm.plot.picture import area, arrow, axis, dots, legend, line, picture

SHAPES = {
    "two eigenvectors": (2.0, 1.0, 1.0, 2.0),
    "a parallelogram of area 5": (3.0, 1.0, 1.0, 2.0),
    "not symmetric": (1.0, 1.0, 0.5, 1.5),
    "a shear: one eigenvector": (1.0, 1.0, 0.0, 1.0),
    "a rotation: none": (0.8, -0.6, 0.6, 0.8),
    "a flip: area −1": (1.0, 0.0, 0.0, -1.0),
    "a collapse: area 0": (1.0, 2.0, 0.5, 1.0),
}
MATRIX_CSS = """
.mathlm-demo .entries{display:grid;grid-template-columns:5rem 5rem;gap:.3rem;
padding:.2rem .5rem;
border:2px solid var(--fg);border-width:0 2px;border-radius:.4rem}
"""
EDGE = 4.2


def matrix_demo(A: ndarray | None = None) -> Demo:
    """A 2 × 2 matrix acts on the plane: unit square, grid, determinant and eigenvectors.

    Args:
        A: Initial matrix with entries in [-3, 3]; None for the first of ``SHAPES``.

    Raises:
        InputError: If A is not 2 × 2 with entries in [-3, 3].
    """
    A = np.reshape(next(iter(SHAPES.values())), (2, 2)) if A is None else np.asarray(A)
    if A.shape != (2, 2) or not np.all(np.abs(A) <= 3):
        raise InputError(f"A must be 2 × 2 with entries in [-3, 3], got {A.tolist()}")
    names = (("a", "row 1, column 1"), ("b", "row 1, column 2"),
             ("c", "row 2, column 1"), ("d", "row 2, column 2"))  # fmt: skip
    entries = "".join(
        number(name, label, float(x), low=-3, high=3, hidden_label=True)
        for (name, label), x in zip(names, A.ravel(), strict=True)
    )
    controls = select("shape", "start from", list(SHAPES))
    controls += f'<div class="entries" role="group" aria-label="the matrix">{entries}</div>'
    return Demo(
        kind="matrix",
        title="A matrix acts on the plane",
        hint="Drag the two columns, or type numbers. Pull the second column onto the first: "
        "the "
        "area, and one eigenvalue, go to zero.",
        controls=controls,
        view=_matrix_view(A),
        script=script_beside(__file__, "matrix"),
        state={"shapes": list(SHAPES.values())},
        css=MATRIX_CSS,
    )


def _matrix_view(A: ndarray) -> str:
    """Square, image, grid and eigenlines of A as SVG, and a sentence."""
    image = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]]) @ A.T
    eigenvalues, eigenvectors = np.linalg.eig(A)  # complex since NumPy 2.5, real before
    real = (np.imag(eigenvalues) == 0).all()
    order = np.argsort(-eigenvalues.real)
    lines = [9 * eigenvectors[:, i].real if real else np.zeros(2) for i in order]
    grid = [
        A @ np.array([[k, -9], [k, 9]]).T if upright else A @ np.array([[-9, k], [9, k]]).T
        for k in range(-3, 4)
        for upright in (True, False)
    ]
    color = "second" if np.linalg.det(A) < 0 else "accent"
    marks = [line(ends.T, color, width=1, fade=0.35) for ends in grid]
    marks += [
        area([[0, 0], [1, 0], [1, 1], [0, 1]], "soft", fade=0.35),
        area(image, color, fade=0.3),
        line([*image, image[0]], color, width=2),
    ]
    marks += [line((-v, v), "fourth", dash="7 5", width=2) for v in lines if v.any()]
    marks += [
        arrow([(0, 0), A[:, 0]], "fg", width=2.5),
        arrow([(0, 0), A[:, 1]], "third", width=2.5),
    ]
    found = " and ".join(_signed(x) for x in eigenvalues[order].real) if real else "complex"
    sentence = live_text(
        f"Area of the image, signed: {value('det', _signed(np.linalg.det(A)))}. "
        f"Eigenvalues: {value('eigen', found)} (dashed lines)."
    )
    names = legend(
        (
            ("soft", "unit square"),
            (color, "its image"),
            ("fg", "first column"),
            ("third", "second column"),
            ("fourth", "directions that are kept", "dashed"),
        )
    )
    label = "the unit square in gray, its image in color, the eigenvectors as dashed lines"
    return names + _plane("plane", label, EDGE, ("x₁", "x₂"), marks) + sentence


def _plane(name: str, label: str, edge: float, axes: tuple[str, str], marks: list[dict]) -> str:
    """A picture of a square around the origin."""
    x, y = (axis(-edge, edge, a) for a in axes)
    return picture(name, label, x, y, marks, equal=True, tallest=400, aspect=1)


def pca_demo(X: ndarray, angle: float | int = 80) -> Demo:
    """A line through a cloud: the reader turns it, and reads the variance along it.

    Args:
        X: Points (N, 2), 2 ≤ N ≤ 300; they are centered.
        angle: Initial direction of the line [degrees], 0 to 180.

    Raises:
        InputError: If X has another shape, or no spread.
    """
    if X.ndim != 2 or X.shape[1] != 2 or not 2 <= len(X) <= 300:
        raise InputError(f"X has shape {X.shape}; expected (N, 2) with 2 ≤ N ≤ 300")
    points = X - X.mean(axis=0)
    reach = float(np.abs(points).max())
    if not reach > 0:
        raise InputError("all points of X are equal: no direction has any variance")
    points = np.round(points, 2 - math.floor(math.log10(reach)))
    total = float(points.var(axis=0, ddof=1).sum())
    return Demo(
        kind="pca",
        title="Turn the line until the shadows spread the most",
        hint="Turn the line by its end. The widest spread is the first principal axis; the "
        "narrowest is at right angles.",
        controls=slider(
            "angle", "direction of the line [degrees]", 0.0, 180.0, 1.0, float(angle)
        ),
        view=_cloud_view(points, float(angle), total, 1.1 * reach),
        script=script_beside(__file__, "pca"),
        state={"points": points.tolist(), "total": total, "edge": 1.1 * reach},
    )


def _cloud_view(points: ndarray, angle: float, total: float, edge: float) -> str:
    """Cloud, line and shadows as a picture, and a sentence."""
    u = np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))])
    along = points @ u
    marks = [
        dots(points, "accent", size=3.5, fade=0.55),
        line((-9 * edge * u, 9 * edge * u), "second", dash="7 5", width=2),
        dots(along[:, None] * u, "second", size=2.5),
    ]
    variance = float(along.var(ddof=1))
    sentence = live_text(
        f"Variance along the line: {value('variance', scientific(variance, 2))}, "
        f"{value('share', f'{100 * variance / total:.1f}')} % of the whole."
    )
    label = "a cloud of points, a dashed line through its mean, and the shadows on the line"
    axes = ("first coordinate", "second coordinate")
    return _plane("cloud", label, edge, axes, marks) + sentence


def _signed(x: float) -> str:
    return f"{x + 0.0:.2f}".replace("-0.00", "0.00").replace("-", "−")


__all__ = ["SHAPES", "matrix_demo", "pca_demo"]
