"""Moving demos of the chapter on heads: attention tile by tile, and what heads cost."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mathlm.errors import InputError
from mathlm.plot.demo import Demo, bar, button, live_text, script_beside, select, slider, value
from mathlm.plot.picture import axis, boxes, legend, line, picture, words
from mathlm.reference import softmax


def online_softmax_demo(
    scores: Sequence[float] = (1.0, 0.5, 3.0, 2.0, -1.0, 4.0, 1.5, 2.5),
    values: Sequence[float] = (2.0, -1.0, 0.5, 1.0, 3.0, -2.0, 1.0, 0.0),
    blocks: Sequence[int] = (2, 1, 4),
) -> Demo:
    """FlashAttention's order: tile by tile; maximum, sum and mixture of every query follow.

    Query t has the scores of the first one, moved on by 3t keys.

    Args:
        scores: Scores of the first query, one for each key.
        values: Value of each key, one number.
        blocks: Edges of the tiles to choose from.

    Raises:
        InputError: If there is not one value for each score, or a block is less than 1.
    """
    if len(scores) != len(values) or not len(scores) or min(blocks, default=0) < 1:
        raise InputError(
            f"{len(scores)} scores, {len(values)} values and blocks {tuple(blocks)}: expected "
            "as many values as scores, at least one, and blocks of at least 1"
        )
    T, v = len(scores), np.asarray(values, dtype=float)
    S = np.stack([np.roll(np.asarray(scores, dtype=float), 3 * t) for t in range(T)])
    across = math.ceil(T / blocks[0])
    step = across * across if across < 3 else across + across // 2
    seen = tiles_seen(T, blocks[0], step)
    names = [f"{b} × {b}" for b in blocks]
    state = {"scores": S.tolist(), "values": v.tolist(), "blocks": list(blocks)}
    return Demo(
        kind="online-softmax",
        title="Attention tile by tile: what each query keeps",
        hint="Play, or step: where a larger maximum arrives, what the query had summed "
        "shrinks.",
        state=state,
        controls=select("block", "tile", names)
        + slider("step", "tiles read", 0, across * across, 1, step)
        + button("play", "play")
        + button("reset", "reset"),
        view=legend(
            (
                ("accent", "weight so far"),
                ("line", "not read"),
                ("second", "tile in fast memory"),
            )
        )
        + _tile_picture(S, seen, blocks[0], step)
        + _kept_table(S, v, seen, blocks[0], step)
        + live_text(
            f"{value('now', _now(T, blocks[0], step))}. Scores in fast memory: "
            f"{value('held', str(min(blocks[0], T) ** 2))} of {T * T}; in slow memory none."
        ),
        script=script_beside(__file__, "online_softmax"),
        css=".mathlm-demo tr[data-here=true]>*{background:var(--mark)}",
    )


def tiles_seen(T: int, block: int, step: int) -> list[int]:
    """How many keys each query has met after some tiles, which go along the keys first.

    Args:
        T: Queries, and keys.
        block: Edge of a tile.
        step: Tiles read.
    """
    across = math.ceil(T / block)
    done, rest = divmod(step, across)
    whole, part = min(done * block, T), min(block, max(T - done * block, 0))
    return [T] * whole + [min(rest * block, T)] * part + [0] * (T - whole - part)


def _tile(T: int, block: int, step: int) -> tuple[range, range]:
    """Queries and keys of the last tile that was read, step > 0."""
    i, j = divmod(step - 1, math.ceil(T / block))
    return tuple(range(block * k, min(block * (k + 1), T)) for k in (i, j))  # type: ignore


def _now(T: int, block: int, step: int) -> str:
    if step == 0:
        return "Nothing is read yet"
    queries, keys = (
        f"{r[0] + 1} to {r[-1] + 1}" if len(r) > 1 else str(r[0] + 1)
        for r in _tile(T, block, step)
    )
    return f"Queries {queries} meet keys {keys}"


def _tile_picture(S: np.ndarray, seen: list[int], block: int, step: int) -> str:
    """The scores as a table: read ones in the color of their weight, the last tile framed."""
    T, at, colors, fades, marks = len(S), [], [], [], []
    for t, n in enumerate(seen):
        weights = softmax(S[t, :n]) if n else np.empty(0)
        for j in range(T):
            p = float(weights[j]) if j < n else 0.0
            at.append((j, t, j + 1, t + 1))
            colors.append("accent" if j < n else "track")
            fades.append(round(0.1 + 0.9 * p, 4) if j < n else 1)
            look: dict[str, Any] = {"anchor": "middle", "dy": 4, "halo": 0, "room": 0.99}
            shade = "bg" if p > 0.7 else "fg"
            marks.append(words((j + 0.5, t + 0.5), _signed(S[t, j], 1), shade, **look))
    if step:
        (q0, q1), (k0, k1) = ((r[0], r[-1] + 1) for r in _tile(T, block, step))
        frame = [(k0, q0), (k1, q0), (k1, q1), (k0, q1), (k0, q0)]
        marks.append(line(frame, "second", width=4))
    names = [(i + 0.5, str(i + 1)) for i in range(T)]
    return picture(
        "tiles",
        "scores of queries and keys; blue ones are read, the framed tile is in fast memory",
        axis(0, T, "key", ticks=names),
        axis(T, 0, "query", ticks=names),
        [boxes(at, colors, fade=fades, gap=1), *marks],
        equal=True,
        aspect=0.8,
        tallest=360,
    )


def _kept_table(S: np.ndarray, v: np.ndarray, seen: list[int], block: int, step: int) -> str:
    """What every query keeps: maximum, sum, mixture; and its output so far."""
    rows, last = [], _tile(len(S), block, step) if step else (range(0), range(0))
    for t, n in enumerate(seen):
        here, before = t in last[0], S[t, : last[1][0] if last[1] else 0]
        shown = dict.fromkeys(("max", "shrink", "sum", "mix", "y"), "–")
        if n:
            top = S[t, :n].max()
            e = np.exp(S[t, :n] - top)
            shrink = math.exp(before.max() - top) if before.size else 0.0
            shown = {
                "max": _signed(top, 2),
                "shrink": f"{shrink:.3f}" if here else "",
                "sum": f"{e.sum():.3f}",
                "mix": _signed(e @ v[:n], 3),
                "y": _signed(e @ v[:n] / e.sum(), 3),
            }
        cells = "".join(f"<td>{value(name, text)}</td>" for name, text in shown.items())
        rows.append(
            f'<tr data-name="row" data-here="{str(here).lower()}"><th scope="row">{t + 1}</th>'
            f"{cells}</tr>"
        )
    heads = "".join(f"<th>{h}</th>" for h in ("query", "μ", "shrank by", "λ", "o", "o/λ"))
    return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def heads_demo(
    width: int = 4096, heads: Sequence[int] = (1, 2, 4, 8, 16, 32), length: int = 8192
) -> Demo:
    """Choose query heads, key/value heads and a length; shapes, parameters and cache follow.

    Args:
        width: D, of the model.
        heads: Numbers of heads to choose from, ascending, each a divisor of the next and the
            last one of ``width``.
        length: Tokens at the start, a power of two from 256 to 131072.
    """
    pairs = zip(heads, [*heads[1:], width], strict=True)
    if not len(heads) or heads[0] < 1 or any(b % a for a, b in pairs):
        raise InputError(f"heads={tuple(heads)} must each divide the next, and width={width}")
    power = length.bit_length() - 1
    if 2**power != length or not 8 <= power <= 17:
        raise InputError(f"length={length} must be a power of two from 256 to 131072")
    H = heads[-1]
    d, names = width // H, [str(h) for h in heads]
    last, megabytes = len(heads) - 1, 4 * width * length / 2**20
    rows = "".join(
        f'<tr><th scope="row">{name}</th><td>{value(key, shown)}</td></tr>'
        for name, key, shown in (
            ("width of a head", "d", str(d)),
            ("shape of the queries", "queries", f"{H} × T × {d}"),
            ("shape of keys, and of values", "keys", f"{H} × T × {d}"),
            ("parameters of the four matrices", "parameters", f"{4 * width * width:,}"),
            ("cache for each token [bytes]", "token", f"{4 * width:,}"),
            ("cache of this layer [MiB]", "cache", f"{megabytes:.1f}"),
        )
    )
    return Demo(
        kind="heads",
        title=f"Heads of a layer of width {width:,}",
        hint="Change the query heads: parameters and cache stay. Then lower the key heads.",
        state={"width": width, "heads": list(heads)},
        controls=select("heads", "query heads H", names, last)
        + select("groups", "key/value heads G", names, last)
        + slider("length", "tokens", 8, 17, 1, power)
        + button("reset", "reset"),
        view=f"<table><tbody>{rows}</tbody></table>{bar('bar', 1.0)}"
        + live_text(
            f"H = {value('H', str(H))}, G = {value('G', str(H))}: "
            f"{value('kind', 'multi-head')}. 16-bit numbers."
        ),
        script=script_beside(__file__, "heads"),
        css=".mathlm-demo[data-demo=heads] th{white-space:normal}",
    )


def _signed(x: float, digits: int) -> str:
    """A number with a real minus sign, and no minus zero, as the script writes it."""
    return f"{round(x, digits) + 0.0:.{digits}f}".replace("-", "−")
