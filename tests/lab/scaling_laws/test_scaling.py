import json
import math
from pathlib import Path

import numpy as np
import pytest
import torch

from lab.scaling_laws import repeated_text, scaling, scaling_rates, scaling_runs, width_transfer
from lab.scaling_laws.scaling_rates import best_rate, best_rates, rule
from lab.scaling_laws.scaling_readings import fitted_and_held, seeds_averaged
from mathlm.errors import ConfigError, InputError

RESULTS = Path(__file__).parents[3] / "book" / "results"
LETTERS = np.random.default_rng(0).integers(97, 101, 40_000).astype(np.uint8)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Four letters, all alike, in windows of 8 and batches of 2."""
    torch.set_default_dtype(torch.float32)
    for name, value in {"CONTEXT": 8, "WINDOWS": 2, "STEP": 16, "WARMUP": 2}.items():
        monkeypatch.setattr(scaling_runs, name, value)
    monkeypatch.setattr(scaling_runs, "texts", lambda: (LETTERS[:30_000], LETTERS[30_000:]))
    for module in (scaling, scaling_rates, repeated_text, width_transfer):
        monkeypatch.setattr(module, "texts", scaling_runs.texts)
        for name, value in {"STEP": 16, "HELD_OUT": 80}.items():
            if hasattr(module, name):
                monkeypatch.setattr(module, name, value)


def trained(reads, lr=1e-2, **options):
    data = scaling_runs.windows(LETTERS)
    measure = scaling_runs.held_out_loss(320)
    return scaling_runs.read_off(scaling_runs.start(8, 0), data, measure, reads, lr, **options)


def test_sizes_are_those_of_the_formulas(monkeypatch):
    """By hand for D = 8, L = 2, T = 64, V = 256: 12 L D² and D V; 6 a weight, 12 L T D."""
    monkeypatch.setattr(scaling_runs, "CONTEXT", 64)
    assert scaling_runs.sizes(8) == {
        "parameters": 1536,
        "multiplying": 1536 + 2048,
        "flop_token": 6 * 3584 + 12 * 2 * 64 * 8,
    }


def test_training_learns_that_four_letters_occur():
    assert trained([40], 3e-2)[-1]["loss"] == pytest.approx(math.log(4), abs=0.1)


def test_a_reading_on_the_way_is_the_end_of_a_shorter_run():
    long, short = trained([3, 7]), trained([3])
    assert (long[0]["loss"], long[0]["tokens"]) == (short[0]["loss"], 48)


def test_a_group_whose_scale_is_zero_stays():
    model = scaling_runs.start(8, 0)
    before = model.head.weight.clone()
    rest = [p for name, p in model.named_parameters() if "head" not in name]
    groups = [{"params": rest}, {"params": [model.head.weight], "lr_scale": 0.0}]
    data = scaling_runs.windows(LETTERS)
    scaling_runs.read_off(model, data, lambda m: {}, [3], 1e-2, groups)
    torch.testing.assert_close(model.head.weight, before, rtol=0, atol=0)
    assert not torch.equal(rest[0], scaling_runs.start(8, 0).token_embedding.weight)


def test_the_largest_size_and_the_longest_runs_are_held_out():
    rows = [{"parameters": n, "tokens": d} for n in (1, 2, 4) for d in (10, 20, 40)]
    fitted, held = fitted_and_held(rows)
    assert [tuple(r.values()) for r in fitted] == [(1, 10), (1, 20), (2, 10), (2, 20)]
    assert len(held) == 5


def test_a_run_that_met_the_end_of_the_text_is_as_long_as_the_others():
    rows = [{"parameters": n, "tokens": d} for n in (1, 2) for d in (10_000, 20_000 + n)]
    assert len(fitted_and_held(rows)[0]) == 1


def test_seeds_are_averaged_on_logarithms():
    """By hand: the geometric mean of 2 and 8 is 4."""
    first = [{"parameters": 1, "tokens": d, "seed": 0, "loss": 2.0} for d in (10, 20)]
    second = [first[0] | {"seed": 1, "loss": 8.0}, first[1] | {"seed": 1, "tokens": 19}]
    found = seeds_averaged([*first, *second, first[0] | {"parameters": 2}])
    assert [tuple(r.values()) for r in found] == [(1, 10, 4.0), (1, 20, 2.0), (2, 10, 2.0)]


def test_the_best_rate_is_the_lowest_point_of_a_parabola():
    rates = [0.001 * 2**k for k in range(6)]
    losses = [2 + math.log(r / 0.005) ** 2 for r in rates]
    assert best_rate(rates[::-1], losses[::-1]) == pytest.approx(0.005)


def test_the_rule_of_the_sweep_is_near_what_the_record_finds():
    """Rounded by hand; the losses hardly change within a third of the best rate."""
    rows = json.loads((RESULTS / "scaling-rates.json").read_text())["runs"]
    for n, best in best_rates(rows, 512 * 1024).items():
        assert scaling.SweepConfig(widths=(), steps=()).lr(n) == pytest.approx(best, rel=1 / 3)


def test_a_best_rate_at_the_end_of_those_tried_is_refused():
    with pytest.raises(InputError, match=r"the best rate, 0\.004, is at the end"):
        best_rate([0.001, 0.002, 0.004], [3.0, 2.0, 1.0])


def test_the_rule_is_the_power_law_through_the_best_rates():
    rates = [0.001 * 2**k for k in range(8)]
    rows = [
        {"parameters": n, "tokens": 5, "lr": r, "loss": math.log(r / (0.4 * n**-0.25)) ** 2}
        for n in (10**3, 10**4, 10**5)
        for r in rates
    ]
    assert list(best_rates(rows, 5)) == [10**3, 10**4, 10**5]
    assert (rule(rows, 5).coefficient, rule(rows, 5).exponent) == pytest.approx((0.4, -0.25))


def tiny(**changes):
    return scaling.SweepConfig(widths=(8, 16), steps=(2, 4), held_out=100, **changes)


def test_a_sweep_goes_on_where_its_record_ends(tmp_path):
    path = tmp_path / "scaling.json"
    rows = scaling.sweep(tiny(repeated=(8,)), path)
    assert [(r["width"], r["seed"]) for r in rows[::2]] == [(8, 0), (16, 0), (8, 1)]
    record = json.loads(path.read_text())
    record["runs"] = [r for r in record["runs"] if r["width"] == 16]
    path.write_text(json.dumps(record))
    again = scaling.sweep(tiny(repeated=(8,)), path)
    assert [r["width"] for r in again] == [16, 16, 8, 8, 8, 8]
    assert again[2]["loss"] == rows[0]["loss"]


def test_a_second_seed_is_added_to_a_record(tmp_path):
    path = tmp_path / "scaling.json"
    first = scaling.sweep(tiny(), path)
    both = scaling.sweep(tiny(repeated=(8,)), path)
    assert both[:4] == first
    assert [(r["width"], r["seed"]) for r in both[4:]] == [(8, 1), (8, 1)]
    assert json.loads(path.read_text())["config"]["repeated"] == [8]


@pytest.mark.parametrize("config", [tiny(), tiny(repeated=(8,), rate=(2.0, -0.45))])
def test_a_record_with_other_runs_is_refused(config, tmp_path):
    path = tmp_path / "scaling.json"
    scaling.sweep(tiny(repeated=(8,)), path)
    with pytest.raises(ConfigError, match="holds another sweep"):
        scaling.sweep(config, path)


def test_a_reading_has_its_compute_both_ways():
    row = scaling.run(tiny(), 8, 0)[-1]
    assert row["tokens"] == 4 * 16
    assert row["six_nd"] == 6 * 1536 * 64
    assert row["flop"] == row["flop_token"] * 64
    assert row["lr"] == tiny().rate[0] * 1536 ** tiny().rate[1]


def test_the_record_of_another_sweep_is_refused(tmp_path):
    path = tmp_path / "scaling.json"
    path.write_text(json.dumps({"config": {"widths": [4]}, "runs": []}))
    with pytest.raises(ConfigError, match=r"holds another sweep: {'widths': \[4\]}"):
        scaling.sweep(tiny(), path)


def test_a_record_is_read_again(tmp_path, monkeypatch):
    monkeypatch.setitem(scaling.SETTINGS, "live", scaling.SweepConfig(
        widths=(8, 16), steps=(1, 4, 16), held_out=80))  # fmt: skip
    path = tmp_path / "scaling.json"
    assert len(scaling.main(["--record", str(path)])) == 6
    rows = json.loads(path.read_text())["runs"]
    assert list(map(len, fitted_and_held(rows))) == [2, 4]


def test_every_rate_is_tried_on_every_size(tmp_path):
    path = tmp_path / "rates.json"
    command = f"--widths 8 16 --rates 0.01 0.02 --steps 1 2 --record {path}".split()
    rows = scaling_rates.main(command)
    assert len({(r["width"], r["lr"], r["tokens"]) for r in rows}) == 8
    assert json.loads(path.read_text())["runs"] == rows


def test_epochs_are_counted_and_new_text_has_one(tmp_path, monkeypatch):
    monkeypatch.setattr(repeated_text, "UNIQUE", (3,))
    path = tmp_path / "repeated.json"
    command = f"--width 8 --steps 12 --unique 6 --record {path}".split()
    rows = repeated_text.main(command)
    new, again = [(48, 1), (96, 1), (192, 1)], [(96, 1), (96, 2)]
    assert [(r["unique"], r["epochs"]) for r in rows] == new + again


def test_pieces_come_from_the_whole_length_and_do_not_overlap():
    """By hand, steps of 16: the first piece is the beginning, the last one ends the text."""
    found = repeated_text.pieces(np.arange(100), 3)
    assert found.tolist() == [*range(16), *range(41, 57), *range(83, 100)]


def test_both_ways_are_one_model_at_the_base_width_alone():
    losses = {
        (width, kind): width_transfer.trial(width, kind, 0.02, 5, 0)["loss"]
        for width in (16, 32)
        for kind in width_transfer.KINDS
    }
    assert losses[16, "standard"] == losses[16, "mup"]
    assert losses[32, "standard"] != losses[32, "mup"]


def test_the_width_is_told_to_the_start_and_to_the_rates():
    model, groups = width_transfer.prepared(64, "mup", 0.04)
    assert {group["lr"] for group in groups} == {0.04, 0.01}
    drawn = scaling_runs.start(64, 0).head.weight
    torch.testing.assert_close(model.head.weight, drawn / 4)


def test_the_record_has_every_width_way_and_rate(tmp_path):
    path = tmp_path / "width.json"
    command = f"--widths 16 32 --rates 0.01 0.02 --steps 4 --record {path}".split()
    rows = width_transfer.main(command)
    assert len({(r["width"], r["kind"], r["lr"]) for r in rows}) == len(rows) == 8
    assert len(json.loads(path.read_text())["moved"]) == 2 * 2 * 4


def test_a_run_that_is_asked_for_further_steps_takes_the_place_of_the_shorter(tmp_path):
    path = tmp_path / "scaling.json"
    first = scaling.sweep(tiny(), path)
    both = scaling.sweep(tiny(longer=(8,), further=(7,)), path)
    assert [(r["width"], r["tokens"]) for r in both] == [
        (16, 32), (16, 64), (8, 32), (8, 64), (8, 112)
    ]  # fmt: skip
    assert both[:2] == first[2:]
    assert [r["loss"] for r in both[2:4]] == [r["loss"] for r in first[:2]]
    assert scaling.sweep(tiny(longer=(8,), further=(7,)), path) == both
    with pytest.raises(ConfigError, match="holds another sweep"):
        scaling.sweep(tiny(), path)
