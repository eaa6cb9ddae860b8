import json

import pytest
import torch

from lab.self_attention import attention_cost as recipe
from mathlm.errors import ConfigError
from mathlm.scaling.measured import exponents


@pytest.fixture(scope="module")
def rows():
    return recipe.attention_cost([128, 256, 512], d_head=16, n_heads=2, repeats=1, peaks=True)


def test_counts_of_one_head_of_width_64_by_hand():
    """T = 128: q, k, v 3 x 128 x 64 = 24,576; weights 16,384; y and a number 8,192 + 128."""
    assert recipe.counted_bytes("plain", 128, 64) == 4 * (24_576 + 16_384)
    assert recipe.counted_bytes("fused", 128, 64) == 4 * (24_576 + 8_320)


def test_what_autograd_keeps_is_what_was_counted(rows):
    for row in rows:
        assert row["saved_bytes"] == row["counted_bytes"]
    assert len(rows) == 6


def test_plain_memory_grows_with_the_square_and_fused_memory_with_the_length(rows):
    saved = exponents(rows, "saved_bytes", 256)
    assert saved["fused"] == pytest.approx(1, abs=1e-9)
    assert 1.7 < saved["plain"] < 2
    peaks = exponents(rows, "peak_bytes", 256)
    assert peaks["fused"] < 1.5 < 1.8 < peaks["plain"] <= 2.05


def test_the_peak_holds_what_is_saved(rows):
    """The plain form holds the weights and, on the way back, their gradient as well."""
    for row in rows:
        inputs = 3 * 4 * 2 * row["length"] * 16  # made before the call
        assert row["peak_bytes"] >= row["saved_bytes"] - inputs
        if row["form"] == "plain":
            assert row["peak_bytes"] >= 2 * 4 * 2 * row["length"] ** 2


def test_eight_times_the_length_takes_more_than_eight_times_the_time():
    """The least of several turns: a busy machine only makes turns longer."""
    short, long = recipe.attention_cost([256, 2048], repeats=4)[:2]
    assert long["seconds"] > 8 * short["seconds"]


@pytest.mark.parametrize("options", [{"lengths": []}, {"lengths": [0]}, {"n_heads": 0}])
def test_sizes_that_measure_nothing_are_refused(options):
    with pytest.raises(ConfigError, match="must be positive"):
        recipe.attention_cost(**{"lengths": [8]} | options)


def test_a_form_that_is_not_there_is_refused():
    with pytest.raises(ConfigError, match="form='flash' must be one of plain, fused"):
        recipe.counted_bytes("flash", 8, 8)


def test_the_record_holds_both_halves_and_their_exponents(tmp_path):
    path = tmp_path / "cost.json"
    lengths = ["--lengths", "64", "128", "--numpy-lengths", "64", "128", "--fit-from", "64"]
    recipe.main([*lengths, "--repeats", "1", "--record", str(path)])
    record = json.loads(path.read_text())
    assert [row["length"] for row in record["torch"]] == [64, 128, 64, 128]
    assert [row["form"] for row in record["numpy"]] == ["flash", "flash", "plain", "plain"]
    assert set(record["exponents"]["torch"]) == {"seconds", "saved_bytes", "peak_bytes"}
    assert "CPU" in record["device"]
    assert record["options"]["record"] == "cost.json"
    assert torch.__version__ == record["versions"]["torch"]
