"""Time and memory of attention as the sequence grows, with all weights stored and with none.

cd book
python -m lab.self_attention.attention_cost --record attention-cost.json
"""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from mathlm.errors import ConfigError
from mathlm.functional import dot_product_attention, fused_attention
from mathlm.scaling.measured import cpu_seconds, exponents, profiled_peak, saved_bytes
from mathlm.train.record import device_name, write_record

from .attention_memory import LENGTHS, numpy_cost

FORMS: dict[str, Callable] = {"plain": dot_product_attention, "fused": fused_attention}
WORD = 4  # bytes of a float32
TORCH = ("seconds", "saved_bytes", "peak_bytes")


def counted_bytes(form: str, T: int, d_head: int, n_heads: int = 1) -> int:
    """Bytes that the backward pass needs of the forward pass, counted.

    Computes::

        plain   4 H (3 T d + T²)        q, k, v and all weights
        fused   4 H (3 T d + T d + T)   q, k, v, y and one number for each query

    Args:
        form: "plain" or "fused".
        T: Tokens.
        d_head: Width d of queries, keys and values.
        n_heads: Heads H.

    Raises:
        ConfigError: If the form is not known.
    """
    if form not in FORMS:
        raise ConfigError(f"form={form!r} must be one of {', '.join(FORMS)}")
    more = T * T if form == "plain" else T * d_head + T
    return WORD * n_heads * (3 * T * d_head + more)


def attention_cost(
    lengths: Sequence[int] = LENGTHS,
    *,
    d_head: int = 64,
    n_heads: int = 1,
    repeats: int = 3,
    peaks: bool = False,
    seed: int = 0,
) -> list[dict]:
    """Forward and backward of attention of all to all at each length, in float32.

    Args:
        lengths: Tokens, T = S.
        d_head: Width of queries, keys and values.
        n_heads: Heads.
        repeats: Turns of which the fastest counts.
        peaks: Whether the profiler of torch measures the peak of memory, too.
        seed: Of the numbers.

    Returns:
        For each form, "plain" and "fused", and each length: ``seconds`` of CPU time, the
        ``saved_bytes`` and ``counted_bytes`` for the backward pass, and maybe ``peak_bytes``.

    Raises:
        ConfigError: If there are no lengths, or a number is less than 1.
    """
    if not lengths or min(*lengths, d_head, n_heads, repeats) < 1:
        raise ConfigError(
            f"lengths={list(lengths)}, d_head={d_head}, n_heads={n_heads} and "
            f"repeats={repeats} must be positive"
        )
    draw, rows = torch.Generator().manual_seed(seed), []
    for T in lengths:
        numbers = torch.randn(4, 1, n_heads, T, d_head, generator=draw, dtype=torch.float32)
        qkv, dy = [x.clone().requires_grad_() for x in numbers[:3]], numbers[3].clone()
        for form in FORMS:
            row = {"form": form, "length": T} | _measure(form, qkv, dy, repeats, peaks)
            rows.append(row | {"counted_bytes": counted_bytes(form, T, d_head, n_heads)})
    return sorted(rows, key=lambda row: (row["form"], row["length"]))


def _measure(form: str, qkv: list[Tensor], dy: Tensor, repeats: int, peaks: bool) -> dict:
    def both() -> tuple[Tensor, ...]:
        return torch.autograd.grad(FORMS[form](*qkv), qkv, dy)

    calls = max(1, 512 // dy.shape[-2])
    found = {"seconds": cpu_seconds(both, repeats, calls)}
    found["saved_bytes"] = saved_bytes(partial(FORMS[form], *qkv))
    return found | ({"peak_bytes": profiled_peak(both)} if peaks else {})


def main(argv: Sequence[str] | None = None) -> None:
    """Measure both halves of the package, fit, and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    add, ladder = parser.add_argument, [64, 128, 256, 512, 1024, 2048, 4096]
    add("--lengths", type=int, nargs="+", default=[*ladder, 8192], help="for torch [tokens]")
    add("--numpy-lengths", type=int, nargs="+", default=ladder, help="for NumPy [tokens]")
    add("--fit-from", type=int, default=1024, help="least length of the fits [tokens]")
    add("--repeats", type=int, default=5)
    add("--record", type=Path, default=Path("attention-cost.json"))
    args = parser.parse_args(argv)
    fused = attention_cost(args.lengths, repeats=args.repeats, peaks=True)
    tiles, start = numpy_cost(args.numpy_lengths, repeats=args.repeats), args.fit_from
    fits = {
        "torch": {c: exponents(fused, c, start) for c in TORCH},
        "numpy": {c: exponents(tiles, c, start) for c in ("seconds", "peak_bytes")},
    }
    about = {"options": vars(args), "device": device_name(torch.device("cpu"))}
    write_record(args.record, torch=fused, numpy=tiles, exponents=fits, **about)


if __name__ == "__main__":
    main()
