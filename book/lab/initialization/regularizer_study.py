"""Weight decay and dropout of all strengths on digits with wrong labels, as a record.

    cd book
    python -m lab.initialization.regularizer_study --record regularizers.json

Takes about ten minutes on one core. ``--seeds 1 --steps 20`` is a quick look.
"""

import argparse
from collections.abc import Sequence

from lab.optimization.digits_study import study
from mathlm.optim import AdamW
from mathlm.train.record import write_record

ARMS: dict[str, tuple[dict, float]] = {  # changes of the setting, and the weight decay
    "nothing": ({}, 0.0),
    "weight decay 0.1": ({}, 0.1),
    "weight decay 0.3": ({}, 0.3),
    "weight decay 1": ({}, 1.0),
    "weight decay 3": ({}, 3.0),
    "dropout 0.1": ({"dropout": 0.1}, 0.0),
    "dropout 0.3": ({"dropout": 0.3}, 0.0),
    "dropout 0.5": ({"dropout": 0.5}, 0.0),
    "dropout 0.8": ({"dropout": 0.8}, 0.0),
    "700 more digits": ({"examples": 1000}, 0.0),
}
RATES = (3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2)
SETTING = {"examples": 300, "label_noise": 0.3, "widths": (128,)}


def sweep(steps: int, seeds: int) -> list[dict]:
    """Held-out accuracy at the end and at the lowest held-out loss, for each arm and rate."""
    rows = []
    for name, (change, decay) in ARMS.items():
        for lr in RATES:
            for seed in range(seeds):
                history = study(
                    lambda p, lr=lr, decay=decay: AdamW(p, lr=lr, weight_decay=decay),
                    **(SETTING | change), steps=steps, every=max(1, steps // 32), seed=seed,
                )  # fmt: skip
                best = int(history["held_out_loss"].argmin())
                accuracy = history["held_out_accuracy"]
                rows.append({
                    "arm": name, "lr": lr, "seed": seed, "end": float(accuracy[-1]),
                    "stopped": float(accuracy[best]), "best_step": int(history["step"][best]),
                    "memorized": float(history["memorized"][-1]),
                })  # fmt: skip
    return rows


def main(argv: Sequence[str] | None = None) -> None:
    """Run the sweep and write the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", default="regularizers.json")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=1600)
    args = parser.parse_args(argv)
    config = {"seeds": args.seeds, "steps": args.steps, "label_noise": 0.3}
    rows = sweep(args.steps, args.seeds)
    write_record(args.record, config=config, device="CPU", runs=rows)


if __name__ == "__main__":
    main()
