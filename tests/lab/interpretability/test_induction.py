"""The rows, the circuit by hand, and a short training run."""

import json
import math
from dataclasses import replace

import pytest
import torch

from lab.interpretability import induction_study
from lab.interpretability.induction import (
    InductionRun,
    attention_only,
    measure,
    told_loss,
    train,
)
from lab.interpretability.induction_by_hand import induction_by_hand
from lab.interpretability.induction_rows import START, InductionConfig, sequences
from mathlm.errors import ConfigError
from mathlm.interpret import head_scores, without_heads

SMALL = InductionConfig(vocab_size=16, length=24, shortest=5, longest=9)


def test_a_row_is_a_start_and_different_tokens_that_come_again():
    ids, told = sequences(SMALL, 3, 200)
    assert (ids[:, 0] == START).all() and (ids[:, 1:] != START).all()  # noqa: PT018
    distances = (~told).sum(1) - 1
    assert set(distances.tolist()) == set(range(5, 10))
    for row, d in zip(ids, distances.tolist(), strict=True):
        assert len(set(row[1 : d + 1].tolist())) == d
        assert row[1 + d :].equal(row[1:-d])


def test_what_was_told_can_be_read_off_the_row():
    """The next token of a place is told if its own token stood there before."""
    ids, told = sequences(SMALL, 0, 50)
    for row, places in zip(ids.tolist(), told.tolist(), strict=True):
        assert places == [row[t] in row[:t] for t in range(len(row))]


def test_rows_are_a_function_of_seed_and_step():
    assert sequences(SMALL, 5, 8)[0].equal(sequences(SMALL, 5, 8)[0])
    assert not sequences(SMALL, 5, 8)[0].equal(sequences(SMALL, 6, 8)[0])


def test_a_model_of_attention_alone_writes_nothing_else():
    model = attention_only(SMALL)
    assert not any(p.requires_grad for p in model.blocks[0].feed_forward.parameters())
    x = torch.randn(1, 3, SMALL.d_model)
    assert (model.blocks[1].feed_forward(x) == 0).all()


def test_the_circuit_by_hand_copies_what_it_was_told_and_guesses_evenly_otherwise():
    """Told: 12 nats ahead of 15 others, less what the softmaxes leave; new: ln 16."""
    found = measure(induction_by_hand(16, 24), *sequences(SMALL, 0, 50))
    assert found["told"] == pytest.approx(math.log1p(15 * math.exp(-12)), rel=0.2)
    assert found["new"] == pytest.approx(math.log(16), abs=1e-3)


def test_the_heads_by_hand_look_where_they_are_said_to():
    scores = head_scores(induction_by_hand(16, 24), sequences(SMALL, 0, 50)[0])
    expected = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    assert (scores["previous_token"] - expected).abs().max() < 0.06  # position 1 sees the start
    assert scores["induction"][1, 0] > 0.999
    assert scores["induction"].flatten()[[0, 1, 3]].max() < 0.01
    assert scores["first_token"][0, 1] > 0.999


@pytest.mark.parametrize(("head", "needed"), [((0, 0), True), ((0, 1), False),
                                             ((1, 0), True), ((1, 1), False)])  # fmt: skip
def test_of_four_heads_by_hand_two_are_needed(head, needed):
    model, (ids, _) = induction_by_hand(16, 24), sequences(SMALL, 0, 4)
    change = (without_heads(model, ids, [head]) - model(ids)).abs().max()
    assert (change > 11) if needed else (change < 1e-6)


def test_a_step_of_training_lowers_the_loss_of_a_row_it_saw():
    config = InductionConfig(
        vocab_size=16, length=24, shortest=5, longest=9, steps=30, every=30
    )
    first, last = train(config).history
    assert first["told"] == pytest.approx(math.log(16), abs=0.2)
    assert last["told"] < first["told"]
    assert len(last["induction"]) == config.n_layers


def test_a_distance_that_leaves_nothing_to_repeat_is_refused():
    with pytest.raises(ConfigError, match="longest=31 must be below"):
        InductionConfig(longest=31)


def test_the_study_records_every_kind(tmp_path):
    path = tmp_path / "induction.json"
    found = induction_study.main(["--seeds", "1", "--steps", "1", "--record", str(path)])
    record = json.loads(path.read_text())
    assert [r["kind"] for r in record["results"]] == list(induction_study.KINDS)
    assert set(found[0]["without"]) == {"0.0", "1.0"}
    assert found[0]["elsewhere"]["6 to 9"] == pytest.approx(math.log(32), abs=0.2)
    assert record["by_hand"] < 1e-3


def test_a_circuit_has_formed_once_what_was_told_costs_less_than_a_nat():
    history = [{"step": s, "told": loss} for s, loss in ((0, 3.4), (10, 0.9), (20, 1.1))]
    assert induction_study.formed_at(history) == 10
    assert induction_study.formed_at(history[:1]) is None


def test_losses_of_told_tokens_alone_are_counted():
    model, (ids, told) = induction_by_hand(16, 24), sequences(SMALL, 0, 4)
    assert told_loss(model, ids, told) < 1e-3
    assert told_loss(model, ids, ~told) == pytest.approx(math.log(16), abs=1e-3)


def test_the_first_step_is_one_part_of_the_way_to_the_full_size():
    """The first step of Adam moves every entry by its size, here lr / warmup, nearly."""
    config = replace(SMALL, steps=0, warmup=8, lr=4e-3)
    start, moved = attention_only(config), train(config).model
    change = (moved.head.weight - start.head.weight).detach().abs().max()
    assert change.item() == pytest.approx(4e-3 / 8, rel=1e-3)


@pytest.mark.parametrize("name", ["batch", "warmup", "every"])
def test_counts_that_divide_are_at_least_one(name):
    with pytest.raises(ConfigError, match=f"{name}=0 must be at least 1"):
        InductionConfig(**{name: 0})
    with pytest.raises(ConfigError, match="steps=-1"):
        InductionConfig(steps=-1)


def test_another_seed_draws_other_rows_and_other_weights():
    other = replace(SMALL, seed=1)
    assert not sequences(SMALL, 5, 8)[0].equal(sequences(other, 5, 8)[0])
    first, second = (attention_only(config).head.weight for config in (SMALL, other))
    assert not first.equal(second)


def test_without_a_head_by_hand_the_loss_is_that_of_a_guess():
    """Heads 0.0 and 1.0 are needed, and the two others are not."""
    config = InductionConfig(vocab_size=16, length=24, shortest=5, longest=9, n_heads=2)
    run = InductionRun(induction_by_hand(16, 24), [])
    found = induction_study.without_each(run, config)
    assert min(found["0.0"], found["1.0"]) > 2
    assert max(found["0.1"], found["1.1"]) < 1e-3


def test_the_head_that_is_named_is_the_one_without_which_the_loss_is_measured():
    model = attention_only(SMALL)
    for parameter in model.parameters():
        parameter.data.add_(torch.randn_like(parameter), alpha=0.3)
    found = induction_study.without_each(InductionRun(model, []), SMALL)
    model.blocks[1].attention.W_o.weight.data.zero_()
    by_hand = told_loss(model, *sequences(SMALL, -1, 64))
    assert found["1.0"] == pytest.approx(by_hand, rel=1e-10)
    assert abs(found["0.0"] - by_hand) > 1e-3


def test_elsewhere_are_the_distances_that_are_said(monkeypatch):
    asked = []
    monkeypatch.setattr(
        induction_study,
        "sequences",
        lambda c, *_: asked.append((c.shortest, c.longest)) or (None, None),
    )
    monkeypatch.setattr(induction_study, "told_loss", lambda *_: 0.0)
    induction_study.told_elsewhere(InductionRun(attention_only(SMALL), []), InductionConfig())
    assert asked == [(6, 9), (11, 14), (15, 18)]
