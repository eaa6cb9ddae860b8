"""Test-time compute: small GPTs learn to add in steps, and many solutions are sampled.

    cd book
    python -m lab.generation.voting_study --record voting.json

Each question is a sum of three numbers below 30, solved step by step, as
``26+20+16=26+20=46,46+16=62;``. Training stops as soon as a share of the samples of other
questions is right, long before the model is reliable. The record keeps, for each
seed and each question, the answers of the sampled solutions and their log-probabilities.
"""

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from mathlm.generate import stream
from mathlm.models import GPT, GPTConfig
from mathlm.train.record import record_on_cpu

Question = tuple[int, ...]
LETTERS = "0123456789+=,; "
LARGEST, LENGTH = 30, 34  # numbers are below the first; tokens of a padded example
SIZES: dict[str, Any] = {"d_model": 64, "n_layers": 2, "n_heads": 4}


def asked(numbers: Question) -> str:
    """The sum that is to be solved."""
    return "+".join(f"{n:02d}" for n in numbers) + "="


def solution(numbers: Question) -> str:
    """Its solution: one step for each further number, then the end."""
    a, b, c = numbers
    return f"{a:02d}+{b:02d}={a + b:03d},{a + b:03d}+{c:02d}={a + b + c:03d};"


def encode(text: str) -> list[int]:
    """Letters to ids."""
    return [LETTERS.index(c) for c in text]


def answer(ids: Sequence[int]) -> int:
    """The number after the last "=", up to the end; -1 if there is none."""
    text = "".join(LETTERS[i] for i in ids).split(";")[0]
    number = text.rpartition("=")[2]
    return int(number) if "=" in text and number.isdigit() else -1


def questions(number: int, rng: np.random.Generator) -> list[Question]:
    """Sums of three numbers."""
    return [tuple(q) for q in rng.integers(0, LARGEST, size=(number, 3)).tolist()]


def examples(asked_for: Sequence[Question]) -> Tensor:
    """Questions with their solutions (N, LENGTH)."""
    return torch.tensor([encode(asked(q) + solution(q)) for q in asked_for])


def train(seed: int, steps: int, lr: float, enough: float) -> tuple[GPT, int]:
    """A GPT that solves some sums, and the steps that it took; only solutions are targets.

    Args:
        seed: Of the weights and the examples.
        steps: At most.
        lr: Step size, after a warm-up.
        enough: Share of right samples on 64 other questions at which training stops.
    """
    torch.manual_seed(seed)
    model = GPT(GPTConfig(vocab_size=len(LETTERS), context=LENGTH, **SIZES)).train()
    rng = np.random.default_rng(seed)
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.01)
    other = questions(64, np.random.default_rng(2000 + seed))
    step = 0
    for step in range(steps):
        if step % 50 == 49 and _right(model, other, seed) >= enough:
            break
        ids = examples(questions(128, rng))
        for group in optimizer.param_groups:
            group["lr"] = lr * min(1.0, (step + 1) / 50)
        logits = model(ids[:, :-1])[:, 8:]  # "26+20+16=" has nine letters
        loss = cross_entropy(logits.flatten(0, 1), ids[:, 9:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval().requires_grad_(False), step


def _right(model: GPT, numbers: Sequence[Question], seed: int) -> float:
    """Share of right answers in one sample of each question; the model goes on training."""
    answers, _ = sample(model.eval(), numbers, 1, 1.0, seed)
    model.train()
    return float(np.mean([a == sum(q) for (a,), q in zip(answers, numbers, strict=True)]))


def sample(
    model: GPT, numbers: Sequence[Question], rows: int, temperature: float, seed: int
) -> tuple[list[list[int]], list[list[float]]]:
    """Answers of sampled solutions of each question, and their log-probabilities [nats]."""
    prompts = torch.tensor([encode(asked(q)) for q in numbers]).repeat_interleave(rows, 0)
    end = [encode(";")]
    new = LENGTH - prompts.shape[1]
    steps = list(stream(model, prompts, new, temperature, seed=seed, stop=end))
    tokens = torch.stack([s.tokens for s in steps], 1).tolist()
    logp = torch.stack([s.log_probabilities for s in steps], 1)  # 0 after the end of a row
    answers = torch.tensor([answer(row) for row in tokens]).view(-1, rows)
    return answers.tolist(), logp.sum(1).view(-1, rows).tolist()


def one(seed: int, args: argparse.Namespace) -> dict[str, Any]:
    """Train with one seed, and solve new questions."""
    began = time.process_time()
    model, steps = train(seed, args.steps, args.lr, args.enough)
    new = questions(args.questions, np.random.default_rng(1000 + seed))
    greedy, _ = sample(model, new, 1, 0.0, seed)
    answers, logp = sample(model, new, args.samples, args.temperature, seed)
    right = [sum(q) for q in new]
    row = {
        "seed": seed,
        "steps": steps,
        "right": right,
        "greedy": [g for (g,) in greedy],
        "answers": answers,
    }
    row["logp"] = [[round(x, 2) for x in r] for r in logp]
    return row | {"cpu_seconds": round(time.process_time() - began, 1)}


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Train and sample for each seed; a record that exists is gone on with."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", type=Path)
    for name, value in (("temperature", 1.0), ("lr", 3e-3), ("enough", 0.3)):
        parser.add_argument(f"--{name}", type=float, default=value)
    sizes = {"seeds": 3, "steps": 800, "questions": 100, "samples": 32}
    for name, default in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args(argv)
    rows: list[dict[str, Any]] = []
    if args.record is not None and args.record.exists():
        rows = json.loads(args.record.read_text())["rows"]
    for seed in range(len(rows), args.seeds):
        row = one(seed, args)
        hits = np.array(row["answers"]) == np.array(row["right"])[:, None]
        greedy = np.mean(np.array(row["greedy"]) == row["right"])
        print(f"seed {seed}: one sample {hits.mean():.3f}, greedy {greedy:.3f}", flush=True)
        rows.append(row)
        record_on_cpu(args.record, config=vars(args), rows=rows)
    return {"config": vars(args), "rows": rows}


if __name__ == "__main__":
    main()
