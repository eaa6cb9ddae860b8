"""Moving demos of optimization: a race of five optimizers on a plane, and schedules."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import contourpy
import numpy as np
from numpy import ndarray

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
from mathlm.plot.picture import axis, dots, legend, line, picture
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

STEPS = 200
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


LOOKS = (("fg", ""), ("accent", ""), ("accent", "2 3"), ("third", ""), ("second", ""))
RATES = (-1.15, -2.15, -1.3, -1.3, -0.35)  # log₁₀ of the best step size of each on the ravine


def level_lines(name: str) -> list[tuple[float, float]]:
    """Level lines of a landscape, with a point that is not finite between two of them."""
    land = LANDSCAPES[name]
    left, right, bottom, top = land["window"]
    x, y = np.linspace(left, right, 40), np.linspace(bottom, top, 30)
    height = land["f"](np.stack(np.meshgrid(x, y), axis=-1))
    root = (height - height.min()) ** 0.25
    contours = contourpy.contour_generator(x, y, root, line_type="Separate")
    points: list[tuple[float, float]] = []
    for level in np.linspace(0, root.max(), 12)[1:-1]:
        for found in contours.lines(level):
            points += [*map(tuple, np.asarray(found)), (math.nan, math.nan)]
    return points


def optimizer_demo(
    landscape: str = "ravine",
    rates: Sequence[float | int] = RATES,
    beta: float | int = 0.9,
) -> Demo:
    """Five methods on one landscape, each at a step size of its own, from a start to drag.

    Args:
        landscape: "ravine", "ravine at 45°", "Rosenbrock's valley" or "saddle".
        rates: Logarithm to base 10 of the step size of each of ``METHODS``, -4 to 0.
        beta: Momentum, 0 to 0.99; Adam's β₁. RMSProp ignores it.

    Raises:
        InputError: If a name is not known or a number is out of reach of its slider.
    """
    _check_race(landscape, rates, beta)
    land = LANDSCAPES[landscape]
    paths = [
        descend(land["g"], np.array(land["start"]), step, STEPS, lr=10.0**rate, **numbers)
        for rate, (step, numbers) in zip(
            rates, (make(beta) for make in METHODS.values()), strict=True
        )
    ]
    losses = [land["f"](path) - land["lowest"] for path in paths]
    firsts = [stays_below(loss) for loss in losses]
    return Demo(
        kind="optimizer",
        title=f"Five optimizers, {STEPS} steps from one start",
        hint="Drag the start, or move it with the arrow keys. Turn the ravine, then give each "
        "method its best rate again: which of them minds the turn?",
        state=_landscape_state(),
        controls=select("landscape", "landscape", list(LANDSCAPES), _index(landscape))
        + slider("beta", "momentum β", 0, 0.99, 0.01, beta)
        + slider("step", "step", 0, STEPS, 1, STEPS)
        + button("play", "play")
        + button("best", "best rate for each")
        + button("reset", "reset"),
        view=f'<p class="still">The {landscape}, momentum {beta:g}.</p>'
        + legend((color, name, *_dashed(dash)) for (color, dash), name in _looks())
        + _race_pictures(landscape, paths, losses)
        + _race_table(rates, firsts, losses)
        + live_text(
            f"First to stay within 0.01 of the minimum: {value('winner', _winner(firsts))}."
        ),
        script=script_beside(__file__, "optimizer"),
        css=".mathlm-demo[data-demo=optimizer] td.wide{width:38%}"
        ".mathlm-demo[data-demo=optimizer] td.wide input{width:calc(100% - 4.2rem);"
        "vertical-align:middle}@media (max-width:34rem){"
        ".mathlm-demo[data-demo=optimizer] td.wide input{width:100%;display:block}"
        ".mathlm-demo[data-demo=optimizer] th{white-space:normal}}",
    )


def _check_race(landscape: str, rates: Sequence[float | int], beta: float | int) -> None:
    """Refuse names that are not known and numbers that no slider reaches."""
    if landscape not in LANDSCAPES or len(rates) != len(METHODS):
        raise InputError(
            f"landscape={landscape!r} must be one of {', '.join(LANDSCAPES)}, and rates must "
            f"be {len(METHODS)} numbers, one for each of {', '.join(METHODS)}"
        )
    if not (all(-4 <= rate <= 0 for rate in rates) and 0 <= beta <= 0.99):
        raise InputError(f"need -4 <= rate <= 0 and 0 <= beta <= 0.99, got {rates} and {beta}")


def _winner(firsts: list[int | None]) -> str:
    """The method that arrives first, and when."""
    reached = [(n, name) for n, name in zip(firsts, METHODS, strict=True) if n is not None]
    if not reached:
        return "none"
    n, name = min(reached, key=lambda pair: pair[0])
    return f"{name}, after {n} steps"


def stays_below(loss: ndarray, bound: float = 0.01) -> int | None:
    """The step from which on a loss stays below a bound, None if it does not end there."""
    above = np.flatnonzero(~(loss < bound))
    first = 0 if above.size == 0 else int(above[-1]) + 1
    return first if first < len(loss) else None


def _looks() -> Iterator[tuple[tuple[str, str], str]]:
    return zip(LOOKS, METHODS, strict=True)


def _dashed(dash: str) -> tuple[str, ...]:
    return ("dotted",) if dash else ()


def _race_pictures(landscape: str, paths: list[ndarray], losses: list[ndarray]) -> str:
    """The level lines with five paths, and the loss of each over the steps."""
    left, right, bottom, top = LANDSCAPES[landscape]["window"]
    marks = [line(level_lines(landscape), "soft", width=0.7, fade=0.6)]
    curves = [line([(0, 0.01), (STEPS, 0.01)], "soft", dash="3 4", width=1)]
    for (color, dash), path, loss in zip(LOOKS, paths, losses, strict=True):
        look: dict[str, Any] = {"dash": dash} if dash else {}
        marks += [line(path, color, width=2, **look), dots([path[-1]], color, size=4)]
        curves.append(line(enumerate(loss), color, width=2, **look))
    seen = "paths of five optimizers over level lines, from one start"
    return picture(
        "plane", seen, axis(left, right, "x₁"), axis(bottom, top, "x₂"), marks
    ) + picture(
        "race",
        "loss of five optimizers above the minimum, by step",
        axis(0, STEPS, "step"),
        axis(1e-6, 1e3, "loss above the minimum", log=True),
        curves,
        aspect=0.45,
    )


def _race_table(
    rates: Sequence[float | int], firsts: list[int | None], losses: list[ndarray]
) -> str:
    """A row for each method: its step size to set, the steps it took, and where it ended."""
    rows = "".join(
        f'<tr><th scope="row">{name}</th><td class="wide"><input type="range" class="live" '
        f'data-name="rate" aria-label="learning rate of {name}, powers of ten" min="-4" '
        f'max="0" step="0.05" value="{rate:g}"> '
        f"{value('rate-value', scientific(10.0**rate))}</td>"
        f"<td>{value('first', 'none' if first is None else str(first))}</td>"
        f"<td>{value('last', _end(loss))}</td></tr>"
        for name, rate, first, loss in zip(METHODS, rates, firsts, losses, strict=True)
    )
    return (
        '<table><thead><tr><th>method</th><th class="wide">learning rate</th>'
        f"<th>steps to 0.01</th><th>last loss</th></tr></thead><tbody>{rows}</tbody></table>"
    )


def _end(loss: ndarray) -> str:
    whole = len(loss) > STEPS and loss[-1] < 1e6
    return scientific(float(loss[-1])) if whole else "diverged"


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
    shapes = ["constant", "linear", "cosine", "exponential to 1 %", "inverse square root"]
    mean = float(np.trapezoid(eta, t)) / total
    return Demo(
        kind="schedule",
        title="A schedule of 1000 steps, as a part of its peak",
        hint="Compare the mean step of a cosine with that of a line: they are the same.",
        state={"total": total},
        controls=select("shape", "decay", shapes, 2)
        + slider("warmup", "warm-up [steps]", 0, 500, 10, warmup)
        + slider("final", "final value", 0, 1, 0.05, final)
        + button("reset", "reset"),
        view=picture(
            "curve",
            "step size over the run, as a part of its peak",
            axis(0, total, "step"),
            axis(0, 1.05, "step size / peak"),
            [
                line([(0, mean), (total, mean)], "second", dash="6 4", width=2),
                line(zip(t, eta, strict=True)),
            ],
            aspect=0.45,
        )
        + f'<p class="still">Cosine, {warmup} steps of warm-up, final value {final:g}.</p>'
        + live_text(
            f"Half way: {value('half', f'{eta[len(eta) // 2]:.3f}')}, at the end "
            f"{value('end', f'{eta[-1]:.3f}')}, mean (dashed) {value('mean', f'{mean:.3f}')}."
        ),
        script=script_beside(__file__, "schedule"),
    )


def _landscape_state() -> dict[str, Any]:
    """What the script needs to know of every landscape."""
    landscapes = [
        {name: land[name] for name in ("window", "start", "lowest")}
        for land in LANDSCAPES.values()
    ]
    return {
        "landscapes": landscapes,
        "steps": STEPS,
        "looks": [list(look) for look in LOOKS],
        "names": list(METHODS),
    }


def _index(chosen: str) -> int:
    return list(LANDSCAPES).index(chosen)
