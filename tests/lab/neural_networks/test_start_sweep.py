import json
from dataclasses import replace
from pathlib import Path

import pytest

from lab.neural_networks.start_sweep import (
    PARITY,
    RATES,
    SHAPES,
    XOR,
    XOR_WIDTHS,
    main,
    outcome,
    sweep,
    with_best_rate,
)

RECORD = Path(__file__).parents[3] / "book/results/xor-and-parity-starts.json"


def test_one_hidden_unit_never_computes_xor():
    share, losses = outcome(replace(XOR, widths=(2, 1, 1), count=20, steps=200))
    assert share == 0
    assert len(losses) == 20


def test_shapes_have_the_widths_of_their_names():
    assert {name: shape(4) for name, shape in SHAPES.items()} == {
        "one layer of n": (4,),
        "one layer of 2n": (8,),
        "one layer of 4n": (16,),
        "two layers of 2n": (8, 8),
        "folds: layers of 2": (2, 2),
    }


def test_a_sweep_has_a_share_for_every_width_and_shape():
    quick = replace(PARITY, count=3, steps=5)
    found = sweep(quick, quick, (2, 3), (0.25, 0.5))
    assert set(found["xor"]["by_rate"]) == {"0.25", "0.5"}
    assert found["xor"]["shares"] == found["xor"]["by_rate"]["0.5"]
    assert all(len(shares) == len(XOR_WIDTHS) for shares in found["xor"]["shares"].values())
    assert all(len(shares) == 2 for shares in found["parity"]["shares"].values())


def test_the_command_writes_a_record(tmp_path, capsys):
    main(["--record", str(tmp_path / "starts.json"), "--quick"])
    record = json.loads((tmp_path / "starts.json").read_text())
    assert record["parity"]["bits"] == [2, 3]
    assert "versions" in record
    assert "wrote" in capsys.readouterr().out


def test_the_record_of_the_book_is_of_these_settings():
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    assert record["xor"]["config"]["count"] == XOR.count
    assert record["parity"]["config"]["steps"] == PARITY.steps
    assert set(record["xor"]["by_rate"]) == set(map(str, RATES))
    assert record["xor"]["shares"]["relu"][0] == 0


@pytest.mark.parametrize("name", ["relu", "sigmoid", "tanh"])
def test_in_the_record_width_helps(name):
    shares = json.loads(RECORD.read_text(encoding="utf-8"))["xor"]["shares"][name]
    assert shares == sorted(shares)


def test_every_curve_gets_the_step_size_that_suits_it():
    by_rate = {"0.1": {"a": [0.1, 0.2], "b": [0.9, 0.9]}, "2.0": {"a": [0.0, 0.9], "b": [1, 0]}}
    assert with_best_rate(by_rate) == {"a": (2.0, [0.0, 0.9]), "b": (0.1, [0.9, 0.9])}


def test_no_curve_of_the_record_is_at_its_best_with_the_largest_or_the_smallest_step():
    by_rate = json.loads(RECORD.read_text(encoding="utf-8"))["xor"]["by_rate"]
    assert {rate for rate, _ in with_best_rate(by_rate).values()} <= set(RATES[1:-1])
