"""Moving demos of optimization: paths of five optimizers on a plane, and schedules."""

from typing import Any

import contourpy
import numpy as np
from numpy import ndarray

from mathlm.errors import InputError
from mathlm.plot.demo import Demo, button, live_text, script_beside, select, slider, value
from mathlm.reference import (
    adam_step,
    descend,
    momentum_step,
    nesterov_step,
    rmsprop_step,
    sgd_step,
)

from .landscape import (
    double_well,
    double_well_gradient,
    quadratic,
    quadratic_gradient,
    rosenbrock,
    rosenbrock_gradient,
)

WIDTH, HEIGHT, STEPS = 480, 300, 200
TURN = np.array([[1.0, -1.0], [1.0, 1.0]]) / np.sqrt(2)
LANDSCAPES: dict[str, dict[str, Any]] = {
    "ravine": {
        "f": lambda x: quadratic(x, [1.0, 25.0]),
        "g": lambda x: quadratic_gradient(x, [1.0, 25.0]),
        "window": (-9.0, 3.0, -2.4, 2.4),
        "start": (-8.0, 1.5),
        "lowest": 0.0,
    },
    "ravine at 45°": {
        "f": lambda x: quadratic(x @ TURN, [1.0, 25.0]),
        "g": lambda x: quadratic_gradient(x @ TURN, [1.0, 25.0]) @ TURN.T,
        "window": (-8.0, 3.0, -6.0, 3.0),
        "start": (-6.7, -4.6),
        "lowest": 0.0,
    },
    "Rosenbrock's valley": {
        "f": rosenbrock,
        "g": rosenbrock_gradient,
        "window": (-1.8, 1.8, -0.6, 1.8),
        "start": (-1.2, 1.0),
        "lowest": 0.0,
    },
    "saddle": {
        "f": double_well,
        "g": double_well_gradient,
        "window": (-1.4, 1.4, -0.5, 1.4),
        "start": (1.0, 0.0001),
        "lowest": -0.25,
    },
}
METHODS = {
    "gradient descent": lambda beta: (sgd_step, {}),
    "momentum": lambda beta: (momentum_step, {"beta": beta}),
    "Nesterov": lambda beta: (nesterov_step, {"beta": beta}),
    "RMSProp": lambda beta: (rmsprop_step, {"beta": 0.9}),
    "Adam": lambda beta: (adam_step, {"betas": (beta, 0.999)}),
}


def level_path(name: str) -> str:
    """SVG path of the level lines of a landscape."""
    land = LANDSCAPES[name]
    left, right, bottom, top = land["window"]
    x, y = np.linspace(left, right, 90), np.linspace(bottom, top, 70)
    height = land["f"](np.stack(np.meshgrid(x, y), axis=-1))
    root = (height - height.min()) ** 0.25
    contours = contourpy.contour_generator(x, y, root, line_type="Separate")
    levels = [contours.lines(level) for level in np.linspace(0, root.max(), 12)[1:-1]]
    lines = [np.asarray(line) for found in levels for line in found]
    return "".join("M" + "L".join(_points(name, line)) for line in lines)


def _points(name: str, path: ndarray) -> list[str]:
    """Points of a landscape in the coordinates of the picture."""
    left, right, bottom, top = LANDSCAPES[name]["window"]
    u = (path[:, 0] - left) * WIDTH / (right - left)
    v = HEIGHT - (path[:, 1] - bottom) * HEIGHT / (top - bottom)
    # the nudge keeps points halfway between two tenths on one side on every processor
    shown = np.clip(np.stack([u, v], axis=1), -9999, 9999) + 1e-6
    return [f"{a:.1f},{b:.1f}" for a, b in shown]


def optimizer_demo(
    landscape: str = "ravine",
    method: str = "momentum",
    rate: float | int = -1.5,
    beta: float | int = 0.9,
) -> Demo:
    """A landscape, a method, a step size and a momentum; the path follows.

    Args:
        landscape: "ravine", "ravine at 45°", "Rosenbrock's valley" or "saddle".
        method: "gradient descent", "momentum", "Nesterov", "RMSProp" or "Adam".
        rate: Logarithm to base 10 of the step size, -4 to 0.
        beta: Momentum, 0 to 0.99; Adam's β₁. RMSProp ignores it.

    Raises:
        InputError: If a name is not known or a number is out of reach of its slider.
    """
    if landscape not in LANDSCAPES or method not in METHODS:
        raise InputError(
            f"landscape={landscape!r} must be one of {', '.join(LANDSCAPES)}, and "
            f"method={method!r} one of {', '.join(METHODS)}"
        )
    if not (-4 <= rate <= 0 and 0 <= beta <= 0.99):
        raise InputError(f"need -4 <= rate <= 0 and 0 <= beta <= 0.99, got {rate} and {beta}")
    land, (step, numbers) = LANDSCAPES[landscape], METHODS[method](beta)
    path = descend(land["g"], np.array(land["start"]), step, STEPS, lr=10.0**rate, **numbers)
    losses = land["f"](path) - land["lowest"]
    first = int(np.argmax(losses < 0.01)) if (losses < 0.01).any() else None
    svg = _landscape_picture(landscape, _points(landscape, path))
    return Demo(
        kind="optimizer",
        title=f"{STEPS} steps of an optimizer",
        hint="Raise the learning rate until the path breaks. Turn the ravine and try Adam.",
        state=_landscape_state(),
        controls=_landscape_controls(landscape, method, rate, beta),
        view=svg
        + f'<p class="still">{method} on the {landscape}, learning rate {10.0**rate:.2g}, '
        f"momentum {beta:g}.</p>"
        + live_text(
            f"Within 0.01 of the minimum: {value('first', _after(first))}. "
            f"Loss above the minimum at the end: {value('last', _power(losses[-1]))}."
        ),
        script=script_beside(__file__, "optimizer"),
        css=".mathlm-demo[data-demo=optimizer] .levels{fill:none;stroke:var(--line)}"
        ".mathlm-demo[data-demo=optimizer] .path{fill:none;stroke:var(--accent);stroke-width:2}"
        ".mathlm-demo[data-demo=optimizer] .start{fill:var(--fg)}"
        ".mathlm-demo[data-demo=optimizer] .end{fill:var(--second)}",
    )


def schedule_demo(warmup: int = 100, final: float | int = 0.0) -> Demo:
    """A shape of decay, a length of warm-up and a final value; the schedule follows.

    Args:
        warmup: Initial length of the rise, 0 to 500 steps of 1000.
        final: Initial last value, as a part of the peak, 0 to 1.

    Raises:
        InputError: If a number is out of reach of its slider.
    """
    if not (0 <= warmup <= 500 and 0 <= final <= 1):
        raise InputError(f"need 0 <= warmup <= 500, 0 <= final <= 1, got {warmup}, {final}")
    total = 1000
    t = np.arange(0, total + 1, 5)
    cosine = final + (1 - final) * (1 + np.cos(np.pi * (t - warmup) / (total - warmup))) / 2
    eta = np.where(t < warmup, (t + 1) / (warmup + 1), cosine)
    points = " ".join(
        f"{a * WIDTH / total:.1f},{160 * (1 - 0.95 * b):.1f}"
        for a, b in zip(t, eta, strict=True)
    )
    svg = (
        f'<svg viewBox="0 0 {WIDTH} 160" role="img" aria-label="step size over the run">'
        f'<polyline class="curve" data-name="curve" points="{points}"/></svg>'
    )
    shapes = ["constant", "linear", "cosine", "exponential to 1 %", "inverse square root"]
    mean = float(np.trapezoid(eta, t)) / total
    return Demo(
        kind="schedule",
        title="A schedule of 1000 steps, as a part of its peak",
        hint="Compare the mean step of a cosine with that of a line: they are the same.",
        state={"total": total, "width": WIDTH, "height": 160},
        controls=select("shape", "decay", shapes, 2)
        + slider("warmup", "warm-up [steps]", 0, 500, 10, warmup)
        + slider("final", "final value", 0, 1, 0.05, final)
        + button("reset", "reset"),
        view=svg
        + f'<p class="still">Cosine, {warmup} steps of warm-up, final value {final:g}.</p>'
        + live_text(
            f"Half way: {value('half', f'{eta[len(eta) // 2]:.3f}')}, at the end "
            f"{value('end', f'{eta[-1]:.3f}')}, mean {value('mean', f'{mean:.3f}')}."
        ),
        script=script_beside(__file__, "schedule"),
        css=".mathlm-demo[data-demo=schedule] .curve{fill:none;stroke:var(--accent);"
        "stroke-width:2.5}.mathlm-demo[data-demo=schedule] svg{border-bottom:1px solid "
        "var(--soft);border-left:1px solid var(--soft)}",
    )


def _landscape_picture(landscape: str, points: list[str]) -> str:
    """The level lines with a path over them, as SVG."""
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="path of an optimizer over '
        f'level lines"><path class="levels" data-name="levels" d="{level_path(landscape)}"/>'
        f'<polyline class="path" data-name="path" points="{" ".join(points)}"/>'
        f'<circle class="start" data-name="start" r="5" transform="translate({points[0]})"/>'
        f'<circle class="end" data-name="end" r="5" transform="translate({points[-1]})"/></svg>'
    )


def _landscape_controls(
    landscape: str, method: str, rate: float | int, beta: float | int
) -> str:
    """The two lists, the two sliders and the button."""
    return (
        select("landscape", "landscape", list(LANDSCAPES), _index(LANDSCAPES, landscape))
        + select("method", "method", list(METHODS), _index(METHODS, method))
        + slider("rate", "learning rate (log scale)", -4, 0, 0.05, rate)
        + slider("beta", "momentum β", 0, 0.99, 0.01, beta)
        + button("reset", "reset")
    )


def _landscape_state() -> dict[str, Any]:
    """What the script needs to know of every landscape."""
    landscapes = [
        {
            "window": list(land["window"]),
            "start": list(land["start"]),
            "lowest": land["lowest"],
            "levels": level_path(name),
        }
        for name, land in LANDSCAPES.items()
    ]
    return {"landscapes": landscapes, "width": WIDTH, "height": HEIGHT, "steps": STEPS}


def _index(options: dict, chosen: str) -> int:
    return list(options).index(chosen)


def _after(first: int | None) -> str:
    return "never" if first is None else f"after {first} steps"


def _power(x: float) -> str:
    """A number as JavaScript's toExponential(1) writes it, with a real minus sign."""
    mantissa, exponent = f"{x:.1e}".split("e")
    return f"{mantissa}e{int(exponent):+d}".replace("-", "−") if x < 1e6 else "diverged"
