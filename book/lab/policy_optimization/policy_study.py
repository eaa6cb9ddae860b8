"""Where policies end that are trained in many ways, against the optimum that is known.

cd book
python -m lab.policy_optimization.policy_study --record policy-ways.json
"""

import argparse
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mathlm.align.exact import standard_world
from mathlm.align.exact.training import BETA, WAYS, go
from mathlm.train.record import record_on_cpu


def main(argv: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Train in each way with each seed; returns, and may record, where the policies end."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    for name, default in (("vocabulary", 4), ("prompts", 2), ("steps", 150)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--ways", nargs="+", choices=list(WAYS), default=list(WAYS))
    args = parser.parse_args(argv)
    world = standard_world(vocabulary=args.vocabulary, prompts=args.prompts)
    results = list[dict[str, Any]]()
    for seed, name in itertools.product(range(args.seeds), args.ways):
        run = go(world, name, seed=seed, iterations=args.steps)
        results.append({"way": name, "seed": seed, **run.path[-1]})
        results[-1]["cpu_seconds"] = run.cpu_seconds
        print(f"{name}, seed {seed}: {run.path[-1]['to_optimum']:.4f} nats from the optimum")
        record_on_cpu(args.record, config=vars(args) | {"beta": BETA}, results=results)
    return results


if __name__ == "__main__":
    main()
