"""Every preference loss on the same comparisons, in a world whose optimum is known."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from mathlm.align import (
    DPO,
    IPO,
    KTO,
    ORPO,
    Annotator,
    Hinge,
    PairObjective,
    RobustDPO,
    SimPO,
    implicit_reward,
    kto_loss,
)
from mathlm.align.exact import World, standard_world

from .preference_world import Pairs, Row, best, draw_pairs, measures, scores, tune

BETA = 0.5
Objective = PairObjective | KTO
Method = tuple[Callable[[float], Objective], tuple[float, ...]]  # from a setting; settings

METHODS: dict[str, Method] = {
    "DPO": (lambda beta: DPO(beta=beta), (0.5, 1.0)),
    "conservative": (lambda share: DPO(beta=BETA, label_smoothing=share), (0.1, 0.2)),
    "robust": (lambda share: RobustDPO(beta=BETA, flip=share), (0.05, 0.1)),
    "IPO": (lambda beta: IPO(beta=beta), (0.5, 0.2, 0.1)),
    "hinge": (lambda beta: Hinge(beta=beta), (0.5, 1.0)),
    "KTO": (lambda beta: KTO(beta=beta), (0.5, 1.0)),
    "ORPO": (lambda weight: ORPO(weight=weight), (1.0, 3.0)),
    "SimPO": (lambda beta: SimPO(beta=beta, gamma=0.5), (1.5, 3.0)),
    "chosen only": (lambda weight: ORPO(weight=weight), (0.0,)),  # likelihood alone
}


def losses(objective: Objective, world: World, logp: Tensor, pairs: Pairs) -> Tensor:
    """Loss of each pair; KTO takes the two texts of a pair one by one, and the exact KL."""
    if isinstance(objective, PairObjective):
        return objective.losses(scores(world, logp, pairs))
    reward = pairs.of(implicit_reward(logp, world.logp_ref, objective.beta))
    good = torch.tensor([[True], [False]]).expand(reward.shape)
    return kto_loss(reward, good, world.kl(logp).mean().detach(), objective.beta).sum(0)


def run(
    world: World,
    objective: Objective,
    train: Pairs,
    held_out: Pairs,
    *,
    steps: int,
    step_size: float | int = 1e-3,
    every: int = 5,
) -> list[Row]:
    """The course of a policy that learns from ``train``, and its own loss on other pairs."""

    def loss(logp: Tensor) -> Tensor:
        return losses(objective, world, logp, train).mean()

    def measure(logp: Tensor) -> Row:
        own = losses(objective, world, logp, held_out).mean()
        return measures(world, logp, BETA, held_out) | {"own": float(own)}

    _, curve = tune(world, loss, steps=steps, step_size=step_size, measure=measure, every=every)
    return curve


def compared(
    methods: Mapping[str, Method], seeds: int, number: int, steps: int, flip: float | int = 0.0
) -> list[dict[str, Any]]:
    """Each method at each setting: where it ends, and where held-out pairs would stop it."""
    found: list[dict[str, Any]] = []
    for seed in range(seeds):
        world, train, held_out = problem(seed, number, flip)
        best_value = float(world.optimum(BETA).value.mean())
        for name, (make, settings) in methods.items():
            for setting in settings:
                curve = run(world, make(setting), train, held_out, steps=steps)
                row = {"method": name, "setting": setting, "seed": seed, "best": best_value}
                row["start"] = curve[0]["value"]
                found.append(row | {"end": curve[-1], "stopped": best(curve, "own")})
    return found


def problem(seed: int, number: int, flip: float | int = 0.0) -> tuple[World, Pairs, Pairs]:
    """A world, comparisons in it, and a quarter as many to stop by; slips are in both."""
    world, judge = standard_world(seed), Annotator(flip=flip)
    train = draw_pairs(world, number, 2 * seed, judge)
    return world, train, draw_pairs(world, max(200, number // 4), 2 * seed + 1, judge)
