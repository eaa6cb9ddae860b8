"""A long run of skip-gram, scored as it trains and compared with vectors from counts.

cd book
python -m lab.embeddings.word2vec_study --epochs 15 --record word2vec.json
"""

import argparse
import logging
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mathlm.train import write_record
from mathlm.train.distributed import resolve_device
from mathlm.train.record import device_name

from .count_vectors import WordText, compare, pairs, read, scores
from .word2vec import SkipGramRun, Trained, train


def summary(text: WordText, trained: Trained, parts: int = 100) -> dict:
    """A run as data; the losses as means over ``parts`` stretches of it."""
    run, losses = trained.run, trained.losses
    stretches = np.array_split(losses, min(parts, len(losses)))
    found = pairs(text, run.window, run.thin, run.seed)
    return {
        "run": run,
        "steps": len(losses),
        "pairs_per_epoch": len(found[0]),
        "loss": [float(part.mean()) for part in stretches],
        "points": trained.points,
        "centers_only": scores(text.vocabulary.index, trained.tables[0]),
        "compared": compare(text, found, *trained.tables, run.k),
    }


def main(argv: Sequence[str] | None = None) -> dict:
    """Train, score and compare; returns, and may record, what came out."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--min-count", type=int, default=20, help="rarer words are left out")
    add("--d-model", type=int, default=64, help="width of the vectors")
    add("--epochs", type=float, default=2.0, help="passes over the pairs")
    add("--evaluations", type=int, default=4, help="times that it is scored")
    add("--record", type=Path, help="JSON file for options and results")
    args, start = parser.parse_args(argv), time.process_time()
    text, run = (
        read(min_count=args.min_count),
        SkipGramRun(d_model=args.d_model, epochs=args.epochs),
    )
    result = summary(text, train(text, run, args.evaluations))
    result |= {"min_count": args.min_count, "vocabulary": len(text.vocabulary)}
    result |= {"words": len(text.ids), "cpu_seconds": time.process_time() - start}
    if args.record:
        write_record(args.record, **result, device=device_name(resolve_device(run.device)))
    return result


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    main()
