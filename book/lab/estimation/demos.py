"""A moving demo of estimation: KL divergence in both directions."""

import numpy as np
from numpy import ndarray

from mathlm.errors import InputError
from mathlm.plot.demo import Demo, button, live_text, script_beside, slider, value
from mathlm.reference import kl_divergence, log_softmax, normal_log_density

WIDTH, HEIGHT = 480, 160
SVG_CSS = (
    "{0} svg{{width:100%;max-width:34rem}}{0} .truth{{fill:var(--line)}}"
    "{0} .line{{fill:none;stroke:var(--accent);stroke-width:2.5}}"
)


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
    top = 1.6 * float(p.max())
    return Demo(
        kind="kl",
        title="A normal curve q against a truth p with two modes",
        hint="Lower KL(p ‖ q) first, then KL(q ‖ p): the two want different curves.",
        controls=slider("mean", "mean of q", x[0] / 2, x[-1] / 2, 0.1, mean)
        + slider("std", "standard deviation of q", 0.3, 5, 0.1, std)
        + button("reset", "reset"),
        view=_kl_picture(p, q, top)
        + f'<p class="still">Mean of q {mean:g}, standard deviation {std:g}.</p>'
        + live_text(
            f"KL(p ‖ q) = {value('forward', f'{kl_divergence(p, q):.3f}')} nats, "
            f"KL(q ‖ p) = {value('reverse', f'{kl_divergence(q, p):.3f}')} nats."
        ),
        script=script_beside(__file__, "kl"),
        state={
            "x": np.round(x, 6).tolist(),
            "p": [float(f"{v:.6g}") for v in p],
            "top": top,
            "width": WIDTH,
            "height": HEIGHT,
        },
        css=SVG_CSS.format(".mathlm-demo[data-demo=kl]"),
    )


def _svg(label: str, content: str) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">{content}</svg>'
    )


def _path(heights: ndarray) -> str:
    """Points from left to right; height 1 is the top."""
    x = np.linspace(0, WIDTH, len(heights))
    y = HEIGHT * (1 - np.minimum(heights, 1))
    return "M" + "L".join(f"{a:.2f} {b:.2f}" for a, b in zip(x, y, strict=True))


def _kl_picture(p: ndarray, q: ndarray, top: float) -> str:
    area = _path(p / top) + f"L{WIDTH} {HEIGHT}L0 {HEIGHT}Z"
    return _svg(
        "The truth p as an area with two humps, the normal curve q as a line",
        f'<path class="truth" d="{area}"/>'
        f'<path class="line" data-name="curve" d="{_path(q / top)}"/>',
    )
