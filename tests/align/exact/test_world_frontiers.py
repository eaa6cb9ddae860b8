import math

import pytest
import torch
from align.exact.toy_worlds import other, plain, standard

from mathlm.errors import InputError


def test_points_are_the_optima():
    world = plain()
    points = world.frontier([0, 0.5, math.inf])
    for i, beta in enumerate([0, 0.5, math.inf]):
        best = world.optimum(beta)
        assert torch.equal(points.reward[i], best.reward)
        assert torch.equal(points.kl[i], best.kl)
        assert torch.equal(points.value[i], best.value)


def test_reward_and_divergence_fall_as_the_price_rises():
    points = standard().frontier([0, 0.01, 0.1, 0.5, 1, 5, math.inf])
    assert (points.kl.diff(dim=0) < 1e-12).all()
    assert (points.reward.diff(dim=0) < 1e-12).all()


def test_the_slope_of_the_curve_is_the_price():
    beta, h = 0.5, 1e-5
    points = standard().frontier([beta - h, beta + h])
    slope = points.reward.diff(dim=0) / points.kl.diff(dim=0)
    assert torch.allclose(slope, torch.full_like(slope, beta), atol=1e-6)


def test_no_policy_has_more_reward_at_the_same_divergence():
    world = standard()
    points = world.frontier([0.05 * 1.1**i for i in range(80)])
    for seed in range(5):
        logp = other(world, seed)
        above = points.kl <= world.kl(logp)  # those that diverge less
        best = points.reward.masked_fill(~above, -math.inf).amax(0)
        assert (world.expectation(logp, world.rewards) < best).all()


def test_without_prices_there_is_no_curve():
    with pytest.raises(InputError, match="empty"):
        plain().frontier([])
