"""Bits against perplexity, and which matrices can do with the fewest; of both models.

cd book
python -m lab.fast_generation.quantization_study --record quantization.json
"""

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mathlm.generate import quantize, stored_bytes
from mathlm.models import GPT
from mathlm.train.record import record_on_cpu

from .quantization import Rule, compare, groups, load, measures, predictions, rounded

MATRICES = ("W_q", "W_k", "W_v", "W_o", "W_in", "W_gate", "W_out", "token_embedding")
FEW = 3  # bits at which single matrices and layers are measured
WINDOWS = {"plays": (64, 16), "smollm2": (8, 2)}  # for all matrices, and for a layer


def levels_in_groups(model: GPT, group: int = 32) -> int:
    """Most values that are different among so many neighbors, over all matrices of blocks."""
    most = 0
    for name, p in model.blocks.named_parameters():
        if p.ndim == 2 and name.endswith("weight"):
            rows = p.detach()[:, : p.shape[1] // group * group].unflatten(1, (-1, group))
            different = rows.sort(-1).values.diff(dim=-1) > 0
            most = max(most, int(different.sum(-1).max()) + 1)
    return most


def part_of(name: str, w: Tensor, part: str, rule: Rule) -> Tensor:
    """A rule for the matrices whose name has a part, and none for the others."""
    return rule(f"blocks.{name}", w) if part in f"{name}." else w


def parts(model: GPT, ids: Tensor, exact: Sequence[Tensor], few: int) -> dict[str, Any]:
    """Divergence where the matrices of one kind, or of one layer, have 3 bits alone."""

    def only(part: str, windows: int) -> float:
        rule = partial(part_of, part=part, rule=partial(groups, bits=FEW))
        copy, _ = rounded(model, rule)
        return compare(copy, ids[:windows], exact[:windows])["divergence"]

    layers = range(model.config.n_layers)
    return {
        "matrices": {part: only(f"{part}.", len(ids)) for part in MATRICES},
        "layers": [only(f"blocks.{i}.", few) for i in layers],
    }


def kept(model: GPT, ids: Tensor, exact: Sequence[Tensor], text: Tensor) -> dict[str, Any]:
    """The models that :func:`mathlm.generate.quantize` makes."""
    made = {
        "8 bits": quantize(model),
        "4 bits": quantize(model, 4),
        "4 bits, aware": quantize(model, 4, None, "activation-aware", text),
    }
    return {
        name: compare(in_steps(m), ids, exact) | {"bytes": stored_bytes(m)}
        for name, m in made.items()
    }


def in_steps(model: GPT, size: int = 16) -> Callable[[Tensor], Tensor]:
    """A model that reads a few tokens at a time, as its kernels are made for."""

    def read(ids: Tensor) -> Tensor:
        cache = model.new_cache(len(ids), ids.shape[1])
        return torch.cat([model(part, cache=cache) for part in ids.split(size, 1)], 1)

    return read


def study(name: str, windows: int, few: int) -> dict[str, Any]:
    """All measures of one model."""
    model, ids, text = load(name, windows)
    exact = predictions(model, ids)
    return {
        "bytes": stored_bytes(model),
        "tokens": ids.shape[0] * (ids.shape[1] - 1),
        "levels_in_groups_of_32": levels_in_groups(model),
        "widths": measures(model, ids, text),
        "kept": kept(model, ids, exact, text),
        **parts(model, ids, exact, few),
    }


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Measure the models; returns and records what came out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", nargs="+", choices=list(WINDOWS), default=list(WINDOWS))
    parser.add_argument("--windows", type=int, nargs=2)
    parser.add_argument("--record", type=Path)
    args = parser.parse_args(argv)
    result = {name: study(name, *(args.windows or WINDOWS[name])) for name in args.models}
    config = {"few": FEW, "windows": args.windows or WINDOWS, "text": "held-out plays"}
    record_on_cpu(args.record, config=config, models=result)
    return result


if __name__ == "__main__":
    main()
