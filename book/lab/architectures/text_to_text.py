"""Every task as a text that becomes a text: one small T5 for several tasks on numerals.

The first words of a source say what to do, as in "to french : forty two". The model has T5's
parts: normalization first and by root mean square, relative positions, no biases, no 1/√K.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from mathlm.generate import translate
from mathlm.models import Transformer
from mathlm.text import Words, numerals

from .small_t5 import TextToTextConfig, build, fit
from .tasks_as_text import (
    COUNTED,
    HELD_OUT,
    HIGH,
    Pair,
    encoded,
    pair,
    span_pair,
    tensors,
    vocabulary,
)


class TextToTextRun(NamedTuple):
    """A trained model; losses [nats/word] before and on the tasks; shares right by task."""

    model: Transformer
    pretraining: list[float]
    loss: list[float]
    right: dict[str, float]


def train(config: TextToTextConfig) -> TextToTextRun:
    """Pretrain if asked for, train on all tasks at once, and examine on numbers held out."""
    training, asked = numerals.split(0, 0, HIGH, HELD_OUT)
    labeled = np.random.default_rng(config.seed).permutation(training)[: config.labeled]

    def counting(rng: Generator) -> list[Pair]:
        starts, languages = rng.choice(HIGH - COUNTED + 1, config.batch), ("en", "fr")
        return [span_pair(int(n), languages[rng.integers(2)], rng) for n in starts]

    def tasks(rng: Generator) -> list[Pair]:
        names, numbers = (
            rng.choice(config.tasks, config.batch),
            rng.choice(labeled, config.batch),
        )
        return [encoded(pair(str(t), int(n))) for t, n in zip(names, numbers, strict=True)]

    model = build(config)
    before = fit(model, config.pretrain, config, counting) if config.pretrain else []
    losses = fit(model, config.steps, config, tasks)
    model.eval()
    right = {task: float(np.mean(correct(model, task, asked))) for task in config.tasks}
    return TextToTextRun(model, before, losses, right)


def say(model: Transformer, sources: Sequence[str]) -> list[str]:
    """What the model makes of texts, such as "to french : forty two"."""
    ids, _ = tensors([(vocabulary().encode(text), []) for text in sources])
    how: dict[str, Any] = {"start": Words.BOS, "end": Words.EOS, "max_new_tokens": 12}
    return [vocabulary().decode(row) for row in translate(model, ids, mask=ids != 0, **how)]


def correct(model: Transformer, task: str, numbers: Sequence[int] | np.ndarray) -> np.ndarray:
    """For each number, whether every word of the answer is right."""
    pairs = [pair(task, int(n)) for n in numbers]
    said = say(model, [source for source, _ in pairs])
    return np.array(said) == [target.replace("-", " ") for _, target in pairs]
