"""What the tables of counts and the compressors charge for unseen plays.

    cd book
    python -m lab.pretraining.baselines_study --record baselines.json

Twenty seconds on one core, most of them for the compressors.
"""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mathlm.recipes.whole_stack.stages import COMPRESSORS
from mathlm.text import (
    KneserNey,
    bits_per_byte,
    conditional_bits_per_byte,
    contamination,
    corpus,
)
from mathlm.train.record import record_on_cpu

ORDERS = range(1, 8)


def study(training: bytes, held_out: bytes) -> dict[str, Any]:
    """Bits per byte of the held-out text, for every baseline."""
    nats = {k: -KneserNey(k, training).log_probabilities(held_out).sum() for k in ORDERS}
    return {
        "training_bytes": len(training),
        "held_out_bytes": len(held_out),
        "shared_runs_of_13_words": len(
            contamination([training.decode()], [held_out.decode()], n=13).documents
        ),
        "tables": {k: bits_per_byte(n, len(held_out)) for k, n in nats.items()},
        "compressors": {
            name: {
                "after training text": conditional_bits_per_byte(compress, training, held_out),
                "alone": 8 * len(compress(held_out)) / len(held_out),
            }
            for name, compress in COMPRESSORS.items()
        },
    }


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Charge every baseline; returns, and may record, the costs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", type=Path, help="JSON file of the costs")
    parser.add_argument("--bytes", type=int, help="of each text; all of them if not given")
    args = parser.parse_args(argv)
    found = study(*(text.encode()[: args.bytes] for text in corpus.split("shakespeare")))
    record_on_cpu(args.record, results=found)
    return found


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.info("%s", main())
