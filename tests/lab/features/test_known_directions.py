import json

import pytest
import torch

from lab.features import known_directions as study
from mathlm.interpret import SparseAutoencoder, matched_cosine


@pytest.fixture(autouse=True)
def single():
    torch.set_default_dtype(torch.float32)


def test_vectors_are_sums_of_few_directions_of_length_one():
    """By hand: an amount has the mean 1, so a vector on average 64 · 0.05 = 3.2 directions."""
    x, true = study.known(0.05, 1)
    torch.testing.assert_close(true.norm(dim=1), torch.ones(64))
    amounts = torch.linalg.lstsq(true.sum(0)[:, None], x.mean(0)[:, None]).solution
    assert amounts.item() == pytest.approx(0.05, abs=0.005)


@pytest.mark.parametrize("seed", range(3))
def test_no_dictionary_begins_with_the_directions_it_has_to_find(seed):
    """A generator of the same seed would draw the same numbers for both."""
    torch.manual_seed(study.START + seed)
    start = SparseAutoencoder(study.WIDTH, study.FEATURES).directions.detach()
    assert matched_cosine(start, study.known(0.05, seed)[1]).max() < 0.9


@pytest.mark.slow
def test_longer_training_finds_what_the_short_one_of_the_record_leaves_out():
    assert study.share_found(0.1, 0) < 0.7
    assert study.share_found(0.1, 0, steps=1500, lr=1e-2) > 0.9


def test_every_seed_is_recorded_in_every_arm(tmp_path):
    path = tmp_path / "r.json"
    command = f"--seeds 3 4 --steps 3 4 --vectors 300 --record {path}".split()
    found = study.main(command)
    assert json.loads(path.read_text())["results"] == found
    assert {len(row) for part in found.values() for row in part.values()} == {2}
    assert list(found["dead"]) == list(study.ARMS)
