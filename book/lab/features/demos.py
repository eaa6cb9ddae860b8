"""A moving demo on superposition: reading many features by one threshold."""

import math

from mathlm.errors import InputError
from mathlm.plot.demo import Demo, button, live_text, script_beside, slider, value

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


def bell(middle: float | int, spread: float | int) -> str:
    """Path of a bell curve in the picture, of height 1 whatever its spread."""
    points = []
    for i in range(121):
        x = LEFT + (RIGHT - LEFT) * i / 120
        y = math.exp(-0.5 * ((x - middle) / max(spread, 0.004)) ** 2)
        points.append(f"{WIDE * i / 120:.1f} {HIGH * (1 - 0.95 * y):.1f}")
    return "M" + "L".join(points)


def shown_count(x: float | int) -> str:
    """An expected number of features, as the script writes it."""
    if x >= 10:
        return f"{x:,.0f}"
    if x >= 0.01:
        return f"{x:.2f}"
    mantissa, _, power = f"{x:.0e}".partition("e")
    return "0" if x == 0 else f"{mantissa}e−{abs(int(power))}"


def picture(width: int, active: int, threshold: float | int) -> str:
    """Two bells: what is heard of features that are not there, and of those that are."""
    at = WIDE * (threshold - LEFT) / (RIGHT - LEFT)
    numbers = "".join(
        f'<text x="{WIDE * (x - LEFT) / (RIGHT - LEFT):.0f}" y="{HIGH + 14}" font-size="11" '
        f'text-anchor="middle">{x}</text>'
        for x in (0, 1)
    )
    curves = zip(
        ("absent", "present"), ("second", "accent"), (0, 1), (active, active - 1), strict=True
    )
    paths = "".join(
        f'<path data-name="{name}" d="{bell(middle, math.sqrt(k / width))}" fill="none" '
        f'stroke="var(--{color})" stroke-width="2"/>'
        for name, color, middle, k in curves
    )
    return (
        f'<svg viewBox="0 0 {WIDE} {HIGH + 18}" role="img" aria-label="Two bell curves of what '
        f'is heard: around 0 for features that are not there, around 1 for those that are">'
        f'<path d="M0 {HIGH}H{WIDE}" stroke="var(--soft)"/>{paths}'
        f'<line data-name="line" x1="{at:.1f}" x2="{at:.1f}" y1="0" y2="{HIGH}" '
        f'stroke="var(--fg)" stroke-dasharray="4 3"/>{numbers}</svg>'
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
        hint="Raise k until the bells meet. Does a threshold above ½ help?",
        state={"left": LEFT, "right": RIGHT, "wide": WIDE, "high": HIGH},
        controls=widths.replace(f'width-value">{width}<', f'width-value">{D}<')
        + counts.replace(f'count-value">{count:g}<', f'count-value">{m:,}<')
        + slider("active", "there at once, k", 1, 400, 1, k)
        + slider("threshold", "threshold", 0.1, 0.9, 0.02, threshold)
        + button("reset", "reset"),
        view=picture(D, k, threshold)
        + live_text(
            f"Noise {value('noise', f'{math.sqrt(k / D):.3f}')}. Expected: "
            f"{value('missed', shown_count(missed))} missed, "
            f"{value('false', shown_count(false))} heard falsely; all right with probability "
            f"{value('all', f'{right:.2f}')}. The rule D/(8 ln m) allows "
            f"{value('rule', f'{D / (8 * math.log(m)):.0f}')}."
        )
        + '<p class="demo-hint">Around 0 what is heard of features that are not there, around '
        "1 of those that are; dashed the threshold. Each bell is drawn with height 1.</p>",
        script=script_beside(__file__, "readout_threshold"),
        css=".mathlm-demo[data-demo=readout-threshold] svg{width:100%;max-height:11rem}",
    )
