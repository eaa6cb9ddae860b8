"""Train a policy on a reward by groups of answers: ``mathlm grpo``, also by torchrun -m."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from ..align import (
    GRPO,
    CorrectedGRPO,
    DrGRPO,
    GroupCredit,
    Reinforce,
    centred_advantages,
    group_advantages,
)
from ..errors import ConfigError
from ..models.gpt_config import require_choices
from .command import execute, parse
from .policy import Plan, PolicyConfig, run_plan

LossName = Literal["corrected", "published", "dr", "rloo"]


@dataclass(frozen=True, kw_only=True)
class GRPOConfig(PolicyConfig):
    """Train a policy on a reward by GRPO or RLOO: the answers to a prompt are compared.

    The same command resumes a run that was interrupted, within an iteration too. The reference
    is the model as it was; with --method lora it costs no memory.

        mathlm grpo --prompts my.jsonl --model smollm2 --reward arithmetic
        mathlm grpo --prompts my.jsonl --reward my_module:my_reward --loss dr
    """

    loss: LossName = "corrected"
    """corrected: no spread, k2 of texts; dr: fixed length; rloo: REINFORCE; or published."""

    def __post_init__(self) -> None:
        super().__post_init__()
        require_choices(self, {"loss": get_args(LossName)})
        if self.loss == "rloo" and self.rollouts.epochs * self.rollouts.minibatches > 1:
            raise ConfigError(
                "--loss rloo has no ratio to the policy that wrote: one epoch, one minibatch"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """Prompts, model and command."""
        return Path(self.prompts).stem, Path(self.base.model).stem, "grpo"


def plan_of(config: GRPOConfig) -> Plan:
    """Objective and credit of ``--loss``; the divergence stands in one of them."""
    own, beta = config.rollouts, config.rollouts.beta
    clip: dict[str, Any] = {"clip": own.clip_ratio}
    cut: Any = own.cut
    if config.loss == "published":
        credit = GroupCredit(baseline=group_advantages, cut=cut)
        return Plan(GRPO(beta=beta, **clip), credit)
    if config.loss == "corrected":
        return Plan(CorrectedGRPO(beta=beta, **clip), GroupCredit(cut=cut))
    if config.loss == "dr":
        credit = GroupCredit(baseline=centred_advantages, beta=beta, cut=cut)
        return Plan(DrGRPO(length=own.max_new_tokens, **clip), credit)
    return Plan(Reinforce(), GroupCredit(beta=beta, cut=cut))


def run(config: GRPOConfig) -> dict[str, Any]:
    """Train; see :func:`mathlm.recipes.policy.run_plan` for the results."""
    return run_plan(config, plan_of(config))


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Run by the options of the command line."""
    return run(parse(GRPOConfig, argv, prog="mathlm grpo"))


if __name__ == "__main__":
    execute(main)
