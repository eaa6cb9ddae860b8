"""The three ways from one start: DPO, a reward model, and GRPO on what it rewards."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mathlm import adapt
from mathlm.align import (
    PairBatches,
    Reference,
    dpo_loss,
    fit_linear_reward,
    group_advantages,
    grpo_loss,
    pair_scores,
    roll_out,
    target_log_probabilities,
)
from mathlm.align.preference.batches import asked_rows
from mathlm.align.preference.data import EncodedPairs
from mathlm.chat.model import ChatModel
from mathlm.models import GPT
from mathlm.optim import AdamW, warmup_cosine
from mathlm.text import Chat
from mathlm.train.objectives import IGNORED

from .pairs import TEMPERATURE, end_of, prompt_ids

RANK, LAST, BETA, BATCH = 4, 8, 0.1, 8
Log = Callable[[dict[str, float]], None]


def add_update(model: GPT, name: str, seed: int, last: int = LAST) -> GPT:
    """A LoRA beside every matrix of the last blocks, the only numbers that are trained."""
    first = max(0, len(model.blocks) - last)
    maps = [f"attention.W_{x}" for x in "qkvo"]
    maps += [f"feed_forward.W_{x}" for x in ("in", "gate", "out")]
    targets = [f"blocks.{i}.{m}" for i in range(first, len(model.blocks)) for m in maps]
    adapt.add_lora(model, RANK, 2 * RANK, targets, name=name, seed=seed)
    return adapt.use_adapter(model, name)


@torch.no_grad()
def load_part(model: GPT, place: str, name: str, share: float) -> GPT:
    """Put an adapter from a folder on a model, as a share of what it was trained to be."""
    adapt.load_adapter(model, place, name=name)
    for key, p in adapt.trainable(model).items():
        if key.endswith(f".B.{name}"):
            p.mul_(share)
    return model


def tune_dpo(
    model: GPT, pairs: PairBatches, lr: float, epochs: int, log: Log, beta: float = BETA
) -> None:
    """DPO on pairs with a reference; ``log`` sees each step."""
    steps = epochs * pairs.steps_per_epoch
    rate = warmup_cosine(lr, steps // 20, steps, final=lr / 10)
    optimizer = AdamW(adapt.trainable(model).values(), lr=lr)
    for step in range(steps):
        scores = pair_scores(model, pairs(step))
        chosen, rejected = scores.rewards(beta)
        loss = dpo_loss(chosen, rejected).mean()
        update(optimizer, loss, rate(step))
        log(
            {
                "loss": loss.item(),
                "accuracy": (chosen > rejected).float().mean().item(),
                "chosen": chosen.mean().item() / beta,
                "rejected": rejected.mean().item() / beta,
            }
        )


def update(optimizer: Any, loss: Tensor, lr: float) -> None:
    """One step of an optimizer, its gradient no longer than 1."""
    loss.backward()
    update_only(optimizer, lr)


def update_only(optimizer: Any, lr: float) -> None:
    """The step, along gradients that are there already."""
    trained = [p for group in optimizer.param_groups for p in group["params"]]
    for group in optimizer.param_groups:
        group["lr"] = lr
    torch.nn.utils.clip_grad_norm_(trained, 1.0)
    optimizer.step()
    optimizer.zero_grad()


@torch.no_grad()
def features(model: GPT, chats: Sequence[Chat], at_once: int = 32) -> np.ndarray:
    """Mean over an answer of what the head reads, (answers, D): the model is frozen."""
    found = np.zeros((len(chats), model.config.d_model))
    order = np.argsort([len(chat) for chat in chats], kind="stable")
    for start in range(0, len(order), at_once):
        index = order[start : start + at_once]
        batch = asked_rows([chats[i] for i in index], 0)
        found[index] = answer_means(model, batch).double().numpy()
    return found


def answer_means(model: GPT, batch: dict[str, Tensor]) -> Tensor:
    """Mean of the last hidden states over the tokens that are asked for, (B, D)."""
    asked = (batch["targets"] != IGNORED).unsqueeze(-1)
    hidden = model.hidden(batch["ids"])
    return (hidden * asked).sum(1) / asked.sum(1)


def fit_reward(model: GPT, encoded: EncodedPairs, ridge: float) -> dict[str, np.ndarray]:
    """A Bradley-Terry reward, linear in scaled features of the frozen model."""
    x = features(model, encoded.chosen + encoded.rejected)
    center, scale = x.mean(0), x.std(0) + 1e-6
    chosen, rejected = np.split((x - center) / scale, 2)
    fitted = fit_linear_reward(chosen, rejected, ridge=ridge)
    margins = (chosen - rejected) @ fitted.weights
    return {"weights": fitted.weights / scale, "center": center, "margins": margins}


def ranked(model: GPT, encoded: EncodedPairs, weights: np.ndarray) -> int:
    """How many pairs a linear reward on features of the frozen model ranks as they are."""
    chosen, rejected = (features(model, x) for x in (encoded.chosen, encoded.rejected))
    return int(((chosen - rejected) @ weights > 0).sum())


def tune_grpo(
    chat_model: ChatModel,
    reference: Reference,
    reward: Callable[[dict[str, Tensor]], Tensor],
    prompts: Sequence[str],
    *,
    lr: float,
    iterations: int,
    group: int,
    new_tokens: int,
    seed: int,
    log: Log,
    beta: float = 0.02,
) -> None:
    """GRPO, one update of each iteration's answers; ``reward`` judges a batch of them."""
    model = chat_model.model
    optimizer = AdamW(adapt.trainable(model).values(), lr=lr)
    order = np.random.default_rng(seed).permutation(len(prompts))
    count = len(prompts) // iterations
    for i in range(iterations):
        asked = [prompts[j] for j in order[i * count : (i + 1) * count] for _ in range(group)]
        ids, stop = prompt_ids(chat_model, asked), (end_of(chat_model),)
        batch = roll_out(
            model, ids, new_tokens, temperature=TEMPERATURE, seed=1000 * seed + i, stop=stop
        )
        rewards = reward(batch)
        advantages = group_advantages(rewards.view(-1, group)).flatten()
        kl = grpo_step(model, reference, batch, advantages, optimizer, lr, beta)
        log({"reward": rewards.mean().item(), "kl": kl, "judged": float(len(rewards))})


def grpo_step(
    model: GPT,
    reference: Reference,
    batch: dict[str, Tensor],
    advantages: Tensor,
    optimizer: Any,
    lr: float,
    beta: float,
    at_once: int = 16,
) -> float:
    """One update from the answers of an iteration, read in parts; the divergence of it."""
    mask, total, rows = batch["targets"] != IGNORED, 0.0, len(advantages)
    for start in range(0, rows, at_once):
        part = {key: x[start : start + at_once] for key, x in batch.items()}
        own = mask[start : start + at_once]
        logp_ref = reference.log_probabilities(part, temperature=TEMPERATURE)
        logp = target_log_probabilities(model, part, temperature=TEMPERATURE)
        gain = advantages[start : start + at_once].to(logp)
        loss = grpo_loss(logp, logp.detach(), logp_ref, gain, own, beta=beta).sum() / rows
        loss.backward()
        total += ((logp.detach() - logp_ref) * own).sum().item()
    update_only(optimizer, lr)
    return total / int(mask.sum())
