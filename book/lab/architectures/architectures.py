"""One body, one corpus, three architectures: what each can fill, continue and translate.

GPT, BERT and an encoder-decoder of the same width and number of blocks, from the same kind of
start, each with its own mask, objective and head, read the same sentences and answer the same
questions about sentences that none of them saw.
"""

from typing import NamedTuple

import numpy as np
from torch import nn

from mathlm.functional import cross_entropy
from mathlm.optim import AdamW, clip_grad_norm, warmup_cosine
from mathlm.text import numerals

from .architecture_probes import examine
from .code_pairs import OBJECTIVES, sentences
from .one_body import ArchitectureConfig, build


class ArchitectureRun(NamedTuple):
    """The model, its loss [nats/target] and targets at each step, and its answers."""

    model: nn.Module
    loss: list[float]
    targets: list[int]
    answers: dict[int, dict[str, dict[str, float]]]  # step, way, probe: share of right ones


def held_out() -> tuple[np.ndarray, np.ndarray]:
    """The sentences to train on, 900, and those to ask about, 100."""
    train, test = numerals.split(0, 0, len(sentences()), len(sentences()) // 10)
    return sentences()[train], sentences()[test]


def train(config: ArchitectureConfig, every: int | None = None) -> ArchitectureRun:
    """Train one model; every so many steps, and at the end, see what it can answer."""
    run, (rows, asked) = ArchitectureRun(build(config), [], [], {}), held_out()
    model, rng = run.model, np.random.default_rng(config.seed)
    optimizer = AdamW(model.parameters(), lr=config.lr, betas=(0.9, 0.98), weight_decay=0.01)
    rate = warmup_cosine(config.lr, config.steps // 10, config.steps)
    for step in range(config.steps):
        drawn = rows[rng.choice(len(rows), config.batch)]
        batch = OBJECTIVES[config.kind](drawn, rng, config.published)
        optimizer.param_groups[0]["lr"] = rate(step)
        optimizer.zero_grad()
        loss, count = cross_entropy(model(*batch.inputs, **batch.masks), batch.targets)
        (loss / count).backward()
        clip_grad_norm(model.parameters(), 1.0)
        optimizer.step()
        run.loss.append(loss.item() / count)
        run.targets.append(int(count))
        if step + 1 == config.steps or (every and (step + 1) % every == 0):
            run.answers[step + 1] = examine(model.eval(), asked)
            model.train()
    model.eval()
    return run
