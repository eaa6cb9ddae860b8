"""An encoder-decoder with the parts of T5, in small, and its training."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.random import Generator

from mathlm.errors import ConfigError
from mathlm.functional import cross_entropy
from mathlm.models import Transformer, TransformerConfig
from mathlm.optim import AdamW, clip_grad_norm, warmup_cosine
from mathlm.text import Words
from mathlm.train.objectives import IGNORED

from .tasks_as_text import HELD_OUT, HIGH, LONGEST, TASKS, tensors, vocabulary


@dataclass(frozen=True, kw_only=True)
class TextToTextConfig:
    """One training run of AdamW.

    Args:
        tasks: Prefixes, some of ``TASKS``.
        labeled: Numbers to learn the tasks from. None = all that are not held out.
        pretrain: Steps on holes in counting, before those on the tasks.
        steps: Steps on the tasks.
        batch: Pairs of a step.
    """

    tasks: tuple[str, ...] = tuple(TASKS)
    labeled: int | None = None
    pretrain: int = 0
    steps: int = 450
    batch: int = 32
    d_model: int = 64
    layers: int = 1
    lr: float = 5e-3
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.tasks or set(self.tasks) - set(TASKS):
            raise ConfigError(f"tasks {self.tasks} must be some of {', '.join(TASKS)}")
        if min(self.batch, self.layers, self.steps) < 1 or self.pretrain < 0:
            raise ConfigError("batch, layers and steps must be at least 1, pretrain at least 0")
        if self.labeled is not None and not 1 <= self.labeled <= HIGH - HELD_OUT:
            raise ConfigError(f"labeled={self.labeled} is outside 1..{HIGH - HELD_OUT}")


def build(config: TextToTextConfig) -> Transformer:
    """An untrained model with the parts of T5, in small."""
    torch.manual_seed(config.seed)
    sizes: dict[str, Any] = {"d_model": config.d_model, "n_layers": config.layers, "n_heads": 4}
    sizes |= {"vocab_size": len(vocabulary()), "context": LONGEST, "tie_embeddings": "all"}
    parts: dict[str, Any] = {"norm": "rms", "norm_first": True, "position": "relative"}
    parts |= {"bias": False, "attention_scale": False, "scale_embeddings": False}
    return Transformer(TransformerConfig(**sizes, **parts))


def fit(
    model: Transformer, steps: int, config: TextToTextConfig, draw: Callable[[Generator], list]
) -> list[float]:
    """Train on the pairs that ``draw`` draws; returns the losses [nats/word].

    Without 1/√K a score moves √K times as far with W_q, whose steps are √K times smaller here.
    """
    queries = [p for name, p in model.named_parameters() if name.endswith("W_q.weight")]
    rest = [p for name, p in model.named_parameters() if not name.endswith("W_q.weight")]
    optimizer = AdamW(
        [{"params": rest}, {"params": queries}], betas=(0.9, 0.98), weight_decay=0.0
    )
    factors, losses = (1.0, model.config.head_width**-0.5), list[float]()
    rate = warmup_cosine(config.lr, steps // 5, steps, final=config.lr / 20)
    for step in range(steps):
        source, target = tensors(draw(np.random.default_rng((config.seed, step))))
        for group, factor in zip(optimizer.param_groups, factors, strict=True):
            group["lr"] = factor * rate(step)
        logits = model(source, target[:, :-1], source_mask=source != Words.PAD)
        labels = target[:, 1:].masked_fill(target[:, 1:] == Words.PAD, IGNORED)
        loss, words = cross_entropy(logits, labels)
        optimizer.zero_grad()
        (loss / words).backward()
        clip_grad_norm(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item() / words)
    return losses
