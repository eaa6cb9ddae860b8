"""The study of low ranks, on models and spectra that are known."""

import json
import math

import numpy as np
import pytest
import torch
from recipes.pretended_cuda import pretended_cuda

from lab.small_updates import low_rank_study, low_rank_tuning
from lab.small_updates.low_rank_cuts import (
    cut,
    first,
    loss_with,
    matrices,
    mean_loss,
    on_random,
)
from lab.small_updates.low_rank_data import PLAYS, Text, start_of_pretraining, text
from lab.small_updates.low_rank_merging import entries, merging, updates
from lab.small_updates.low_rank_subspace import Directions, tune_within
from lab.small_updates.low_rank_tuning import FULL, Way, tune
from lab.small_updates.update_spectra import by_chance, lowest, product, spectrum
from mathlm import adapt
from mathlm.models import GPT, GPTConfig


def tiny(seed=0):
    torch.manual_seed(seed)
    sizes = {"vocab_size": 11, "context": 8, "d_model": 16, "n_layers": 1, "n_heads": 2}
    kind = {"norm": "rms", "activation": "swiglu", "position": "rope", "bias": False}
    return GPT(GPTConfig(**sizes, **kind))


def batch(step):
    ids = torch.randint(11, (2, 8), generator=torch.Generator().manual_seed(step))
    return {"ids": ids, "targets": (ids + 1) % 11}


DATA = Text(batch, [batch(100), batch(101)])


def test_a_spectrum_of_two_directions():
    """ΔW = diag(3, 1, 0): energies 9 and 1; exp(-0.9 ln 0.9 - 0.1 ln 0.1) directions."""
    found = spectrum(np.diag([3.0, 1.0, 0.0]), np.full((3, 3), 2.0))
    assert found["energy"][:3] == pytest.approx([0.9, 1, 1])
    assert found["relative"] == pytest.approx(math.sqrt(10) / 6)
    assert found["effective_rank"] == pytest.approx(0.9**-0.9 * 0.1**-0.1)
    assert (found["rank_90"], found["sigma"]) == (1, [3.0, 1.0, 0.0])


def test_chance_uses_most_directions():
    assert 70 < by_chance((128, 128)) < 85


def test_a_product_shares_the_directions_that_it_has_in_common():
    """The second writes to axes 1 and 2, the first to axes 0 and 1: one of two is shared."""
    one, other = np.diag([2.0, 1.0, 0.0, 0.0]), np.diag([0.0, 2.0, 1.0, 0.0])
    found = product(one, other, 2)
    assert found["overlap"] == pytest.approx(0.5)
    assert found["overlap_by_chance"] == 0.5


def test_directions_at_45_degrees_share_one_half():
    """cos² 45° = 1/2."""
    one, other = np.outer([1.0, 0.0], [1.0, 0.0]), np.outer([1.0, 1.0], [1.0, 0.0])
    assert product(one, other, 1)["overlap"] == pytest.approx(0.5)


def test_the_lowest_point_of_a_parabola_is_found_between_the_points():
    lrs = [1e-4, 1e-3, 1e-2]
    losses = [(math.log10(lr) + 2.8) ** 2 for lr in lrs]
    assert lowest(lrs, losses) == pytest.approx(10**-2.8)
    assert lowest(lrs, [3.0, 2.0, 1.0]) == 1e-2


def test_the_first_directions_keep_most_and_random_ones_their_share():
    update = torch.diag(torch.tensor([3.0, 2.0, 1.0]))
    torch.testing.assert_close(first(update, 2), torch.diag(torch.tensor([3.0, 2.0, 0.0])))
    torch.testing.assert_close(on_random(update, 3, torch.Generator()), update)
    assert torch.linalg.matrix_rank(on_random(update, 1, torch.Generator())) == 1


def test_a_model_on_a_gpu_is_tuned_cut_and_measured_there():
    tuned = tune(tiny(), FULL, DATA, 1e-2, 3)
    expected = cut(tuned, tiny(), DATA.held_out, [1])
    with pretended_cuda() as mode:
        base, data = tiny().to("cuda"), DATA.to("cuda")
        again = tune(base, FULL, data, 1e-2, 3)
        found = cut(again, base, data.held_out, [1])
        within = mean_loss(tune_within(base, 9, data, 1e-2, 3), data.held_out)
    assert within == pytest.approx(
        mean_loss(tune_within(tiny(), 9, DATA, 1e-2, 3), DATA.held_out)
    )
    assert mode.calls > 100
    assert found["loss"] == pytest.approx(expected["loss"])
    assert found["random"] == pytest.approx(expected["random"])


def test_a_cut_runs_from_nothing_to_everything():
    base, tuned = tiny(), tune(tiny(), FULL, DATA, 1e-2, 10)
    found = cut(tuned, base, DATA.held_out, (1, 16))
    assert found["kept"][0] == 0
    assert found["kept"][-1] == pytest.approx(1)
    assert found["whole"] == pytest.approx(mean_loss(tuned, DATA.held_out))
    assert loss_with(tuned, tuned, torch.zeros_like, DATA.held_out) == pytest.approx(
        found["whole"]
    )


def test_tuning_lowers_the_loss_and_leaves_the_base():
    base = tiny()
    before = [p.clone() for p in base.parameters()]
    for way in (FULL, Way(rank=2)):
        tuned = tune(base, way, DATA, 1e-2, 10)
        assert mean_loss(tuned, DATA.held_out) < mean_loss(base, DATA.held_out) - 0.05
    assert all(map(torch.equal, before, base.parameters()))


def test_the_update_of_a_map_is_what_merging_adds():
    model = tune(tiny(), Way(rank=2), DATA, 1e-2, 3)
    delta = updates(model)
    merged = adapt.merge_lora(model, keep=False)
    for name, w in matrices(merged).items():
        torch.testing.assert_close(w, matrices(tiny())[name] + delta[name])


def test_an_update_below_half_a_step_is_lost():
    """In bfloat16 the numbers behind 1 are 1/128 apart."""
    base = {"W": torch.ones(4, dtype=torch.bfloat16)}
    delta = {"W": torch.tensor([1 / 128, 1 / 512, 0.0, 1.0])}
    found = entries(base, delta, 1.0)
    assert found["changed"] == 0.5
    assert found["error"] == pytest.approx(1 / 512 / float(delta["W"].norm()))
    assert entries(base, {"W": delta["W"][:2].repeat(2)}, 0.25)["changed"] == 0


def test_merging_in_float32_is_nearly_exact_and_bfloat16_is_not():
    model = tune(tiny().float(), Way(rank=2), DATA, 1e-2, 3)
    found = merging(model, DATA.held_out)
    assert abs(found["float32"]["merged"]["divergence"]) < 1e-9
    assert found["bfloat16"]["merged"]["divergence"] > 1e-9
    assert found["bfloat16"]["smaller"][-1]["error"] > found["bfloat16"]["smaller"][0]["error"]


def test_directions_move_the_weights_by_their_signs():
    model = tiny()
    directions = Directions(model, 3)
    model(batch(0)["ids"]).square().sum().backward()
    flat = torch.cat([p.grad.flatten() for p in model.parameters()])
    P = torch.zeros(len(flat), 3)
    P[torch.arange(len(flat)), directions.of] = directions.sign
    torch.testing.assert_close(directions.gradient(), P.T @ flat)
    directions.z.data = torch.tensor([0.1, -0.2, 0.3])
    directions.move()
    moved = torch.cat([p.detach().flatten() for p in model.parameters()])
    torch.testing.assert_close(moved, directions.start + P @ directions.z)


def test_more_directions_reach_a_lower_loss():
    few, many = (
        mean_loss(tune_within(tiny(), n, DATA, 1e-2, 10), DATA.held_out) for n in (2, 2000)
    )
    assert many < few - 0.05


def test_the_start_of_pretraining_is_still_seen_in_the_trained_weights():
    """Each matrix of normal entries: by chance the correlation would be below 0.02."""
    torch.set_default_dtype(torch.float32)
    start, trained = matrices(start_of_pretraining()), matrices(GPT.from_pretrained(PLAYS))
    pairs = [torch.stack([start[n].flatten(), trained[n].flatten()]) for n in start]
    assert min(float(torch.corrcoef(pair)[0, 1]) for pair in pairs) > 0.05


def test_the_texts_are_answers_and_bytes():
    answers, bytes_ = text("chatterbot", 2, 4), text("glosses", 2, 4)
    assert 0 < (answers.training(0)["targets"] >= 0).double().mean() < 0.9
    assert (bytes_.training(0)["targets"] >= 0).all()


@pytest.fixture
def small_study(monkeypatch):
    torch.set_default_dtype(torch.float32)
    monkeypatch.setattr(GPT, "from_pretrained", lambda path: tiny())
    monkeypatch.setattr("lab.small_updates.low_rank_long.start_of_pretraining", lambda: tiny(1))
    for name in ("low_rank_study", "low_rank_long"):
        monkeypatch.setattr(f"lab.small_updates.{name}.text", lambda *args, **kwargs: DATA)


def test_a_study_goes_on_where_it_was_left(small_study, tmp_path, monkeypatch):
    monkeypatch.setattr("lab.small_updates.low_rank_long.RANK", 2)
    ways = {("W_q", "W_v"): 2}
    monkeypatch.setattr(low_rank_study, "SAME_SIZE", ways)
    monkeypatch.setattr(low_rank_study, "STRENGTHS", {1: (1e-3, 1e-2, 1e-1)})
    options = ["--record", f"{tmp_path}/r.json", "--steps", "1", "--long", "2", "--ranks", "1"]
    low_rank_study.main([*options, "--parts", "long", "targets"])
    record = json.loads((tmp_path / "r.json").read_text())
    assert set(record["done"]) == {"long", "targets"}
    assert set(record["updates"]) == {"chatterbot", "glosses", "pretraining"}
    found = low_rank_study.main(options)
    assert set(found["done"]) == {"long", "full", "lora", "targets", "strengths", "subspace"}
    assert found["updates"] == record["updates"]


def test_a_way_of_low_rank_says_what_it_trains(small_study):
    row = low_rank_tuning.result(tiny(), Way(rank=1), DATA, 3e-3, 1)
    assert row["trainable"] > 0
