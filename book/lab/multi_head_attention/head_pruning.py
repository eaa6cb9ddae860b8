"""What does a pretrained model lose without one of its heads, and without many?

cd book
python -m lab.multi_head_attention.head_pruning --record head-pruning.json
"""

import argparse
import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mathlm.interpret import losses_by_head, losses_without_heads
from mathlm.models import GPT
from mathlm.text import ByteBPE, corpus, pretrained
from mathlm.train.record import record_on_cpu

START = 0  # SmolLM2's <|endoftext|>, which stands before each of its documents


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Options from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("--corpora", nargs="+", default=["shakespeare", "glosses"], choices=corpus.available())
    add("--windows", type=int, default=3, help="of each corpus, at even distances")
    add("--context", type=int, default=128, help="window length [tokens]")
    add("--layers", type=int, nargs="+", help="whose heads are removed; default: all")
    add("--counts", type=int, nargs="*", default=[*range(9, 136, 9)], help="removed at once")
    add("--seeds", type=int, nargs="*", default=[0, 1, 2], help="of random orders")
    add("--record", type=Path, help="JSON file for options and results")
    args = parser.parse_args(argv)
    if min(args.windows, args.context, *args.counts, 1) < 1:
        parser.error("--windows, --context and --counts must be positive")
    if args.windows * len(args.corpora) < 2:
        parser.error("there must be two windows or more: one chooses heads for the other")
    return args


def windows(bpe: ByteBPE, name: str, count: int, context: int) -> Tensor:
    """Held-out text (count, context + 1): a start token, then tokens from a new line on."""
    text, rows = corpus.split(name)[1], []
    for i in range(count):
        start = text.index("\n", i * len(text) // count) + 1
        rows.append([START, *bpe.encode(text[start : start + 16 * context])[:context]])
    return torch.tensor(rows)


def change(without: Tensor, whole: Tensor) -> dict[str, Any]:
    """Mean change of the loss [nats/token], its standard error over tokens, and by window."""
    paired = (without - whole).double()  # (..., B, T)
    tokens = paired.flatten(-2)
    error = tokens.std(-1) / tokens.shape[-1] ** 0.5
    return {"change": tokens.mean(-1), "standard_error": error, "windows": paired.mean(-1)}


def orders(alone: Tensor, seeds: Sequence[int]) -> dict[str, list[tuple[slice, list[int]]]]:
    """In which order heads go, and for which windows: a part of them, and its order.

    ``alone`` is the change of the loss without each head, by window (layers, H, B). An order
    that is chosen by the tokens on which it is then measured looks better than it is:
    "elsewhere" chooses for every second window by the others.
    """
    windows, even, odd = slice(None), slice(0, None, 2), slice(1, None, 2)

    def least(by: slice) -> list[int]:
        return alone[..., by].mean(-1).flatten().argsort().tolist()

    found = {"least harm": [(windows, least(windows))]}
    found["least harm elsewhere"] = [(even, least(odd)), (odd, least(even))]
    for seed in seeds:
        draw, n = torch.Generator().manual_seed(seed), alone[..., 0].numel()
        found[f"random {seed}"] = [(windows, torch.randperm(n, generator=draw).tolist())]
    return found


def remove_many(
    model: GPT, ids: Tensor, whole: Tensor, heads: list, parts: list, n: int
) -> dict[str, Any]:
    """What the first ``n`` heads of an order, or of one for each part, change when they go."""
    losses = whole.clone()
    for part, order in parts:
        losses[part] = losses_without_heads(model, ids[part], [heads[i] for i in order[:n]])
    return {"heads": n} | change(losses, whole)


def study(model: GPT, ids: Tensor, args: argparse.Namespace) -> dict[str, Any]:
    """Each head removed alone; then more and more of them, in each order."""
    L, H = model.config.n_layers, model.config.n_heads
    layers = list(range(L)) if args.layers is None else args.layers
    heads = [(layer, head) for layer in layers for head in range(H)]
    whole = losses_without_heads(model, ids)
    alone = change(losses_by_head(model, ids, layers), whole)
    logging.info("each head alone: %s", alone["change"])
    many = {
        name: [remove_many(model, ids, whole, heads, parts, n) for n in args.counts]
        for name, parts in orders(alone["windows"], args.seeds).items()
    }
    loss = change(whole, torch.zeros_like(whole))  # from 0: the loss itself
    return {"whole": loss, "layers": layers, "alone": alone, "many": many}


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Load SmolLM2 and remove heads; returns, and may record, what that does to the loss."""
    args, start, path = parse(argv), time.process_time(), pretrained.find("smollm2")
    model, bpe = GPT.from_pretrained(path), ByteBPE.from_gguf(path)
    ids = [windows(bpe, name, args.windows, args.context) for name in args.corpora]
    found = study(model, torch.cat(ids), args)
    found["cpu_seconds"] = time.process_time() - start
    record_on_cpu(args.record, options=vars(args), **found)
    return found


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    main()
