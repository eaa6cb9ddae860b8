"""Moving demos of positions: the table of sines, and two hands that turn with their tokens."""

import math

import numpy as np

from mathlm.errors import InputError
from mathlm.plot.demo import Demo, button, live_text, script_beside, slider, value
from mathlm.reference import rotary_frequencies

from .position_geometry import pair_overlap

POSITIONS, FEATURES = 24, 12
CELL = (26, 11)  # [px]
RADIUS = 70  # [px]


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
    w, kind = rotary_frequencies(FEATURES, base), ".mathlm-demo[data-demo=position-heatmap] "
    step = math.sqrt(float(2 * (FEATURES / 2 - pair_overlap(1, FEATURES, base))))
    return Demo(
        kind="position-heatmap",
        title="Sinusoidal encodings: change the base of the frequencies",
        hint="Rows are positions, columns features. Slide the base: the first pair stays, the "
        "last one slows down. The arrow keys move a slider that has the focus.",
        state={"positions": POSITIONS, "features": FEATURES, "height": CELL[1]},
        controls=slider("base", "base (log scale)", 1, 6, 0.1, math.log10(base))
        + slider("position", "position", 0, POSITIONS - 1, 1, position)
        + button("reset", "reset"),
        view=_heatmap(w, position)
        + _pairs(w, position)
        + f'<p class="still">Base {base:g}, position {position}.</p>'
        + live_text(
            f"Distance between the vectors of neighbors: {value('step', f'{step:.2f}')}."
        ),
        script=script_beside(__file__, "position_heatmap"),
        css=f"{kind}.plus{{fill:var(--accent)}}{kind}.minus{{fill:var(--second)}}"
        f"{kind}.row{{fill:none;stroke:var(--fg);stroke-width:1.5}}",
    )


def rotary_clock_demo(
    query: float | int = 0.5,
    key: float | int = 0.2,
    m: int = 7,
    n: int = 4,
    frequency: float | int = 0.3,
) -> Demo:
    """Positions of a query and a key to move; each turns like a hand, the score follows.

    Args:
        query: Angle of the query before it is turned [radians].
        key: Angle of the key before it is turned [radians].
        m: Initial position of the query, 0 to 20.
        n: Initial position of the key, 0 to 20.
        frequency: Initial angle of one step [radians/token], 0 to 1.
    """
    if not (0 <= m <= 20 and 0 <= n <= 20 and 0 <= frequency <= 1):
        raise InputError(f"m={m} and n={n} must lie in 0..20, frequency={frequency} in 0..1")
    a, b, R = query + m * frequency, key + n * frequency, RADIUS
    hands = "".join(
        f'<line data-name="{name}" class="{name}" x1="0" y1="0" x2="{math.cos(angle) * R:.1f}" '
        f'y2="{-math.sin(angle) * R:.1f}"/>'
        for name, angle in (("query", a), ("key", b))
    )
    return Demo(
        kind="rotary-clock",
        title="Rotary positions: two hands, one score",
        hint='Slide "both further by": the hands turn together and the score stays. Then move '
        "the query alone.",
        state={"query": query, "key": key, "radius": R},
        controls=slider("m", "position of the query", 0, 20, 1, m)
        + slider("n", "position of the key", 0, 20, 1, n)
        + slider("both", "both further by", 0, 100, 1, 0)
        + slider("frequency", "angle per token", 0, 1, 0.05, frequency)
        + button("reset", "reset"),
        view=f'<svg viewBox="{-R - 8} {-R - 8} {2 * R + 16} {2 * R + 16}" width="{2 * R + 16}" '
        'role="img" aria-label="a circle with two hands, the query in blue and the key in '
        f'orange"><circle r="{R}" class="rim"/>{hands}</svg>'
        + live_text(
            f"Query (blue) at {value('at-m', str(m))}, key (orange) at "
            f"{value('at-n', str(n))}: distance "
            f"{value('distance', str(m - n).replace('-', '−'))}, score "
            f"{value('score', _signed(math.cos(a - b), 3))}."
        ),
        script=script_beside(__file__, "rotary_clock"),
        css=".mathlm-demo[data-demo=rotary-clock] .rim{fill:none;stroke:var(--line);"
        "stroke-width:2}.mathlm-demo[data-demo=rotary-clock] line{stroke-width:4;"
        "stroke-linecap:round}.mathlm-demo[data-demo=rotary-clock] .query{stroke:var(--accent)}"
        ".mathlm-demo[data-demo=rotary-clock] .key{stroke:var(--second)}"
        ".mathlm-demo[data-demo=rotary-clock] svg{margin:.5rem auto}",
    )


def _heatmap(frequencies: np.ndarray, position: int) -> str:
    """The table as an image, with a frame around the row of the position."""
    width, height = FEATURES * CELL[0], POSITIONS * CELL[1]
    return (
        f'<svg viewBox="0 0 {width} {height}" width="{width}" role="img" '
        f'aria-label="encodings of {POSITIONS} positions: blue is positive, orange negative, '
        f'strong is near 1">{_cells(frequencies)}<rect data-name="row" class="row" x="0" '
        f'y="{position * CELL[1]}" width="{width}" height="{CELL[1]}"/></svg>'
    )


def _pairs(frequencies: np.ndarray, position: int) -> str:
    """Wavelength, sine and cosine of each pair at the position."""
    rows = "".join(
        f'<tr><th scope="row">{2 * i}, {2 * i + 1}</th>'
        f"<td>{value('wave', _three_digits(2 * math.pi / w))}</td>"
        f"<td>{value('sine', _signed(math.sin(position * w), 2))}</td>"
        f"<td>{value('cosine', _signed(math.cos(position * w), 2))}</td></tr>"
        for i, w in enumerate(frequencies)
    )
    return (
        "<table><thead><tr><th>features</th><th>wavelength</th><th>sine</th>"
        f"<th>cosine</th></tr></thead><tbody>{rows}</tbody></table>"
    )


def _cells(frequencies: np.ndarray) -> str:
    """One square for each position and feature."""
    (width, height), found = CELL, []
    for t in range(POSITIONS):
        for j in range(FEATURES):
            x = (math.cos if j % 2 else math.sin)(t * frequencies[j // 2])
            found.append(
                f'<rect data-name="cell" class="{"minus" if x < 0 else "plus"}" '
                f'x="{j * width}" y="{t * height}" width="{width - 1}" '
                f'height="{height - 1}" fill-opacity="{abs(x):.2f}"/>'
            )
    return "".join(found)


def _three_digits(x: float) -> str:
    """Three digits, as JavaScript's toPrecision writes them."""
    power = math.floor(math.log10(float(f"{x:.2e}")))
    if power >= 3:
        return f"{x / 10**power:.2f}·10^{power}"
    return f"{x:.{2 - power}f}"


def _signed(x: float, digits: int) -> str:
    """A number with a real minus sign, and no minus zero, as the script writes it."""
    return f"{round(x, digits) + 0.0:.{digits}f}".replace("-", "−")


__all__ = ["position_heatmap_demo", "rotary_clock_demo"]
