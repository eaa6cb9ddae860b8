"""Moving demos of calculus: a secant that becomes a tangent, and a Jacobian that predicts."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from mathlm.errors import InputError
from mathlm.plot.demo import Demo, button, live_text, script_beside, select, slider, value
from mathlm.plot.picture import arrow, axis, dots, legend, line, picture
from mathlm.reference import jacobian_by_rows

# name, function, point, slope there, ranges of x and y in the picture
CURVES: tuple[tuple[str, Callable[[float], float], float, float, tuple[float, ...]], ...] = (
    ("x² at 3", lambda x: x * x, 3.0, 6.0, (1.5, 5.5, -2.0, 30.0)),
    ("sin x at 1", math.sin, 1.0, math.cos(1.0), (-0.5, 3.5, -0.6, 1.6)),
    ("eˣ at 0", math.exp, 0.0, 1.0, (-1.5, 2.5, -1.0, 11.0)),
)


def secant_demo(h: float | int = 1.5) -> Demo:
    """A secant turns into the tangent as the reader pulls h to zero.

    Args:
        h: Initial distance of the two points, 0.01 to 2.

    Raises:
        InputError: If h is outside of the slider.
    """
    if not 0.01 <= h <= 2:
        raise InputError(f"h={h} must be in [0.01, 2], the range of the slider")
    _, f, x, slope, view = CURVES[0]
    curves = [{"x": c[2], "slope": c[3], "view": list(c[4])} for c in CURVES]
    found = (f(x + h) - f(x)) / h
    sentence = live_text(
        f"Slope of the secant (solid): {value('slope', _fixed(found, 3))}. "
        f"Slope of the tangent (dashed): {value('limit', _fixed(slope, 3))}. "
        f"Difference: {value('gap', _fixed(found - slope, 3))}."
    )
    return Demo(
        kind="secant",
        title="Pull h to zero: the secant becomes the tangent",
        hint="Drag the second point. For x² the difference is h; for the other two, a "
        "multiple of it once h is small.",
        controls=select("curve", "curve and point", [c[0] for c in CURVES])
        + slider("h", "h", 0.01, 2.0, 0.01, float(h))
        + button("reset", "reset"),
        view=_secant_view(f, x, h, found, slope, view) + sentence,
        script=script_beside(__file__, "secant"),
        state={"curves": curves},
    )


def _secant_view(
    f: Callable[[float], float],
    x: float,
    h: float | int,
    secant: float,
    tangent: float,
    view: tuple[float, ...],
) -> str:
    """Curve, secant, tangent and the two points as a picture."""
    x0, x1, y0, y1 = view

    def through(slope: float) -> list[tuple[float, float]]:
        return [(u, f(x) + slope * (u - x)) for u in (x0, x1)]

    marks = [
        line([(u, f(u)) for u in np.linspace(x0, x1, 81)], "fg"),
        line(through(tangent), "second", dash="6 4", width=2),
        line(through(secant), "accent", width=2),
        dots([(x, f(x))], "fg"),
        dots([(x + h, f(x + h))], "accent"),
    ]
    names = (("fg", "curve"), ("accent", "secant"), ("second", "tangent", "dashed"))
    return legend(names) + picture(
        "graph",
        "a curve, a line through two of its points, and the tangent at the first",
        axis(x0, x1, "x"),
        axis(y0, y1, "f(x)"),
        marks,
    )


def outputs(x: Any) -> list[Any]:
    """The map of :func:`jacobian_demo`: (x₁² + x₂x₃, x₁x₂ - x₃)."""
    return [x[0] * x[0] + x[1] * x[2], x[0] * x[1] - x[2]]


POINT = np.array([1.0, 2.0, 0.5])


def jacobian_demo(wiggle: ndarray | None = None) -> Demo:
    """Wiggle three inputs: two outputs move, and the Jacobian predicts how.

    Args:
        wiggle: Initial changes of the inputs, each in [-0.5, 0.5]; None for (0.2, 0, 0).

    Raises:
        InputError: If ``wiggle`` has not three entries in [-0.5, 0.5].
    """
    d = np.array([0.2, 0.0, 0.0]) if wiggle is None else np.asarray(wiggle, dtype=float)
    if d.shape != (3,) or not np.all(np.abs(d) <= 0.5):
        raise InputError(f"wiggle must be three numbers in [-0.5, 0.5], got {d.tolist()}")
    J = jacobian_by_rows(outputs, POINT)
    guess = J @ d
    moved = np.array(outputs(POINT + d)) - np.array(outputs(POINT))
    rows = "".join(
        f"<tr><th>f{'₁₂'[i]}</th>"
        + "".join(f"<td>{_fixed(g, 1)}</td>" for g in J[i])
        + f"<td>{value('guess', _fixed(guess[i], 3))}</td>"
        + f"<td>{value('moved', _fixed(moved[i], 3))}</td>"
        + f"<td>{value('miss', _fixed(moved[i] - guess[i], 3))}</td></tr>"
        for i in range(2)
    )
    head = "<td></td>" + "".join(
        f"<th>{h}</th>" for h in ("∂x₁", "∂x₂", "∂x₃", "J Δx", "Δf", "error")
    )
    sliders = "".join(
        slider(f"dx{j + 1}", f"Δx{'₁₂₃'[j]}", -0.5, 0.5, 0.01, float(d[j])) for j in range(3)
    )
    return Demo(
        kind="jacobian",
        title="Wiggle three inputs and watch two outputs move",
        hint="One slider alone moves the outputs along one column of the matrix.",
        controls=sliders + button("reset", "reset"),
        view=_arrows(moved, guess)
        + f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        + "<p>f₁ = x₁² + x₂x₃ and f₂ = x₁x₂ − x₃ at x = (1, 2, 0.5). "
        "The arrows show (Δf₁, Δf₂).</p>",
        script=script_beside(__file__, "jacobian"),
        state={"x": POINT.tolist(), "J": J.tolist()},
    )


def _arrows(moved: ndarray, guess: ndarray) -> str:
    """The change of the two outputs in their plane, true and predicted."""
    names = (("accent", "true change"), ("second", "predicted by J", "dashed"))
    return legend(names) + picture(
        "plane",
        "change of the two outputs, true and predicted",
        axis(-3, 3, "Δf₁"),
        axis(-2.2, 2.2, "Δf₂"),
        [
            arrow([(0, 0), moved], "accent", width=3),
            arrow([(0, 0), guess], "second", width=2, dash="6 4"),
        ],
        equal=True,
        aspect=0.8,
        tallest=320,
    )


def _fixed(x: float, digits: int) -> str:
    """As the script writes it: no negative zero, and a real minus sign."""
    zero = "0." + digits * "0"
    return f"{x:.{digits}f}".replace("-" + zero, zero).replace("-", "−")


__all__ = ["CURVES", "jacobian_demo", "outputs", "secant_demo"]
