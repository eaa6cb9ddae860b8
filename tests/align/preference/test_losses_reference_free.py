"""Losses on mean log-probabilities: odds that stay finite, and a margin."""

import math

import mpmath
import pytest
import torch

from mathlm.align import log_odds, orpo_loss, simpo_loss
from mathlm.errors import InputError


@pytest.mark.parametrize("x", [-1e-12, -1e-8, -0.1, -math.log(2), -5.0, -700.0])
def test_log_odds_are_those_of_60_digits(x):
    with mpmath.workdps(60):
        p = mpmath.exp(mpmath.mpf(x))
        expected = float(mpmath.log(p / (1 - p)))
    assert log_odds(torch.tensor([x])).item() == pytest.approx(expected, rel=1e-12, abs=1e-15)


def test_orpo_is_finite_where_the_model_is_nearly_certain():
    """At log p = -1e-8 in single precision 1 - exp(x) is 0, and its logarithm was -inf."""
    chosen = torch.tensor([-1e-8], dtype=torch.float32, requires_grad=True)
    loss = orpo_loss(chosen, torch.tensor([-3.0], dtype=torch.float32))
    loss.backward()
    assert loss.isfinite()
    assert chosen.grad.isfinite()


def test_without_weight_orpo_is_the_surprise_of_the_chosen_answer():
    chosen, rejected = -torch.rand(2, 5)
    assert torch.equal(orpo_loss(chosen, rejected, 0), -chosen)


def test_orpo_weighs_the_odds_by_a_tenth_unless_told():
    """Both are as likely as not: log 2, and log σ(0) = -log 2."""
    half = torch.tensor([0.5]).log()
    assert orpo_loss(half, half).item() == pytest.approx(1.1 * math.log(2), rel=1e-15)


def test_certainty_has_no_odds():
    with pytest.raises(InputError, match=r"log1mexp needs x < 0, got 0.0"):
        orpo_loss(torch.tensor([0.0]), torch.tensor([-1.0]))


def test_simpo_is_a_half_where_the_margin_is_just_met():
    """β (a - b) = γ: -log σ(0) = log 2; β = 2 and γ = 1 are what it takes if not told."""
    a, b = torch.tensor([-1.0]), torch.tensor([-1.5])
    for found in (simpo_loss(a, b, beta=2, gamma=1), simpo_loss(a, b)):
        assert found.item() == pytest.approx(math.log(2), rel=1e-15)


@pytest.mark.parametrize(
    ("loss", "options", "match"),
    [
        (orpo_loss, {"weight": -1}, "weight=-1 must be at least 0"),
        (simpo_loss, {"beta": 0}, "beta=0 must be a positive, finite number"),
        (simpo_loss, {"gamma": -1}, "gamma=-1 must be at least 0"),
    ],
    ids=["orpo", "simpo-beta", "simpo-gamma"],
)
def test_options_out_of_range_are_refused(loss, options, match):
    with pytest.raises(InputError, match=match):
        loss(torch.tensor([-1.0]), torch.tensor([-2.0]), **options)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("loss", [orpo_loss, simpo_loss])
def test_shapes_that_differ_are_named(loss):
    with pytest.raises(InputError, match=r"chosen \(3,\), mean_logp_rejected \(2,\)"):
        loss(-torch.ones(3), -torch.ones(2))
    with pytest.raises(InputError, match=r"chosen \(3,\), mean_logp_rejected \(3, 1\)"):
        loss(-torch.ones(3), -torch.ones(3, 1))


@pytest.mark.parametrize("side", ["chosen", "rejected"])
def test_simpo_refuses_what_is_no_log_probability(side):
    """As surprises would be, whose sign is the other."""
    given = {"chosen": -torch.ones(2), "rejected": -torch.ones(2)}
    given[side][1] = 0.7
    with pytest.raises(InputError, match=rf"mean_logp_{side} at \[1\] is 0.7: .* at most 0"):
        simpo_loss(*given.values())


def test_simpo_takes_certainty_and_its_rounding():
    zero = torch.tensor([0.0, 1e-7])
    assert simpo_loss(zero, zero, gamma=0).tolist() == pytest.approx([math.log(2)] * 2)
