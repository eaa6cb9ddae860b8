"""How often 100,000 features in 4096 dimensions are read right, by how many are there.

cd book
python -m lab.features.readout --record readout.json
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from mathlm.train.record import record_on_cpu

from .capacity import measured_readout

WIDTH, COUNT, TRIALS = 4096, 100_000, 100
SIZES = (36, 44, 52, 60, 90, 120)  # features that are there


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Read the features in every trial; returns, and may record, the shares that were right."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--record", type=Path)
    parser.add_argument("--width", type=int, default=WIDTH)
    parser.add_argument("--count", type=int, default=COUNT)
    parser.add_argument("--trials", type=int, default=TRIALS)
    parser.add_argument("--active", type=int, nargs="+", default=SIZES)
    args = parser.parse_args(argv)
    shares = measured_readout(args.width, args.count, args.active, trials=args.trials)
    found = dict(zip(("threshold", "rank"), map(torch.Tensor.tolist, shares), strict=True))
    record_on_cpu(args.record, config=vars(args), results=found)
    return found


if __name__ == "__main__":
    main()
