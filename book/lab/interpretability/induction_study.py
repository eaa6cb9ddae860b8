"""When do induction heads form: one layer or two, one distance or many, several seeds.

cd book
python -m lab.interpretability.induction_study --record induction.json
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from mathlm.interpret import without_heads
from mathlm.train.record import record_on_cpu

from .induction import InductionRun, told_loss, train
from .induction_by_hand import induction_by_hand
from .induction_rows import InductionConfig, sequences

KINDS: dict[str, dict[str, int]] = {
    "two layers, many distances": {"n_layers": 2},
    "one layer, many distances": {"n_layers": 1},
    "two layers, one distance": {"n_layers": 2, "shortest": 10, "longest": 10},
    "one layer, one distance": {"n_layers": 1, "shortest": 10, "longest": 10},
}
ELSEWHERE = {"6 to 9": (6, 9), "11 to 14": (11, 14), "15 to 18": (15, 18)}


def told_elsewhere(run: InductionRun, config: InductionConfig) -> dict[str, float]:
    """Loss [nats] of tokens that have been told, on rows of other distances."""
    rows = {name: replace(config, shortest=a, longest=b) for name, (a, b) in ELSEWHERE.items()}
    return {name: told_loss(run.model, *sequences(c, -2, 64)) for name, c in rows.items()}


def without_each(run: InductionRun, config: InductionConfig) -> dict[str, float]:
    """Loss [nats] of tokens that have been told, with one head taken away, by its name."""
    ids, told = sequences(config, -1, 64)
    places = told[:, :-1]
    found = {}
    for layer in range(config.n_layers):
        for head in range(config.n_heads):
            logp = without_heads(run.model, ids, [(layer, head)])[:, :-1].log_softmax(-1)
            losses = -logp.gather(-1, ids[:, 1:, None]).squeeze(-1)
            found[f"{layer}.{head}"] = float(losses[places].mean())
    return found


def formed_at(history: Sequence[dict[str, Any]], level: float = 1.0) -> int | None:
    """First measured step at which the loss of told tokens is below ``level`` [nats]."""
    return next((record["step"] for record in history if record["told"] < level), None)


def by_hand(config: InductionConfig) -> float:
    """The same loss for the circuit that is written by hand, on many distances."""
    model = induction_by_hand(config.vocab_size, config.length)
    return told_loss(model, *sequences(config, -1, 64))


def main(argv: Sequence[str] | None = None) -> list[dict]:
    """Train every kind with every seed; returns, and may record, the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=240)
    parser.add_argument("--record", type=Path, help="JSON file for options and results")
    args, results, start = parser.parse_args(argv), [], time.process_time()
    torch.set_num_threads(1)
    for kind, options in KINDS.items():
        for seed in range(args.seeds):
            config = InductionConfig(steps=args.steps, seed=seed, **options)
            run = train(config)
            found = {"elsewhere": told_elsewhere(run, config), "formed": formed_at(run.history)}
            found |= {"without": without_each(run, config)}
            results.append({"kind": kind, "seed": seed, "history": run.history, **found})
    seconds, written = time.process_time() - start, by_hand(InductionConfig())
    parts: dict[str, Any] = {"results": results, "by_hand": written, "cpu_seconds": seconds}
    record_on_cpu(args.record, options=vars(args), **parts)
    return results


if __name__ == "__main__":
    main()
