"""The GPT of the plays, steered to sound glad, and what that costs."""

import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from mathlm.align import (
    PPO,
    CorrectedGRPO,
    GroupCredit,
    PolicyAndValue,
    PolicyBatches,
    Reference,
    RolloutReading,
    RolloutSchedule,
    TextSampler,
    TokenCredit,
    ValueModel,
)
from mathlm.models import GPT
from mathlm.optim import AdamW, warmup_cosine
from mathlm.train import Trainer, TrainerConfig

from .steering_looks import decode, look, openings
from .steering_rewards import REWARDS

MODEL = Path(__file__).parents[2] / "results" / "shakespeare-gpt"


@dataclass(frozen=True, kw_only=True)
class Steering:
    """One way to steer.

    Args:
        method: "group" (leave-one-out, k2 of texts) or "ppo" (values, price in the reward).
        reward: Name in ``REWARDS``.
        beta: Price of the divergence [reward/nat].
        iterations: Times that the policy writes; one step each, of PPO two.
        group_size: Completions of each opening.
        length: Bytes of a completion.
        lr: Largest step size.
        every: Iterations between two looks.
        seed: Of what is drawn.
    """

    method: str = "group"
    reward: str = "all words"
    beta: float = 0.02
    iterations: int = 30
    group_size: int = 6
    length: int = 36
    lr: float = 1e-3
    every: int = 6
    seed: int = 0


def steer(setting: Steering, policy: GPT | None = None) -> dict[str, Any]:
    """Steer the GPT of the plays, or another; returns settings, history and looks."""
    policy = policy or GPT.from_pretrained(MODEL).requires_grad_(True)
    own, start = setting.method == "ppo", time.process_time()
    value = ValueModel(GPT.from_pretrained(MODEL)) if own else None
    model = policy if value is None else PolicyAndValue(policy, value)
    credit = TokenCredit(beta=setting.beta, whiten=True) if own else GroupCredit()
    data = PolicyBatches(
        policy, openings(), REWARDS[setting.reward], credit,
        sampler=TextSampler(setting.length), reference=Reference.of(policy), value=value,
        schedule=RolloutSchedule(
            group_size=setting.group_size, epochs=2 if own else 1, seed=setting.seed
        ),
        reading=RolloutReading(decode=decode),
    )  # fmt: skip
    objective = PPO() if own else CorrectedGRPO(beta=setting.beta)
    steps = setting.iterations * data.steps_per_iteration
    schedule = warmup_cosine(setting.lr, min(3, steps // 2), steps, final=setting.lr / 3)
    optimizer = AdamW(model.parameters(), lr=setting.lr, weight_decay=0.0)
    config = TrainerConfig(steps=steps, schedule=schedule, seed=setting.seed, device="cpu")
    trainer, looks = Trainer(model, objective, data, optimizer, config), [look(data, 0)]
    while trainer.step < steps:
        trainer.train_step()
        done, rest = divmod(trainer.step, data.steps_per_iteration)
        if not rest and (done % setting.every == 0 or trainer.step == steps):
            looks.append(look(data, done))
    data.look_back()
    history = [{k: v for k, v in r.items() if k != "samples"} for r in data.history]
    found = {"setting": asdict(setting), "looks": looks, "history": history}
    return found | {"cpu_seconds": time.process_time() - start}
