"""Time and peak memory of attention in NumPy: all weights at once, or tile by tile."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy import ndarray

from mathlm.errors import ConfigError
from mathlm.reference import (
    dot_product_attention,
    dot_product_attention_backward,
    flash_attention,
    flash_attention_backward,
)
from mathlm.scaling.measured import cpu_seconds, traced_peak

LENGTHS = (128, 256, 512, 1024)


def plain(q: ndarray, k: ndarray, v: ndarray, dy: ndarray) -> tuple[ndarray, ...]:
    """Gradients in q, k and v, with a matrix of all weights."""
    return dot_product_attention_backward(dy, dot_product_attention(q, k, v)[1])


def flash(
    q: ndarray, k: ndarray, v: ndarray, dy: ndarray, block: int = 64
) -> tuple[ndarray, ...]:
    """Gradients in q, k and v, tile by tile."""
    return flash_attention_backward(dy, flash_attention(q, k, v, block=block)[1])


def numpy_cost(
    lengths: Sequence[int] = LENGTHS,
    *,
    d_head: int = 64,
    block: int = 64,
    repeats: int = 3,
    seed: int = 0,
) -> list[dict]:
    """Forward and backward of one head at each length, in float64.

    Args:
        lengths: Tokens, T = S.
        d_head: Width of queries, keys and values.
        block: Queries and keys of a tile of the flash form.
        repeats: Turns of which the fastest counts.
        seed: Of the numbers.

    Returns:
        For each form, "plain" and "flash", and each length: ``seconds`` of CPU time, and
        ``peak_bytes`` with the results in them. The plain form holds at least the weights,
        8 T² bytes.

    Raises:
        ConfigError: If there are no lengths, or a number is less than 1.
    """
    if not lengths or min(*lengths, d_head, block, repeats) < 1:
        raise ConfigError(
            f"lengths={list(lengths)}, d_head={d_head}, block={block} and repeats={repeats} "
            "must be positive"
        )
    rng, rows = np.random.default_rng(seed), []
    for T in lengths:
        numbers = rng.normal(size=(4, T, d_head))  # q, k, v, dy
        forms: dict[str, Callable] = {"plain": plain, "flash": partial(flash, block=block)}
        for form, gradients in forms.items():
            work = partial(gradients, *numbers)
            seconds = cpu_seconds(work, repeats, calls=max(1, 512 // T))
            row = {"form": form, "length": T, "seconds": seconds}
            rows.append(row | {"peak_bytes": traced_peak(work)})
    return sorted(rows, key=lambda row: (row["form"], row["length"]))
