"""Does the best learning rate of a narrow model serve a wide one? With muP, and without.

    cd book
    python -m lab.scaling_laws.width_transfer --record width-transfer.json
    python -m lab.scaling_laws.width_transfer --widths 16 64 --steps 48

Both ways are the same model at the base width.
"""

import argparse
import itertools
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

import torch

from mathlm.models import GPT
from mathlm.optim import scale_start, width_groups
from mathlm.optim.width import Parametrization
from mathlm.train.record import record_on_cpu

from .scaling_runs import held_out_loss, read_off, start, texts, windows

log = logging.getLogger(__name__)
BASE = 16
WIDTHS = (16, 32, 64, 128)
RATES = tuple(0.0005 * 2**k for k in range(8))
LOOK = 0.008  # rate at which the first steps are looked at
KINDS: tuple[Parametrization, ...] = get_args(Parametrization)
WINDOWS = 8  # of a batch
HELD_OUT = 8192  # bytes


def prepared(
    width: int, kind: Parametrization, lr: float, seed: int = 0
) -> tuple[GPT, list[dict]]:
    """A model of the family, scaled as its width asks, and its groups of parameters."""
    model = start(width, seed)
    _ = scale_start(model, width / BASE, kind)
    return model, width_groups(model, lr, width / BASE, kind)


def trial(width: int, kind: Parametrization, lr: float, steps: int, seed: int) -> dict:
    """Train one model with one rate; the training loss is the mean of the last quarter."""
    model, groups = prepared(width, kind, lr, seed)
    data, measure = windows(texts()[0], seed, WINDOWS), held_out_loss(HELD_OUT)
    reads = (steps - steps // 4, steps)
    last = read_off(model, data, measure, reads, lr, groups, warm=steps // 5)[-1]
    return {"width": width, "kind": kind, "lr": lr, "seed": seed, **last}


def coordinates(width: int, kind: Parametrization, lr: float, steps: int) -> list[dict]:
    """How far the entries of activations have moved after each of a few steps.

    Returns:
        Of each step the root mean square of the change since the start, of the stream after
        the last block and of the logits, on a batch that is not trained on.
    """
    training, held_out = texts()
    (model, groups), ids = prepared(width, kind, lr), windows(held_out)(0)["ids"]
    before = activations(model, ids)

    def moved(model: GPT) -> dict[str, Any]:
        now = activations(model, ids)
        return {k: (now[k] - before[k]).square().mean().sqrt().item() for k in before}

    data, reads = windows(training, 0, WINDOWS), range(1, steps + 1)
    found = read_off(model, data, moved, reads, lr, groups, warm=0)
    fixed = {"width": width, "kind": kind, "lr": lr}
    return [fixed | {"step": step} | row for step, row in zip(reads, found, strict=True)]


@torch.no_grad()
def activations(model: GPT, ids: torch.Tensor) -> dict[str, torch.Tensor]:
    """The stream after the last block, and the logits."""
    taps: dict[str, Any] = {}
    logits = model(ids, taps=taps)
    return {"stream": taps[f"blocks.{model.config.n_layers - 1}.resid_post"], "logits": logits}


def main(argv: Sequence[str] | None = None) -> list[dict]:
    """Try every rate at every width in both ways; returns, and may record, the losses."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--record", type=Path)
    parser.add_argument("--widths", type=int, nargs="+", default=WIDTHS)
    parser.add_argument("--rates", type=float, nargs="+", default=RATES)
    parser.add_argument("--steps", type=int, default=128)
    parser.add_argument("--seeds", type=int, default=1)
    args, rows = parser.parse_args(argv), list[dict]()
    moved = [r for w in args.widths for k in KINDS for r in coordinates(w, k, LOOK, 4)]
    for width, kind in itertools.product(args.widths, KINDS):
        same = [row | {"kind": kind} for row in rows if row["width"] == width == BASE]
        tried = itertools.product(args.rates, range(args.seeds))
        rows += same or [trial(width, kind, lr, args.steps, seed) for lr, seed in tried]
        log.info("width %d, %s: %.4f nats", width, kind, rows[-1]["loss"])
        record_on_cpu(args.record, config=vars(args), base=BASE, runs=rows, moved=moved)
    return rows


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    main()
