"""How batch size, schedule and warm-up change what a step size is worth, as a record.

    cd book
    python -m lab.optimization.step_size_study --record step-size.json

Takes about four minutes on one core. ``--seeds 1 --steps 40`` is a quick look.
"""

import argparse
import math
from collections.abc import Callable, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mathlm.optim import SGD, Adam, warmup_cosine
from mathlm.train.record import write_record

from .digits_study import POOL, digits, study

BATCHES = (1, 2, 4, 8, 16, 32, 64, 128, 256)
RATES = (0.0625, 0.125, 0.25, 0.5, 1.0, 2.0)
TARGET = 0.25  # training loss [nats]
PEAKS = (0.0625, 0.125, 0.25, 0.5, 1.0, 1.5)
SHAPES: dict[str, Callable[[float], float]] = {  # of the part s of the run that is over
    "constant": lambda s: 1.0,
    "linear": lambda s: 1 - s,
    "cosine": lambda s: (1 + math.cos(math.pi * s)) / 2,
    "stable, then linear": lambda s: min(1.0, 5 * (1 - s)),
    "three steps of 1/10": lambda s: 0.1 ** min(int(3 * s), 2),
    "inverse root": lambda s: (1 + 50 * s) ** -0.5,
}
WARMUPS = (0, 5, 20, 50, 100)


class PostNorm(nn.Module):
    """A residual block, normalized after the sum as in the first transformer."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.up, self.down = nn.Linear(width, width), nn.Linear(width, width)
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Tensor) -> Tensor:
        """LayerNorm(x + W₂ relu(W₁ x))."""
        return self.norm(x + self.down(F.relu(self.up(x))))


def batch_sweep(steps: int, seeds: int) -> list[dict]:
    """Steps that plain descent needs to ``TARGET``, for each batch size and step size."""
    rows = []
    for batch_size in BATCHES:
        for lr in RATES:
            for seed in range(seeds):
                history = study(
                    lambda p, lr=lr: SGD(p, lr=lr), batch_size=batch_size, steps=steps,
                    every=5, stop_below=TARGET, seed=seed,
                )  # fmt: skip
                done = history["train_loss"][-1] < TARGET
                took = int(history["step"][-1]) if done else None
                rows.append({"batch": batch_size, "lr": lr, "seed": seed, "steps": took})
    return rows


def schedule_sweep(steps: int, seeds: int) -> list[dict]:
    """Training loss at the end of a run of fixed length with batches of 4."""
    rows = []
    for name, shape in SHAPES.items():
        for peak in PEAKS:
            for seed in range(seeds):
                loss = study(
                    lambda p: SGD(p, lr=1.0), batch_size=4, steps=steps, every=steps,
                    schedule=lambda t, a=peak, f=shape: a * f(t / steps), seed=seed,
                )["train_loss"][-1]  # fmt: skip
                rows.append({"schedule": name, "peak": peak, "seed": seed, "loss": loss})
    return rows


def warmup_run(warmup: int, peak: float, steps: int, seed: int) -> float:
    """Mean training loss of the last tenth of a run of 12 post-norm blocks with Adam."""
    torch.manual_seed(seed)
    pixels, labels = (t[:POOL] for t in digits())
    model = nn.Sequential(*(PostNorm(64) for _ in range(12)), nn.Linear(64, 10))
    for p in model.parameters():
        _ = nn.init.xavier_normal_(p) if p.ndim == 2 else p
    optimizer, losses = Adam(model.parameters(), lr=peak), []
    rate = warmup_cosine(peak=peak, warmup=warmup, steps=max(steps, warmup + 1))
    for t in range(steps):
        optimizer.param_groups[0]["lr"] = rate(t)
        batch = torch.randint(POOL, (32,))
        optimizer.zero_grad()
        loss = F.cross_entropy(model(pixels[batch]), labels[batch])
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return sum(losses[-max(1, steps // 10) :]) / max(1, steps // 10)


def warmup_sweep(steps: int, seeds: int) -> list[dict]:
    """Final loss of runs of a third of ``steps``, by length of the warm-up and peak."""
    runs = [(w, peak, s) for w in WARMUPS for peak in (1e-3, 3e-3, 1e-2) for s in range(seeds)]
    names = ("warmup", "peak", "seed", "loss")
    return [
        dict(zip(names, (*r, warmup_run(*r[:2], steps // 3, r[2])), strict=True)) for r in runs
    ]


def main(argv: Sequence[str] | None = None) -> None:
    """Run the three sweeps and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", default="step-size.json")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=1000)
    args = parser.parse_args(argv)
    sweeps = {"batch": batch_sweep, "schedule": schedule_sweep, "warmup": warmup_sweep}
    rows = {name: sweep(args.steps, args.seeds) for name, sweep in sweeps.items()}
    config = {"seeds": args.seeds, "steps": args.steps, "target": TARGET}
    write_record(args.record, config=config, device="CPU", **rows)


if __name__ == "__main__":
    main()
