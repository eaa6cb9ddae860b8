"""A model that writes Shakespeare by itself: what its text costs, the further it goes.

    cd book
    python -m lab.objectives.free_running --steps 1000

After the first lines of passages that the model has never seen, either the play goes on or the
model does. Two judges price every byte: the model itself, and counts of the other plays.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from lab.perplexity.confidence import ConfidenceConfig, train
from mathlm.errors import InputError
from mathlm.functional import token_cross_entropy
from mathlm.generate import generate
from mathlm.models import GPT
from mathlm.shapes import Float, Int
from mathlm.text import KneserNey, corpus
from mathlm.train.record import record_on_cpu

GIVEN, PASSAGES = 32, 400  # bytes read first; passages


class Prices(NamedTuple):
    """Mean cost of each byte behind the given ones [bits/byte]."""

    play: Float[np.ndarray, " T"]  # the play goes on, the model judges: teacher forcing
    own: Float[np.ndarray, " T"]  # the model goes on and judges itself
    play_counts: Float[np.ndarray, " T"]  # the play goes on, counts judge
    own_counts: Float[np.ndarray, " T"]  # the model goes on, counts judge


def passages(text: str, length: int, number: int = PASSAGES) -> Int[np.ndarray, "N T"]:
    """Passages of one length, evenly spread over the text."""
    ids = np.frombuffer(text.encode(), np.uint8).astype(np.int64)
    if len(ids) < length:
        raise InputError(f"a text of {len(ids)} bytes has no passage of {length}")
    starts = np.linspace(0, len(ids) - length, number).astype(int)
    return ids[starts[:, None] + np.arange(length)]


@torch.no_grad()
def prices(
    model: GPT, counts: KneserNey, real: Int[np.ndarray, "N T"], seed: int = 0
) -> Prices:
    """What each byte behind the given ones costs in the play and in the model's own text.

    The cost of the model's own text to itself is the mean of -log q over what it drew.
    """
    x = torch.from_numpy(real)
    own = generate(model, x[:, :GIVEN], x.shape[1] - GIVEN, seed=seed)
    bits = [
        token_cross_entropy(model(text[:, :-1]), text[:, 1:]).mean(0)[GIVEN - 1 :].numpy()
        for text in (x, own)
    ]
    everything = np.ones(real.shape, bool)
    judged = [-counts.score(text.numpy(), everything).mean(0)[GIVEN:] for text in (x, own)]
    return Prices(*(cost / np.log(2) for cost in (*bits, *judged)))


def main(argv: Sequence[str] | None = None) -> Prices:
    """Train, write and price; returns, and may record, the prices."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", type=Path)
    parser.add_argument("--steps", type=int, default=1000)
    args = parser.parse_args(argv)
    known, unknown = corpus.split("shakespeare")
    config = ConfidenceConfig(size=3_000_000, steps=args.steps, context=160, width=96)
    model, looks = train(config)
    counts = KneserNey(6, known.encode())
    found = prices(model.eval(), counts, passages(unknown, config.context))
    for name, row in found._asdict().items():
        print(f"{name:12}", " ".join(f"{x:.2f}" for x in row.reshape(-1, 16).mean(1)))
    record_on_cpu(args.record, config=config, looks=looks, prices=found._asdict())
    return found


if __name__ == "__main__":
    main()
