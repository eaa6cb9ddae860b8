"""Moving demos of linear algebra: a matrix on the plane, and a line through a cloud."""

import numpy as np
from numpy import ndarray

from mathlm.errors import InputError
from mathlm.plot.demo import Demo, live_text, script_beside, select, slider, value

SHAPES = {
    "two eigenvectors": (2.0, 1.0, 1.0, 2.0),
    "a parallelogram of area 5": (3.0, 1.0, 1.0, 2.0),
    "not symmetric": (1.0, 1.0, 0.5, 1.5),
    "a shear: one eigenvector": (1.0, 1.0, 0.0, 1.0),
    "a rotation: none": (0.8, -0.6, 0.6, 0.8),
    "a flip: area −1": (1.0, 0.0, 0.0, -1.0),
    "a collapse: area 0": (1.0, 2.0, 0.5, 1.0),
}
PLANE_CSS = """
.mathlm-demo .plane{width:22rem;margin:auto;touch-action:manipulation}
.mathlm-demo .plane .axis{stroke:var(--line);stroke-width:.04}
.mathlm-demo .plane .grid{stroke:var(--line);stroke-width:.03}
.mathlm-demo .plane .unit{fill:var(--track);stroke:var(--soft);stroke-width:.04}
.mathlm-demo .plane .image{fill:var(--accent);fill-opacity:.3;stroke:var(--accent);
stroke-width:.07}
.mathlm-demo .plane .image.flipped{fill:var(--second);stroke:var(--second)}
.mathlm-demo .plane .line{stroke:var(--second);stroke-width:.06;stroke-dasharray:.25 .15}
.mathlm-demo .plane .dot{fill:var(--accent);fill-opacity:.65}
.mathlm-demo .plane .foot{fill:var(--second)}
.mathlm-demo .plane text{font-size:.42px}
"""


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
    names = (("a", "a, row 1"), ("b", "b, row 1"), ("c", "c, row 2"), ("d", "d, row 2"))
    controls = select("shape", "start from", list(SHAPES)) + "".join(
        slider(name, label, -3.0, 3.0, 0.1, float(x))
        for (name, label), x in zip(names, A.ravel(), strict=True)
    )
    return Demo(
        kind="matrix",
        title="A matrix acts on the plane",
        hint="Pull the second column onto the first: the area, and one eigenvalue, go to zero.",
        controls=controls,
        view=_matrix_view(A),
        script=script_beside(__file__, "matrix"),
        state={"shapes": list(SHAPES.values())},
        css=PLANE_CSS,
    )


def _matrix_view(A: ndarray) -> str:
    """Square, image, grid and eigenlines of A as SVG, and a sentence."""
    image = np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]]) @ A.T
    eigenvalues, eigenvectors = np.linalg.eig(A)  # complex since NumPy 2.5, real before
    real = (np.imag(eigenvalues) == 0).all()
    order = np.argsort(-eigenvalues.real)
    lines = [9 * eigenvectors[:, i].real if real else np.zeros(2) for i in order]
    grid = [A @ np.array(p) for k in range(-3, 4) for p in ((k, -9), (k, 9), (-9, k), (9, k))]
    shapes = "".join(
        _line("grid", p, q) for p, q in zip(grid[::2], grid[1::2], strict=True)
    ) + _polygon("unit", np.array([[0.0, 0], [1, 0], [1, 1], [0, 1]]))
    flipped = " flipped" if np.linalg.det(A) < 0 else ""
    shapes += _polygon("image", image, flipped)
    shapes += "".join(_line("line", 0 - v, v) for v in lines)
    found = " and ".join(_signed(x) for x in eigenvalues[order].real) if real else "complex"
    sentence = live_text(
        f"Area of the image, signed: {value('det', _signed(np.linalg.det(A)))}. "
        f"Eigenvalues: {value('eigen', found)} (dashed lines)."
    )
    label = "The unit square in gray, its image in color, the eigenvectors as dashed lines"
    return _svg(label, 4.2, shapes) + sentence


def pca_demo(X: ndarray, angle: float | int = 80) -> Demo:
    """A line through a cloud: the reader turns it, and reads the variance along it.

    Args:
        X: Points (N, 2), 2 ≤ N ≤ 300; they are centered, and scaled to fit the picture.
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
    points = np.round(3.8 * points / reach, 2)
    total = float(points.var(axis=0, ddof=1).sum())
    return Demo(
        kind="pca",
        title="Turn the line until the shadows spread the most",
        hint="The widest spread is the first principal axis; the narrowest is at right angles.",
        controls=slider(
            "angle", "direction of the line [degrees]", 0.0, 180.0, 1.0, float(angle)
        ),
        view=_cloud_view(points, float(angle), total),
        script=script_beside(__file__, "pca"),
        state={"points": points.tolist(), "total": total},
        css=PLANE_CSS,
    )


def _cloud_view(points: ndarray, angle: float, total: float) -> str:
    """Cloud, line and shadows as SVG, and a sentence."""
    u = np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))])
    along = points @ u
    shapes = "".join(_dot("dot", p, 0.08) for p in points) + _line("line", -9 * u, 9 * u)
    shapes += "".join(_dot("foot", a * u, 0.06) for a in along)
    variance = float(along.var(ddof=1))
    sentence = live_text(
        f"Variance along the line: {value('variance', f'{variance:.2f}')}, "
        f"{value('share', f'{100 * variance / total:.1f}')} % of the whole."
    )
    label = "A cloud of points, a dashed line through its mean, and the shadows on the line"
    return _svg(label, 4.2, shapes) + sentence


def _svg(label: str, edge: float, shapes: str) -> str:
    axes = _line("axis", np.array([-edge, 0]), np.array([edge, 0]))
    axes += _line("axis", np.array([0, -edge]), np.array([0, edge]))
    box = f'viewBox="{-edge} {-edge} {2 * edge} {2 * edge}"'
    return f'<svg class="plane" {box} role="img" aria-label="{label}">{axes}{shapes}</svg>'


def _line(name: str, p: ndarray, q: ndarray) -> str:
    ends = f'x1="{p[0]:.3f}" y1="{-p[1]:.3f}" x2="{q[0]:.3f}" y2="{-q[1]:.3f}"'
    return f'<line class="{name}" data-name="{name}" {ends}/>'


def _polygon(name: str, corners: ndarray, extra: str = "") -> str:
    points = " ".join(f"{x:.3f},{-y:.3f}" for x, y in corners)
    return f'<polygon class="{name}{extra}" data-name="{name}" points="{points}"/>'


def _dot(name: str, p: ndarray, radius: float) -> str:
    place = f'cx="{p[0]:.3f}" cy="{-p[1]:.3f}" r="{radius}"'
    return f'<circle class="{name}" data-name="{name}" {place}/>'


def _signed(x: float) -> str:
    return f"{x + 0.0:.2f}".replace("-0.00", "0.00").replace("-", "−")


__all__ = ["SHAPES", "matrix_demo", "pca_demo"]
