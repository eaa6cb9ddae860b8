"""The best of n by a learned reward, where the true one is known: predicted, and measured.

    cd book
    python -m lab.reward_models.over_optimization --comparisons 300 --excess 0.8

The world is that of best_of_n_world.py: longer answers are better, up to a point, and the
learned reward is linear.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mathlm.align import best_of_n_kl_bound, fit_linear_reward
from mathlm.train.record import record_on_cpu

from .best_of_n_world import measured, predicted, standard_taste

NUMBERS = (1, 2, 4, 8, 16, 64, 256, 1024, 4096)


def main(argv: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Table of n, KL, and both rewards, predicted and measured; may be recorded."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", type=Path)
    parser.add_argument("--comparisons", type=int, default=300)
    parser.add_argument("--excess", type=float, default=0.8)
    parser.add_argument("--answers", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(argv)
    taste = standard_taste(args.excess)
    proxy = fit_linear_reward(*taste.compared(args.comparisons, args.seed)).weights
    z = taste.answers(args.answers, args.seed + 1)
    scores, gold, rows = z @ proxy, taste.gold(z), []
    for n in (n for n in NUMBERS if n <= args.answers):
        shown, seen = predicted(taste, proxy, n), measured(scores, gold, n)
        rows.append({"n": n, "kl": best_of_n_kl_bound(n), "predicted": shown, "measured": seen})
        print(f"n = {n:5d}", *(f"{a:5.2f} {b:5.2f}" for a, b in zip(shown, seen, strict=True)))
    record_on_cpu(args.record, config=vars(args), rows=rows)
    return rows


if __name__ == "__main__":
    main()
