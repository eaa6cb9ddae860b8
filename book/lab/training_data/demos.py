"""A moving demo of deduplication: which pairs MinHash finds; its script is bands.js."""

import numpy as np

from mathlm.errors import InputError
from mathlm.plot.demo import Demo, button, live_text, script_beside, slider, value
from mathlm.plot.picture import axis, dots, line, picture


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
            f"probability {value('chance', f'{100 * chance:.1f}')} %; the step (dashed) is "
            f"near {value('threshold', f'{(1 / bands) ** (1 / rows):.2f}')}."
        ),
        script=script_beside(__file__, "bands"),
    )


def _plane(bands: int, rows: int, similarity: float, chance: float) -> str:
    """The curve of the initial state, its step and the pair as a dot."""
    s, step = np.linspace(0, 1, 101), (1 / bands) ** (1 / rows)
    found = 1 - (1 - s**rows) ** bands
    return picture(
        "plane",
        "chance of being found against the similarity of a pair",
        axis(0, 1, "similarity of a pair"),
        axis(0, 1, "probability of being found"),
        [
            line([(step, 0), (step, 1)], "soft", width=1, dash="4 4"),
            line(zip(s, found, strict=True)),
            dots([(similarity, chance)], "second", size=6),
        ],
        aspect=0.55,
    )


__all__ = ["bands_demo"]
