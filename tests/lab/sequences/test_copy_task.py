import json
import math

import pytest
import torch

from lab.sequences import copy_task
from lab.sequences.copy_task import ASK, BLANK, CopyConfig, sequences, train
from mathlm.errors import ConfigError


@pytest.fixture(autouse=True)
def single_precision():
    torch.set_default_dtype(torch.float32)


def test_a_sequence_is_a_symbol_blanks_and_a_question():
    ids, symbols = sequences(CopyConfig(delay=3), step=0, count=50)
    assert ids[:, 0].equal(symbols)
    assert (ids[:, 1:4] == BLANK).all()
    assert (ids[:, 4] == ASK).all()
    assert set(symbols.tolist()) == set(range(8))


def test_batches_are_a_function_of_seed_and_step():
    config = CopyConfig(delay=2)
    assert sequences(config, 5, 8)[1].equal(sequences(config, 5, 8)[1])
    assert not sequences(config, 5, 64)[1].equal(sequences(config, 6, 64)[1])


@pytest.mark.parametrize("kind", ["rnn", "lstm", "gru"])
def test_a_short_delay_is_learned(kind):
    run = train(CopyConfig(kind=kind, delay=1, steps=120, lr=1e-2))
    assert run.accuracy > 0.95
    assert run.losses[0] == pytest.approx(math.log(10), abs=0.5)


def test_an_open_forget_gate_remembers_what_a_drawn_one_loses():
    closed, opened = (
        train(CopyConfig(delay=20, steps=150, lr=1e-2, forget_bias=bias)).accuracy
        for bias in (None, 4)
    )
    assert closed < 0.3 < 0.9 < opened


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"delay": -1}, "delay=-1 must not be negative"),
        ({"steps": 0}, "steps and batch must be"),
    ],
)
def test_runs_that_make_no_sense_are_refused(options, says):
    with pytest.raises(ConfigError, match=says):
        CopyConfig(**options)


def test_the_record_holds_every_kind_delay_and_seed(tmp_path):
    path = tmp_path / "record.json"
    copy_task.main(f"--delays 1 2 --seeds 2 --steps 2 --record {path}".split())
    record = json.loads(path.read_text())
    assert len(record["results"]) == 5 * 2 * 2
    assert all(0 <= r["accuracy"] <= 1 for r in record["results"])
    assert record["options"]["steps"] == 2


def test_results_are_sorted_by_network_and_delay_and_the_horizon_needs_every_seed():
    rows = [("rnn", None, 2, 1.0), ("rnn", None, 2, 0.95), ("rnn", None, 8, 1.0)]
    rows += [("rnn", None, 8, 0.9), ("lstm", math.log(64), 8, 0.2), ("lstm", 1, 8, 1.0)]
    keys = ("kind", "forget_bias", "delay", "accuracy")
    table = copy_task.accuracies([dict(zip(keys, row, strict=True)) for row in rows])
    assert list(table) == ["rnn", "lstm, bias log 64", "lstm, bias 1"]
    assert table["rnn"] == {2: [1.0, 0.95], 8: [1.0, 0.9]}
    assert [copy_task.horizon(row) for row in table.values()] == [2, 0, 8]
    assert copy_task.name_of("lstm", None) == "lstm, bias drawn"
