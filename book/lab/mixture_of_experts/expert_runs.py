"""Small mixtures of experts and dense models of equal size on the letters of Shakespeare."""

from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from mathlm import functional as F
from mathlm.layers import Taps
from mathlm.layers.moe import Router
from mathlm.models import GPT, GPTConfig, MixtureConfig, MixtureGPT
from mathlm.optim import AdamW, clip_grad_norm, warmup_cosine
from mathlm.text import corpus
from mathlm.train import BalancedExperts, next_token

Arm = Literal["dense, active", "dense, total", "no balance", "balance loss", "bias"]
ARMS: tuple[Arm, ...] = ("dense, active", "dense, total", "no balance", "balance loss", "bias")


@dataclass(frozen=True, kw_only=True)
class ExpertRunConfig:
    """One run.

    Args:
        arm: Dense with the active or the total parameters, or a mixture with one of the
            balances; "bias" has sigmoid gates.
        lr: Highest step size of AdamW.
        steps: Of the optimizer.
        seed: Of the start and of the windows.
        d_model: D.
        d_ff: F of one expert.
        n_experts: E.
        top_k: k.
        n_layers: L.
        context: Letters in a window.
        batch: Windows in a step.
        balance: α of the balance loss.
        rate: u of the bias.
    """

    arm: Arm = "balance loss"
    lr: float = 4e-3
    steps: int = 200
    seed: int = 0
    d_model: int = 48
    d_ff: int = 64
    n_experts: int = 8
    top_k: int = 2
    n_layers: int = 2
    context: int = 48
    batch: int = 24
    balance: float = 0.01
    rate: float = 0.01


class ExpertRun(NamedTuple):
    """A trained model, its loss at each step and shares of the load of each layer.

    ``load`` is the share of the choices of held-out letters on each expert, (L, E); empty for
    a dense model. ``test`` is the loss on held-out letters [nats per letter].
    """

    model: nn.Module
    loss: list[float]
    load: list[list[float]]
    test: float


@cache
def letters() -> tuple[Tensor, Tensor, int]:
    """Numbers of the letters to train on, of those held out, and how many kinds there are."""
    train, test = (np.frombuffer(t.encode(), np.uint8) for t in corpus.split("shakespeare"))
    kinds = np.unique(np.concatenate((train, test)))
    ids = [torch.from_numpy(np.searchsorted(kinds, part)).long() for part in (train, test)]
    return ids[0], ids[1], len(kinds)


def build(config: ExpertRunConfig) -> nn.Module:
    """The model of an arm."""
    torch.manual_seed(config.seed)
    used = {"dense, active": config.top_k, "dense, total": config.n_experts}
    gpt = GPTConfig(
        vocab_size=letters()[2],
        context=config.context,
        d_model=config.d_model,
        n_layers=config.n_layers,
        n_heads=4,
        d_ff=config.d_ff * used.get(config.arm, 1),
        norm="rms",
        activation="swiglu",
        position="rope",
        bias=False,
    )
    if config.arm in used:
        return GPT(gpt)
    router: Router = "sigmoid" if config.arm == "bias" else "top_k_softmax"
    return MixtureGPT(
        MixtureConfig(gpt=gpt, n_experts=config.n_experts, top_k=config.top_k, router=router)
    )


def windows(
    ids: Tensor, config: ExpertRunConfig, rng: np.random.Generator
) -> dict[str, Tensor]:
    """A batch of windows, drawn at random."""
    starts = torch.from_numpy(rng.integers(0, len(ids) - config.context - 1, config.batch))
    rows = ids[starts[:, None] + torch.arange(config.context + 1)]
    return {"ids": rows[:, :-1], "targets": rows[:, 1:]}


def train(config: ExpertRunConfig) -> ExpertRun:
    """Train one model and measure it on held-out letters."""
    model, losses = build(config), []
    objective = (
        BalancedExperts(balance=config.balance) if config.arm == "balance loss" else next_token
    )
    optimizer = AdamW(model.parameters(), lr=config.lr, betas=(0.9, 0.98), weight_decay=0.01)
    rate = warmup_cosine(config.lr, config.steps // 10, config.steps)
    rng = np.random.default_rng(config.seed)
    for step in range(config.steps):
        optimizer.param_groups[0]["lr"] = rate(step)
        optimizer.zero_grad()
        loss, count = objective(model, windows(letters()[0], config, rng))
        (loss / count).backward()
        clip_grad_norm(model.parameters(), 1.0)
        optimizer.step()
        if config.arm == "bias" and isinstance(model, MixtureGPT):
            model.step_biases(config.rate)
        losses.append(loss.item() / count)
    test, load = measure(model.eval(), config)
    return ExpertRun(model, losses, load, test)


@torch.no_grad()
def measure(model: nn.Module, config: ExpertRunConfig) -> tuple[float, list[list[float]]]:
    """Loss on held-out letters [nats per letter], and each expert's share of the choices."""
    rng, total, count = np.random.default_rng(1000), 0.0, 0
    load = torch.zeros(config.n_layers, config.n_experts)
    sparse = isinstance(model, MixtureGPT)
    for _ in range(20):
        batch = windows(letters()[1], config, rng)
        taps: Taps = {}
        logits = model(batch["ids"], taps=taps)
        part, n = F.cross_entropy(logits, batch["targets"])
        total, count = total + part.item(), count + int(n)
        for i in range(config.n_layers if sparse else 0):
            load[i] += F.expert_load(taps[f"blocks.{i}.feed_forward.experts"], config.n_experts)
    return total / count, (load / load.sum(1, keepdim=True)).tolist() if sparse else []
