"""English numerals to French by the encoder-decoder in NumPy: every gradient by hand.

cd book
python -m lab.transformer_backward.numerals_by_hand --record results/numerals-by-hand.json
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from mathlm.errors import ConfigError
from mathlm.reference import Transformer, TransformerConfig, adam_step, draw_dropout, noam_rate
from mathlm.text import Words, numerals
from mathlm.train.record import record_on_cpu

Numbers = Sequence[int] | ndarray
ADAM: dict[str, Any] = {"betas": (0.9, 0.98), "eps": 1e-9}  # of the paper


@dataclass(frozen=True, kw_only=True)
class ByHandConfig:
    """One run on 0 ... high - 1, with Adam and ``scale`` times the schedule of 2017."""

    high: int = 1000
    held_out: int = 200
    d_model: int = 64
    n_layers: int = 1
    steps: int = 300
    batch: int = 64
    warmup: int = 100
    scale: float | int = 0.4
    label_smoothing: float | int = 0.0
    dropout: float | int = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        if min(self.steps, self.batch) < 1 or not 0 < self.scale < float("inf"):
            raise ConfigError(f"need steps >= 1, batch >= 1 and a positive scale, got {self}")

    def rate(self, step: int) -> float:
        """Step size of a step, counted from 0."""
        return self.scale * noam_rate(step, self.d_model, self.warmup)


class ByHandRun(NamedTuple):
    """The model, its words, the numbers that it never saw, and how training went."""

    model: Transformer
    source: Words
    target: Words
    held_out: ndarray
    losses: ndarray  # of each step [nats/word]
    rates: ndarray  # step size of each step
    accuracy: float  # share of the numbers held out that come out right, word by word

    def translate(self, numbers: Numbers) -> list[str]:
        """The numbers in French, from their English numerals."""
        ids, _ = numerals.batch(numerals.pairs(numbers), self.source, self.target)
        return [self.target.decode(row) for row in greedy(self.model, ids)]

    def right(self, numbers: Numbers) -> ndarray:
        """For each number, whether all of its French numeral is right."""
        wanted = [" ".join(Words.split(french)) for _, french in numerals.pairs(numbers)]
        return np.array(wanted) == self.translate(numbers)


def greedy(model: Transformer, source: ndarray) -> ndarray:
    """The likeliest next word of each row, again and again, until all have an end mark."""
    ids = np.full((len(source), 1), Words.BOS)
    while ids.shape[1] < model.config.context and not (ids == Words.EOS).any(1).all():
        logits, _ = model.logits(source, ids, source != Words.PAD)
        ids = np.append(ids, logits[:, -1:].argmax(-1), axis=1)
    return ids


def train(config: ByHandConfig) -> ByHandRun:
    """Train a model on the numbers that are not held out, and judge it by the others."""
    known, held_out = numerals.split(config.seed, 0, config.high, config.held_out)
    english, french = zip(*numerals.pairs(range(config.high)), strict=True)
    words, rng = (Words.build(english), Words.build(french)), np.random.default_rng(config.seed)
    sizes: dict[str, Any] = {"vocab_size": len(words[0]), "target_vocab_size": len(words[1])}
    sizes |= {"d_model": config.d_model, "n_layers": config.n_layers, "n_heads": 4}
    model, states = Transformer(TransformerConfig(**sizes, context=16), rng), dict[str, dict]()
    rates, losses = np.array([*map(config.rate, range(config.steps))]), np.empty(config.steps)
    for step, rate in enumerate(rates):
        ids = numerals.batch(numerals.pairs(rng.choice(known, config.batch)), *words)
        losses[step], gradients = loss_and_gradients(model, ids, config, rng)
        for name, gradient in gradients.items():
            w, state = model.weights[name], states.get(name)
            model.weights[name], states[name] = adam_step(w, gradient, state, lr=rate, **ADAM)
    run = ByHandRun(model, *words, held_out, losses, rates, 0.0)
    return run._replace(accuracy=float(run.right(held_out).mean()))


def loss_and_gradients(
    model: Transformer, ids: tuple[ndarray, ndarray], config: ByHandConfig, rng: Any
) -> tuple[float, dict[str, ndarray]]:
    """Mean loss of the real words of a batch, and its gradients by hand."""
    options: dict[str, Any] = {"label_smoothing": config.label_smoothing}
    if config.dropout:
        shapes = (ids[0].shape, ids[1][:, 1:].shape)
        options["dropout"] = draw_dropout(model.config, shapes, config.dropout, rng)
    loss, cache = model.loss(*ids, *(side != Words.PAD for side in ids), **options)
    return loss, model.backward(cache)


LONG_RUN = ByHandConfig(d_model=32, steps=220, warmup=80, scale=0.5)


def main(argv: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Train with each seed; returns, and may record, the share right and the numbers wrong."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=LONG_RUN.steps)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--record", type=Path, help="JSON file for options and results")
    args, rows = parser.parse_args(argv), list[dict[str, Any]]()
    config = replace(LONG_RUN, steps=args.steps)
    for seed in range(args.seeds):
        run = train(replace(config, seed=seed))
        wrong, last = run.held_out[~run.right(run.held_out)], run.losses[-10:].mean()
        rows.append({"seed": seed, "accuracy": run.accuracy, "wrong": wrong, "last": last})
    record_on_cpu(args.record, config=config, results={"runs": rows})
    return rows


if __name__ == "__main__":
    print(*main(), sep="\n")
