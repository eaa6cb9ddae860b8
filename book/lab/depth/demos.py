"""Moving demo of depth: a stack with and without its parts."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from mathlm.errors import InputError
from mathlm.plot.demo import (
    RAISED,
    Demo,
    button,
    live_text,
    scientific,
    script_beside,
    select,
    slider,
    value,
)
from mathlm.plot.picture import axis, legend, line, picture

SUMS, NORMS = ("without sums", "with sums"), ("no norm", "norm before", "norm after")
STACKS = (("plain", "norm-only", "norm-only"), ("residual", "pre-norm", "post-norm"))
SERIES = ("rms", "gradient", "spread")
LOWEST, HIGHEST = -16.0, 12.0  # powers of ten in the picture

LOOKS = (("accent", ""), ("second", "6 4"), ("fg", "2 3"))
NAMES = ("size of the stream", "gradient that arrives", "spread of tokens")


def block_demo(
    runs: Mapping[str, Mapping[str, Any]], sums: int = 1, norms: int = 1, block: int = 48
) -> Demo:
    """A stack with and without its parts: size, gradient and spread at every block.

    Args:
        runs: Profiles (lists "rms", "gradient", "spread") of one depth for plain, norm-only,
            residual, pre-norm and post-norm.
        sums: Index of the initial choice in ``SUMS``.
        norms: Index of the initial choice in ``NORMS``.
        block: Initial block.

    Raises:
        InputError: If a kind is missing, lengths differ, a number is not finite, or an initial
            choice is out of range.
    """
    logs = _checked_logs(runs)
    last = len(logs["plain"]["rms"]) - 1
    if sums not in (0, 1) or norms not in (0, 1, 2) or not 0 <= block <= last:
        raise InputError(
            f"sums={sums} must be 0 or 1, norms={norms} 0, 1 or 2, block={block} 0..{last}"
        )
    kind = STACKS[sums][norms]
    now = {name: value(name, _power(logs[kind][name][block])) for name in SERIES}
    controls = select("sums", "residual path", SUMS, sums) + select(
        "norms", "norm", NORMS, norms
    )
    controls += slider("block", f"block, of {last}", 0, last, 1, block)
    return Demo(
        kind="block",
        title="Take the block apart",
        hint="Which choice keeps all three curves near 1?",
        controls=controls + button("reset", "reset"),
        view=f'<p class="still">{SUMS[sums]}, {NORMS[norms]}, at block {block} of {last}.</p>'
        + _depth_view(logs[kind], last, block)
        + live_text(
            f"{value('kind', kind)}: size of the stream {now['rms']} (solid), gradient that "
            f"arrives {now['gradient']} (dashed), spread of tokens {now['spread']} (dotted)."
        ),
        script=script_beside(__file__, "block"),
        state={
            "stacks": STACKS, "series": SERIES, "runs": logs, "looks": LOOKS,
            "ends": (LOWEST, HIGHEST),
        },
    )  # fmt: skip


def _checked_logs(runs: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, list[float]]]:
    """Powers of ten of every list, two digits after the point; 0 counts as the lowest."""
    logs: dict[str, dict[str, list[float]]] = {}
    for kind in ("plain", "norm-only", "residual", "pre-norm", "post-norm"):
        if kind not in runs or set(SERIES) - set(runs[kind]):
            raise InputError(f"runs need {kind!r} with lists {', '.join(SERIES)}")
        logs[kind] = {}
        for name in SERIES:
            numbers = np.array(runs[kind][name], dtype=float)
            if not (np.isfinite(numbers).all() and (numbers >= 0).all()):
                raise InputError(f"{name} of {kind!r} must be finite numbers, 0 or more")
            floor = np.maximum(numbers, 10.0**LOWEST)
            logs[kind][name] = np.round(np.log10(floor), 2).tolist()
    lengths = {len(numbers) for run in logs.values() for numbers in run.values()}
    if len(lengths) > 1 or min(lengths) < 2:
        raise InputError(f"all lists must have one length of at least 2, found {lengths}")
    return logs


def _depth_view(logs: Mapping[str, Sequence[float]], last: int, block: int) -> str:
    low, high = 10.0**LOWEST, 10.0**HIGHEST
    marks = [line([(block, low), (block, high)], "soft", width=1)]
    for name, (color, dash) in zip(SERIES, LOOKS, strict=True):
        points = [(i, 10.0**v) for i, v in enumerate(logs[name])]
        marks.append(line(points, color, **({"dash": dash} if dash else {})))
    styles = ("solid", "dashed", "dotted")
    names = [(look[0], *rest) for look, *rest in zip(LOOKS, NAMES, styles, strict=True)]
    return legend(names) + picture(
        "plane",
        "size, gradient and spread by block on a scale of powers of ten",
        axis(0, last, "block"),
        axis(low, high, "in units of the start", log=True),
        marks,
        aspect=0.6,
    )


def _power(x: float) -> str:
    if -3 < x < 4:
        return scientific(10**x)
    return f"10{f'{x + 0.0:.0f}'.translate(RAISED)}"


__all__ = ["block_demo"]
