"""One corpus, one body, one budget, five objectives: what each model can then do.

The models of :mod:`objective_bodies` read as many windows of the same plays and answer the same
questions, of :mod:`objective_probes`, about plays that none of them saw.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from torch import nn

from mathlm.optim import AdamW, warmup_cosine
from mathlm.train import (
    CorruptedWindows,
    CutSpans,
    DrawPrefix,
    MaskedPairs,
    MaskTokens,
    SentencePairBatches,
    TokenWindows,
    Trainer,
    TrainerConfig,
    masked_token,
    next_token,
    prefix_token,
    span_corruption,
)

from .objective_bodies import ObjectiveConfig, build
from .objective_probes import examine
from .play_lines import BEGIN, CLS, MARKS, MASK, SENTINELS, SEP, VOCABULARY, ids, sentences


class ObjectiveRun(NamedTuple):
    """The model, its loss [nats/target] at each step, targets in all, and its answers."""

    model: nn.Module
    loss: list[float]
    targets: int
    answers: dict[str, float]


def task(config: ObjectiveConfig) -> tuple[Callable, Callable]:
    """Objective and data of a run."""
    windows = TokenWindows(
        ids("training"),
        context=config.context,
        batch_size=config.batch,
        vocab_size=VOCABULARY,
        seed=config.seed,
    )
    hide: dict[str, Any] = {"mask_id": MASK, "vocab_size": VOCABULARY, "rate": config.rate}
    hide |= {"shares": config.shares}
    if config.kind == "masked + pairs":
        hide |= {"negatives": config.negatives, "context": config.context, "seed": config.seed}
        marks: dict[str, Any] = {"cls_id": CLS, "sep_id": SEP, "special": MARKS}
        pairs = SentencePairBatches(
            sentences("training"), batch_size=config.batch, **marks, **hide
        )
        return MaskedPairs(config.rate * config.context), pairs
    objective, change = {
        "causal": (next_token, None),
        "prefix": (prefix_token, DrawPrefix()),
        "masked": (masked_token, MaskTokens(special=MARKS, **hide)),
        "span": (
            span_corruption,
            CutSpans(sentinels=SENTINELS, begin=BEGIN, rate=config.rate),
        ),
    }[config.kind]
    if change is None:
        return objective, windows
    return objective, CorruptedWindows(windows, change, seed=config.seed)


def train(config: ObjectiveConfig, count: int = 256) -> ObjectiveRun:
    """Train one model, and ask it ``count`` questions of a kind."""
    model, (objective, data) = build(config), task(config)
    targets = 0

    def counted(model: nn.Module, batch: dict) -> tuple:
        nonlocal targets
        loss, count = objective(model, batch)
        targets += count
        return loss, count

    schedule = warmup_cosine(config.lr, config.steps // 10, config.steps)
    optimizer = AdamW(model.parameters(), lr=config.lr, betas=(0.9, 0.98), weight_decay=0.01)
    how = TrainerConfig(steps=config.steps, schedule=schedule, seed=config.seed)
    history = Trainer(model, counted, data, optimizer, how).fit()
    loss = [record["loss"] for record in history]
    return ObjectiveRun(model.eval(), loss, targets, examine(model, config.kind, count))
