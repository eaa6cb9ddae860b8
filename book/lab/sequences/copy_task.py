"""How long can a recurrent network remember? One symbol, a delay, one question.

    cd book
    python -m lab.sequences.copy_task --record copy-task.json

A sequence shows one of 8 symbols, then blanks, then a mark that asks for the symbol.
"""

import argparse
import math
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from mathlm.errors import ConfigError
from mathlm.models import Recurrent
from mathlm.optim import AdamW, clip_grad_norm
from mathlm.train.record import record_on_cpu

SYMBOLS = 8
BLANK, ASK, VOCABULARY = SYMBOLS, SYMBOLS + 1, SYMBOLS + 2


@dataclass(frozen=True, kw_only=True)
class CopyConfig:
    """One training run of AdamW without decay, with clipping at ``clip``.

    Args:
        kind: "rnn", "lstm" or "gru".
        delay: Blanks between symbol and question.
        forget_bias: Bias of an LSTM's forget gates at the start; None = drawn like the others.
        width: Width of states and embedding.
        seed: Of the weights and the sequences.
    """

    kind: str = "lstm"
    delay: int = 8
    forget_bias: float | int | None = None
    width: int = 32
    steps: int = 600
    batch: int = 64
    lr: float = 3e-3
    clip: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        if self.delay < 0:
            raise ConfigError(f"delay={self.delay} must not be negative")
        if min(self.width, self.steps, self.batch) < 1:
            raise ConfigError("width, steps and batch must be at least 1")


@dataclass(frozen=True, eq=False)
class CopyRun:
    """The model, its share of right answers, and loss and gradient norm of each step."""

    model: Recurrent
    accuracy: float
    losses: list[float]
    norms: list[float]


def sequences(config: CopyConfig, step: int, count: int) -> tuple[Tensor, Tensor]:
    """Sequences (count, delay + 2) of batch number ``step``, and their symbols (count)."""
    symbols = np.random.default_rng((config.seed, step)).integers(SYMBOLS, size=count)
    ids = np.full((count, config.delay + 2), BLANK)
    ids[:, 0], ids[:, -1] = symbols, ASK
    return torch.from_numpy(ids), torch.from_numpy(symbols)


def train(config: CopyConfig) -> CopyRun:
    """Train one network on one delay and examine it on 1024 new sequences."""
    torch.manual_seed(config.seed)
    sizes = {"vocab_size": VOCABULARY, "d_model": config.width, "kind": config.kind}
    model = Recurrent(**sizes, forget_bias=config.forget_bias)  # type: ignore[arg-type]
    optimizer = AdamW(model.parameters(), lr=config.lr, weight_decay=0.0)
    losses, norms = [], []
    for step in range(config.steps):
        ids, symbols = sequences(config, step, config.batch)
        loss = cross_entropy(model(ids)[:, -1], symbols)
        loss.backward()
        norms.append(clip_grad_norm(model.parameters(), config.clip).item())
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    ids, symbols = sequences(config, config.steps, 1024)
    with torch.inference_mode():
        right = model(ids)[:, -1].argmax(-1) == symbols
    return CopyRun(model, right.double().mean().item(), losses, norms)


def name_of(kind: str, forget_bias: float | None) -> str:
    """What a curve of the figure is called."""
    if kind != "lstm":
        return kind
    if forget_bias is None:
        return "lstm, bias drawn"
    exact = math.isclose(forget_bias, math.log(64))
    return f"lstm, bias {'log 64' if exact else f'{forget_bias:g}'}"


def accuracies(results: Sequence[dict]) -> dict[str, dict[int, list[float]]]:
    """Shares of right answers by network and delay, one for each seed."""
    table: dict[str, dict[int, list[float]]] = {}
    for r in results:
        row = table.setdefault(name_of(r["kind"], r["forget_bias"]), {})
        row.setdefault(r["delay"], []).append(r["accuracy"])
    return table


def horizon(row: dict[int, list[float]], share: float = 0.9) -> int:
    """The longest delay at which every seed is right more often than ``share``; 0 if none."""
    return max((delay for delay, right in row.items() if min(right) > share), default=0)


def main(argv: Sequence[str] | None = None) -> list[dict]:
    """Train every kind on every delay and seed; returns, and may record, the results."""
    parser = argparse.ArgumentParser(description="Measure the memory of recurrent networks.")
    parser.add_argument("--delays", type=int, nargs="+", default=[2, 4, 8, 16, 32, 64])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--record", type=Path, help="JSON file for options and results")
    args, results, start = parser.parse_args(argv), [], time.process_time()
    kinds = [("rnn", None), ("lstm", None), ("lstm", 1), ("lstm", math.log(64)), ("gru", None)]
    for kind, bias in kinds:
        for delay in args.delays:
            for seed in range(args.seeds):
                sizes = {"delay": delay, "seed": seed, "steps": args.steps, "lr": args.lr}
                run = train(config := CopyConfig(kind=kind, forget_bias=bias, **sizes))
                final = {"accuracy": run.accuracy, "loss": float(np.mean(run.losses[-20:]))}
                results.append(asdict(config) | final | {"largest_norm": max(run.norms)})
    seconds = time.process_time() - start
    record_on_cpu(args.record, options=vars(args), results=results, cpu_seconds=seconds)
    return results


if __name__ == "__main__":
    main()
