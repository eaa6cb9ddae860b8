"""Where five ways of teaching end, for three teachers of the listed world.

    cd book
    python -m lab.distillation.ends_study --record results/distillation-ends.json

A part of the exact account: every end is a solution of "gradient = 0" by sums. Two
have a closed form. Those on own samples are where descent and Newton's method come from random
starts; that of the reverse KL is the lowest minimum of L-BFGS, and "reached" counts the starts
that came there.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

import torch

from .exact_students import ends

SEEDS, STARTS = (0, 1, 2), 40


def main(argv: Sequence[str] | None = None) -> None:
    """Write the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", type=Path, required=True)
    args = parser.parse_args(argv)
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    logits, reached = {}, {}
    for seed in SEEDS:
        found, reached[seed] = ends(seed, STARTS)
        logits[seed] = {way: z.tolist() for way, z in found.items()}
    record = {"starts": STARTS, "reached": reached, "logits": logits}
    text = json.dumps(record, separators=(",", ":"))
    args.record.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
