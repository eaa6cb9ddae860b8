"""SmolLM2 beyond its context, on short texts: a passage and its copy, many positions apart.

    cd book
    python -m lab.positional_encoding.context_study --record smollm2-context.json

The copy is easy to predict for a model that can look back at the passage. Between the two no
token stands, only positions are left out, so that a distance of 32,000 costs no more than one
of 100: four minutes of one core for all. Readings in the record are not redone.
"""

import argparse
import copy
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch
from torch import Tensor

from mathlm.errors import ConfigError, InputError
from mathlm.functional import RopeScaling, token_cross_entropy
from mathlm.layers import RotaryPosition
from mathlm.models import GPT
from mathlm.text import ByteBPE, corpus, pretrained
from mathlm.train.record import device_name, write_record

GAPS = (0, 2_000, 4_000, 6_000, 8_000, 12_000, 16_000, 24_000, 32_000)  # positions
LENGTH, TEXTS, FACTOR = 96, 6, 4
WAYS = ("plain", "linear", "ntk", "yarn", "yarn, factor 1")


def scaling_of(way: str, factor: float | int, trained: int) -> RopeScaling | None:
    """The scaling that a name stands for; None for "plain".

    With "yarn, factor 1" cosines and sines keep their size: the softmax is not sharpened.
    """
    if way not in WAYS:
        raise ConfigError(f"{way=} is not one of {WAYS}")
    if way == "plain":
        return None
    if way.startswith("yarn"):
        size = 1.0 if way == "yarn, factor 1" else None
        return RopeScaling(
            kind="yarn", factor=factor, original_context=trained, attention_factor=size
        )
    return RopeScaling(kind=way, factor=factor)  # type: ignore[arg-type]


def stretched(model: GPT, context: int, scaling: RopeScaling | None = None) -> GPT:
    """The same model with room for more positions and other frequencies; shares its weights."""
    if model.config.position != "rope":
        raise ConfigError(f"position={model.config.position!r}: only rope has frequencies")
    other = copy.copy(model)
    other._modules = dict(model._modules)  # modules are shared, the list of them is not
    other.config = replace(model.config, context=context, rope_scaling=scaling)
    config, device = other.config, model.token_embedding.weight.device
    position = RotaryPosition(context, config.head_width, config.rope_base, scaling)
    other.position = position.to(device)
    return other


@torch.inference_mode()
def copy_losses(model: GPT, ids: Tensor, gap: int) -> tuple[Tensor, Tensor]:
    """Mean loss of passages and of their copies, ``gap`` positions further on [nats/token].

    Args:
        model: Its context must hold 2 n + gap positions.
        ids: Passages (B, n).
        gap: Positions left out between a passage and its copy.

    Returns:
        Two losses of each passage, (B,): of its tokens after the first, and of its copy's.
    """
    n = ids.shape[1]
    if n < 2 or gap < 0:
        raise InputError(f"need passages of 2 tokens and a gap of 0 or more, got {n} and {gap}")
    both, places = torch.cat((ids, ids), 1), torch.arange(2 * n, device=ids.device)
    places = places + gap * (places >= n)
    losses = token_cross_entropy(model(both, positions=places)[:, :-1], both[:, 1:])
    return losses[:, : n - 1].mean(1), losses[:, n:].mean(1)


def passages(count: int = TEXTS, length: int = LENGTH) -> Tensor:
    """Ids (count, length) of lines from evenly spaced places of Shakespeare's plays."""
    text, tokenizer = corpus.load("shakespeare"), ByteBPE.from_gguf(pretrained.find("smollm2"))
    starts = [
        text.index("\n", (2 * i + 1) * len(text) // (2 * count)) + 1 for i in range(count)
    ]
    return torch.tensor([tokenizer.encode(text[s : s + 8 * length])[:length] for s in starts])


def by_gap(rows: Sequence[dict]) -> tuple[list[int], dict[str, list[list[float]]]]:
    """The gaps in order, and for each way a list of the copies' losses at each gap."""
    gaps, found = sorted({row["gap"] for row in rows}), {(r["way"], r["gap"]): r for r in rows}
    ways = list(dict.fromkeys(row["way"] for row in rows))
    return gaps, {way: [found[way, gap]["copy"] for gap in gaps] for way in ways}


def main(argv: Sequence[str] | None = None, model: GPT | None = None) -> list[dict]:
    """Read passages and copies in every way at every gap; returns, and may record, losses."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", type=Path)
    parser.add_argument("--gaps", type=int, nargs="+", default=GAPS)
    for name, default in (("length", LENGTH), ("texts", TEXTS), ("factor", FACTOR)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args, rows, cpu = parser.parse_args(argv), [], device_name(torch.device("cpu"))
    model = GPT.from_pretrained(pretrained.find("smollm2")) if model is None else model
    trained, room = model.config.context, 2 * args.length + max(args.gaps)
    config = {"trained": trained, "length": args.length, "texts": args.texts}
    config |= {"factor": args.factor, "gaps": list(args.gaps)}
    if args.record and args.record.is_file():
        before = json.loads(args.record.read_text())
        if before["config"] != config:
            raise ConfigError(f"{args.record} holds another study: {before['config']}")
        rows = before["results"]
    ids = passages(args.texts, args.length)
    for way, gap in [(way, gap) for gap in args.gaps for way in WAYS]:
        if any((row["way"], row["gap"]) == (way, gap) for row in rows):
            continue
        start = time.process_time()
        reader = stretched(model, room, scaling_of(way, args.factor, trained))
        first, second = copy_losses(reader, ids, gap)
        row = {"way": way, "gap": gap, "passage": first.tolist(), "copy": second.tolist()}
        rows.append(row | {"cpu_seconds": time.process_time() - start})
        if args.record:
            write_record(args.record, config=config, results=rows, device=cpu)
    return rows


if __name__ == "__main__":
    main()
