"""A small network, six lines, and every way to cut them into batches."""

import itertools
from collections.abc import Iterator, Sequence
from typing import Literal

import torch
from torch import Tensor

from mathlm.functional import cross_entropy, pad_documents
from mathlm.models import GPT, GPTConfig
from mathlm.text import letters

LINES = "to be,or not to be,that is the question,whether tis nobler,in the mind to suffer,a"


def lines(device: str = "cpu") -> list[Tensor]:
    """Six documents of unequal length, as letters 0 to 26."""
    return [torch.tensor(letters(line + " "), device=device) for line in LINES.split(",")]


def small_model(device: str = "cpu") -> GPT:
    """A model of letters with random weights, in double precision."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        config = GPTConfig(
            vocab_size=27, context=32, d_model=16, n_layers=2, n_heads=2, position="rope"
        )
        model = GPT(config).to(torch.float64).eval()
        for weight in model.parameters():
            torch.nn.init.normal_(weight, std=0.3)
    return model.to(device)


def score(
    model: GPT, documents: Sequence[Tensor], side: Literal["right", "left"]
) -> tuple[float, float]:
    """Sum of the nats of one padded batch, and the number of its targets."""
    ids, mask, targets = pad_documents(documents, side)  # padding is no target
    with torch.no_grad():
        nats, count = cross_entropy(model(ids, mask=mask), targets)
    return float(nats), float(count)


def cuts(n: int) -> Iterator[list[slice]]:
    """Every way to cut n documents into consecutive batches, 2^(n − 1) of them."""
    for breaks in itertools.product([False, True], repeat=n - 1):
        ends = [0, *(i + 1 for i, cut in enumerate(breaks) if cut), n]
        yield [slice(a, b) for a, b in itertools.pairwise(ends)]
