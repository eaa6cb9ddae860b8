"""The project's grader: the solution passes, and each planted fault is named in a sentence."""

import math

import numpy as np
import pytest
import torch

from lab.pretraining import project
from lab.pretraining.project_solution import Batches, bits, run, tokenizer_from, windows


def test_the_solution_passes():
    assert project.grade(tokenizer_from, windows, bits).passed


class Words:
    """Characters of the training text; others are lost, or raise."""

    def __init__(self, texts, lost):
        self.known, self.lost = sorted(set("".join(texts))), lost

    def encode(self, text):
        return [self.known.index(c) for c in text if not self.lost or c in self.known]

    def decode(self, ids):
        return "".join(self.known[i] for i in ids)


class Beyond:
    """A tokenizer with its numbers moved up."""

    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def encode(self, text):
        return [i + 100 for i in self.tokenizer.encode(text)]

    def decode(self, ids):
        return self.tokenizer.decode([i - 100 for i in ids])


def no_merge(texts, vocab_size):
    return project.Bytes()


def flat(inputs, targets):
    return inputs.reshape(-1), targets.reshape(-1)


def short(ids, context):
    x, y = windows(ids, context)
    return (x, y) if (y >= 0).all() else (x[:-1], y[:-1])


def bits_by(count, over, unit):
    """Cost of logits that are all alike: ``count`` targets over ``over`` bytes."""

    def cost(logits_of, tokenizer, text, context):
        ids = tokenizer.encode(text)
        v = logits_of(np.zeros((1, 1), int)).shape[-1]
        return math.log(v) * count(len(ids), context) / over(text, ids) / unit

    return cost


def n_bytes(text, ids):
    return len(text.encode())


def mean_of_means(logits_of, tokenizer, text, context):
    x, y = windows(tokenizer.encode(text), context)
    logits = torch.as_tensor(logits_of(x))
    nll = torch.nn.functional.cross_entropy(logits.mT, torch.from_numpy(y), reduction="none")
    n = torch.from_numpy(y >= 0).sum(1)
    ids = len(tokenizer.encode(text))
    return float((nll.sum(1) / n).mean()) * (ids - 1) / len(text.encode()) / math.log(2)


FAULTS = {
    "not in 0 ... vocab_size": (lambda t, v: Beyond(tokenizer_from(t, v)), windows, bits),
    "does not come back": (lambda t, v: Words(t, True), windows, bits),
    "raises ValueError": (lambda t, v: Words(t, False), windows, bits),
    "nothing is merged": (no_merge, windows, bits),
    "targets equal inputs": (tokenizer_from, lambda ids, c: (windows(ids, c)[0],) * 2, bits),
    "an id is a target twice": (
        tokenizer_from,
        lambda ids, c: [np.tile(x, (2, 1)) for x in windows(ids, c)],
        bits,
    ),
    "are never a target": (tokenizer_from, short, bits),
    "not (windows, 3)": (tokenizer_from, lambda ids, c: flat(*windows(ids, c)), bits),
    "must be -100": (
        tokenizer_from,
        lambda ids, c: (windows(ids, c)[0], np.maximum(windows(ids, c)[1], -1)),
        bits,
    ),
    "in nats": (tokenizer_from, windows, bits_by(lambda n, c: n - 1, n_bytes, 1)),
    "padding is charged": (
        tokenizer_from,
        windows,
        bits_by(
            lambda n, c: math.ceil((n - 1) / c) * c + 8 * ((n - 1) % c == 0),
            n_bytes,
            math.log(2),
        ),
    ),
    "short window is left out": (
        tokenizer_from,
        windows,
        bits_by(lambda n, c: (n - 2) // c * c, n_bytes, math.log(2)),
    ),
    "divided by tokens": (
        tokenizer_from,
        windows,
        lambda f, t, text, c: (
            bits(f, t, text, c) * len(text.encode()) / len(t.encode(text))
            if isinstance(t, project.Pairs)
            else bits(f, t, text, c)
        ),
    ),
    "weighs as much as a long one": (tokenizer_from, windows, mean_of_means),
}


@pytest.mark.parametrize("sentence", FAULTS)
def test_a_planted_fault_is_named(sentence):
    report = project.grade(*FAULTS[sentence])
    assert any(sentence in fault for fault in report.faults), report


def test_a_race_names_the_winner():
    assert "6.5 % fewer than the 6-gram" in project.race(2.0)
    assert "more than the 6-gram" in project.race(2.5)


def test_batches_of_the_solution_have_each_window_once_an_epoch():
    data = Batches(list(range(33)), 4, 2)
    firsts = [data(step)["ids"][:, 0].tolist() for step in range(4)]
    assert sorted(x for pair in firsts for x in pair) == [0, 4, 8, 12, 16, 20, 24, 28]
    assert torch.equal(data(2)["targets"], data(2)["targets"])


@pytest.mark.slow
def test_the_run_of_the_solution_learns(monkeypatch):
    """From 8 bits and more to what letter frequencies cost, about 4.75, or less."""
    torch.set_default_dtype(torch.float32)
    found = run(30, vocab_size=300, width=32, layers=1, judged=20_000)
    assert found["bits"] < 5.5
    assert 0.4 < found["tokens_per_byte"] < 1
