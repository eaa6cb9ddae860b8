"""Rules of what is learned from a chat, and what a pretrained start is worth in examples.

    cd book
    python -m lab.fine_tuning.answer_study --record answers.json

The GPT of the plays learns conversations with each rule and several seeds; then from few and
from many of them, beside the same network from new weights; and SmolLM2 is asked one question
with and without the format that it was tuned in.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mathlm.align import Encoded
from mathlm.models import GPT
from mathlm.text import ByteBPE, Bytes, ChatFormat, Message, pretrained
from mathlm.train.record import record_on_cpu

from .answer_rules import CONTEXT, FORMAT, compare, tune
from .fine_tuning_chats import conversations, held_out_rows
from .fine_tuning_measures import answer_loss
from .fine_tuning_tasks import PLAYS

STEP_SIZES = {"pretrained": 1e-3, "new weights": 3e-3}
NUMBERS = (8, 64, 0)  # examples; 0 is all
QUESTION, ANSWER = "What is the capital of France?", "The capital of France is Paris."


def some(encoded: Encoded, number: int, seed: int = 0) -> Encoded:
    """So many of the conversations, chosen by the seed; all for 0."""
    order = np.random.default_rng(seed).permutation(len(encoded))[: number or None]
    return replace(encoded, chats=[encoded.chats[i] for i in sorted(order)])


def transfer(steps: int, numbers: Sequence[int] = NUMBERS, rows: int = 24) -> list[dict]:
    """Best held-out loss along runs from few and many examples, from both starts."""
    tokenizer, found = Bytes(FORMAT.special), []
    end = tokenizer.special[FORMAT.end]
    train, *held_out = conversations(tokenizer, FORMAT, CONTEXT)
    choice, report = (held_out_rows(part, rows) for part in held_out)

    def measure(model: GPT) -> dict[str, float]:
        chosen = answer_loss(model, choice, end)["answers"]
        return {"choice": chosen, "answers": answer_loss(model, report, end)["answers"]}

    at = sorted({max(1, round(steps / 2**i)) for i in range(5)})
    for start, step_size in STEP_SIZES.items():
        for number in numbers:
            model = GPT.from_pretrained(PLAYS)
            if start == "new weights":
                torch.manual_seed(0)
                model = GPT(model.config)
            few = some(train, number)
            curve = tune(model, few, steps, step_size=step_size, at=at, measure=measure)
            best = min(curve, key=lambda row: row["choice"])
            found.append({"start": start, "examples": len(few), "best": best, "curve": curve})
            print(start, len(few), best)
    return found


@torch.no_grad()
def asked_both_ways(
    model: GPT, tokenizer: ByteBPE | Bytes, format: ChatFormat
) -> dict[str, Any]:
    """What a tuned model says to a question in its format, and to the bare question."""
    chat = format.encode([Message("user", QUESTION)], tokenizer, answer=True)
    answer, found = tokenizer.encode(ANSWER), {}
    for name, ids in (("chat", chat.ids.tolist()), ("text", tokenizer.encode(QUESTION))):
        logp = model(torch.tensor([ids + answer]))[0].double().log_softmax(-1)
        at = torch.arange(len(ids) - 1, len(ids) + len(answer) - 1)
        p, first = logp[len(ids) - 1].exp().topk(5)
        found[name] = {
            "answer": float(logp[at, torch.tensor(answer)].sum().exp()),
            "first": [
                [tokenizer.decode([i]), x]
                for i, x in zip(first.tolist(), p.tolist(), strict=True)
            ],
        }
    return found


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Run the studies; returns what came out, and may write the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", type=Path)
    for name, default in (("steps", 100), ("long", 100), ("seeds", 3), ("questions", 24)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args(argv)
    path = pretrained.find("smollm2")
    smollm2 = GPT.from_pretrained(path), ByteBPE.from_gguf(path), ChatFormat.chatml()
    run = partial(record_on_cpu, args.record, config=vars(args) | {"step_sizes": STEP_SIZES})
    found: dict[str, Any] = {"capital": asked_both_ways(*smollm2)}
    found["rules"] = [compare(args.steps, args.questions, seed) for seed in range(args.seeds)]
    run(**found)
    found["transfer"] = transfer(args.long, rows=args.questions)
    run(**found)
    return found


if __name__ == "__main__":
    main()
