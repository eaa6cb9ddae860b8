"""A sparse autoencoder on one layer of SmolLM2, and one of its features for each word list.

    cd book
    python -m lab.features.smollm2_feature --record smollm2-feature.json

Chooses the features by where they are active on one half of the text, looks at their contexts
in the other half, and adds their directions to the stream at three lengths.
"""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from lab.features import project_steering
from lab.features.project import states
from lab.features.project_steering import Trial
from mathlm.interpret import (
    SparseAutoencoder,
    SparseReconstruction,
    top_contexts,
    train_dictionary,
)
from mathlm.models import GPT
from mathlm.text import ByteBPE, corpus, pretrained
from mathlm.train.record import record_on_cpu

log = logging.getLogger(__name__)
LISTS = {
    "numbers": "one two three four five six seven eight nine ten twenty hundred thousand",
    "colors": "red blue green yellow white black brown grey purple orange pink",
    "animals": "dog cat horse bird fish cow sheep lion bear wolf snake",
    "body": "hand head eye eyes heart face arm foot blood tongue ear",
    "family": "father mother son daughter brother sister wife husband child king queen",
}
PROMPTS = (
    "When they opened the door they saw the",
    "In the middle of the picture there is a",
    "She wrote a letter about the",
    "Yesterday I was thinking of the",
    "The story begins with the",
    "He could not stop talking about the",
    "On the table lay a",
    "The children asked about the",
)
PLAIN = (
    "The train to the coast leaves at nine and arrives a little before noon.",
    "Water boils at a lower temperature in the mountains than at the sea.",
    "A triangle with three equal sides has three equal angles.",
    "The library keeps its maps on the second floor, next to the newspapers.",
)


def rows_of(tokenizer: Any, rows: int, length: int) -> Tensor:
    """Token ids (rows, length): pieces of a dictionary and of the plays in turn."""
    sources, found = [corpus.load("glosses"), corpus.load("shakespeare")], []
    for i in range(rows):
        text = sources[i % 2]
        start = i * (len(text) - 8 * length) // rows  # 8 characters hold more than a token
        found.append(tokenizer.encode(text[start : start + 8 * length])[:length])
    return torch.tensor(found)


def fit(x: Tensor, features: int, active: int, steps: int) -> tuple[SparseAutoencoder, float]:
    """An autoencoder of vectors (N, D), and the share of their variance that it explains."""
    torch.manual_seed(0)
    model = SparseAutoencoder(x.shape[1], features, active=active)
    model.center(x)
    train_dictionary(
        model, x, SparseReconstruction(0.0), steps=steps, resample=(steps // 3, steps // 2)
    )
    with torch.no_grad():
        left = (model.eval()(x).output - x).square().sum()
    return model, 1 - float(left / (x - x.mean(0)).square().sum())


def coded(autoencoder: SparseAutoencoder, x: Tensor) -> Tensor:
    """Features (B, T - 1, M) of vectors (B, T - 1, D)."""
    with torch.no_grad():
        return torch.stack([autoencoder(row).features for row in x])


def chosen(features: Tensor, ids: Tensor, words: Tensor) -> tuple[int, float, float]:
    """The feature whose activity on the words exceeds its activity elsewhere by most.

    Returns:
        Its number, and how often it is active on a word and elsewhere.
    """
    on = torch.isin(ids[:, 1:], words)
    if not on.any():
        raise ValueError("none of the words stands in the text: take more rows")
    active = (features > 0).float()
    inside, outside = active[on].mean(0), active[~on].mean(0)
    best = int((inside - outside).argmax())
    return best, float(inside[best]), float(outside[best])


def contexts(values: Tensor, ids: Tensor, tokenizer: Any, count: int = 6) -> list[str]:
    """Where a feature (B, T - 1) is largest: the words before, and [the token]."""
    found = []
    for row, t, _ in top_contexts(values, count):
        before = tokenizer.decode(ids[row, max(0, t - 6) : t + 1].tolist())
        found.append(f"{before}[{tokenizer.decode([int(ids[row, t + 1])])}]")
    return found


def steer(trial: Trial) -> dict[str, Any]:
    """Effect, effects of random directions, cost, and what the grader says."""
    report = project_steering.grade(trial)
    return {
        "length": float(trial.vector.norm()),
        "effect": project_steering.effect(trial, trial.vector),
        "random": project_steering.random_effects(trial).tolist(),
        "cost": project_steering.cost(trial),
        "passed": report.passed,
    }


def word_ids(tokenizer: Any, words: str) -> list[int]:
    """Ids of those words that are one token with the blank before them."""
    pieces = [tokenizer.encode(f" {word}") for word in words.split()]
    return [piece[0] for piece in pieces if len(piece) == 1]


def study(model: GPT, tokenizer: Any, args: argparse.Namespace) -> dict[str, Any]:
    """What is found for each list of words."""
    tap = f"blocks.{args.layer}.resid_post"
    ids = rows_of(tokenizer, args.rows, args.length)
    turn = torch.arange(args.rows) % 4 < 2
    learn, test = ids[turn], ids[~turn]
    seen = torch.stack([states(model, row[None], tap) for row in ids])  # (rows, T - 1, D)
    x = seen[turn].flatten(0, 1)
    log.info("%d vectors, mean length %.1f", len(x), x.norm(dim=1).mean())
    autoencoder, explained = fit(x, args.features, args.active, args.steps)
    log.info("share of the variance explained: %.3f", explained)
    length = float(x.norm(dim=1).median())
    read, fresh = coded(autoencoder, seen[turn]), coded(autoencoder, seen[~turn])
    texts = [[torch.tensor(tokenizer.encode(t)) for t in group] for group in (PROMPTS, PLAIN)]
    unit = torch.nn.functional.normalize(autoencoder.decoder.detach(), dim=0)
    found: dict[str, Any] = {"vectors": len(x), "explained": explained, "median": length}
    for name, words in LISTS.items():
        tokens = word_ids(tokenizer, words)
        best, inside, outside = chosen(read, learn, torch.tensor(tokens))
        trials = [
            Trial(model, tap, share * length * unit[:, best], tokens, *texts)
            for share in args.lengths
        ]
        row = {
            "feature": best,
            "active": [inside, outside],
            "contexts": contexts(fresh[..., best], test, tokenizer),
            "trials": [
                {"share": s} | steer(t) for s, t in zip(args.lengths, trials, strict=True)
            ],
        }
        log.info("%s: %s", name, row)
        found[name] = row
    return found


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Train, choose, look and steer; returns, and may record, what was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--record", type=Path)
    for name, usual in (("layer", 14), ("rows", 480), ("length", 128), ("features", 2304)):
        parser.add_argument(f"--{name}", type=int, default=usual)
    parser.add_argument("--active", type=int, default=16)
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--lengths", type=float, nargs="+", default=[0.25, 0.5, 1])
    args, path = parser.parse_args(argv), pretrained.find("smollm2")
    model, tokenizer = GPT.from_pretrained(path), ByteBPE.from_gguf(path)
    found = study(model, tokenizer, args)
    record_on_cpu(args.record, config=vars(args), results=found)
    return found


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    main()
