"""Coverage by hand and by drawing, and a network whose probabilities are known."""

import json

import numpy as np
import pytest
import torch

from lab.explanations import test_time
from lab.explanations.addition import sums
from mathlm.errors import InputError


class Even(torch.nn.Module):
    """Every digit has the probability 1/10."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.zeros(()))

    def forward(self, seen):
        return seen.new_zeros(len(seen), 30)


def test_a_network_that_knows_nothing_has_a_tenth_for_each_digit(rng):
    p = test_time.right_probabilities(Even(), *sums(2, 5, rng))
    np.testing.assert_allclose(p, 1e-3, rtol=1e-6)


def test_coverage_by_hand():
    """p = 1, 1/2, 0: one answer 1/2; two answers (1 + 3/4 + 0) / 3."""
    np.testing.assert_allclose(test_time.coverage([1, 0.5, 0], [1, 2]), [1 / 2, 7 / 12])


def test_coverage_is_the_share_among_drawn_answers(rng):
    p = rng.uniform(0, 0.3, 200)
    drawn = (rng.random((500, 200, 7)) < p[:, None]).any(-1).mean()
    assert test_time.coverage(p, [7])[0] == pytest.approx(drawn, abs=4 * 0.5 / 100_000**0.5)


def test_the_answers_for_half_of_the_questions():
    """ln 2 / p for a small p that all share; one answer if that is enough; never for p = 0."""
    found = test_time.samples_needed([1e-3] * 4, 0.5)
    assert found == pytest.approx(np.log(0.5) / np.log1p(-1e-3), rel=1e-3)
    assert test_time.samples_needed([0.9], 0.5) == 1
    assert test_time.samples_needed([0.0, 0.0, 0.5], 0.5) == float("inf")


@pytest.mark.parametrize(("p", "k"), [([1.2], [1]), ([], [1]), ([0.5], [0])])
def test_what_is_no_probability_or_no_answer_is_refused(p, k):
    with pytest.raises(InputError, match="expected probabilities in"):
        test_time.coverage(p, k)
    with pytest.raises(InputError, match="target=1"):
        test_time.samples_needed([0.5], 1)


def test_the_record_has_compute_and_coverage_of_each_network(tmp_path):
    path = tmp_path / "test-time.json"
    _ = test_time.main(
        ["--widths", "8", "--steps", "2", "20", "--seeds", "1", "--record", str(path)]
    )
    short, long = json.loads(path.read_text())["results"]
    n = 60 * 8 + 8 + 8 * 40 + 40
    assert (short["parameters"], short["answering"]) == (n, 2 * n)
    assert short["training"] == 6 * n * 256 * 2
    assert long["half"] < short["half"]
    assert long["coverage"] == sorted(long["coverage"])
