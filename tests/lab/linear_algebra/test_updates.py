"""Updates of a small GPT: what is cut, what is left, and the record of it."""

import json

import numpy as np
import pytest

from lab.linear_algebra import updates_study
from lab.linear_algebra.update_cuts import directions, random_part, shares_kept
from lab.linear_algebra.updates import gradient, train_twice
from mathlm import reference as ref


@pytest.fixture(scope="module")
def run():
    return train_twice(seed=1, steps=(3, 3))


@pytest.mark.slow
def test_the_whole_update_is_the_tuned_model_and_none_is_not(run):
    assert len(run.names) == 12
    assert run.loss_with(lambda W, update: W + update) == pytest.approx(run.tuned_loss)
    assert run.loss_with(lambda W, update: W) > run.tuned_loss + 1e-4


@pytest.mark.slow
def test_all_directions_keep_all_of_the_gain(run):
    kept = shares_kept(run, np.random.default_rng(0), ranks=(96,))
    for way in ("update", "matrix", "learned"):
        assert kept[way] == [pytest.approx(1, abs=1e-3)]


@pytest.mark.slow
def test_all_learned_cut_to_nothing_is_the_random_start(run):
    kept = shares_kept(run, np.random.default_rng(0), ranks=(0,))
    without = run.loss_with(lambda W, update: W)
    at_start = run.loss_of({name: run.start[name] for name in run.names})
    gain = without - run.tuned_loss
    assert kept["learned"] == [pytest.approx((without - at_start) / gain, rel=1e-6)]


def test_an_update_on_random_directions_has_their_rank(rng):
    update = rng.normal(size=(8, 6))
    part = random_part(update, 2, rng)
    assert np.linalg.matrix_rank(part) == 2
    assert np.linalg.norm(part) < np.linalg.norm(update)
    np.testing.assert_allclose(random_part(update, 6, rng), update)


@pytest.mark.slow
def test_directions_are_those_of_the_updates(run):
    found = directions(run, np.random.default_rng(0))
    name = run.names[0]
    sigma = np.linalg.svd(run.update(name), compute_uv=False)
    assert found[name][1] == pytest.approx(ref.effective_rank(sigma))
    assert all(1 <= used < chance for *both, chance in found.values() for used in both)


@pytest.mark.slow
def test_the_gradient_of_one_sequence_has_at_most_its_length_as_rank(run):
    G = gradient(run, "blocks.0.attention.W_v.weight", 4)
    assert G.shape == (96, 96)
    sigma = np.linalg.svd(G, compute_uv=False)
    assert sigma[3] > 1e-5 * sigma[0] > sigma[4]


@pytest.mark.slow
def test_the_study_records_every_seed(tmp_path):
    path = tmp_path / "record.json"
    rows = updates_study.main(f"--seeds 2 --steps 3 3 --record {path}".split())
    record = json.loads(path.read_text())
    assert record["runs"] == rows
    assert [row["seed"] for row in rows] == [0, 1]
    assert len(rows[0]["kept"]["update"]) == len(record["ranks"])
    assert rows[0]["tuned_loss"] != rows[1]["tuned_loss"]
