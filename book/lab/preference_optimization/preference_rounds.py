"""DPO whose comparisons are of its own samples, and DPO on the exact expectation.

    cd book
    python -m lab.preference_optimization.preference_rounds --record preference-rounds.json

The first part spends one budget of comparisons in one round, in a few or in one for each step,
in worlds with a known optimum. The second trains on the expected loss, that is, on infinitely
many comparisons, with a constant step size and with one that falls to zero.
"""

import argparse
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import softplus

from mathlm.align import Annotator, compare, dpo_loss, implicit_reward
from mathlm.align.exact import World, standard_world
from mathlm.errors import InputError
from mathlm.train.record import record_on_cpu

from .preference_family import BETA
from .preference_world import Loss, Pairs, Row, decided, measures, scores, tune

WAYS = {  # rounds; whether the pairs of earlier rounds are kept
    "offline": (1, True),
    "iterative": (4, True),
    "online": (100, False),
}
STEP_SIZES = (2.5e-4, 5e-4, 1e-3, 2e-3)
KEY = ("way", "rate", "step_size", "seed")  # of a run
FINALS = {"constant": 1.0, "decayed": 0.0}  # last step size, of the first


class Rounds:
    """Comparisons of what a policy writes at the start of each round; a fifth is held out."""

    def __init__(self, world: World, number: int, steps: int, rounds: int, seed: int) -> None:
        if rounds < 1 or steps % rounds or number % (5 * rounds):
            raise InputError(
                f"rounds={rounds} must divide steps={steps}, and five times it "
                f"number={number}: each round has as many steps and comparisons"
            )
        self.world, self.seed = world, seed
        self.every, self.each = steps // rounds, number // rounds
        self.train: list[Pairs] = []
        self.held_out: list[Pairs] = []

    def look(self, step: int, logp: Tensor) -> None:
        """Draw the pairs of a round if one begins at this step."""
        if step % self.every:
            return
        now = logp.detach().double().log_softmax(-1)
        seed = 1000 * self.seed + len(self.train)
        drawn = decided(compare(self.world.rewards, Annotator(), self.each, seed, logp=now))
        cut = 4 * self.each // 5
        self.train.append(part(drawn, slice(0, cut)))
        self.held_out.append(part(drawn, slice(cut, None)))


def part(pairs: Pairs, rows: slice) -> Pairs:
    """Some of the pairs."""
    return Pairs(pairs.prompt[rows], pairs.chosen[rows], pairs.rejected[rows])


def joined(pairs: Sequence[Pairs]) -> Pairs:
    """The pairs of several rounds."""
    names = ("prompt", "chosen", "rejected")
    return Pairs(*(torch.cat([getattr(p, name) for p in pairs]) for name in names))


def in_rounds(
    world: World,
    *,
    number: int,
    steps: int,
    rounds: int,
    keep: bool,
    step_size: float,
    seed: int,
    every: int = 5,
) -> dict[str, Any]:
    """DPO in rounds: where it ends, and where the held-out pairs of all rounds would stop it.

    Args:
        world: Its reference is the start and the reference of the loss, in every round.
        number: Comparisons in all; a fifth is held out.
        steps: Of training in all.
        rounds: 1 is offline DPO: all pairs are the reference's.
        keep: Whether the pairs of earlier rounds are trained on as well.
        step_size: Falls linearly to zero.
        seed: Of the comparisons.
        every: Steps between measurements.
    """
    asked, path, now = Rounds(world, number, steps, rounds, seed), [], 0

    def loss(logp: Tensor) -> Tensor:
        nonlocal now
        asked.look(now, logp)
        now += 1
        pairs = joined(asked.train) if keep else asked.train[-1]
        return dpo_loss(*scores(world, logp, pairs).rewards(BETA)).mean()

    def keep_policy(logp: Tensor) -> Row:
        path.append(logp)
        return {}

    _, curve = tune(
        world, loss, steps=steps, step_size=step_size, measure=keep_policy, every=every, final=0
    )
    pool = joined(asked.held_out)
    rows = [row | measures(world, x, BETA, pool) for row, x in zip(curve, path, strict=True)]
    return {"end": rows[-1], "stopped": min(rows, key=lambda row: row["held_out"])}


def expected_dpo(world: World, beta: float | int = BETA) -> Loss:
    """DPO's loss over infinitely many comparisons of pairs that are drawn evenly."""
    differences: Callable[[Tensor], Tensor] = lambda v: v[:, :, None] - v[:, None, :]  # noqa: E731
    win = differences(world.rewards).sigmoid()

    def loss(logp: Tensor) -> Tensor:
        hidden = implicit_reward(logp, world.logp_ref, beta)
        return 2 * (win * softplus(-differences(hidden))).mean()

    return loss


def exact(seed: int, steps: int, step_size: float, final: float) -> dict[str, float]:
    """How near training on the expected loss comes, and stays, to the optimum of a world."""
    world = standard_world(seed)
    optimum = world.optimum(BETA)

    def measure(logp: Tensor) -> Row:
        return {
            "to_optimum": float(world.kl(logp, optimum.logp).mean()),
            "share": float(world.objective(logp, BETA).mean() / optimum.value.mean()),
        }

    _, curve = tune(
        world, expected_dpo(world), steps=steps, step_size=step_size, measure=measure,
        every=5, final=final,
    )  # fmt: skip
    late = [row["to_optimum"] for row in curve if row["step"] > 0.8 * steps]
    return curve[-1] | {"late_mean": sum(late) / len(late), "late_worst": max(late)}


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Run both parts; the record is written after each run."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", type=Path)
    sizes = (("number", 10_000), ("steps", 100), ("exact-steps", 300), ("seeds", 5))
    for name, default in sizes:
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args(argv)
    write = partial(record_on_cpu, args.record, config=vars(args) | {"beta": BETA})
    found: dict[str, Any] = {"rounds": [], "exact": []}
    if args.record is not None and args.record.exists():  # go on where a stop came
        found = {part: json.loads(args.record.read_text())[part] for part in found}
    done = {tuple(row.get(k) for k in KEY) for rows in found.values() for row in rows}
    for seed in range(args.seeds):
        world = standard_world(seed)
        best = float(world.optimum(BETA).value.mean())
        start = float(world.objective(world.logp_ref, BETA).mean())
        for way, (rounds, keep) in WAYS.items():
            for step_size in STEP_SIZES:
                if (way, None, step_size, seed) in done:
                    continue
                ran = in_rounds(
                    world, number=args.number, steps=args.steps, rounds=rounds, keep=keep,
                    step_size=step_size, seed=seed,
                )  # fmt: skip
                row = {"way": way, "step_size": step_size, "seed": seed}
                found["rounds"].append(row | {"start": start, "best": best} | ran)
                write(**found)
        for rate, final in FINALS.items():
            for step_size in (1e-3, 3e-3):
                if (None, rate, step_size, seed) in done:
                    continue
                row = {"rate": rate, "step_size": step_size, "seed": seed}
                found["exact"].append(row | exact(seed, args.exact_steps, step_size, final))
                write(**found)
    return found


if __name__ == "__main__":
    main()
