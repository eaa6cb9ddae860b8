"""Guesses for a target: how many are accepted and what they save, on plays and on SmolLM2.

    cd book
    python -m lab.fast_generation.speculation_study plays --models results --record plays.json
    python -m lab.fast_generation.speculation_study smollm2 --record smollm2.json

Guesses come from a smaller model, from the target's own copy with fewer bits, or from what the
text said before. Each case has its formula beside it.
"""

import argparse
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mathlm.functional import expected_speedup
from mathlm.generate import Draft, PromptLookup, quantize
from mathlm.models import GPT
from mathlm.text import ByteBPE, Bytes, pretrained
from mathlm.train.record import record_on_cpu

from .decoding_texts import passages
from .speculation import measure, reading_seconds, speedup

Drafts = dict[str, GPT | Draft]


def case(
    target: GPT,
    draft: GPT | Draft,
    prompts: Tensor,
    new: int,
    draft_length: int,
    temperature: float,
    turns: int,
) -> dict[str, Any]:
    """Fates of the draft tokens of one draft, what a step costs, and the speed-up by both ways.

    The formula is of rounds with draft tokens; where most rounds are silent it does not apply.
    """
    fates = measure(target, draft, prompts, new, draft_length, temperature)
    one = reading_seconds(target, prompts[0], 1)
    step = reading_seconds(draft, prompts[0], 1) if isinstance(draft, GPT) else 0.0
    cost, verify = step / one, reading_seconds(target, prompts[0], draft_length + 1) / one
    formula = expected_speedup(fates["chance"], draft_length, cost, verify)
    actual = speedup(target, draft, prompts[0], new, draft_length, temperature, turns)
    times = {"cost": cost, "verify": verify, "speedup_formula": formula, "speedup": actual}
    return dict(fates) | times


def cases(
    target: GPT,
    drafts: Drafts,
    texts: dict[str, Tensor],
    new: int,
    draft_lengths: Sequence[int],
    temperatures: Sequence[float],
    turns: int = 3,
) -> list[dict[str, Any]]:
    """Every draft on every kind of text, with its formulas beside it."""
    found: list[dict[str, Any]] = []
    for (name, draft), (kind, prompts), draft_length, temperature in product(
        drafts.items(), texts.items(), draft_lengths, temperatures
    ):
        told = {"draft": name, "text": kind, "ahead": draft_length, "temperature": temperature}
        found.append(told | case(target, draft, prompts, new, draft_length, temperature, turns))
        print(found[-1], flush=True)
    return found


def plays(models: Path, new: int, number: int, turns: int) -> list[dict[str, Any]]:
    """Our GPT of the plays, with a smaller one as its draft."""
    target = GPT.from_pretrained(models / "shakespeare-gpt")
    drafts: Drafts = {
        "small model": GPT.from_pretrained(models / "shakespeare-draft"),
        "lookup": PromptLookup(),
    }
    texts = {"plays": passages(Bytes(), number, 48, 1)[0]}
    return cases(target, drafts, texts, new, (1, 2, 4, 8), (0.0, 1.0), turns)


def smollm2(new: int, number: int, turns: int) -> list[dict[str, Any]]:
    """SmolLM2, with copies of fewer bits and with what the text said before."""
    path = pretrained.find("smollm2")
    target, bpe = GPT.from_pretrained(path), ByteBPE.from_gguf(path)
    given = passages(bpe, number, 48, 1, [0])[0]
    texts = {"open": given, "quoted": torch.cat((given, given[:, 1:9]), 1)}
    drafts: Drafts = {
        "lookup": PromptLookup(),
        "8 bits": quantize(target, 8),
        "4 bits": quantize(target, 4),
    }
    return cases(target, drafts, texts, new, (4,), (0.0, 0.8), turns)


def main(argv: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Measure; returns, and may record, every case."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("target", choices=("plays", "smollm2"))
    parser.add_argument("--models", type=Path, default=Path("book/results"))
    parser.add_argument("--new", type=int, default=48)
    parser.add_argument("--number", type=int, default=4)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--record", type=Path)
    args = parser.parse_args(argv)
    if args.target == "plays":
        found = plays(args.models, args.new, args.number, args.turns)
    else:
        found = smollm2(args.new, args.number, args.turns)
    record_on_cpu(args.record, config={**vars(args), "record": None}, cases=found)
    return found


if __name__ == "__main__":
    main()
