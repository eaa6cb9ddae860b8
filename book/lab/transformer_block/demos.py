"""Moving demo of the transformer block: one gated unit."""

import math

import numpy as np

from mathlm.errors import InputError
from mathlm.plot.demo import Demo, button, script_beside, select, slider, value
from mathlm.plot.picture import arrow, axis, boxes, legend, picture

UNITS = ("SiLU gate: SiLU(u) · v", "ReLU gate: ReLU(u) · v", "no gate: ReLU(u)")
CELLS = np.round(np.linspace(-2, 2, 17), 10)


def gate_demo(gate: int = 0, listen: int = 90, which: int = 0) -> Demo:
    """One gated unit of two inputs: turn what opens it, and what it lets through.

    Args:
        gate: Direction of the gate u [degrees], 0 to 180.
        listen: Direction of the value v [degrees], 0 to 180.
        which: Index of the initial unit in ``UNITS``.

    Raises:
        InputError: If an argument is out of range.
    """
    if not (0 <= gate <= 180 and 0 <= listen <= 180 and 0 <= which < len(UNITS)):
        raise InputError(
            f"gate={gate} and listen={listen} must lie between 0 and 180, which={which} in "
            f"0..{len(UNITS) - 1}"
        )
    corners = ((1.0, 1.0), (1.0, -1.0), (-1.0, 1.0), (-1.0, -1.0))
    cells = "".join(
        f"<td>{value('corner', _signed(_unit(x, y, gate, listen, which)))}</td>"
        for x, y in corners
    )
    heads = "".join(f"<th>({x:g}, {y:g})</th>".replace("-", "−") for x, y in corners)
    controls = select("which", "unit", UNITS, which)
    controls += slider("a", "gate u [degrees]", 0, 180, 5, gate)
    controls += slider("b", "value v [degrees]", 0, 180, 5, listen) + button("reset", "reset")
    return Demo(
        kind="gate",
        title="One hidden unit with a gate",
        hint="Turn both arrows by their ends. Set both directions equal, then opposite, then "
        "at right angles.",
        controls=controls,
        view=f'<p class="still">{UNITS[which]}; gate at {gate}°, value at {listen}°.</p>'
        + _gate_view(gate, listen, which)
        + f"<table><thead><tr><th>input</th>{heads}</tr></thead>"
        + f"<tbody><tr><th scope='row'>output</th>{cells}</tr></tbody></table>",
        script=script_beside(__file__, "gate"),
        state={"cells": CELLS.tolist()},
    )


def _unit(x: float, y: float, gate: int, listen: int, which: int) -> float:
    a, b = math.radians(gate), math.radians(listen)
    u = x * math.cos(a) + y * math.sin(a)
    v = x * math.cos(b) + y * math.sin(b)
    return (u / (1 + math.exp(-u)) * v, max(u, 0.0) * v, max(u, 0.0))[which]


def _gate_view(gate: int, listen: int, which: int) -> str:
    """Output over a square of inputs, blue above 0 and orange below, and the two directions."""
    at, colors, fades = [], [], []
    for y in CELLS:
        for x in CELLS:
            z = _unit(x, y, gate, listen, which)
            at.append((x - 0.125, y - 0.125, x + 0.125, y + 0.125))
            colors.append("second" if z < 0 else "accent")
            fades.append(f"{min(1, abs(z) / 4):.3f}")
    tips = [
        (1.8 * math.cos(math.radians(angle)), 1.8 * math.sin(math.radians(angle)))
        for angle in (listen, gate)
    ]
    names = (
        ("accent", "output above 0"),
        ("second", "below 0"),
        ("fg", "gate u"),
        ("fg", "value v", "dashed"),
    )
    return legend(names) + picture(
        "plane",
        "output of the unit over two inputs; a solid arrow shows the gate, a dashed the value",
        axis(-2.125, 2.125, "x₁"),
        axis(-2.125, 2.125, "x₂"),
        [
            boxes(at, colors, fade=fades),
            arrow([(0, 0), tips[0]], "fg", width=2, dash="5 4"),
            arrow([(0, 0), tips[1]], "fg", width=2.5),
        ],
        equal=True,
        aspect=1,
        tallest=340,
    )


def _signed(x: float) -> str:
    return f"{x + 0.0:.2f}".replace("-0.00", "0.00").replace("-", "−")


__all__ = ["gate_demo"]
