"""A GPT and a masked diffusion model of equal parameters, on equally many letters.

    cd book
    python -m lab.masked_diffusion.record --record masked-diffusion.json

Every kind is trained at several step sizes and with several seeds; a third arm gives the
diffusion model four times as many letters, and its models write in few and in many passes.
"""

import argparse
import itertools
import math
import time
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, get_args

import torch
from torch import Tensor, nn

from mathlm.functional import masked_diffusion_bound, token_cross_entropy
from mathlm.generate import fill_masks, generate
from mathlm.generate.masked_diffusion import Order
from mathlm.models import GPT, save_pretrained
from mathlm.optim import AdamW, warmup_cosine
from mathlm.text import KneserNey
from mathlm.train import Trainer, TrainerConfig
from mathlm.train.record import record_on_cpu

from .letters import MASK, SYMBOLS, WINDOW, Kind, begun, build, held_out, letters, task

RATES = (7.5e-4, 1.5e-3, 3e-3, 6e-3, 1.2e-2)
PASSES = (1, 2, 4, 8, 16, 32, 64)
ORDERS: tuple[Order, ...] = ("random", "confidence")


def train(kind: Kind, lr: float, seed: int, steps: int, batch: int = 16) -> nn.Module:
    """One model after so many steps."""
    model, (objective, data) = build(kind, seed), task(kind, batch, seed)
    schedule = warmup_cosine(lr, steps // 10, steps)
    optimizer = AdamW(model.parameters(), lr=lr, betas=(0.9, 0.98), weight_decay=0.01)
    config = TrainerConfig(steps=steps, schedule=schedule, seed=seed)
    Trainer(model, objective, data, optimizer, config).fit()
    return model.eval()


@torch.inference_mode()
def bits(model: nn.Module, kind: Kind, windows: Tensor, samples: int = 16) -> float:
    """Cost of the windows [bits/letter]: exact for a GPT, a bound for a diffusion model."""
    if kind == "gpt":
        return float(token_cross_entropy(model(begun(windows)), windows).mean()) / math.log(2)
    draws = torch.Generator().manual_seed(0)
    found = masked_diffusion_bound(model, windows, MASK, samples=samples, generator=draws)
    return float(found.mean()) / windows.shape[1] / math.log(2)


@lru_cache
def judge(order: int = 6) -> KneserNey:
    """A 6-gram model of the training letters."""
    return KneserNey(order, letters(), len(SYMBOLS))


def judged(windows: Tensor) -> float:
    """Cost of the last letters of each window, after the first five, for the 6-gram [bits]."""
    scores = [judge().log_probabilities(row.numpy())[5:].mean() for row in windows]
    return -float(sum(scores)) / len(scores) / math.log(2)


def written(model: nn.Module, gpt: nn.Module, seed: int, count: int) -> list[dict[str, Any]]:
    """Texts written in each number of passes, and what they cost the two judges."""
    rows = []
    for order in ORDERS:
        for passes in PASSES:
            blank, draws = (
                torch.full((count, WINDOW), MASK),
                torch.Generator().manual_seed(seed),
            )
            text = fill_masks(model, blank, MASK, steps=passes, order=order, generator=draws)
            row: dict[str, Any] = {"order": order, "passes": passes, "ngram": judged(text)}
            row["gpt"] = bits(gpt, "gpt", text)
            row["unigram"] = unigram_bits(text)
            rows.append(row)
    return rows


def unigram_bits(text: Tensor) -> float:
    """Entropy of the letters of a text, whatever their order [bits/letter]."""
    p = torch.bincount(text.flatten(), minlength=len(SYMBOLS)).double() / text.numel()
    return float(torch.special.entr(p).sum()) / math.log(2)


def run(kind: Kind, lr: float, seed: int, args: argparse.Namespace, times: int = 1) -> tuple:
    """One run as a row of the record, and its model."""
    began = time.process_time()
    model = train(kind, lr, seed, times * args.steps)
    row: dict[str, Any] = {"kind": kind, "lr": lr, "seed": seed, "times": times}
    row["bits"] = bits(model, kind, held_out(args.windows))
    row["parameters"] = sum(p.numel() for p in model.parameters())
    row["cpu_seconds"] = time.process_time() - began
    print(row, flush=True)
    return row, model


def parse(argv: Sequence[str] | None) -> argparse.Namespace:
    """Options from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", type=Path)
    parser.add_argument("--weights", type=Path, help="folder for the best model of seed 0")
    numbers = {"steps": 400, "seeds": 3, "windows": 400, "count": 50, "times": 4}
    for name, default in numbers.items():
        parser.add_argument(f"--{name}", type=int, default=default)
    return parser.parse_args(argv)


def read(model: nn.Module, gpt: GPT, seed: int, args: argparse.Namespace) -> dict:
    """What the texts of a diffusion model, of the GPT and of the plays cost the two judges."""
    own = generate(gpt, torch.full((args.count, 1), MASK), WINDOW, seed=seed)[:, 1:]
    row: dict[str, Any] = {"seed": seed, "rows": written(model, gpt, seed, args.count)}
    for name, text in (("by the gpt", own), ("held out", held_out(args.windows))):
        row[name] = {"ngram": judged(text), "gpt": bits(gpt, "gpt", text)}
    print(row, flush=True)
    return row


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Train, judge and write; returns, and may record, the rows."""
    args = parse(argv)
    seeds, kinds = range(args.seeds), get_args(Kind)
    arms = itertools.product(kinds, RATES, seeds)
    found = {arm: run(*arm, args) for arm in arms}

    def total(kind: Kind, lr: float) -> float:
        return sum(found[kind, lr, seed][0]["bits"] for seed in seeds)

    best = {kind: min(RATES, key=lambda lr: total(kind, lr)) for kind in kinds}
    longer = [run("diffusion", best["diffusion"], seed, args, args.times) for seed in seeds]
    gpts = [found["gpt", best["gpt"], seed][1] for seed in seeds]
    samples = [read(longer[seed][1], gpts[seed], seed, args) for seed in seeds]
    if args.weights:
        save_pretrained(longer[0][1].gpt, args.weights, dtype=torch.float16)
    runs = [row for row, _ in [*found.values(), *longer]]
    results: dict[str, Any] = {"runs": runs, "samples": samples, "best": best}
    record_on_cpu(args.record, config=vars(args), results=results)
    return results


if __name__ == "__main__":
    main()
