"""Which answers a policy ends at with a penalty on the divergence and without one.

cd book
python -m lab.reward_hacking.penalty_study --record policy-penalty.json
"""

import argparse
import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mathlm.align import GroupCredit, Reinforce
from mathlm.align.exact import standard_world
from mathlm.align.exact.training import ListedReader, train_policy
from mathlm.train.record import record_on_cpu

BETAS = (0.0, 0.2)
SIZES: dict[str, Any] = {"iterations": 120, "group_size": 512, "lr": 6e-3}


def one(beta: float, seed: int, **sizes: Any) -> dict[str, Any]:
    """A run of RLOO in the small world: what it earns at its end, and what it says most."""
    world = standard_world(vocabulary=4, prompts=2)
    objective, credit = Reinforce(read=ListedReader(world)), GroupCredit(beta=beta)
    run = train_policy(world, objective, credit, seed=seed, **SIZES | sizes)
    end = {name: run.path[-1][name] for name in ("reward", "kl", "entropy")}
    likeliest = run.logp.argmax(1)
    of_reference = world.logp_ref.gather(1, likeliest[:, None])[:, 0].exp().tolist()
    largest = float(world.rewards.amax(1).mean())
    return end | {
        "share": end["reward"] / largest,
        "likeliest": likeliest.tolist(),
        "of_reference": of_reference,
        "cpu_seconds": run.cpu_seconds,
    }


def main(argv: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Both coefficients with each seed; returns, and may record, where the policies end."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--record", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    args = parser.parse_args(argv)
    results = list[dict[str, Any]]()
    for beta, seed in itertools.product(BETAS, range(args.seeds)):
        results.append({"beta": beta, "seed": seed} | one(beta, seed))
        print(f"β = {beta}, seed {seed}: {results[-1]['share']:.0%} of the largest reward")
        record_on_cpu(args.record, config=vars(args) | SIZES, results=results)
    return results


if __name__ == "__main__":
    main()
