"""Train the translator by hand with a fault in its backward pass: would its loss have told?

    cd book
    python -m lab.transformer_backward.faulty_training --faults "keys learn nothing" --steps 60

All runs of a seed have the same first weights and the same batches; one function differs.
"""

import argparse
import itertools
import time
from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from mathlm.errors import InputError
from mathlm.train.record import write_record

from .gradient_faults import FAULTS
from .numerals_by_hand import ByHandConfig, train
from .planted_gradient_faults import planted

RIGHT = "no fault"
OTHER_SIZES = ("padding has labels", "shared table not summed")  # made for one model alone
TRAINABLE = tuple(name for name in FAULTS if name not in OTHER_SIZES)


def run(fault: str, config: ByHandConfig) -> dict[str, Any]:
    """Train with a fault planted, in both passes if it is in both, and judge what comes out.

    Args:
        fault: Name of a fault of ``TRAINABLE``, or "no fault".
        config: Of the training.

    Returns:
        The fault, its losses in means of ten steps [nats/word], the share of held-out numbers
        that come out right, and what stopped it, if something did.

    Raises:
        InputError: If there is no such fault.
    """
    if fault != RIGHT and fault not in TRAINABLE:
        raise InputError(f"fault {fault!r} is not one of {', '.join((RIGHT, *TRAINABLE))}")
    with nullcontext() if fault == RIGHT else planted(FAULTS[fault]), np.errstate(all="ignore"):
        try:
            done = train(config)
        except ValueError as error:
            return {"fault": fault, "losses": [], "accuracy": 0.0, "stopped": str(error)}
    losses = np.asarray(done.losses)
    means = [float(part.mean().round(5)) for part in np.array_split(losses, len(losses) // 10)]
    return {"fault": fault, "losses": means, "accuracy": float(done.accuracy), "stopped": None}


def main(argv: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Train with each fault from each seed; returns, and may record, what became of it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--faults", nargs="+", default=[RIGHT, *TRAINABLE])
    parser.add_argument("--steps", type=int, default=240)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--scale", type=float, default=0.5)
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument("--record", type=Path, help="JSON file for options and results")
    args, results, start = parser.parse_args(argv), [], time.process_time()
    sizes = {"n_layers": args.layers, "steps": args.steps, "warmup": args.steps // 3}
    sizes |= {"scale": args.scale, "label_smoothing": 0.1, "dropout": 0.05}
    for seed, fault in itertools.product(args.seeds, args.faults):
        config = ByHandConfig(**sizes, seed=seed)
        results.append(run(fault, config) | {"seed": seed})
        print(f"{seed} {fault}: {results[-1]['losses'][-1:]}, {results[-1]['accuracy']:.1%}")
        if args.record:
            seconds = time.process_time() - start
            parts = {"options": vars(args), "config": config, "results": results}
            write_record(args.record, **parts, cpu_seconds=seconds, device="cpu")
    return results


if __name__ == "__main__":
    main()
