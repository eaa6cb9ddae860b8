"""Five optimizers on the digits, each at five step sizes, as a record.

    cd book
    python -m lab.optimization.optimizer_study --record optimizers.json

Takes about a minute on one core. ``--seeds 1 --steps 20`` is a quick look.
"""

import argparse
from collections.abc import Callable, Sequence

from mathlm.optim import SGD, Adam, RMSProp
from mathlm.train.record import write_record

from .digits_study import study

METHODS: dict[str, tuple[Callable, float]] = {  # how to make one, and the middle step size
    "descent": (lambda p, lr: SGD(p, lr=lr), 1.0),
    "momentum": (lambda p, lr: SGD(p, lr=lr, momentum=0.9), 0.2),
    "Nesterov": (lambda p, lr: SGD(p, lr=lr, momentum=0.9, nesterov=True), 0.2),
    "RMSProp": (lambda p, lr: RMSProp(p, lr=lr), 0.01),
    "Adam": (lambda p, lr: Adam(p, lr=lr), 0.02),
}
FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)


def sweep(steps: int, seeds: int) -> list[dict]:
    """Training loss after ``steps`` batches of 32, for each method, step size and seed."""
    rows = []
    for name, (make, middle) in METHODS.items():
        for lr in (middle * factor for factor in FACTORS):
            for seed in range(seeds):
                history = study(
                    lambda p, make=make, lr=lr: make(p, lr), steps=steps, every=steps, seed=seed
                )
                loss = float(history["train_loss"][-1])
                rows.append({"method": name, "lr": lr, "seed": seed, "loss": loss})
    return rows


def main(argv: Sequence[str] | None = None) -> None:
    """Run the sweep and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", default="optimizers.json")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=300)
    args = parser.parse_args(argv)
    config = {"seeds": args.seeds, "steps": args.steps, "batch_size": 32}
    rows = sweep(args.steps, args.seeds)
    write_record(args.record, config=config, device="CPU", runs=rows)


if __name__ == "__main__":
    main()
