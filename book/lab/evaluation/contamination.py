"""Questions whose honest ceiling is known, and a model that has read some of them.

A name is three letters. Its first letter points at one of four classes, and the name belongs to
that class with probability :data:`RULE`, else to one of the other three. Nobody who has not
seen a name can be right more often than that on average. A question lists the classes in an
order drawn once, as printed sets of questions do, and ends with the right one.

    cd book
    python -m lab.evaluation.contamination --record results/evaluation-contamination.json
"""

import argparse
import itertools
import json
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy import ndarray
from torch import Tensor

from mathlm.functional import token_cross_entropy
from mathlm.models import GPT, GPTConfig
from mathlm.optim import AdamW, warmup_cosine
from mathlm.train.record import versions

from .membership import scores, separation

LETTERS, CLASSES, RULE = 16, 4, 0.6
ASKS, EQUALS = LETTERS + CLASSES, LETTERS + CLASSES + 1
SOURCE, TEST, FRESH = 1000, 200, 1000  # names in the text, in the test, and kept for later
COPIES, SEEDS = (0, 1, 4, 16), 3
ORDERS = np.array([*itertools.permutations(range(CLASSES))])


class World(NamedTuple):
    """Rows of tokens, each a question with its answer: ``n n n ? c c c c = a``.

    Args:
        source: What the text is made of, (SOURCE, 10).
        test: The questions of the test, (TEST, 10).
        fresh: Questions of the same kind, in no text, (FRESH, 10).
    """

    source: ndarray
    test: ndarray
    fresh: ndarray


def world(seed: int) -> World:
    """Names, classes and orders, drawn anew for each seed."""
    rng = np.random.default_rng(seed)
    count = SOURCE + TEST + FRESH
    drawn = rng.permutation(LETTERS**3)[:count]
    names = np.stack([drawn // LETTERS**2, drawn // LETTERS % LETTERS, drawn % LETTERS], 1)
    pointed = names[:, 0] % CLASSES
    other = (pointed + rng.integers(1, CLASSES, count)) % CLASSES
    classes = np.where(rng.random(count) < RULE, pointed, other)
    orders = rng.permuted(np.tile(np.arange(CLASSES), (count, 1)), axis=1)
    asks, equals = np.full((count, 1), ASKS), np.full((count, 1), EQUALS)
    parts = [names, asks, LETTERS + orders, equals, LETTERS + classes[:, None]]
    rows = np.concatenate(parts, axis=1)
    return World(*np.split(rows, [SOURCE, SOURCE + TEST]))


def train(found: World, copies: int, seed: int, steps: int = 500, batch: int = 64) -> GPT:
    """A small GPT on the source, with the test in it so many times.

    Args:
        found: Of :func:`world`.
        copies: How often each question of the test stands in the text, which has each row of
            the source once.
        seed: Of the weights and the batches.
        steps: Of AdamW.
        batch: Rows in a batch.
    """
    torch.manual_seed(seed)
    sizes: dict[str, Any] = {"d_model": 64, "n_layers": 2, "n_heads": 4, "context": 10}
    model = GPT(GPTConfig(vocab_size=EQUALS + 1, **sizes)).float()
    text = torch.from_numpy(np.concatenate([found.source, *[found.test] * copies]))
    rng = torch.Generator().manual_seed(seed)
    optimizer = AdamW(model.parameters(), lr=3e-3, weight_decay=0.01)
    schedule = warmup_cosine(3e-3, steps // 10, steps)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = schedule(step)
        rows = text[torch.randint(len(text), (batch,), generator=rng)]
        loss = token_cross_entropy(model(rows[:, :-1]), rows[:, 1:]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval()


@torch.no_grad()
def right(model: GPT, rows: ndarray) -> ndarray:
    """Whether the likeliest class is the right one, (N,) of bool."""
    ids = torch.from_numpy(rows)
    logits = model(ids[:, :-1])[:, -1, LETTERS : LETTERS + CLASSES]
    return (logits.argmax(-1) == ids[:, -1] - LETTERS).numpy()


@torch.no_grad()
def order_ranks(model: GPT, rows: ndarray) -> ndarray:
    """How many of the 24 orders of the choices are likelier than the printed one, (N,).

    To a model that has not read them each rank from 0 to 23 has probability 1/24, whatever
    orders it prefers: the printed order was drawn without it.
    """
    ids = torch.from_numpy(rows)
    found: list[Tensor] = []
    for order in ORDERS:
        turned = ids.clone()
        turned[:, 4:8] = ids[:, 4:8][:, order]
        logp = model(turned[:, :-1]).log_softmax(-1)[:, 3:7]
        found.append(logp.gather(-1, turned[:, 4:8, None]).sum((1, 2)))
    scores = torch.stack(found)  # (24, N); the first order is the printed one
    return (scores[1:] > scores[0]).sum(0).numpy()


def areas(model: GPT, found: World) -> dict[str, list[float]]:
    """How well each score of a row tells the test from fresh questions: area and error."""
    read, unread = scores(model, found.test), scores(model, found.fresh)
    both = {name: separation(read[name], unread[name]) for name in read}
    return {name: [round(x, 4) for x in area] for name, area in both.items()}


def measure(copies: int, seed: int) -> dict[str, Any]:
    """Right answers, printed orders found likeliest, and how well the scores of rows tell."""
    found = world(seed)
    model = train(found, copies, seed)
    return areas(model, found) | {
        "copies": copies,
        "seed": seed,
        "test": int(right(model, found.test).sum()),
        "fresh": int(right(model, found.fresh).sum()),
        "first": int((order_ranks(model, found.test) == 0).sum()),
        "first fresh": int((order_ranks(model, found.fresh) == 0).sum()),
    }


def main() -> None:
    """Write the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", type=Path, required=True)
    args = parser.parse_args()
    torch.set_default_dtype(torch.float32)
    runs = [measure(copies, seed) for copies in COPIES for seed in range(SEEDS)]
    content = {
        "config": {"source": SOURCE, "test": TEST, "fresh": FRESH, "rule": RULE},
        "versions": versions(),
        "runs": runs,
    }
    args.record.write_text(json.dumps(content, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
