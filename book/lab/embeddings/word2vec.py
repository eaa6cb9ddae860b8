"""Train skip-gram with negative sampling on a dictionary."""

import logging
from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import torch
from numpy import ndarray

from mathlm.models import SkipGram
from mathlm.optim import Adam, linear_decay
from mathlm.train import NegativeSampling, SkipGramBatches, Trainer, TrainerConfig
from mathlm.train.distributed import DeviceName

from .count_vectors import WordText, pairs, scores


@dataclass(frozen=True, kw_only=True)
class SkipGramRun:
    """One training run.

    Args:
        d_model: Width of the vectors.
        window: Largest distance of a neighbor [words].
        thin: Frequency above which words are thinned out.
        k: What the drawn words of a pair weigh together.
        groups: Groups of pairs in a step.
        pairs: Pairs in a group.
        drawn: Words drawn for a group.
        lr: First step size; it falls to 0 in a line.
        epochs: Passes over the pairs; a part of one is allowed.
        seed: Of the vectors, the pairs and the draws.
        device: Where the model runs.
    """

    d_model: int = 64
    window: int = 5
    thin: float = 1e-4
    k: float | int = 5
    groups: int = 16
    pairs: int = 256
    drawn: int = 64
    lr: float = 0.04
    epochs: float | int = 2
    seed: int = 0
    device: DeviceName = "cpu"


@dataclass(eq=False)
class Trained:
    """What a run leaves behind: the model, losses [nats/pair], and scores along the way."""

    run: SkipGramRun
    model: SkipGram
    losses: list[float] = field(default_factory=list)
    points: list[dict] = field(default_factory=list)

    @property
    def tables(self) -> tuple[ndarray, ndarray]:
        """W of the centers and C of the contexts, in float64."""
        W, C = (table.detach().cpu().double().numpy() for table in self.model.parameters())
        return W, C

    @property
    def vectors(self) -> ndarray:
        """W + C: the sum of a word's two vectors."""
        W, C = self.tables
        return W + C


def build(text: WordText, run: SkipGramRun) -> Trainer:
    """Model, data, optimizer and trainer of a run."""
    found = pairs(text, run.window, run.thin, run.seed)
    sizes: dict[str, Any] = {"groups": run.groups, "pairs": run.pairs, "drawn": run.drawn}
    data = SkipGramBatches(*found, text.vocabulary.counts, **sizes, seed=run.seed)
    torch.manual_seed(run.seed)
    model = SkipGram(len(text.vocabulary), run.d_model)
    steps = round(run.epochs * data.steps_per_epoch)
    schedule = linear_decay(run.lr, max(1, steps))
    config = TrainerConfig(steps=steps, schedule=schedule, clip=None, device=run.device)
    return Trainer(model, NegativeSampling(run.k), data, Adam(model.parameters()), config)


def train(text: WordText, run: SkipGramRun | None = None, evaluations: int = 0) -> Trained:
    """Train on a text that :func:`read` made; scores are measured ``evaluations`` times."""
    trainer = build(text, run := run or SkipGramRun())
    trained = Trained(run, cast(SkipGram, trainer.model))
    marks = set(np.linspace(0, trainer.config.steps, evaluations + 1)[1:].round().tolist())
    while trainer.step < trainer.config.steps:
        trained.losses.append(trainer.train_step()[0])
        if trainer.step in marks:
            found = scores(text.vocabulary.index, trained.vectors)
            trained.points.append({"step": trainer.step} | found)
            logging.info("%s", trained.points[-1])
    return trained
