"""Train a policy on a reward, with values of every token: ``mathlm ppo``, also by torchrun."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..align import PPO, TokenCredit
from .command import Maybe, execute, parse
from .policy import Plan, PolicyConfig, run_plan


@dataclass(frozen=True, kw_only=True)
class Critic:
    """How the values are learned, and what advantages are made of them (GAE)."""

    values: Literal["own", "shared"] = "own"
    """Weights of the value model: a copy of its own, or those of the policy."""
    value_weight: float = 0.5
    """Weight of the values' loss."""
    value_clip: Maybe[float] = None
    """How far values may move in an iteration [reward]; anywhere if not given."""
    gamma: float = 1.0
    """Discount γ: what a reward keeps for each token before it."""
    lam: float = 0.95
    """λ of generalized advantage estimation: trust in rewards rather than values."""
    whiten: bool = False
    """Advantages with mean 0 and spread 1."""


@dataclass(frozen=True, kw_only=True)
class PPOConfig(PolicyConfig):
    """Train a policy on a reward by PPO, with values of every token.

    The KL penalty is subtracted from the reward, token by token. The same command resumes
    a run that was interrupted, within an iteration too. The values are part of its checkpoints,
    not of the result.

        mathlm ppo --prompts my.jsonl --model smollm2 --reward runs/my-reward
        mathlm ppo --prompts my.jsonl --reward sentiment --plain --epochs 4
    """

    entropy_bonus: float = 0.0
    """Reward of undecided tokens [1/nat]."""
    critic: Critic = Critic()

    @property
    def names(self) -> tuple[str, ...]:
        """Prompts, model and command."""
        return Path(self.prompts).stem, Path(self.base.model).stem, "ppo"


def plan_of(config: PPOConfig) -> Plan:
    """Objective and credit."""
    own, critic = config.rollouts, config.critic
    cut: Any = own.cut
    credit = TokenCredit(
        gamma=critic.gamma, lam=critic.lam, beta=own.beta, whiten=critic.whiten, cut=cut
    )
    objective = PPO(
        clip=own.clip_ratio,
        value_weight=critic.value_weight,
        value_clip=critic.value_clip,
        entropy_bonus=config.entropy_bonus,
    )
    return Plan(objective, credit, critic.values)


def run(config: PPOConfig) -> dict[str, Any]:
    """Train; see :func:`mathlm.recipes.policy.run_plan` for the results."""
    return run_plan(config, plan_of(config))


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Run by the options of the command line."""
    return run(parse(PPOConfig, argv, prog="mathlm ppo"))


if __name__ == "__main__":
    execute(main)
