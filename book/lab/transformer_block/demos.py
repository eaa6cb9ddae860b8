"""Moving demo of the transformer block: one gated unit."""

import math

import numpy as np

from mathlm.errors import InputError
from mathlm.plot.demo import Demo, button, script_beside, select, slider, value

UNITS = ("SiLU gate: SiLU(u) · v", "ReLU gate: ReLU(u) · v", "no gate: ReLU(u)")
CELLS = np.round(np.linspace(-2, 2, 17), 10)

GATE_CSS = """
.mathlm-demo[data-demo=gate] svg{width:20rem;margin:auto}
.mathlm-demo[data-demo=gate] rect.plus{fill:var(--accent)}
.mathlm-demo[data-demo=gate] rect.minus{fill:var(--second)}
.mathlm-demo[data-demo=gate] line{stroke-width:.05}
.mathlm-demo[data-demo=gate] .gate{stroke:var(--fg)}
.mathlm-demo[data-demo=gate] .value{stroke:var(--fg);stroke-dasharray:.12 .1}
"""


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
        hint="Set both directions equal, then opposite, then at right angles.",
        controls=controls,
        view=f'<p class="still">{UNITS[which]}; gate at {gate}°, value at {listen}°.</p>'
        + _gate_view(gate, listen, which)
        + f"<table><thead><tr><th>input</th>{heads}</tr></thead>"
        + f"<tbody><tr><th scope='row'>output</th>{cells}</tr></tbody></table>",
        script=script_beside(__file__, "gate"),
        state={"cells": CELLS.tolist()},
        css=GATE_CSS,
    )


def _unit(x: float, y: float, gate: int, listen: int, which: int) -> float:
    a, b = math.radians(gate), math.radians(listen)
    u = x * math.cos(a) + y * math.sin(a)
    v = x * math.cos(b) + y * math.sin(b)
    return (u / (1 + math.exp(-u)) * v, max(u, 0.0) * v, max(u, 0.0))[which]


def _gate_view(gate: int, listen: int, which: int) -> str:
    """Output over a square of inputs, blue above 0 and orange below, and the two directions."""
    shapes = ""
    for y in CELLS:
        for x in CELLS:
            z = _unit(x, y, gate, listen, which)
            shapes += (
                f'<rect class="{"minus" if z < 0 else "plus"}" data-name="cell" '
                f'x="{x - 0.125:g}" y="{-y - 0.125:g}" width=".25" height=".25" '
                f'opacity="{min(1, abs(z) / 4):.3f}"/>'
            )
    for name, css, angle in (("a", "gate", gate), ("b", "value", listen)):
        x, y = 1.8 * math.cos(math.radians(angle)), 1.8 * math.sin(math.radians(angle))
        end = f'x2="{x:.3f}" y2="{-y:.3f}"'
        shapes += f'<line class="{css}" data-name="{name}-line" x1="0" y1="0" {end}/>'
    label = (
        "Output of the unit over two inputs; a solid line shows the gate, a dashed the value"
    )
    return f'<svg viewBox="-2.2 -2.2 4.4 4.4" role="img" aria-label="{label}">{shapes}</svg>'


def _signed(x: float) -> str:
    return f"{x + 0.0:.2f}".replace("-0.00", "0.00").replace("-", "−")


__all__ = ["gate_demo"]
