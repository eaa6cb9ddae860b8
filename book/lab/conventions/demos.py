"""Moving demo of a convention: where the causal mask lies."""

from mathlm.errors import InputError
from mathlm.plot.demo import Demo, live_text, script_beside, select, slider, value

MOST = 8  # queries or keys
CELL = 30  # [px]


def causal_mask_demo(queries: int = 3, keys: int = 7) -> Demo:
    """Queries, keys, a window and the corner of the mask; who sees whom follows.

    Args:
        queries: Initial T.
        keys: Initial S.
    """
    for name, n in (("queries", queries), ("keys", keys)):
        if not 1 <= n <= MOST:
            raise InputError(f"{name}={n} must lie between 1 and {MOST}")
    shift = keys - queries
    seen = [[s - shift <= t for s in range(MOST)] for t in range(MOST)]
    inside = [row[:keys] for row in seen[:queries]]
    cells = "".join(
        f'<rect data-name="cell" class="{_kind(t < queries and s < keys, seen[t][s])}" '
        f'x="{CELL * s + 1}" y="{CELL * t + 1}" width="{CELL - 2}" height="{CELL - 2}"/>'
        for t in range(MOST)
        for s in range(MOST)
    )
    size = CELL * MOST
    return Demo(
        kind="causal-mask",
        title="Which keys does each query see?",
        hint="Rows are queries, columns keys. Make the queries fewer than the keys, as with a "
        "cache, and change the alignment.",
        state={"most": MOST},
        controls=slider("queries", "queries T", 1, MOST, 1, queries)
        + slider("keys", "keys S", 1, MOST, 1, keys)
        + slider("window", "window", 1, MOST, 1, MOST)
        + select("corner", "aligned at the", ["last key", "first key"]),
        view=f'<svg viewBox="0 0 {size} {size}" width="{size}" role="img" '
        f'aria-label="queries are rows, keys are columns; a filled square may be seen">{cells}'
        "</svg>"
        + live_text(
            f"{value('seen', str(sum(map(sum, inside))))} of "
            f"{value('all', str(queries * keys))} pairs are seen; queries that see nothing: "
            f"{value('blind', str(sum(not any(row) for row in inside)))}."
        ),
        script=script_beside(__file__, "causal_mask"),
        css=".mathlm-demo[data-demo=causal-mask] .sees{fill:var(--accent)}"
        ".mathlm-demo[data-demo=causal-mask] .hidden{fill:var(--track);stroke:var(--line)}"
        ".mathlm-demo[data-demo=causal-mask] .off{fill:none}",
    )


def _kind(inside: bool, sees: bool) -> str:
    return ("sees" if sees else "hidden") if inside else "off"


__all__ = ["causal_mask_demo"]
