"""One ingredient at a time: what each changes in the model, in its steps and in the record."""

import json
import math

import numpy as np
import pytest
import torch
from torch import nn

from lab.ingredients import ingredients_study as study
from lab.ingredients.one_ingredient import held_out_bits, optimizers, schedule, train
from lab.ingredients.small_gpt import SIZES, START, Ingredients, build
from mathlm.errors import ConfigError
from mathlm.models import GPT, GPTConfig
from mathlm.optim import SGD, AdamW, Muon

IDS = np.random.default_rng(0).integers(97, 101, 6000).astype(np.uint8)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Single precision and a third of the width."""
    torch.set_default_dtype(torch.float32)
    monkeypatch.setitem(SIZES, "d_model", 32)


def matrices(model):
    return {name: p for name, p in model.named_parameters() if p.ndim == 2}


def test_the_baseline_is_the_gpt_of_the_package():
    torch.manual_seed(5)
    expected = GPT(GPTConfig(norm="rms", **SIZES, **START)).state_dict()
    for name, p in build(Ingredients(), seed=5).state_dict().items():
        torch.testing.assert_close(p, expected[name])


def test_starts_differ_by_their_factor_alone():
    """Unscaled: the two matrices of a block that write are √6 times larger at 3 blocks."""
    base, wide, unscaled = (
        matrices(build(Ingredients(**c), 0)) for c in ({}, {"std": 0.2}, {"scaled": False})
    )
    for name, p in base.items():
        writes = name.endswith(("W_o.weight", "W_out.weight"))
        torch.testing.assert_close(wide[name], 10 * p)
        torch.testing.assert_close(unscaled[name], p * (math.sqrt(6) if writes else 1))


def test_without_norms_nothing_is_normalized():
    model = build(Ingredients(norm="none"), 0)
    names = {type(m).__name__ for m in model.modules()}
    assert not names & {"RMSNorm", "LayerNorm"}
    assert sum(isinstance(m, nn.Identity) for m in model.modules()) == 7
    assert "LayerNorm" in {
        type(m).__name__ for m in build(Ingredients(norm="layer"), 0).modules()
    }


def test_muon_moves_the_matrices_of_the_blocks_and_adamw_the_rest():
    model = build(Ingredients(), 0)
    muon, adamw = optimizers(model, Ingredients(optimizer="muon", weight_decay=0.3))
    assert (type(muon), type(adamw)) == (Muon, AdamW)
    moved = [p for opt in (muon, adamw) for p in opt.param_groups[0]["params"]]
    assert {id(p) for p in moved} == {id(p) for p in model.parameters()}
    assert len(moved) == len(set(moved))
    assert adamw.param_groups[0]["params"][0] is model.token_embedding.weight
    assert muon.param_groups[0]["weight_decay"] == adamw.param_groups[0]["weight_decay"] == 0.3


def test_plain_descent_is_one_optimizer_with_momentum():
    (sgd,) = optimizers(build(Ingredients(), 0), Ingredients(optimizer="sgd", lr=0.3))
    assert type(sgd) is SGD
    assert sgd.param_groups[0]["momentum"] == 0.9


def test_the_step_size_rises_for_a_share_of_the_run():
    """A quarter of 8 steps: a third, two thirds, the peak; then down to a tenth, or not."""
    rate = schedule(Ingredients(lr=3.0, warmup=0.25), 8)
    assert [rate(t) for t in (0, 1, 2)] == pytest.approx([1.0, 2.0, 3.0])
    assert rate(8) == pytest.approx(0.3)
    flat = schedule(Ingredients(lr=3.0, warmup=0.25, schedule="constant"), 8)
    assert [flat(t) for t in (0, 1, 2, 7)] == pytest.approx([1.0, 2.0, 3.0, 3.0])


@pytest.mark.parametrize("optimizer", ["adamw", "sgd", "muon"])
def test_training_learns_that_four_letters_occur(optimizer, monkeypatch):
    """From 8 bits towards the 2 bits of four letters, all alike."""
    monkeypatch.setitem(SIZES, "n_layers", 1)
    recipe = Ingredients(optimizer=optimizer, lr=0.5 if optimizer == "sgd" else 1e-2)
    model, history = train(recipe, IDS, 16 * 512)
    assert history.shape == (16, 2)
    assert history[0, 0] == pytest.approx(math.log(256), abs=0.2)
    assert held_out_bits(model, IDS[:600]) < 3.5
    assert not model.training


def test_every_variant_reads_the_same_budget():
    rows = {size: train(Ingredients(batch_size=size), IDS, 4 * 128)[1] for size in (1, 2, 4)}
    assert {size: len(history) for size, history in rows.items()} == {1: 4, 2: 2, 4: 1}
    with pytest.raises(ConfigError, match="tokens=511 do not fill one batch of 4"):
        train(Ingredients(), IDS, 511)


def test_clipping_changes_steps_and_not_what_is_measured():
    """The first gradient is the same; after a first step cut to 1e-9, Adam's is as long."""
    free, cut = (train(Ingredients(clip=c), IDS, 3 * 512)[1] for c in (None, 0.1))
    assert free[0] == pytest.approx(cut[0])
    assert free[0, 1] > 0.1
    assert free[2, 0] != cut[2, 0]


def test_a_run_that_overflows_ends_and_says_so():
    _, history = train(Ingredients(optimizer="sgd", lr=1e30, warmup=0.0), IDS, 6 * 512)
    assert len(history) < 6
    assert history[-1].tolist() == [math.inf, math.inf]
    args = study.parse(["--tokens", str(6 * 512), "--held-out", "300"])
    row = study.run("SGD with momentum", 1e30, 0, args)
    assert row["held_out"] is None
    assert row["curve"][-1] is None
    assert math.isfinite(row["largest_norm"])


def test_bits_are_nats_per_target_over_log_2():
    """Equal logits: 8 bits for one of 256 bytes."""
    model = build(Ingredients(), 0)
    nn.init.zeros_(model.token_embedding.weight)
    assert held_out_bits(model, IDS[:300]) == pytest.approx(8, rel=1e-6)


def test_every_arm_changes_something_and_is_one_of_a_kind():
    recipes = [Ingredients(**changes) for changes in study.ARMS.values()]
    assert len(set(recipes)) == len(recipes)


def test_a_best_step_size_at_the_end_of_the_grid_asks_for_the_next_one():
    """Costs fall to the right: 8e-3 is tried; with its own neighbors worse, nothing is."""
    bits = {1e-3: {0: 3.0}, 2e-3: {0: 2.0}, 4e-3: {0: 1.0}}
    assert study.next_step_size({}, study.GRID) == 1e-3
    assert study.next_step_size(bits, study.GRID) == 8e-3
    assert study.next_step_size(bits | {8e-3: {0: 5.0}}, study.GRID) is None
    assert study.best_and_neighbor(bits | {8e-3: {0: 5.0}}) == [4e-3, 2e-3]


def test_arms_are_compared_at_their_own_best_step_size_and_seed_by_seed():
    """The arm is best at 1e-3 on average, the baseline at 2e-3; an overflow counts as ∞."""

    def rows(arm, lr, costs):
        return [
            {"arm": arm, "lr": lr, "seed": seed, "held_out": cost}
            for seed, cost in enumerate(costs)
        ]

    table = (
        rows("baseline", 1e-3, [3.0, 3.0, 3.0])
        + rows("baseline", 2e-3, [2.0, 2.5, 3.0])
        + rows("no clipping", 1e-3, [2.5, 3.0, 3.0])
        + rows("no clipping", 2e-3, [2.0, None, 2.0])
        + rows("no warm-up", 1e-3, [1.0, 1.0])
    )
    arms = study.finished(table)
    assert arms["baseline"] == study.Arm(2e-3, (2.0, 2.5, 3.0))
    assert arms["no clipping"].lr == 1e-3
    assert set(arms) == {"baseline", "no clipping"}  # two seeds are not three
    assert study.differences(arms)["no clipping"] == pytest.approx([0.5, 0.5, 0.0])


def test_the_record_keeps_finished_runs_and_refuses_another_study(tmp_path, monkeypatch):
    monkeypatch.setattr(study, "ARMS", {"baseline": {}})
    monkeypatch.setattr(study, "EDGES", ())
    monkeypatch.setattr(study, "MOST", 3)
    path = tmp_path / "record.json"
    command = ["--tokens", "1024", "--held-out", "300", "--record", str(path)]
    rows = study.main(command)
    assert [(r["lr"], r["seed"]) for r in rows[:3]] == [(lr, 0) for lr in study.GRID]
    assert len(rows) == 3 + 4  # two more seeds at two step sizes
    assert len(rows[0]["curve"]) == 2
    before = json.loads(path.read_text())["results"]
    assert study.main(command) == before
    with pytest.raises(ConfigError, match=r"holds another study: \{'arms'"):
        study.main([*command, "--held-out", "200"])
