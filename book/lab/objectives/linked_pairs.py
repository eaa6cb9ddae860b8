"""A source whose sentences have a topic and a link, and a small BERT that judges pairs of them.

Every document has a topic, every topic words of its own, and each sentence begins with the word
that ended the one before it. What the pair objective can be solved by is therefore known: the
topic, the link, or both.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple, get_args

import numpy as np
import torch
from numpy import ndarray

from mathlm.errors import ConfigError
from mathlm.models import BertConfig, SentencePairs
from mathlm.optim import AdamW, warmup_cosine
from mathlm.train import SentencePairBatches, Trainer, TrainerConfig, next_sentence
from mathlm.train.objective_batches import Negatives

CLS, SEP = 0, 1
MARKS = 2


@dataclass(frozen=True, kw_only=True)
class PairConfig:
    """One training run.

    Args:
        negatives: What stands in for the sentence that follows.
        topics: K, equally likely.
        words: Words of a topic, which no other topic has.
        length: Words of a sentence.
        width: D.
        seed: Of the weights, the documents and the batches.
    """

    negatives: Negatives = "elsewhere"
    topics: int = 10
    words: int = 10
    length: int = 6
    width: int = 64
    blocks: int = 2
    heads: int = 4
    batch: int = 64
    steps: int = 600
    lr: float = 3e-3
    seed: int = 0

    def __post_init__(self) -> None:
        if self.negatives not in get_args(Negatives):
            known = ", ".join(get_args(Negatives))
            raise ConfigError(f"negatives={self.negatives!r} is not one of {known}")
        if min(self.topics, self.words, self.steps, self.batch) < 1 or self.length < 2:
            raise ConfigError("length must be at least 2, the other sizes at least 1")

    @property
    def vocabulary(self) -> int:
        """Words of all topics, and the marks."""
        return MARKS + self.topics * self.words


class PairRun(NamedTuple):
    """The model, and its loss [nats/pair] at each step."""

    model: SentencePairs
    loss: list[float]


def documents(config: PairConfig, number: int = 1000, seed: int = 0) -> list[list[ndarray]]:
    """Documents of six sentences each, as word ids."""
    rng, made = np.random.default_rng([config.seed, seed]), []
    for topic in rng.integers(config.topics, size=number):
        words = (
            MARKS + topic * config.words + rng.integers(config.words, size=(6, config.length))
        )
        words[1:, 0] = words[:-1, -1]  # the link
        made.append([*words])
    return made


def batches(config: PairConfig, seed: int = 0, **how: Any) -> SentencePairBatches:
    """Pairs of sentences of new documents."""
    how = {"negatives": config.negatives, "batch_size": config.batch} | how
    sizes: dict[str, Any] = {"context": 2 * config.length + 3, "seed": config.seed}
    made = documents(config, seed=seed)
    return SentencePairBatches(made, cls_id=CLS, sep_id=SEP, **sizes, **how)


def build(config: PairConfig) -> SentencePairs:
    """An untrained model."""
    torch.manual_seed(config.seed)
    sizes: dict[str, Any] = {"d_model": config.width, "n_layers": config.blocks}
    sizes |= {"vocab_size": config.vocabulary, "context": 2 * config.length + 3}
    return SentencePairs(BertConfig(n_heads=config.heads, dropout=0.0, **sizes))


def train(config: PairConfig) -> PairRun:
    """Train one model on pairs alone."""
    model = build(config)
    schedule = warmup_cosine(config.lr, config.steps // 10, config.steps)
    optimizer = AdamW(model.parameters(), lr=config.lr, betas=(0.9, 0.98), weight_decay=0.01)
    how = TrainerConfig(steps=config.steps, schedule=schedule, seed=config.seed)
    history = Trainer(model, next_sentence, batches(config), optimizer, how).fit()
    return PairRun(model.eval(), [record["loss"] for record in history])


@torch.no_grad()
def judged(model: SentencePairs, config: PairConfig, count: int = 2000) -> dict[str, float]:
    """Share of pairs of new documents judged rightly, by kind of wrong sentence."""
    right = {}
    for kind in get_args(Negatives):
        pairs = batches(config, seed=1, negatives=kind, batch_size=count)(0)
        says = model(pairs["ids"], mask=pairs["mask"], segments=pairs["segments"])[1].argmax(-1)
        right[kind] = (says == pairs["follows"]).double().mean().item()
    return right
