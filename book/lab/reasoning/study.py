"""A small GPT learns sums from a verifier: three methods, three wrong verifiers, three seeds.

    cd book
    python -m lab.reasoning.study --record results/reasoning.json

For each seed a GPT is pretrained on sums of three to seven digits, some with scratch work,
until a share of its answers to sums of five digits is right. Then it is trained on the reward
of a verifier, on sums of five digits. The step sizes are compared first, on a start of their
own. The record keeps curves on sums held out, how many of many answers to each sum are right
before and after, the answers themselves of some, and texts.
"""

import argparse
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mathlm.models import GPT
from mathlm.train.record import record_on_cpu

from .sums import (
    VERIFIERS,
    Question,
    answer,
    asked,
    last_number,
    new_model,
    pretrain,
    questions,
)
from .training import METHODS, Run, Training, measured, solve

RATES = dict.fromkeys(METHODS, (1e-4, 3e-4, 1e-3))
WRONG = tuple(name for name in VERIFIERS if name != "last number")
TUNED, CHOSEN, UNSEEN = 100, 1000, 2000  # seeds of starts and sums
VOTED, SHOWN = 40, 4  # sums whose answers are kept, and texts
LENGTHS = (3, 5, 7)


def start(seed: int, args: argparse.Namespace) -> tuple[GPT, int]:
    """A pretrained model that solves some sums of five digits, and the steps that it took."""
    model = new_model(seed)
    sums = questions(64, 5, np.random.default_rng((seed, CHOSEN)))

    def enough(step: int) -> bool:
        return measured(model, sums, 4, seed, last_number)["right"] >= args.enough

    return model, pretrain(model, args.pretraining, args.with_work, seed, look=enough)


def curve(
    model: GPT, config: Training, verifier: str, looks: int, unseen: bool = True
) -> tuple[Run, list[dict[str, Any]]]:
    """Train with a verifier; the run, and what was measured at so many looks."""
    sums = questions(64, 5, np.random.default_rng(UNSEEN + config.seed), unseen)
    run = Run(model, config, VERIFIERS[verifier])

    def look(run: Run) -> dict[str, Any]:
        found: dict[str, Any] = {"samples": run.drawn, "tokens": run.tokens}
        recent = run.used[-10:]
        found |= {"used": round(float(np.mean(recent)), 3) if recent else None}
        seen = measured(run.model, sums, 4, config.seed, run.verifier)
        return found | {name: round(x, 4) for name, x in seen.items()}

    return run, run.fit(look, config.samples // looks)


def tune(args: argparse.Namespace) -> dict[str, dict[str, float]]:
    """Share right of each method by step size, over the last half of short runs.

    The start is used for nothing else; the sums on which the shares are taken are of those that
    may occur in training.
    """
    model, _ = start(TUNED, args)
    found: dict[str, dict[str, float]] = {}
    for method, rates in RATES.items():
        for lr in rates:
            config = Training(method=method, lr=lr, samples=args.tuning, seed=TUNED)
            _, looks = curve(model, config, "last number", 6, unseen=False)
            share = float(np.mean([x["right"] for x in looks[len(looks) // 2 :]]))
            found.setdefault(method, {})[str(lr)] = round(share, 4)
            print(f"{method} {lr}: {share:.3f}", flush=True)
    return found


def votes(pairs: Sequence[tuple[Question, list[str]]], logp: list[list[float]]) -> dict:
    """Sums, the last number of each text (-1 without an end), and the log-probabilities."""
    ends = [[answer(t) for t in row] for _, row in pairs]
    rounded = [[round(x, 1) for x in row] for row in logp[: len(pairs)]]
    return {"sums": [sum(q) for q, _ in pairs], "answers": ends, "logp": rounded}


def many(model: GPT, seed: int, args: argparse.Namespace) -> dict[str, Any]:
    """For each length, right answers among many to each sum, and different texts among them."""
    found: dict[str, Any] = {}
    for terms in LENGTHS:
        rng = np.random.default_rng((seed, terms, UNSEEN))
        sums = questions(args.questions, terms, rng, unseen=True)
        texts, logp = solve(model, sums, args.answers, seed)
        pairs = list(zip(sums, texts, strict=True))
        right = [sum(last_number(q, t) for t in row) for q, row in pairs]
        found[str(terms)] = {
            "right": right,
            "different": [len(set(row)) for row in texts],
            "length": round(float(np.mean([len(t) for row in texts for t in row])), 2),
            "texts": [{"asked": asked(q), "texts": row[:SHOWN]} for q, row in pairs[:SHOWN]],
        }
        if terms == 5:
            found["votes"] = votes(pairs[:VOTED], logp)
    return found


def one(seed: int, rates: dict[str, float], args: argparse.Namespace) -> dict[str, Any]:
    """Everything of one seed: start, three methods, three wrong verifiers."""
    began = time.process_time()
    model, steps = start(seed, args)
    row: dict[str, Any] = {"seed": seed, "pretraining": steps, "methods": {}, "wrong": {}}
    row["before"] = many(model, seed, args)
    for method, lr in rates.items():
        config = Training(method=method, lr=lr, samples=args.samples, seed=seed)
        run, looks = curve(model, config, "last number", 10)
        row["methods"][method] = {"curve": looks, "after": many(run.model, seed, args)}
        if method != "grpo":
            del row["methods"][method]["after"]["votes"]
        print(
            f"seed {seed} {method}: {looks[0]['right']:.3f} -> {looks[-1]['right']:.3f}",
            flush=True,
        )
    for verifier in WRONG:
        config = Training(method="grpo", lr=rates["grpo"], samples=args.wrong, seed=seed)
        run, looks = curve(model, config, verifier, 6)
        sums = questions(SHOWN, 5, np.random.default_rng((seed, 5, UNSEEN)), unseen=True)
        texts, _ = solve(run.model, sums, SHOWN, seed)
        shown = [{"asked": asked(q), "texts": t} for q, t in zip(sums, texts, strict=True)]
        row["wrong"][verifier] = {"curve": looks, "texts": shown}
        print(f"seed {seed} {verifier}: {looks[-1]}", flush=True)
    return row | {"cpu_seconds": round(time.process_time() - began, 1)}


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Tune, then train with each seed; a record that exists is gone on with."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--record", type=Path)
    for name, share in (("enough", 0.25), ("with-work", 0.75)):
        parser.add_argument(f"--{name}", type=float, default=share)
    sizes = {"seeds": 3, "pretraining": 1500, "tuning": 8_000, "samples": 20_000}
    sizes |= {"wrong": 10_000, "questions": 50, "answers": 64}
    for name, default in sizes.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args(argv)
    torch.set_num_threads(1)
    found: dict[str, Any] = {"rows": []}
    if args.record is not None and args.record.exists():
        old = json.loads(args.record.read_text())
        found = {"tuned": old["tuned"], "rows": old["rows"]}
    if "tuned" not in found:
        found["tuned"] = tune(args)
    rates = {name: float(max(x, key=lambda lr: x[lr])) for name, x in found["tuned"].items()}
    for seed in range(len(found["rows"]), args.seeds):
        found["rows"].append(one(seed, rates, args))
        record_on_cpu(args.record, config=vars(args), rates=rates, **found)
    return found | {"rates": rates}


if __name__ == "__main__":
    main()
