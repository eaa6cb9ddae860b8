"""What a vocabulary costs by the frequencies of its tokens alone, without a model.

cd book
python -m lab.tokenization.head_start --record vocabulary-frequencies.json
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mathlm.text import ByteBPE, bits_per_byte, corpus
from mathlm.train.record import record_on_cpu


def frequency_bits(training: str, held_out: str, size: int) -> float:
    """Cost of held-out text when each token is predicted by its frequency in training.

    The vocabulary is learned from the training text, as in
    :mod:`lab.tokenization.vocabulary_size`.

    Args:
        training: The text that merges and frequencies are counted in.
        held_out: Another text.
        size: Tokens V of the vocabulary.

    Returns:
        The cost [bits/byte].
    """
    bpe = ByteBPE.train([training], size)
    counts = np.bincount(bpe.encode(training), minlength=size) + 1  # none has probability 0
    met = np.bincount(bpe.encode(held_out), minlength=size)
    nats = -(met * np.log(counts / counts.sum())).sum()
    return bits_per_byte(float(nats), len(held_out.encode()))


def main(argv: Sequence[str] | None = None) -> list[dict[str, float]]:
    """Every size on the texts of the record of models; returns, and may record, the costs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", type=int, nargs="+", default=[2**k for k in range(8, 14)])
    parser.add_argument("--training", type=int, help="bytes that are read; default: all")
    parser.add_argument("--held-out", type=int, default=200_000, help="bytes that are read")
    parser.add_argument("--record", type=Path, help="JSON file for options and results")
    args = parser.parse_args(argv)
    limits = zip(corpus.split("shakespeare"), (args.training, args.held_out), strict=True)
    training, held_out = (
        text.encode()[:limit].decode(errors="ignore") for text, limit in limits
    )
    runs = [
        {"vocab_size": V, "bits_per_byte": frequency_bits(training, held_out, V)}
        for V in args.sizes
    ]
    record_on_cpu(args.record, options=vars(args), runs=runs)
    return runs


if __name__ == "__main__":
    main()

__all__ = ["frequency_bits", "main"]
