"""A moving demo on superposition: reading many features by one threshold."""

import math

from mathlm.errors import InputError
from mathlm.plot.demo import Demo, button, live_text, scientific, script_beside, slider, value
from mathlm.plot.picture import axis, legend, line, picture

WIDTHS, COUNTS = (6, 14), (2.0, 7.0)  # powers of 2, powers of 10
LEFT, RIGHT, WIDE, HIGH = -1.0, 2.0, 300, 90  # what is heard, and the picture in pixels


def tail(z: float | int) -> float:
    """Probability that a standard normal number is above z."""
    return math.erfc(z / math.sqrt(2)) / 2


def expected_errors(
    width: int, count: int, active: int, threshold: float | int
) -> tuple[float, float, float]:
    """What one threshold misses, hears falsely, and how likely it makes no error at all.

    Computes::

        q = Q((1 - θ) √(D / (k - 1))),   r = Q(θ √(D / k))
        k q,   (m - k) r,   (1 - r)^(m - k) (1 - q)^k
    """
    off = tail(threshold * math.sqrt(width / active))
    miss = tail((1 - threshold) * math.sqrt(width / (active - 1))) if active > 1 else 0.0
    log_right = (count - active) * math.log1p(-off) + active * math.log1p(-miss)
    return active * miss, (count - active) * off, math.exp(log_right)


def bell(middle: float | int, spread: float | int) -> list[tuple[float, float]]:
    """A bell curve in the picture, of height 1 whatever its spread."""
    grid = [LEFT + (RIGHT - LEFT) * i / 120 for i in range(121)]
    return [(x, math.exp(-0.5 * ((x - middle) / max(spread, 0.004)) ** 2)) for x in grid]


def shown_count(x: float | int) -> str:
    """An expected number of features, as the script writes it."""
    if x >= 10:
        return f"{x:,.0f}"
    return f"{x:.2f}" if x >= 0.01 or x == 0 else scientific(x, 0)


def _bells(width: int, active: int, threshold: float | int) -> str:
    """Two bells: what is heard of features that are not there, and of those that are."""
    names = (
        ("second", "features that are not there"),
        ("accent", "features that are there"),
        ("fg", "threshold", "dashed"),
    )
    return legend(names) + picture(
        "bells",
        "two bell curves of what is heard: around 0 for features that are not there, around 1 "
        "for those that are",
        axis(LEFT, RIGHT, "what is heard of a feature"),
        axis(0, 1.1, "density (each bell with height 1)"),
        [
            line(bell(0, math.sqrt(active / width)), "second"),
            line(bell(1, math.sqrt((active - 1) / width)), "accent"),
            line([(threshold, 0), (threshold, 1.1)], "fg", width=1.5, dash="4 3"),
        ],
        aspect=0.45,
    )


def readout_threshold_demo(
    width: int = 12, count: float | int = 5.0, active: int = 44, threshold: float | int = 0.5
) -> Demo:
    """Reading superposed features by a threshold: what is missed, and what is heard falsely.

    Args:
        width: Dimensions D [power of 2].
        count: Features m in random directions [power of 10].
        active: How many of them are there at once, with strength 1.
        threshold: From which on a feature counts as there.

    Raises:
        InputError: If a number is outside the sliders' range.
    """
    ranges = {"width": WIDTHS, "count": COUNTS, "active": (1, 400), "threshold": (0.1, 0.9)}
    given = {"width": width, "count": count, "active": active, "threshold": threshold}
    for name, (low, high) in ranges.items():
        if not low <= given[name] <= high:
            raise InputError(f"{name}={given[name]} must be from {low} to {high}")
    D, m = 2**width, round(10**count)
    k = min(active, m)
    missed, false, right = expected_errors(D, m, k, threshold)
    widths = slider("width", "dimensions D", *WIDTHS, 1, width)
    counts = slider("count", "features m", *COUNTS, 0.5, count)
    return Demo(
        kind="readout-threshold",
        title="How many features at once can a threshold read?",
        hint="Drag the threshold. Raise k until the bells meet. Does a threshold above ½ help?",
        state={"left": LEFT, "right": RIGHT},
        controls=widths.replace(f'width-value">{width}<', f'width-value">{D:,}<')
        + counts.replace(f'count-value">{count:g}<', f'count-value">{m:,}<')
        + slider("active", "there at once, k", 1, 400, 1, k)
        + slider("threshold", "threshold", 0.1, 0.9, 0.02, threshold)
        + button("reset", "reset"),
        view=_bells(D, k, threshold)
        + live_text(
            f"Noise {value('noise', f'{math.sqrt(k / D):.3f}')}. Expected: "
            f"{value('missed', shown_count(missed))} missed, "
            f"{value('false', shown_count(false))} heard falsely; all right with probability "
            f"{value('all', f'{right:.2f}')}. The rule D/(8 log m) allows "
            f"{value('rule', f'{D / (8 * math.log(m)):.0f}')}."
        ),
        script=script_beside(__file__, "readout_threshold"),
    )
