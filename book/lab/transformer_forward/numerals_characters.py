"""English numerals to French letter by letter, up to six digits: the record of chapter 15.

cd book
python -m lab.transformer_forward.numerals_characters --record numerals-characters.json
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from mathlm.text import numerals
from mathlm.train.record import record_on_cpu

from .alignment import cross_attention
from .numerals import NumeralsConfig, NumeralsRun, fit

CONFIG = NumeralsConfig(
    unit="characters",
    high=1_000_000,
    held_out=200,
    context=80,
    layers=2,
    steps=1200,
    batch=48,
    lr=2e-3,
    evaluations=6,
)
MOST = 5_000  # numbers of one pool that are spelled for training


def pools(config: NumeralsConfig) -> tuple[list[np.ndarray], np.ndarray]:
    """Numbers to train on, a pool for each number of digits; and those held out of each.

    A tenth of a pool is held out, and never more than ``config.held_out`` numbers.
    """
    training, held_out, low, high = [], [], 0, 10
    while low < config.high:
        count = min((high - low) // 10, config.held_out)
        seen, unseen = numerals.split(config.seed, low, min(high, config.high), count)
        draw = np.random.default_rng((config.seed, low))
        training.append(draw.permutation(seen)[:MOST])
        held_out.append(unseen)
        low, high = high, 10 * high
    return training, np.concatenate(held_out)


def examine(run: NumeralsRun, numbers: np.ndarray, beams: int) -> dict[str, Any]:
    """How many numbers of each number of digits are said right, and every mistake."""
    said, right = np.array(run.say(numbers, beams)), run.right(numbers, beams)
    digits = np.array([len(str(n)) for n in numbers])
    counts = [
        {"digits": d, "numbers": sum(digits == d), "right": sum(right[digits == d])}
        for d in np.unique(digits)
    ]
    wrong = zip(numerals.pairs(numbers[~right]), said[~right], strict=True)
    mistakes = [{"english": en, "french": fr, "said": found} for (en, fr), found in wrong]
    share = right.mean()
    return {"beams": beams, "share": share, "by_digits": counts, "mistakes": mistakes}


def alignment(run: NumeralsRun, number: int) -> dict[str, Any]:
    """Where each head of each decoder layer looks while it writes a number, and the texts."""
    source, target = run.batch([number])
    weights = cross_attention(run.model, source[0], target[0, :-1])
    [(english, french)] = numerals.pairs([number])
    rounded = np.round(weights.double().numpy(), 3)
    return {"number": number, "english": english, "french": french, "weights": rounded}


def study(config: NumeralsConfig, example: int | None = None) -> dict[str, Any]:
    """Train, translate what was held out with one beam and some of it with four, look inside.

    The alignment is of ``example``, by default the first number of three digits held out.
    """
    began = time.process_time()
    run = fit(NumeralsRun(config, *pools(config)))
    found: dict[str, Any] = {"cpu_seconds": time.process_time() - began, "losses": run.losses}
    found |= {
        "points": run.points,
        "parameters": sum(p.numel() for p in run.model.parameters()),
    }
    found |= {
        "greedy": examine(run, run.held_out, 1),
        "beam": examine(run, run.held_out[::5], 4),
    }
    found |= {"greedy_on_the_same": examine(run, run.held_out[::5], 1)}
    shown = run.held_out[run.held_out >= 100][0] if example is None else example
    return found | {
        "alignment": alignment(run, int(shown)),
        "pools": [len(p) for p in run.pools],
    }


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Train and examine one model; returns, and may record, what was found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=CONFIG.steps)
    parser.add_argument("--high", type=int, default=CONFIG.high, help="largest number + 1")
    parser.add_argument("--example", type=int, help="number whose alignment is shown")
    parser.add_argument("--record", type=Path, help="JSON file for options and results")
    args = parser.parse_args(argv)
    points = min(CONFIG.evaluations, args.steps)
    config = replace(CONFIG, steps=args.steps, high=args.high, evaluations=points)
    found = study(config, args.example)
    record_on_cpu(args.record, config=config, results=found)
    return found


if __name__ == "__main__":
    main()
