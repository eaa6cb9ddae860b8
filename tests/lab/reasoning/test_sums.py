"""Sums, scratch work and verifiers, by hand."""

import numpy as np
import pytest

from lab.reasoning.sums import (
    CONTEXT,
    END,
    ROOM,
    VERIFIERS,
    asked,
    decode,
    direct,
    encode,
    examples,
    held_out,
    new_model,
    pretrain,
    questions,
    worked,
)
from mathlm.errors import InputError

SUM = (7, 5, 8)


def test_a_sum_by_hand():
    assert asked(SUM) + worked(SUM) == "7+5+8=7+5=12+8=20;"
    assert direct((1, 2)) == "03;"
    assert decode(encode("7+5=12;")) == "7+5=12;"


@pytest.mark.parametrize("terms", [3, 7])
def test_the_longest_answer_fits(terms):
    assert len(worked((9,) * terms)) <= ROOM
    assert len(asked((9,) * 7)) + ROOM == CONTEXT


VERDICTS = {  # text -> verifiers that accept it for 7 + 5 + 8
    "7+5=12+8=20;": {"last number", "last digit", "anywhere"},
    "20;": {"last number", "last digit", "first number", "anywhere"},
    "7+5=12+8=30;": {"last digit"},
    "20+8=28;": {"first number", "anywhere"},
    "7+5=12+8=20+8=28;": {"anywhere"},
    "7+5=12+8=20": {"anywhere"},
    ";": set(),
    "=+;": set(),
}


@pytest.mark.parametrize("text", VERDICTS)
def test_verifiers_by_hand(text):
    assert {name for name, verify in VERIFIERS.items() if verify(SUM, text)} == VERDICTS[text]


def test_sums_of_the_training_are_not_held_out():
    rng = np.random.default_rng(0)
    assert not any(held_out(q) for q in questions(50, 5, rng))
    assert all(held_out(q) for q in questions(50, 5, rng, unseen=True))
    drawn = rng.integers(0, 10, size=(20_000, 5)).tolist()
    share = np.mean([held_out(tuple(q)) for q in drawn])
    assert share == pytest.approx(1 / 11, abs=3 * (1 / 11 / 20_000) ** 0.5)
    with pytest.raises(InputError, match="terms=1"):
        questions(1, 1, rng)


def test_only_answers_are_targets():
    ids, target = examples(20, 1.0, np.random.default_rng(0))
    for row, wanted in zip(ids, target, strict=True):
        prompt, _, answer = decode(row).partition("=")
        found = decode(wanted[wanted != -100])
        terms = tuple(map(int, prompt.split("+")))
        assert found == worked(terms)
        assert answer.startswith(found.rstrip(";"))
    assert ids.shape == target.shape == (20, CONTEXT - 1)


def test_pretraining_stops_at_a_look():
    seen = []
    steps = pretrain(
        new_model(0), 200, 0.5, 0, batch=2, look=lambda s: seen.append(s) or s > 50
    )
    assert (steps, seen) == (100, [50, 100])
    assert END == 12
