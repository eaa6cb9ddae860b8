"""Preference losses and their rivals on the same comparisons, in worlds with a known optimum.

cd book
python -m lab.preference_optimization.preference_study --record preferences.json
"""

import argparse
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from mathlm.align import DPO, IPO, RobustDPO
from mathlm.train.record import record_on_cpu

from .preference_family import BETA, METHODS, Method, compared
from .preference_rivals import rivals

NOISY: dict[str, Method] = {
    "DPO": (lambda beta: DPO(beta=beta), (BETA, 1.0)),
    "conservative": (lambda share: DPO(beta=BETA, label_smoothing=share), (0.2,)),
    "robust": (lambda share: RobustDPO(beta=BETA, flip=share), (0.2,)),
    "IPO": (lambda beta: IPO(beta=beta), (0.2,)),
}


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Run all parts; the record is written after each."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", type=Path)
    for name, default in (("number", 8000), ("steps", 100), ("seeds", 5)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--flip", type=float, default=0.2, help="share of wrong labels")
    args = parser.parse_args(argv)
    write = partial(record_on_cpu, args.record, config=vars(args) | {"beta": BETA})
    sizes = (args.seeds, args.number, args.steps)
    found: dict[str, Any] = {}
    found["family"] = compared(METHODS, *sizes)
    write(**found)
    found["flipped"] = compared(NOISY, *sizes, flip=args.flip)
    write(**found)
    found["abundant"] = compared(NOISY, args.seeds, 16 * args.number, args.steps, args.flip)
    write(**found)
    runs = [rivals(seed, args.number, args.steps) for seed in range(args.seeds)]
    found["rivals"] = {args.number: runs}
    write(**found)
    return found


if __name__ == "__main__":
    main()
