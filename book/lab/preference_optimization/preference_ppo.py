"""DPO and the whole of RLHF, PPO included, on the same comparisons.

    cd book
    python -m lab.preference_optimization.preference_ppo --seeds 5 --record preference-ppo.json

A reward model is fitted to the comparisons and PPO trained on it, on samples. Beside it stand
the policy that is best for that reward model, computed, and DPO stopped by held-out pairs.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mathlm.align import DPO
from mathlm.align.exact.training import go, truth
from mathlm.train.record import record_on_cpu

from .preference_family import BETA, problem, run
from .preference_rivals import fit_rewards
from .preference_world import best


def both_ways(seed: int, number: int, steps: int, iterations: int) -> dict[str, Any]:
    """Where the two ways end in the standard world of a seed, judged by the true reward."""
    world, train, held_out = problem(seed, number)
    rewards, _ = fit_rewards(world, train, held_out, steps=steps)
    guessed = world.with_rewards(rewards - rewards.mean(1, keepdim=True))
    trained = go(guessed, "PPO", iterations=iterations, seed=seed, judge=world)
    path = run(world, DPO(beta=BETA), train, held_out, steps=steps)
    bests = {"truth": world.optimum(BETA).logp, "reward model": guessed.optimum(BETA).logp}
    found: dict[str, Any] = {name: truth(world, logp, BETA) for name, logp in bests.items()}
    found |= {"PPO": trained.path[-1], "DPO": best(path, "own"), "start": path[0]}
    missed = guessed.kl(trained.logp, guessed.optimum(BETA).logp)
    return {"seed": seed, "missed": float(missed.mean())} | found


def main(argv: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Both ways for each seed; returns what came out, and may write the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", type=Path)
    sizes = (("number", 8000), ("steps", 60), ("iterations", 300), ("seeds", 1))
    for name, default in sizes:
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args(argv)
    found = []
    for seed in range(args.seeds):
        found.append(both_ways(seed, args.number, args.steps, args.iterations))
        record_on_cpu(args.record, config=vars(args) | {"beta": BETA}, runs=found)
    return found


if __name__ == "__main__":
    for row in main():
        print({name: row[name]["value"] for name in ("truth", "reward model", "PPO", "DPO")})
