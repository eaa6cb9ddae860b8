"""The scores of rows by hand, and the area under the curve against its definition."""

import numpy as np
import pytest
import torch
from scipy.stats import mannwhitneyu
from torch import nn

from lab.evaluation import membership


class Fixed(nn.Module):
    """The same probabilities at every place: a half, a quarter, and two eighths."""

    def forward(self, ids):
        logp = torch.log(torch.tensor([1 / 2, 1 / 4, 1 / 8, 1 / 8]))
        return logp.expand(*ids.shape, 4)


def test_the_scores_of_a_row_by_hand():
    """Tokens after the first cost 1, 1, 2, 3, 3 bits; a fifth of five is the dearest one."""
    found = membership.scores(Fixed(), np.array([[3, 0, 0, 1, 2, 3]]))
    assert found["likelihood"] == pytest.approx([-2 * np.log(2)])
    assert found["min-k"] == pytest.approx([-3 * np.log(2)])


def test_two_of_nine_tokens_are_the_least_likely_fifth():
    found = membership.scores(Fixed(), np.array([[0, 0, 0, 0, 0, 0, 0, 0, 1, 2]]))
    assert found["min-k"] == pytest.approx([-2.5 * np.log(2)])


def test_the_area_is_the_share_of_won_comparisons():
    rng = np.random.default_rng(0)
    read, unread = rng.integers(0, 9, 40) + 1.0, rng.integers(0, 9, 70) * 1.0
    area = membership.separation(read, unread).area
    assert area == pytest.approx(mannwhitneyu(read, unread).statistic / (40 * 70))


def test_the_error_is_the_spread_over_samples():
    rng = np.random.default_rng(1)
    found = [
        membership.separation(rng.normal(0.5, 1, 60), rng.normal(0, 1, 90)) for _ in range(400)
    ]
    spread = np.std([x.area for x in found])
    assert np.mean([x.error for x in found]) == pytest.approx(spread, rel=0.12)  # 3 sd of a sd
