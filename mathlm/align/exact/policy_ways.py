"""Ways to train a policy, by name: which loss, which credit, and what else differs."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .. import (
    GRPO,
    PPO,
    CorrectedGRPO,
    DrGRPO,
    GroupCredit,
    Reinforce,
    TokenCredit,
    centred_advantages,
    group_advantages,
    kl_k1,
    kl_k2,
    kl_k3,
    no_baseline,
)
from . import World
from .listed_rollouts import ListedReader
from .policy_runs import Objective, PolicyRun, train_policy

BETA = 0.5  # the price of the standard world [reward/nat]
TWICE: dict[str, Any] = {"share": 2, "epochs": 2}  # as many steps, on half of the texts
OFTEN: dict[str, Any] = {"share": 10, "epochs": 10, "every": 2}


@dataclass(frozen=True, kw_only=True)
class PolicyWay:
    """A way to train.

    Args:
        objective: Class of the objective.
        credit: From rewards to advantages.
        options: Of the objective.
        values: Whether a value model is trained along.
        sizes: Of the run, where they differ from the usual.
    """

    objective: Callable[..., Objective]
    credit: GroupCredit | TokenCredit
    options: dict[str, Any] = field(default_factory=dict)
    values: bool = False
    sizes: dict[str, Any] = field(default_factory=dict)


def ppo(sizes: dict[str, Any] = TWICE, values: bool = True, **changes: Any) -> PolicyWay:
    """PPO as it goes to the optimum, but for the changes."""
    credit = {"beta": BETA, "lam": 0.95, "whiten": True}
    credit |= {name: changes.pop(name) for name in ("lam", "whiten") if name in changes}
    if changes.get("beta"):  # it is in the loss then, not in the reward
        credit["beta"] = 0
    return PolicyWay(
        objective=PPO,
        credit=TokenCredit(**credit),  # type: ignore[arg-type]
        options=changes,
        values=values,
        sizes=sizes,
    )


WAYS: dict[str, PolicyWay] = {
    "PPO": ppo(),
    "PPO, no whitening": ppo(whiten=False),
    "PPO, λ = 0": ppo(lam=0),
    "PPO, λ = 1": ppo(lam=1),
    "PPO, no values": ppo(values=False, value_weight=0, lam=1),
    "PPO, values clipped": ppo(value_clip=0.2),
    "PPO, 10 epochs": ppo(OFTEN),
    "PPO, 10 epochs, unclipped": ppo(OFTEN, clip=0.999),
    "PPO, entropy bonus": ppo(whiten=False, entropy_bonus=0.1),
    "PPO, k₁ in the loss": ppo(whiten=False, beta=BETA, kl=kl_k1),
    "PPO, k₂ in the loss": ppo(whiten=False, beta=BETA, kl=kl_k2),
    "PPO, k₃ in the loss": ppo(whiten=False, beta=BETA, kl=kl_k3),
    "REINFORCE, no baseline": PolicyWay(
        objective=Reinforce, credit=GroupCredit(baseline=no_baseline, beta=BETA)
    ),
    "RLOO": PolicyWay(objective=Reinforce, credit=GroupCredit(beta=BETA)),
    "RLOO, 8 texts a prompt": PolicyWay(
        objective=Reinforce, credit=GroupCredit(beta=BETA), sizes={"group_size": 8}
    ),
    "Dr. GRPO": PolicyWay(
        objective=DrGRPO,
        credit=GroupCredit(baseline=centred_advantages, beta=BETA),
        options={"length": 3},
    ),
    "GRPO": PolicyWay(
        objective=GRPO, credit=GroupCredit(baseline=group_advantages), options={"beta": BETA}
    ),
    "GRPO, corrected": PolicyWay(
        objective=CorrectedGRPO,
        credit=GroupCredit(),
        options={"beta": BETA},
        sizes={"group_size": 1024},
    ),
}


def go(world: World, name: str, **changes: Any) -> PolicyRun:
    """Train the reference of a world in one of the ways.

    Args:
        world: With a reference model.
        name: Of the way.
        **changes: Fields of :class:`PolicyConfig`; ``iterations`` are steps here: a way with
            several epochs writes that many times less often.
    """
    way, reader = WAYS[name], ListedReader(world)
    reading: dict[str, Any] = {"read": reader}
    if way.objective is PPO:
        reading["read_values"] = reader.values
    objective = way.objective(**reading, **way.options)
    sizes = {"iterations": 300, "group_size": 512, "lr": 6e-3} | way.sizes | changes
    sizes["iterations"] = max(1, sizes["iterations"] // sizes.pop("share", 1))
    return train_policy(world, objective, way.credit, values=way.values, **sizes)
