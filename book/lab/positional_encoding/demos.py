"""Moving demos of positions: the table of sines, and hands that turn with their tokens."""

import math

import numpy as np

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
from mathlm.plot.picture import Mark, arrow, axis, boxes, dots, legend, line, picture, words
from mathlm.reference import rotary_frequencies

from .position_geometry import pair_overlap

POSITIONS, FEATURES = 24, 12
FAR = 100  # tokens, the largest distance in the picture of scores
# name, frequencies [radians/token]
PAIRS: dict[str, list[float]] = {
    "one pair, 0.3 a token": [0.3],
    "4 pairs, base 100": rotary_frequencies(8, 100).tolist(),
    "4 pairs, base 10,000": rotary_frequencies(8).tolist(),
    "32 pairs, base 10,000": rotary_frequencies(64).tolist(),
}


def position_heatmap_demo(base: float | int = 10_000, position: int = 5) -> Demo:
    """The base of the frequencies and a position to move; table, vector and wavelengths follow.

    Args:
        base: Initial base, 10 to 1,000,000.
        position: Initial position, 0 to 23.
    """
    if not (10 <= base <= 1e6 and 0 <= position < POSITIONS):
        raise InputError(
            f"base={base} must lie in 10..1,000,000 and position={position} in "
            f"0..{POSITIONS - 1}"
        )
    w = rotary_frequencies(FEATURES, base)
    step = math.sqrt(float(2 * (FEATURES / 2 - pair_overlap(1, FEATURES, base))))
    return Demo(
        kind="position-heatmap",
        title="Sinusoidal encodings: change the base of the frequencies",
        hint="Rows are positions, columns features. Slide the base: the first pair stays, the "
        "last one slows down. The arrow keys move a slider that has the focus.",
        state={"positions": POSITIONS, "features": FEATURES},
        controls=slider("base", "base (log scale)", 1, 6, 0.1, math.log10(base)).replace(
            f'base-value">{math.log10(base):g}<', f'base-value">{base:,.0f}<'
        )
        + slider("position", "position", 0, POSITIONS - 1, 1, position)
        + button("reset", "reset"),
        view=_heatmap(w, position)
        + _pairs(w, position)
        + f'<p class="still">Base {base:g}, position {position}.</p>'
        + live_text(
            f"Distance between the vectors of neighbors: {value('step', f'{step:.2f}')}."
        ),
        script=script_beside(__file__, "position_heatmap"),
    )


def rotary_clock_demo(pairs: int = 1, m: int = 7, n: int = 4) -> Demo:
    """A query and a key (1, 0, 1, 0, ...): each pair turns with its token, the score follows.

    Args:
        pairs: Index of the initial frequencies in ``PAIRS``.
        m: Initial position of the query, 0 to 50.
        n: Initial position of the key, 0 to 50.

    Raises:
        InputError: If a number is out of reach of its control.
    """
    if not (0 <= m <= 50 and 0 <= n <= 50 and 0 <= pairs < len(PAIRS)):
        raise InputError(
            f"m={m} and n={n} must lie in 0..50, and pairs={pairs} in 0..{len(PAIRS) - 1}"
        )
    w = np.array(list(PAIRS.values())[pairs])
    return Demo(
        kind="rotary-clock",
        title="Rotary positions: each pair a clock, the score their mean",
        hint='Slide "both further by": all hands turn and the score stays. Then move the query '
        "alone: the fast pairs tell near tokens apart, the slow ones far ones.",
        state={"frequencies": list(PAIRS.values()), "far": FAR},
        controls=select("pairs", "frequencies", list(PAIRS), pairs)
        + slider("m", "query at", 0, 50, 1, m)
        + slider("n", "key at", 0, 50, 1, n)
        + slider("both", "both further by", 0, 100, 1, 0)
        + button("reset", "reset"),
        view=legend((("accent", "query"), ("second", "key")))
        + _dials(w, m, n)
        + _scores(w, abs(m - n))
        + live_text(
            f"Query at {value('at-m', str(m))}, key at {value('at-n', str(n))}: distance "
            f"{value('distance', str(m - n).replace('-', '−'))}, score "
            f"{value('score', _signed(np.cos((m - n) * w).mean(), 3))}, the mean of the "
            "cosines of all pairs."
        ),
        script=script_beside(__file__, "rotary_clock"),
    )


def _dials(w: np.ndarray, m: int, n: int) -> str:
    """Up to four pairs as clocks, with the angle of one token and the wavelength."""
    shown = w[:: len(w) // 4] if len(w) > 4 else w
    turn, marks = np.arange(49) * math.pi / 24, list[Mark]()
    for k, theta in enumerate(shown):
        x = 2.6 * k
        marks.append(line(np.stack([x + np.cos(turn), np.sin(turn)], 1), "line", width=2))
        for t, color in ((n, "second"), (m, "accent")):
            tip = (x + math.cos(t * theta), math.sin(t * theta))
            marks.append(arrow([(x, 0), tip], color, width=3))
        for name, size, dy in (("θ", theta, 18), ("λ", 2 * math.pi / theta, 34)):
            text = f"{name} = {scientific(float(size), 2 if name == 'λ' else 1)}"
            marks.append(words((x, -1), text, anchor="middle", dy=dy))
    return picture(
        "dials",
        "clocks of the pairs, each with a hand for the query and one for the key",
        axis(-1.25, 2.6 * (len(shown) - 1) + 1.25, bare=True),
        axis(-2.4, 1.15, bare=True),
        marks,
        equal=True,
        aspect=0.5,
        tallest=190,
    )


def _scores(w: np.ndarray, distance: int) -> str:
    """The score by distance, and the cosine of each pair if there are few."""
    steps = np.arange(2 * FAR + 1) / 2
    each = w[: len(w) if 1 < len(w) <= 4 else 0]
    score = np.cos(steps[:, None] * w).mean(1)
    marks = [
        line(np.stack([steps, np.cos(steps * theta)], 1), "soft", width=1, fade=0.6)
        for theta in each
    ]
    marks += [
        line(np.stack([steps, score], 1)),
        line([(distance, -2), (distance, 2)], "fg", width=1, dash="3 3"),
        dots([(distance, np.cos(distance * w).mean())], "fg", size=6),
    ]
    return picture(
        "curve",
        "score of query and key by their distance",
        axis(0, FAR, "distance [tokens]"),
        axis(-1.1, 1.1, "score"),
        marks,
        aspect=0.45,
    )


def _heatmap(frequencies: np.ndarray, position: int) -> str:
    """The table as an image, with a frame around the row of the position."""
    at, colors, fades = [], [], []
    for t in range(POSITIONS):
        for j in range(FEATURES):
            x = (math.cos if j % 2 else math.sin)(t * frequencies[j // 2])
            at.append((j, t, j + 1, t + 1))
            colors.append("second" if x < 0 else "accent")
            fades.append(f"{abs(x):.2f}")
    frame = [(0, position), (FEATURES, position), (FEATURES, position + 1),
             (0, position + 1), (0, position)]  # fmt: skip
    columns = [(j + 0.5, str(j)) for j in range(FEATURES)]
    rows = [(t + 0.5, str(t)) for t in range(0, POSITIONS, 4)]
    return legend((("accent", "positive"), ("second", "negative; strong is near 1"))) + picture(
        "table",
        f"encodings of {POSITIONS} positions: blue is positive, orange negative, strong near 1",
        axis(0, FEATURES, "feature", ticks=columns),
        axis(POSITIONS, 0, "position", ticks=rows),
        [boxes(at, colors, fade=fades, gap=1), line(frame, "fg")],
        aspect=0.62,
        tallest=380,
    )


def _pairs(frequencies: np.ndarray, position: int) -> str:
    """Wavelength, sine and cosine of each pair at the position."""
    rows = "".join(
        f'<tr><th scope="row">{2 * i}, {2 * i + 1}</th>'
        f"<td>{value('wave', scientific(2 * math.pi / float(w), 2))}</td>"
        f"<td>{value('sine', _signed(math.sin(position * w), 2))}</td>"
        f"<td>{value('cosine', _signed(math.cos(position * w), 2))}</td></tr>"
        for i, w in enumerate(frequencies)
    )
    return (
        "<table><thead><tr><th>features</th><th>wavelength</th><th>sine</th>"
        f"<th>cosine</th></tr></thead><tbody>{rows}</tbody></table>"
    )


def _signed(x: float, digits: int) -> str:
    """A number with a real minus sign, and no minus zero, as the script writes it."""
    return f"{round(x, digits) + 0.0:.{digits}f}".replace("-", "−")


__all__ = ["position_heatmap_demo", "rotary_clock_demo"]
