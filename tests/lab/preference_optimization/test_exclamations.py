"""Comparisons by exclamation marks, and the policy that learns from them."""

import json
import math
from pathlib import Path

import torch

from lab.preference_optimization import exclamations as lab
from mathlm.evaluation import wilson_interval
from mathlm.models import GPT, GPTConfig

TINY = lab.Setting(prompt=3, length=5, batch=8, epochs=60, step_size=0.1, beta=1.0)


def rows(*texts):
    return torch.tensor([list(text) for text in texts])


def tiny():
    torch.manual_seed(0)
    return GPT(
        GPTConfig(
            vocab_size=256, context=8, d_model=16, n_layers=1, n_heads=2, norm="rms",
            activation="swiglu", position="rope", bias=False,
        )
    )  # fmt: skip


def test_marks_of_the_prompt_do_not_count():
    assert lab.marks(rows(b"a!!b!c!d", b"abcdefgh"), 3).tolist() == [2, 0]


def test_the_completion_with_more_marks_is_chosen_and_ties_are_dropped():
    first = rows(b"abcde!fg", b"abcdefg!", b"abc!!!!!")
    second = rows(b"abcdefgh", b"abc!defg", b"abc!!!!x")
    chosen, rejected = lab.compared(second, first, 3)
    assert chosen.tolist() == [first[0].tolist(), first[2].tolist()]
    assert rejected.tolist() == [second[0].tolist(), second[2].tolist()]


def test_the_log_probability_is_that_of_the_completion_alone():
    model, ids = tiny(), rows(b"abcde!fg")
    with torch.no_grad():
        logp = model(ids)[0].log_softmax(-1)
        wanted = sum(float(logp[t - 1, ids[0, t]]) for t in range(3, 8))
        assert math.isclose(float(lab.log_probability(model, ids, 3)), wanted, rel_tol=1e-5)


def test_prompts_are_pieces_of_the_text_and_repeatable():
    pieces = lab.prompts("To be, or not to be", 20, 4, 1)
    assert torch.equal(pieces, lab.prompts("To be, or not to be", 20, 4, 1))
    assert all(bytes(p.tolist()) in b"To be, or not to be" for p in pieces)


def test_dpo_teaches_the_preference_and_leaves_the_reference():
    model = tiny()
    before = [p.clone() for p in model.parameters()]
    pairs = (
        rows(*[b"abc!%c!%c!" % (i, i) for i in range(65, 81)]),
        rows(*[b"abcd%cef%c" % (i, i) for i in range(65, 81)]),
    )
    policy, losses = lab.tune(model, pairs, TINY)
    assert abs(losses[0] - math.log(2)) < 1e-4  # policy and reference are equal at first
    assert losses[-1] < 0.5
    assert all(torch.equal(p, q) for p, q in zip(model.parameters(), before, strict=True))
    with torch.no_grad():
        rise = [
            lab.log_probability(policy, ids, 3) - lab.log_probability(model, ids, 3)
            for ids in pairs
        ]
    assert (rise[0] > rise[1]).all()


def test_more_completions_have_a_mark_than_before_in_every_run():
    """The ends of the widest intervals are those that the page names."""
    record = Path(lab.__file__).parents[2] / "results/exclamations.json"
    runs = json.loads(record.read_text(encoding="utf-8"))["results"]
    before, after = (
        [wilson_interval(round(500 * run[key]), 500) for run in runs]
        for key in ("some_before", "some_after")
    )
    ends = [min(before)[0], max(before)[1], min(after)[0], max(after)[1]]
    assert [round(100 * end) for end in ends] == [14, 24, 74, 93]
    assert len(runs) == 3
