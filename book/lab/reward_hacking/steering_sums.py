"""SmolLM2 with a low-rank update, rewarded for right sums and nothing else."""

import time
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from mathlm import adapt
from mathlm.align import (
    ArithmeticReward,
    CorrectedGRPO,
    GroupCredit,
    PolicyBatches,
    Reference,
    RolloutReading,
    RolloutSchedule,
    TextSampler,
    completions_of,
    rollout_record,
)
from mathlm.models import GPT
from mathlm.optim import AdamW, warmup_cosine
from mathlm.text import ByteBPE, corpus, pretrained
from mathlm.train import Trainer, TrainerConfig, next_token

EXAMPLE, PLAYS = "2 + 5 = 7\n", 256  # stands before every task; tokens of plays
TRAINED = tuple((a, b) for a in range(2, 10) for b in range(2, 10) if (a + b) % 3)
HELD_OUT = tuple((a, b) for a in range(2, 10) for b in range(2, 10) if not (a + b) % 3)
TIMES = 8  # that a look asks each sum: one answer to each would be a matter of chance


def task(pair: tuple[int, int]) -> str:
    """A sum as it is asked."""
    return f"{pair[0]} + {pair[1]} ="


class Sums:
    """The model, its tokens, and the sums that it trains on."""

    def __init__(self, rank: int = 8, seed: int = 0) -> None:
        path = pretrained.find("smollm2")
        self.tokens, self.model = ByteBPE.from_gguf(path), GPT.from_pretrained(path)
        adapt.add_lora(self.model, rank, seed=seed)
        text = corpus.split("shakespeare")[1][:4000]
        self.plays = torch.tensor(self.tokens.encode(text)[: PLAYS + 1])

    def prompts(self, pairs: Sequence[tuple[int, int]]) -> list[Tensor]:
        """The sums as ids, behind the example."""
        return [torch.tensor(self.tokens.encode(EXAMPLE + task(pair))) for pair in pairs]

    def decode(self, ids: Tensor) -> str:
        """Ids as text; of a prompt the task alone."""
        return self.tokens.decode(ids.tolist()).removeprefix(EXAMPLE)

    @torch.no_grad()
    def look(self, data: PolicyBatches, iteration: int) -> dict[str, Any]:
        """Right sums among those not trained on, and surprise of plays [nats/token]."""
        pairs = HELD_OUT * TIMES
        asked = self.prompts(pairs)
        batch = data.writer.write(asked, seed=10_000)
        texts = [self.decode(y) for y in completions_of(batch)]
        found = {"iteration": iteration, **rollout_record(batch)}
        loss, count = next_token(
            self.model.eval(), {"ids": self.plays[None, :-1], "targets": self.plays[None, 1:]}
        )
        rows = zip(map(task, pairs), texts, batch["rewards"].tolist(), strict=True)
        samples = [{"prompt": x, "completion": y, "reward": r} for x, y, r in rows]
        right = batch["rewards"].view(TIMES, -1).mean(0).tolist()  # of each sum
        return found | {"right": right, "plays": float(loss) / count, "samples": samples[:8]}


def steer_sums(
    iterations: int = 8, beta: float = 0.02, lr: float = 1e-3, every: int = 4, seed: int = 0
) -> dict[str, Any]:
    """Train the update; returns history and looks."""
    start, sums = time.process_time(), Sums(seed=seed)
    data = PolicyBatches(
        sums.model, sums.prompts(TRAINED), ArithmeticReward(), GroupCredit(),
        sampler=TextSampler(3), reference=Reference.of(sums.model),
        schedule=RolloutSchedule(group_size=4, prompts_per_iteration=8, seed=seed),
        reading=RolloutReading(decode=sums.decode),
    )  # fmt: skip
    optimizer = AdamW(adapt.trainable(sums.model).values(), lr=lr, weight_decay=0.0)
    schedule = warmup_cosine(lr, min(2, iterations // 2), iterations, final=lr / 3)
    config = TrainerConfig(steps=iterations, schedule=schedule, seed=seed, device="cpu")
    trainer = Trainer(sums.model, CorrectedGRPO(beta=beta), data, optimizer, config)
    looks = [sums.look(data, 0)]
    while trainer.step < iterations:
        trainer.train_step()
        if trainer.step % every == 0 or trainer.step == iterations:
            looks.append(sums.look(data, trainer.step))
    history = [{k: v for k, v in r.items() if k != "samples"} for r in data.history]
    setting = {"iterations": iterations, "beta": beta, "lr": lr, "seed": seed, "rank": 8}
    return {
        "setting": setting,
        "looks": looks,
        "history": history,
        "cpu_seconds": time.process_time() - start,
    }
