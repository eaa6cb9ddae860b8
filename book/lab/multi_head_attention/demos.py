"""Moving demos of the chapter on heads: online softmax step by step, and what heads cost."""

import math
from collections.abc import Sequence

import numpy as np

from mathlm.errors import InputError
from mathlm.plot.demo import Demo, bar, button, live_text, script_beside, select, slider, value


def online_softmax_demo(
    scores: Sequence[float] = (1.0, 0.5, 3.0, 2.0, -1.0, 4.0, 1.5, 2.5),
    values: Sequence[float] = (2.0, -1.0, 0.5, 1.0, 3.0, -2.0, 1.0, 0.0),
    blocks: Sequence[int] = (1, 2, 4),
) -> Demo:
    """Read keys block by block; running maximum, sum, mixture and output follow.

    Args:
        scores: Score of each key.
        values: Value of each key, one number.
        blocks: Sizes of the blocks to choose from.
    """
    if len(scores) != len(values) or not len(scores) or min(blocks, default=0) < 1:
        raise InputError(
            f"{len(scores)} scores, {len(values)} values and blocks {tuple(blocks)}: expected "
            "as many values as scores, at least one, and blocks of at least 1"
        )
    s, v = np.asarray(scores, dtype=float), np.asarray(values, dtype=float)
    powers = np.exp(s - s.max())
    total, mix = powers.sum(), powers @ v
    shrink = math.exp(s[:-1].max() - s.max()) if len(s) > 1 else 0.0
    rows = "".join(
        f'<tr><th scope="row">{a:g}</th><td>{b:g}</td><td class="wide">{bar("bar", p)}</td>'
        f"<td>{value('weight', f'{p:.3f}')}</td></tr>"
        for a, b, p in zip(s, v, powers / total, strict=True)
    )
    names = [f"{b} key" if b == 1 else f"{b} keys" for b in blocks]
    steps = math.ceil(len(s) / blocks[0])
    return Demo(
        kind="online-softmax",
        title="Softmax in one pass: read the keys block by block",
        hint="Move to the step at which a larger maximum arrives: what was summed shrinks.",
        state={"scores": s.tolist(), "values": v.tolist(), "blocks": list(blocks)},
        controls=slider("step", "blocks read", 0, steps, 1, steps)
        + select("block", "block", names)
        + button("reset", "reset"),
        view="<table><thead><tr><th>score</th><th>value</th><th>weight so far</th><th></th>"
        f"</tr></thead><tbody>{rows}</tbody></table>"
        + live_text(
            f"Maximum μ = {value('max', _signed(s.max(), 2))}, the last step shrank by "
            f"{value('shrink', f'{shrink:.4f}')}; sum λ = {value('sum', f'{total:.4f}')}, "
            f"mixture o = {value('mix', _signed(mix, 4))}, "
            f"output o/λ = {value('y', _signed(mix / total, 4))}"
        ),
        script=script_beside(__file__, "online_softmax"),
        css=".mathlm-demo[data-demo=online-softmax] td.wide{width:45%}",
    )


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
