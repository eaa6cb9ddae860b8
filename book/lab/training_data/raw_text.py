"""From raw text to documents: what each stage finds of the dirt that was put in.

cd book
python -m lab.training_data.raw_text --record raw-text.json
"""

import argparse
import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mathlm.recipes.whole_stack.dirt import plant
from mathlm.text import clean, contamination, exact_duplicates, filter_quality, near_duplicates
from mathlm.train.record import write_record

from .duplicates import repeated_glosses


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Options from the command line."""
    defaults = argparse.ArgumentDefaultsHelpFormatter
    parser = argparse.ArgumentParser(
        description=__doc__.split("\n")[0], formatter_class=defaults
    )
    add = parser.add_argument
    add("--documents", type=int, default=500, help="passages of plays")
    add("--planted", type=int, default=30, help="dirty ones of each kind")
    add("--threshold", type=float, default=0.5, help="least similarity of near duplicates")
    add("--glosses", type=int, default=5_000, help="entries of the dictionary looked at")
    add("--seed", type=int, default=0, help="of the choice and of the dirt")
    add("--record", type=Path, help="JSON file for options and results")
    args = parser.parse_args(argv)
    if not 1 <= args.planted <= args.documents // 3:
        parser.error("--planted must be at least 1, and --documents 3 times as many")
    return args


def score(found: set[Any], planted: set[Any]) -> dict[str, float | int]:
    """Recall and precision of what was found, against what was put in."""
    right = len(found & planted)
    recall = right / len(planted) if planted else 1.0
    precision = right / len(found) if found else 1.0
    return {
        "planted": len(planted),
        "found": len(found),
        "recall": recall,
        "precision": precision,
    }


def stages(args: argparse.Namespace) -> dict[str, dict[str, float | int]]:
    """Clean, filter, deduplicate and compare with the test set, each judged by the truth."""
    data = plant(args.documents, args.planted, np.random.default_rng(args.seed))
    texts = [clean(text).text for text in data.documents]
    restored = [a == b for a, b in zip(texts, data.originals, strict=True)]
    kept, broken = filter_quality(texts)
    first = exact_duplicates(texts)
    exact = {(int(i), j) for j, i in enumerate(first) if i != j} - _pairs_of(data.junk, first)
    pairs = near_duplicates([texts[i] for i in kept], args.threshold)
    near = {(kept[i], kept[j]) for i, j, _ in pairs if first[kept[j]] == kept[j]}
    leaks = contamination(texts, data.test)
    return {
        "left": {**left_after(texts, kept, first, pairs, data.test)},
        "cleaning": {"documents": len(texts), "restored": sum(restored) / len(texts)},
        "quality": score(set(range(len(texts))) - set(kept), data.junk),
        "rules": {name: count for name, count in broken.items() if count},
        "exact duplicates": score(exact, data.exact),
        "near duplicates": score(near, data.near),
        "contamination": score(set(leaks.documents), data.leaked),
    }


def left_after(
    texts: list[str], kept: list[int], first: np.ndarray, pairs: Any, test: list[str]
) -> dict[str, int]:
    """Documents that are left after each stage, one stage after the other."""
    unique = [i for i in kept if first[i] == i]
    again = {kept[j] for _, j, _ in pairs}  # each like an earlier one
    alone = [i for i in unique if i not in again]
    shared = contamination(test, [texts[i] for i in alone]).documents
    return {
        "raw documents": len(texts),
        "quality": len(kept),
        "exact duplicates": len(unique),
        "near duplicates": len(alone),
        "contamination": len(alone) - len(shared),
    }


def _pairs_of(numbers: set[int], first: np.ndarray) -> set[tuple[int, int]]:
    """The pairs of duplicates among given documents."""
    return {(int(first[j]), j) for j in numbers if first[j] != j}


def main(argv: Sequence[str] | None = None) -> dict[str, dict[str, float | int]]:
    """Run all stages; returns, and may record, what each found."""
    args, start = parse(argv), time.process_time()
    results = stages(args) | {"glosses": repeated_glosses(args.glosses)}
    results["cost"] = {"cpu_seconds": time.process_time() - start}
    if args.record:
        write_record(args.record, options=vars(args), results=results)
    return results


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    for name, numbers in main().items():
        logging.info("%s: %s", name, numbers)
