import json
import math
from pathlib import Path

import pytest
import torch

from lab.tokenization import vocabulary_size
from mathlm.errors import ConfigError
from mathlm.models import GPT, GPTConfig

SHORT = "--d-model 32 --layers 1 --context 16 --batch-size 4 --training 30000 --held-out 2000"


@pytest.fixture(autouse=True)
def single_precision():
    torch.set_default_dtype(torch.float32)


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    path = tmp_path_factory.mktemp("record") / "record.json"
    torch.set_default_dtype(torch.float32)
    options = f"{SHORT} --sizes 256 300 --compute 1e8 4e8 --lr 5e-3 --record {path}"
    vocabulary_size.main(options.split())
    return json.loads(path.read_text())


def test_the_compute_of_a_token_by_hand():
    """D = 32, F = 88, V = 300, T = 16, one block: 4 D D + 3 D F + V D = 22,144 weights.

    6 x 22,144 + 12 x 16 x 32 = 139,008.
    """
    shape = GPTConfig(
        vocab_size=300, d_model=32, n_layers=1, n_heads=1, context=16, norm="rms",
        activation="swiglu", position="rope", bias=False,
    )  # fmt: skip
    assert vocabulary_size.flops_per_token(GPT(shape)) == 139_008


def test_every_vocabulary_spends_the_same_compute(record):
    """Up to half a step: 300 tokens cost 12 % more each, so fewer of them are read."""
    for run in record["runs"]:
        step = run["flops_per_token"] * 4 * 16
        assert abs(run["flops"] - run["compute"]) <= step / 2
    small, large = (run for run in record["runs"] if run["compute"] == 4e8)
    assert (small["vocab_size"], large["vocab_size"]) == (256, 300)
    assert small["tokens_read"] > large["tokens_read"]


def test_bits_per_byte_and_loss_per_token_are_the_same_number_of_nats(record):
    for run in record["runs"]:
        nats_per_byte = run["nats_per_token"] / run["bytes_per_token"]
        assert run["bits_per_byte"] == pytest.approx(nats_per_byte / math.log(2), rel=1e-12)
    assert [run["bytes_per_token"] for run in record["runs"][:2]] == [1, 1]
    assert all(run["bytes_per_token"] > 1.1 for run in record["runs"][2:])


def test_more_compute_costs_fewer_bits(record):
    for size in (256, 300):
        less, more = (run for run in record["runs"] if run["vocab_size"] == size)
        assert more["bits_per_byte"] < less["bits_per_byte"] < 8
        assert more["losses"][-1][1] < 0.8 * more["losses"][0][1]


def test_the_record_names_what_was_asked_for(record):
    assert record["options"]["sizes"] == [256, 300]
    assert {run["lr"] for run in record["runs"]} == {5e-3}
    assert "CPU" in record["device"]


@pytest.mark.weekly
@pytest.mark.slow
def test_a_run_of_the_record_of_step_sizes_comes_out_again():
    results = Path(vocabulary_size.__file__).parents[2] / "results"
    recorded = json.loads((results / "vocabulary-rates.json").read_text())["runs"]
    options = "--sizes 256 --compute 4e11 --lr 0.012 --held-out 200000"
    (run,) = vocabulary_size.main(options.split())
    (kept,) = [r for r in recorded if (r["vocab_size"], r["lr"], r["seed"]) == (256, 0.012, 0)]
    # processors end up to 0.03 apart: 3.306 with AVX2, 3.332 with AVX-512, 3.335 with neither
    assert run["bits_per_byte"] == pytest.approx(kept["bits_per_byte"], abs=0.05)
    assert run["steps"] == kept["steps"]
    # rounding has not spread yet
    assert run["losses"][0] == pytest.approx(kept["losses"][0], rel=1e-3)


@pytest.mark.parametrize("compute", ["1", "-1", "nan", "inf"])
def test_a_compute_that_pays_no_two_steps_is_refused(compute):
    options = [
        "--sizes",
        "256",
        "--training",
        "9000",
        "--held-out",
        "900",
        "--compute",
        compute,
    ]
    with pytest.raises(ConfigError, match=r"compute=.* must pay 2 steps of \d+ FLOP"):
        vocabulary_size.main(options)


@pytest.mark.parametrize("option", ["--d-model=33", "--batch-size=0", "--context=0"])
def test_sizes_that_no_model_has_are_refused(option, capsys):
    with pytest.raises(SystemExit):
        vocabulary_size.parse([option])
    assert "must be a multiple of 32" in capsys.readouterr().err
