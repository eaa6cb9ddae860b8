"""A moving demo of estimation: KL divergence in both directions."""

import math

import numpy as np
from numpy import ndarray

from mathlm.errors import InputError
from mathlm.plot.demo import Demo, button, live_text, script_beside, slider, value
from mathlm.plot.picture import area, axis, legend, line, picture
from mathlm.reference import kl_divergence, log_softmax, normal_log_density


def kl_demo(
    x: ndarray,
    p: ndarray,
    mean: float | int = 0.0,
    std: float | int = 2.0,
) -> Demo:
    """Mean and width of a normal curve to set against a truth; KL in both directions follows.

    Args:
        x: Grid, evenly spaced, at most 500 points.
        p: Probabilities on the grid, all positive.
        mean: Initial mean, within the grid.
        std: Initial standard deviation, between 0.3 and 5.
    """
    if x.shape != p.shape or not 2 <= len(x) <= 500 or not (p > 0).all():
        raise InputError(f"x {x.shape} and p {p.shape} must be one grid of 2 to 500, p > 0")
    if not (x[0] <= mean <= x[-1] and 0.3 <= std <= 5):
        raise InputError(f"mean={mean} or std={std} is out of the range of the sliders")
    q = np.exp(np.maximum(log_softmax(np.asarray(normal_log_density(x, mean, std))), -700))
    top = round_up(1.4 * float(p.max()) / (x[1] - x[0]))
    return Demo(
        kind="kl",
        title="A normal curve q against a truth p with two modes",
        hint="Drag the top of q, and the second point for its width. Lower KL(p ‖ q) first, "
        "then "
        "KL(q ‖ p): the lower picture shows where each of them is paid.",
        controls=slider("mean", "mean of q", x[0] / 2, x[-1] / 2, 0.1, mean)
        + slider("std", "standard deviation of q", 0.3, 5, 0.1, std)
        + button("reset", "reset"),
        view=_pictures(x, p, q, top)
        + f'<p class="still">Mean of q {mean:g}, standard deviation {std:g}.</p>'
        + live_text(
            f"KL(p ‖ q) = {value('forward', f'{kl_divergence(p, q):.3f}')} nats, the area "
            "under p log(p/q); KL(q ‖ p) = "
            f"{value('reverse', f'{kl_divergence(q, p):.3f}')} nats."
        ),
        script=script_beside(__file__, "kl"),
        state={
            "x": np.round(x, 6).tolist(),
            "logp": np.round(np.log(p), 6).tolist(),
            "top": top,
        },
    )


def round_up(v: float) -> float:
    """The least 1, 2 or 5 times a power of ten that is not below v > 0."""
    k = 10.0 ** math.floor(math.log10(v))
    return k * next(f for f in (1, 2, 5, 10) if f * k >= v)


def integrands(x: ndarray, p: ndarray, q: ndarray) -> tuple[ndarray, ndarray]:
    """Integrands p log(p/q) and q log(q/p) per unit of x; their areas are the two divergences.

    Args:
        x: Evenly spaced grid.
        p: Probabilities on it, positive, as those of q.
        q: The other distribution.
    """
    dx = x[1] - x[0]
    return p * np.log(p / q) / dx, q * np.log(q / p) / dx


def _pictures(x: ndarray, p: ndarray, q: ndarray, top: float) -> str:
    """Both densities, and below them what each point of x adds to either divergence."""
    dx, floor, end = x[1] - x[0], [(x[0], 0.0)], [(x[-1], 0.0)]

    def graph(heights: ndarray) -> list[tuple[float, float]]:
        return list(zip(x.tolist(), heights.tolist(), strict=True))

    found = integrands(x, p, q)
    low = round_up(max(0.05, -min(f.min() for f in found)))
    high = round_up(max(0.1, *(f.max() for f in found)))
    curves = [
        mark
        for heights, color in zip(found, ("accent", "second"), strict=True)
        for mark in (
            area(floor + graph(heights) + end, color, fade=0.2),
            line(graph(heights), color, width=2),
        )
    ]
    return (
        legend((("line", "p, the truth"), ("fg", "q")))
        + picture(
            "densities",
            "the truth p as an area with two humps, the normal curve q as a line",
            axis(x[0], x[-1]),
            axis(0, top, "density"),
            [area(floor + graph(p / dx) + end, "line"), line(graph(q / dx), "fg")],
            aspect=0.4,
        )
        + legend(
            (("accent", "p log(p/q), of KL(p ‖ q)"), ("second", "q log(q/p), of KL(q ‖ p)"))
        )
        + picture(
            "integrands",
            "what each place adds to the two divergences",
            axis(x[0], x[-1], "x"),
            axis(-low, high, "integrand [nats per unit of x]"),
            curves,
            aspect=0.45,
        )
    )
