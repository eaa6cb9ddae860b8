"""Moving demos of networks: activation functions with their slopes, a line against XOR."""

import numpy as np
from numpy import ndarray

from mathlm.errors import InputError
from mathlm.plot.demo import Demo, button, live_text, script_beside, select, slider, value
from mathlm.reference.network import activation

NAMES = ("relu", "gelu", "silu", "sigmoid", "tanh")
SHOWN = ("ReLU", "GELU", "SiLU", "sigmoid", "tanh")
GRID = np.round(np.linspace(-4, 4, 161), 10)
BITS = ((0, 0), (0, 1), (1, 0), (1, 1))

ACTIVATION_CSS = """
.mathlm-demo[data-demo=activation] svg{width:30rem;margin:auto}
.mathlm-demo[data-demo=activation] .axis{stroke:var(--line);stroke-width:.03}
.mathlm-demo[data-demo=activation] polyline{fill:none;stroke-width:.06}
.mathlm-demo[data-demo=activation] polyline.value{stroke:var(--accent)}
.mathlm-demo[data-demo=activation] polyline.slope{stroke:var(--second);stroke-dasharray:.2 .1}
.mathlm-demo[data-demo=activation] .at{stroke:var(--soft);stroke-width:.03}
.mathlm-demo[data-demo=activation] circle.value{fill:var(--accent)}
.mathlm-demo[data-demo=activation] circle.slope{fill:var(--second)}
"""


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
        f"{value('chain', f'{abs(slope) ** 10:.2g}')}."
    )
    return Demo(
        kind="activation",
        title="An activation function and its slope",
        hint="Move z to the left: whose slope reaches zero, and whose turns negative?",
        controls=controls,
        view=f'<p class="still">{SHOWN[which]} at z = {z:g}.</p>'
        + _curves_view(curves[which], start, z)
        + sentence,
        script=script_beside(__file__, "activation"),
        state={"grid": GRID.tolist(), "curves": curves},
        css=ACTIVATION_CSS,
    )


def _sampled(name: str) -> tuple[list[float], list[float]]:
    y, cache = getattr(activation, name)(GRID)
    slope = getattr(activation, name + "_backward")(np.ones_like(GRID), cache)
    return np.round(y, 5).tolist(), np.round(slope, 5).tolist()


def _curves_view(curve: dict[str, list[float]], at: dict[str, float], z: float) -> str:
    shapes = '<line class="axis" x1="-4" y1="0" x2="4" y2="0"/>'
    shapes += '<line class="axis" x1="0" y1="-4" x2="0" y2="1.2"/>'
    shapes += f'<line class="at" data-name="at" x1="{z:g}" y1="-4" x2="{z:g}" y2="1.2"/>'
    for name, y in curve.items():
        points = " ".join(f"{x:g},{-v:g}" for x, v in zip(GRID, y, strict=True))
        shapes += f'<polyline class="{name}" data-name="{name}-curve" points="{points}"/>'
        place = f'cx="{z:g}" cy="{-at[name]:g}" r="0.09"'
        shapes += f'<circle class="{name}" data-name="{name}-dot" {place}/>'
    label = "The activation as a solid line, its slope as a dashed line, both marked at z"
    return f'<svg viewBox="-4.1 -4.1 8.2 5.4" role="img" aria-label="{label}">{shapes}</svg>'


def _signed(x: float) -> str:
    return f"{x + 0.0:.4f}".replace("-", "−")


LINE_CSS = """
.mathlm-demo[data-demo=xor-line] svg{width:20rem;margin:auto}
.mathlm-demo[data-demo=xor-line] .axis{stroke:var(--line);stroke-width:.015}
.mathlm-demo[data-demo=xor-line] .line{stroke:var(--fg);stroke-width:.02}
.mathlm-demo[data-demo=xor-line] .side{fill:var(--track)}
.mathlm-demo[data-demo=xor-line] .one{fill:var(--second)}
.mathlm-demo[data-demo=xor-line] .zero{fill:var(--accent)}
.mathlm-demo[data-demo=xor-line] text{font-size:.13px}
"""


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
        hint="Three of four are easy. Can you find a line that gets all four?",
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
        css=LINE_CSS,
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
    corners = " ".join(f"{x:.3f},{-y:.3f}" for x, y in kept)
    shapes = f'<polygon class="side" data-name="side" points="{corners}"/>'
    shapes += '<line class="axis" x1="-.7" y1="0" x2="1.7" y2="0"/>'
    shapes += '<line class="axis" x1="0" y1="-1.7" x2="0" y2=".7"/>'
    for x, y in BITS:
        name = "one" if x ^ y else "zero"
        shapes += f'<circle class="{name}" cx="{x}" cy="{-y}" r=".08"/>'
        shapes += f'<text x="{x + 0.11}" y="{-y - 0.06}">{x ^ y}</text>'
    label = "Four inputs with their targets; the shaded side is where the neuron says 1"
    return f'<svg viewBox="-.7 -1.7 2.4 2.4" role="img" aria-label="{label}">{shapes}</svg>'


__all__ = ["activation_demo", "xor_line_demo"]
