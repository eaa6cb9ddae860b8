"""The table at the end of a command."""

import re

import pytest
import torch
from recipes.tiny_chats import make, tune

from mathlm.recipes import prepare, pretrain
from mathlm.recipes.result import compared, left_out, places, table, values


def last_table(caplog):
    """Rows of the table that was logged last, as name and the rest."""
    text = caplog.messages[-1]
    assert text.startswith("\n")
    assert "{" not in text
    lines = text.strip("\n").split("\n")
    cells = [re.split(r" {3,}", line) for line in lines]
    return {name: rest[-1] for name, *rest in cells if rest}, lines


def test_columns_are_as_wide_as_their_cells_but_for_the_last():
    """By hand: the first column has 4 letters, the second 6; a long last cell moves nothing."""
    rows = [("", "before", "after"), ("loss", "2", "1"), ("to", "a/very/long/path")]
    assert table(rows) == ("       before   after\nloss   2        1\nto     a/very/long/path")
    assert table([]) == ""


def test_what_is_known_before_and_after_is_compared_with_its_unit():
    rows = compared({"reward": 0.5, "loss": 0.6931472}, {"loss": 0.25, "kl": 1.0})
    assert rows == [
        ("", "before", "after"),
        ("held-out loss [nats/pair]", "0.6931", "0.25"),
    ]
    assert compared({}, {"loss": 1.0}) == []
    assert values({"bits_per_byte": 4.66912, "seconds": 3}) == [
        ("held-out loss [bits/byte]", "4.669")
    ]


def test_what_was_dropped_is_counted_by_reason():
    assert left_out({"empty": 0, "too long": 1200}) == [("left out", "1,200 too long")]
    assert left_out(3) == [("left out", "3")]
    assert left_out({"empty": 0}) == left_out(0) == []


def test_places_that_were_not_written_are_left_out_and_commands_follow():
    rows = places(75.0, ["first", "second"], written_to="runs/a", record=None)
    assert rows == [
        ("time", "1 min"),
        ("written to", "runs/a"),
        ("next", "first"),
        ("", "second"),
    ]


@pytest.fixture
def told(caplog):
    torch.set_default_dtype(torch.float32)
    caplog.set_level("INFO")
    return caplog


def test_sft_ends_with_a_table(told, tmp_path):
    record, _ = tune(make(tmp_path))
    found, lines = last_table(told)
    losses = [record["results"][n] for n in ("held_out_loss_before", "held_out_loss")]
    assert lines[0].split() == ["before", "after"]
    assert [float(x) for x in lines[1].split()[-2:]] == pytest.approx(losses, abs=1e-3)
    assert found["next"] == f"mathlm chat --model {tmp_path / 'out'}"
    assert {"steps", "time", "written to", "record"} <= found.keys()


def test_sft_without_held_out_conversations_compares_nothing(told, tmp_path):
    tune(make(tmp_path), "--held-out 0")
    assert last_table(told)[1][0].startswith("steps ")


def test_prepare_and_pretrain_end_with_a_table(told, tmp_path):
    text, out = tmp_path / "text.txt", tmp_path / "t.bin"
    text.write_text("".join(f"{i} and {i + 1} make {2 * i + 1}.\n" for i in range(200)))
    report = prepare.main(f"--data {text} --out {out}".split())
    found = last_table(told)[0]
    assert found["tokens"] == f"{report['tokens']:,}"
    assert found["next"] == f"mathlm pretrain --data {out}"
    words = f"--data {out} --size nano --context 32 --steps 3 --warmup 1 --device cpu"
    pretrain.main(words.split())
    assert last_table(told)[0]["next"] == "give --out FOLDER to keep the weights"
    pretrain.main(f"{words} --out {tmp_path / 'run'}".split())
    assert last_table(told)[0]["next"] == f"mathlm plot {tmp_path / 'run'}"
