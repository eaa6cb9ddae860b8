"""Ten translators of numerals that differ in their seed: what they learn, where they look.

cd book
python -m lab.transformer_forward.numerals_study --seeds 10 --record results/numerals-seeds.json
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy import ndarray

from mathlm.text import Words, numerals
from mathlm.train.record import record_on_cpu

from .alignment import alignment_score, cross_attention, effect_of_hiding
from .numerals import NumeralsConfig, NumeralsRun, train

AND, SEVENTY = 4, 5  # places in "one thousand nine hundred and seventy-one"
HIDDEN = {"row of seventy": [SEVENTY], "row of and": [AND], "both rows": [AND, SEVENTY]}
TABLES = ("attention", "hidden from decoder", "hidden from all")


def tables(run: NumeralsRun, number: int) -> dict[str, ndarray]:
    """Three answers (T, S) to the question which words of a number matter for which.

    The weights of cross-attention, mean of the heads; what is lost if a row of the memory is
    hidden from the decoder; what is lost if a word is hidden from the encoder too [nats].
    """
    source, target = (ids[0] for ids in run.batch([number]))
    weights = cross_attention(run.model, source, target[:-1])[-1].mean(0)
    lost = [
        effect_of_hiding(run.model, source, target, everywhere=everywhere)
        for everywhere in (False, True)
    ]
    return {name: t.numpy() for name, t in zip(TABLES, (weights, *lost), strict=True)}


def pointing(run: NumeralsRun, numbers: Sequence[int] | ndarray) -> dict[str, float]:
    """For each of ``TABLES``, how often the largest entry of a row is at a linked word."""
    hits: dict[str, list] = {name: [] for name in TABLES}
    for number in numbers:
        links = numerals.links(int(number))
        for name, table in tables(run, int(number)).items():
            rows = zip(links, table, strict=False)  # the end mark has no link
            hits[name] += [link[row.argmax()] for link, row in rows if link.any()]
    return {name: float(np.mean(h)) for name, h in hits.items()}


def head_scores(run: NumeralsRun, numbers: Sequence[int] | ndarray) -> tuple[ndarray, float]:
    """Alignment score of each head of cross-attention, and that of even attention."""
    scores, even = [], []
    for number in numbers:
        source, target = (ids[0] for ids in run.batch([int(number)]))
        marked = np.vstack([numerals.links(int(number)), np.zeros((1, len(source)), bool)])
        links = torch.from_numpy(marked)
        weights = cross_attention(run.model, source, target[:-1])[-1]
        scores.append(alignment_score(weights, links).numpy())
        even.append(alignment_score(torch.ones_like(weights[0]) / len(source), links).item())
    return np.mean(scores, 0), float(np.mean(even))


@torch.no_grad()
def sentence_loss(run: NumeralsRun, numbers: Sequence[int] | ndarray) -> ndarray:
    """Negative log-likelihood of the right translation of each number [nats]."""
    source, target = run.batch(numbers)
    logp = run.model(source, target[:, :-1], source_mask=source != Words.PAD).log_softmax(-1)
    right = logp.gather(2, target[:, 1:, None])[..., 0]
    return -(right * (target[:, 1:] != Words.PAD)).sum(1).numpy()


@torch.no_grad()
def cost_of_rows(run: NumeralsRun, number: int, t: int, rows: Sequence[int]) -> float:
    """What word t of a number loses when rows of the memory are hidden together [nats]."""
    source, target = run.batch([number])
    seen = torch.ones(source.shape, dtype=torch.bool)
    memory, logp = run.model.encode(source), []
    for hidden in ([], list(rows)):
        seen[0, hidden] = False
        logits = run.model.decode(target[:, :-1], memory, memory_mask=seen)
        logp.append(logits.log_softmax(-1)[0, t, target[0, t + 1]].item())
    return logp[0] - logp[1]


def by_length() -> dict[str, ndarray]:
    """Numbers below 10,000 of one or two English words, and every ninth of five or more."""
    count = np.array([len(Words.split(text)) for text, _ in numerals.pairs(range(10_000))])
    return {
        "one or two words": np.flatnonzero(count <= 2),
        "five or more": np.flatnonzero(count >= 5)[::9],
    }


def spread(numbers: ndarray, count: int) -> ndarray:
    """``count`` of the sorted numbers, at equal distances from the first to the last."""
    return numbers[np.linspace(0, len(numbers) - 1, count).astype(int)]


def examine(run: NumeralsRun) -> dict[str, Any]:
    """What a trained translator knows and where it looks."""
    few, groups = spread(run.held_out, 40), by_length()
    scores, even = head_scores(run, spread(run.held_out, 50))
    said = zip(run.say(few), run.say(few, beams=4), strict=True)
    found, t = tables(run, 1971), 3  # soixante
    looks = found["attention"][t]
    costs = {name: cost_of_rows(run, 1971, t, rows) for name, rows in HIDDEN.items()}
    return {
        "seed": run.config.seed,
        "first": run.losses[0],
        "last": float(np.mean(run.losses[-20:])),
        "points": run.points,
        "pointing": pointing(run, spread(run.held_out, 60)),
        "soixante": costs | {"deleted": float(found[TABLES[2]][t, SEVENTY])},
        "looks": {"seventy": float(looks[SEVENTY]), "and": float(looks[AND])},
        "heads": scores,
        "even": even,
        "nats": {name: float(sentence_loss(run, ns).mean()) for name, ns in groups.items()},
        "wrong": {name: float(1 - run.right(ns).mean()) for name, ns in groups.items()},
        "changed by beams": sum(a != b for a, b in said),
        "certainty": float(np.median(np.exp(-sentence_loss(run, few)))),
    }


def main(argv: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Train and examine one translator for each seed; returns, and may record, the findings."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=NumeralsConfig.steps)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--record", type=Path, help="JSON file for options and results")
    args = parser.parse_args(argv)
    config = NumeralsConfig(steps=args.steps, evaluations=min(4, args.steps))
    rows = [examine(train(replace(config, seed=seed))) for seed in range(args.seeds)]
    record_on_cpu(args.record, config=config, results={"runs": rows})
    return rows


if __name__ == "__main__":
    print(*main(), sep="\n")
