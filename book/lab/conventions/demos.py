"""Moving demo of a convention: where the causal mask lies."""

from mathlm.errors import InputError
from mathlm.plot.demo import Demo, live_text, script_beside, select, slider, value
from mathlm.plot.picture import axis, boxes, legend, picture

MOST = 8  # queries or keys


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
        view=legend((("accent", "seen"), ("line", "hidden")))
        + _table([row[:keys] for row in seen[:queries]])
        + live_text(
            f"{value('seen', str(sum(map(sum, inside))))} of "
            f"{value('all', str(queries * keys))} pairs are seen; queries that see nothing: "
            f"{value('blind', str(sum(not any(row) for row in inside)))}."
        ),
        script=script_beside(__file__, "causal_mask"),
    )


def _table(seen: list[list[bool]]) -> str:
    """Queries by keys, with a box for each pair."""
    pairs = [(s, t) for t, row in enumerate(seen) for s in range(len(row))]
    names = [(i + 0.5, str(i + 1)) for i in range(MOST)]
    found = boxes(
        [(s, t, s + 1, t + 1) for s, t in pairs],
        ["accent" if seen[t][s] else "track" for s, t in pairs],
        gap=2,
        edge="line",
    )
    return picture(
        "table",
        "queries are rows, keys are columns; a filled square may be seen",
        axis(0, MOST, "key", ticks=names),
        axis(MOST, 0, "query", ticks=names),
        [found],
        equal=True,
        aspect=0.9,
        tallest=320,
    )


__all__ = ["causal_mask_demo"]
