"""Moving demos of networks: activations with their slopes, a line and a fold against XOR."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy import ndarray
from numpy.typing import ArrayLike

from mathlm.errors import InputError
from mathlm.plot.demo import (
    Demo,
    button,
    live_text,
    scientific,
    script_beside,
    select,
    slider,
    value,
)
from mathlm.plot.picture import area, axis, boxes, dots, legend, line, picture, words
from mathlm.reference.network import activation

NAMES = ("relu", "gelu", "silu", "sigmoid", "tanh")
SHOWN = ("ReLU", "GELU", "SiLU", "sigmoid", "tanh")
GRID = np.round(np.linspace(-4, 4, 161), 10)
BITS = ((0, 0), (0, 1), (1, 0), (1, 1))


def activation_demo(which: int = 1, z: float | int = 1.0) -> Demo:
    """An activation function and its slope: choose the function, move the input.

    Args:
        which: Index of the initial function in ``SHOWN``.
        z: Initial input, between -4 and 4.

    Raises:
        InputError: If ``which`` or z is out of range.
    """
    if not 0 <= which < len(NAMES) or not -4 <= z <= 4:
        raise InputError(
            f"which={which} must lie in 0..{len(NAMES) - 1} and z={z} between -4 and 4"
        )
    z = round(20 * float(z)) / 20
    curves = [dict(zip(("value", "slope"), _sampled(name), strict=True)) for name in NAMES]
    start = {name: y[round((z + 4) * 20)] for name, y in curves[which].items()}
    controls = select("which", "activation", SHOWN, which)
    controls += slider("z", "input z", -4, 4, 0.05, z) + button("reset", "reset")
    height, slope = start["value"], start["slope"]
    sentence = live_text(
        f"Value {value('value', _signed(height))} (solid), slope "
        f"{value('slope', _signed(slope))} (dashed). Ten such slopes in a row: size "
        f"{value('chain', scientific(abs(slope) ** 10))}."
    )
    return Demo(
        kind="activation",
        title="An activation function and its slope",
        hint="Move z to the left, with the slider or by the point: whose slope reaches zero, "
        "and whose turns negative?",
        controls=controls,
        view=f'<p class="still">{SHOWN[which]} at z = {z:g}.</p>'
        + _curves_view(curves[which], start, z)
        + sentence,
        script=script_beside(__file__, "activation"),
        state={"grid": GRID.tolist(), "curves": curves},
    )


def _sampled(name: str) -> tuple[list[float], list[float]]:
    y, cache = getattr(activation, name)(GRID)
    slope = getattr(activation, name + "_backward")(np.ones_like(GRID), cache)
    return np.round(y, 5).tolist(), np.round(slope, 5).tolist()


def _curves_view(curve: dict[str, list[float]], at: dict[str, float], z: float) -> str:
    low, high = -1.2, 4.2
    marks = [
        line([(z, low), (z, high)], "soft", width=1),
        line(zip(GRID, curve["value"], strict=True)),
        line(zip(GRID, curve["slope"], strict=True), "second", dash="7 4"),
        dots([(z, at["slope"])], "second"),
        dots([(z, at["value"])]),
    ]
    label = "the activation as a solid line, its slope as a dashed line, both marked at z"
    return legend((("accent", "value"), ("second", "slope", "dashed"))) + picture(
        "curves", label, axis(-4, 4, "input z"), axis(low, high), marks
    )


def _signed(x: float) -> str:
    return f"{x + 0.0:.4f}".replace("-", "−")


def xor_line_demo(w: tuple[float, float] = (1.0, 1.0), b: float = -0.5) -> Demo:
    """One neuron against XOR: move its line and count the right answers.

    Args:
        w: Initial weights, in [-3, 3].
        b: Initial bias, in [-3, 3].

    Raises:
        InputError: If a number is out of range.
    """
    if not np.all(np.abs([*w, b]) <= 3):
        raise InputError(f"w={w} and b={b} must lie between -3 and 3")
    found = [int(w[0] * x + w[1] * y + b > 1e-9) for x, y in BITS]
    right = sum(f == (x ^ y) for f, (x, y) in zip(found, BITS, strict=True))
    cells = "".join(
        f"<tr><th scope='row'>{x}, {y}</th><td>{x ^ y}</td>"
        f"<td>{value('output', str(f))}</td></tr>"
        for f, (x, y) in zip(found, BITS, strict=True)
    )
    return Demo(
        kind="xor-line",
        title="One neuron against XOR",
        hint="Drag the line by its point, or move the sliders. Three of four are easy. Can "
        "you find a line that gets all four?",
        controls="".join(
            slider(name, label, -3, 3, 0.1, float(x))
            for name, label, x in (("w1", "w₁", w[0]), ("w2", "w₂", w[1]), ("b", "b", b))
        )
        + button("reset", "reset"),
        view=f'<p class="still">Weights {w[0]:g} and {w[1]:g}, bias {b:g}.</p>'
        + _square_view(np.array(w), b)
        + "<table><thead><tr><th>inputs</th><th>target</th><th>w·x + b &gt; 0</th></tr></thead>"
        + f"<tbody>{cells}</tbody></table>"
        + live_text(f"Right answers: {value('right', str(right))} of 4."),
        script=script_beside(__file__, "xor_line"),
    )


def _square_view(w: ndarray, b: float) -> str:
    """The half plane where w·x + b > 0, inside a square, and the four inputs."""
    box = np.array([[-0.7, -0.7], [1.7, -0.7], [1.7, 1.7], [-0.7, 1.7]])
    kept = []
    for p, q in zip(box, np.roll(box, -1, axis=0), strict=True):
        s, t = w @ p + b, w @ q + b
        if s > 0:
            kept.append(p)
        if s * t < 0:
            kept.append(p + (q - p) * s / (s - t))
    ends = ((0, "0"), (1, "1"))
    marks = [area(kept, "second", fade=0.2)]
    if w.any():
        foot, along = 0.5 - (w.sum() / 2 + b) / (w @ w) * w, 4 * np.array([-w[1], w[0]])
        along /= np.linalg.norm(w)
        marks.append(line([foot + along, foot - along], "fg", width=2))
    for x, y in BITS:
        marks += _named((x, y), x ^ y)
    label = "four inputs with their targets; the shaded side is where the neuron says 1"
    across, up = (axis(-0.7, 1.7, name, ticks=ends) for name in ("x₁", "x₂"))
    return picture("plane", label, across, up, marks, equal=True, aspect=1, tallest=300)


def _named(place: Sequence[float], target: int) -> list[dict[str, Any]]:
    """An input as a dot that holds its target."""
    return [
        dots([place], "second" if target else "accent", size=9),
        words(place, str(target), "bg", anchor="middle", dy=4, weight=700, halo=0),
    ]


START = ((0.5, 0.15), (0.9, 0.9), (0.3, 0.3))
SOLUTION = ((0.2, 0.2), (0.8, 0.8), (0.15, 0.15))
LOW, HIGH, ROWS = -0.5, 1.5, 48  # of the inputs that are shown, and strips of the shaded part


def bent_layer(x: ArrayLike, points: ArrayLike) -> ndarray:
    """Two hidden ReLU units; each is active beyond its line, as seen from (1/2, 1/2).

    Args:
        x: Inputs (..., 2).
        points: Foot of the line of each unit (2, 2), none of them (1/2, 1/2).

    Returns:
        Twice the distance beyond each line, 0 on the near side (..., 2).
    """
    feet = np.asarray(points, float)
    n = feet - 0.5
    n /= np.linalg.norm(n, axis=-1, keepdims=True)
    return np.maximum(0.0, 2 * ((np.asarray(x, float)[..., None, :] - feet) * n).sum(-1))


def bent_answers(x: ArrayLike, points: ArrayLike) -> ndarray:
    """Where the network of :func:`bent_layer` and one output line says 1: on the near side.

    Args:
        x: Inputs (..., 2).
        points: Feet of the lines of the two hidden units and of the output (3, 2).
    """
    *feet, out = np.asarray(points, float)
    return bent_layer(x, feet) @ out < out @ out - 1e-9


def bent_plane_demo(points: Sequence[tuple[float, float]] = START) -> Demo:
    """Two hidden units fold the plane until one line separates XOR; each line can be dragged.

    Args:
        points: Where the lines of both hidden units and of the output begin: the foot of each,
            seen from the middle of the inputs, and from the origin of the hidden plane.

    Raises:
        InputError: If there are not three points, or a hidden one is the middle of the inputs.
    """
    shape = np.shape(points)
    if shape != (3, 2) or any(np.allclose(p, 0.5) for p in points[:2]):
        raise InputError(
            f"points={points} must be three pairs, and the first two not the middle (0.5, 0.5)"
        )
    found, folded = bent_answers(BITS, points), bent_layer(BITS, points[:2])
    right = sum(bool(f) == bool(x ^ y) for f, (x, y) in zip(found, BITS, strict=True))
    cells = "".join(
        f"<tr><th scope='row'>{x}, {y}</th><td>{x ^ y}</td>"
        f"<td>{value('hidden-value', f'{h[0]:.2f}, {h[1]:.2f}')}</td>"
        f"<td>{value('output', str(int(f)))}</td></tr>"
        for f, h, (x, y) in zip(found, folded, BITS, strict=True)
    )
    return Demo(
        kind="bent-plane",
        title="Two hidden units fold the plane, and a line can do the rest",
        hint="Drag the two lines on the left until both blue inputs lie alone beyond a line. "
        "Then put the line on the right between the colors.",
        controls=button("solve", "show a solution") + button("reset", "reset"),
        view=legend(
            (("third", "first unit"), ("fourth", "second unit"), ("fg", "line of the output"))
        )
        + f'<div class="demo-pair">{_bent_pictures(points)}</div>'
        + "<table><thead><tr><th>inputs</th><th>target</th><th>h₁, h₂</th><th>output</th></tr>"
        f"</thead><tbody>{cells}</tbody></table>"
        + live_text(f"Right answers: {value('right', str(right))} of 4."),
        script=script_beside(__file__, "bent_plane"),
        state={
            "start": [list(p) for p in points],
            "solution": [list(p) for p in SOLUTION],
        },
    )


def _bent_pictures(points: Sequence[tuple[float, float]]) -> str:
    """The plane of inputs with two lines, and the plane of hidden units that it becomes."""
    size, strips = (HIGH - LOW) / ROWS, []
    middles = LOW + size * (np.arange(ROWS) + 0.5)
    for j, y in enumerate(middles):
        on = bent_answers(np.stack([middles, np.full(ROWS, y)], axis=1), points)
        ends = np.flatnonzero(np.diff(np.concatenate([[0], on.astype(int), [0]])))
        strips += [
            (LOW + size * a, LOW + size * j, LOW + size * b, LOW + size * (j + 1))
            for a, b in ends.reshape(-1, 2)
        ]
    left = [boxes(strips, "second", fade=0.2)]
    for p, color in zip(points[:2], ("third", "fourth"), strict=True):
        left.append(line(_across(p, np.subtract(p, 0.5)), color, width=2))
    fine, images = LOW + np.arange(41) / 20, []
    for c in LOW + np.arange(9) / 4:
        for grid in (np.stack([0 * fine + c, fine], 1), np.stack([fine, 0 * fine + c], 1)):
            images.append(line(bent_layer(grid, points[:2]), "soft", width=1, fade=0.6))
    out = np.asarray(points[2], float)
    far = _across(out, out)
    right = [area([*far, *(far - 9 * out)[::-1]], "second", fade=0.2), *images]
    right.append(line(far, "fg", width=2))
    for p, h in zip(BITS, bent_layer(BITS, points[:2]), strict=True):
        left += _named(p, p[0] ^ p[1])
        right += _named(h, p[0] ^ p[1])
    square: dict[str, Any] = {"equal": True, "aspect": 1, "tallest": 300}
    return picture(
        "inputs",
        "the four inputs and two lines; shaded where the network says 1",
        axis(LOW, HIGH, "x₁"),
        axis(LOW, HIGH, "x₂"),
        left,
        **square,
    ) + picture(
        "hidden",
        "the same inputs and a grid after the hidden layer, which folds them",
        axis(-0.2, 1.4, "h₁"),
        axis(-0.2, 1.4, "h₂"),
        right,
        **square,
    )


def _across(p: Sequence[float] | ndarray, n: ndarray) -> ndarray:
    """Two far points of the line through p at right angles to n."""
    along = 4 / np.linalg.norm(n) * np.array([-n[1], n[0]])
    return np.stack([p + along, p - along])


__all__ = ["activation_demo", "bent_answers", "bent_layer", "bent_plane_demo", "xor_line_demo"]
