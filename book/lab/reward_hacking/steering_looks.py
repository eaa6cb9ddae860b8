"""What a steered policy writes, and how far it has gone.

Used by steering_plays.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lab.fine_tuning.fine_tuning_measures import old_loss
from mathlm.align import PolicyBatches, completions_of, rollout_record
from mathlm.text import Bytes, corpus, distinct_share
from mathlm.train import TokenWindows

from .steering_rewards import JUDGE, REWARDS

OPENINGS = ("ROMEO:\n", "My lord, ", "O, what a ", "The king ", "JULIET:\nI ", "Come, ",
            "FIRST LORD:\n", "You are ")  # fmt: skip
TOKENS, HELD_OUT, LOOKED_AT = Bytes(), 2048, 4  # bytes of plays; completions of each opening


def openings() -> list[Tensor]:
    """What the policy continues, as ids."""
    return [torch.tensor(TOKENS.encode(text)) for text in OPENINGS]


def decode(ids: Tensor) -> str:
    """Bytes as text."""
    return TOKENS.decode(ids.tolist())


def windows() -> list[dict[str, Tensor]]:
    """The beginning of the held-out plays."""
    text = corpus.split("shakespeare")[1].encode()[: HELD_OUT + 1]
    ids = np.frombuffer(text, np.uint8)
    return list(TokenWindows(ids, context=256, batch_size=8, vocab_size=256))


def look(data: PolicyBatches, iteration: int) -> dict[str, Any]:
    """What the policy writes by now, judged by rewards that it may not have had."""
    asked = [x for x in openings() for _ in range(LOOKED_AT)]
    batch = data.writer.write(asked, seed=10_000)
    texts = [decode(y) for y in completions_of(batch)]
    found = {"iteration": iteration, **rollout_record(batch)}
    found["all_words"] = mean(REWARDS["all words"](asked, texts))
    found["judge"] = mean(JUDGE(asked, texts))
    found["plays"] = plays(data.writer.policy)
    found["distinct"] = distinct_share([text.split() for text in texts if text.split()], 1)
    pairs = zip(OPENINGS, texts[::LOOKED_AT], batch["rewards"][::LOOKED_AT], strict=True)
    return found | {
        "samples": [{"prompt": x, "completion": y, "reward": float(r)} for x, y, r in pairs]
    }


@torch.no_grad()
def plays(policy: Any) -> float:
    """Surprise of held-out plays [bits/byte]."""
    return old_loss(policy.eval(), windows(), HELD_OUT)


def mean(numbers: Sequence[float]) -> float:
    """Of some numbers."""
    return math.fsum(numbers) / len(numbers)
