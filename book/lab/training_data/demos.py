"""A moving demo of deduplication: which pairs MinHash finds; its script is bands.js."""

import numpy as np

from mathlm.errors import InputError
from mathlm.plot.demo import Demo, button, live_text, script_beside, slider, value

LEFT, TOP, WIDTH, HEIGHT = 46, 12, 380, 200  # the plane of the curve [pixels]


def bands_demo(bands: int = 16, rows: int = 8, similarity: float = 0.8) -> Demo:
    """The chance that bands of MinHash values find a pair, by its similarity.

    Args:
        bands: Initial number of bands, 1 to 64.
        rows: Initial hashes in a band, 1 to 16.
        similarity: Initial Jaccard similarity of the pair.

    Raises:
        InputError: If a number is out of its range.
    """
    if not (1 <= bands <= 64 and 1 <= rows <= 16 and 0 <= similarity <= 1):
        raise InputError(
            f"bands={bands}, rows={rows} and similarity={similarity} must lie in 1..64, 1..16 "
            "and 0..1"
        )
    chance = 1 - (1 - similarity**rows) ** bands
    return Demo(
        kind="minhash-bands",
        title="Which pairs do the bands find?",
        hint="Keep rows times bands at 128 and trade one for the other: the step moves.",
        controls=slider("rows", "rows r in a band", 1, 16, 1, rows)
        + slider("bands", "bands b", 1, 64, 1, bands)
        + slider("similarity", "similarity s of a pair", 0, 1, 0.01, similarity)
        + button("reset", "reset"),
        view=_plane(bands, rows, similarity, chance)
        + f'<p class="still">{rows} rows, {bands} bands, similarity {similarity:g}.</p>'
        + live_text(
            f"{value('hashes', str(rows * bands))} hashes a document. A pair is found with "
            f"probability {value('chance', f'{100 * chance:.1f}')} %; the step is near "
            f"{value('threshold', f'{(1 / bands) ** (1 / rows):.2f}')}."
        ),
        state={"left": LEFT, "top": TOP, "width": WIDTH, "height": HEIGHT},
        script=script_beside(__file__, "bands"),
    )


def _plane(bands: int, rows: int, similarity: float, chance: float) -> str:
    """The curve of the initial state, its axes and the pair as a dot."""
    s = np.linspace(0, 1, 101)
    found = 1 - (1 - s**rows) ** bands
    x, y = LEFT + s * WIDTH, TOP + (1 - found) * HEIGHT
    points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
    ticks = "".join(
        f'<text x="{LEFT + t * WIDTH:.0f}" y="{TOP + HEIGHT + 18}" text-anchor="middle">{t:g}'
        f'</text><text x="{LEFT - 6}" y="{TOP + (1 - t) * HEIGHT + 5:.0f}" text-anchor="end">'
        f"{t:g}</text>"
        for t in (0, 0.5, 1)
    )
    return (
        f'<svg viewBox="0 0 {LEFT + WIDTH + 20} {TOP + HEIGHT + 44}" role="img" '
        'aria-label="Chance of being found against the similarity of a pair" '
        'font-size="13"><path fill="none" stroke="var(--soft)" '
        f'd="M{LEFT},{TOP}V{TOP + HEIGHT}H{LEFT + WIDTH}"/>{ticks}'
        f'<text x="{LEFT + WIDTH / 2:.0f}" y="{TOP + HEIGHT + 38}" text-anchor="middle">'
        "similarity of a pair</text>"
        f'<polyline data-name="curve" fill="none" stroke="var(--accent)" stroke-width="2.5" '
        f'points="{points}"/><circle data-name="dot" r="6" fill="var(--second)" '
        f'cx="{LEFT + similarity * WIDTH:.1f}" cy="{TOP + (1 - chance) * HEIGHT:.1f}"/></svg>'
    )


__all__ = ["bands_demo"]
