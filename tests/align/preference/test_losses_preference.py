"""Losses on pairs, against numbers worked out by hand, and their gradients."""

import itertools
import math
import re

import numpy as np
import pytest
import torch
from torch.nn.functional import logsigmoid
from witnesses import alignment

from mathlm.align import (
    dpo_loss,
    hinge_loss,
    implicit_reward,
    ipo_loss,
    kto_loss,
    length_normalized_reward,
    orpo_loss,
    robust_dpo_loss,
    simpo_loss,
)
from mathlm.errors import InputError

LOG = math.log
H = torch.tensor([0.0, 10.0, 20.0], dtype=torch.float64)  # differences of log-ratios


def pair():
    """Log-probabilities and lengths of the fixture, chosen and rejected."""
    logp = torch.tensor([-LOG(4), -LOG(256)])
    return logp, torch.tensor([-LOG(64), -LOG(1024)]), torch.tensor([2, 4])


def losses():
    """Every loss on the one fixture, with β = 1/2."""
    logp, logp_ref, lengths = pair()
    rewards = implicit_reward(logp, logp_ref, 0.5)
    per_token = length_normalized_reward(logp, logp_ref, lengths, 0.5)
    good = torch.tensor([True, False])
    return {
        "dpo": dpo_loss(*rewards),
        "conservative": dpo_loss(*rewards, label_smoothing=0.25),
        "robust": robust_dpo_loss(*rewards, flip=0.25),
        "ipo": ipo_loss(*rewards, 0.5),
        "hinge": hinge_loss(*rewards),
        "length-normalized": dpo_loss(*per_token),
        "orpo": orpo_loss(*(logp / lengths), weight=0.5),
        "simpo": simpo_loss(*(logp / lengths), beta=2, gamma=LOG(4 / 3)),
        "kto, desirable": kto_loss(rewards, good, LOG(4), 0.5, 1, 3)[0],
        "kto, undesirable": kto_loss(rewards, good, LOG(4), 0.5, 1, 3)[1],
    }


BY_HAND = {
    "dpo": LOG(3 / 2),
    "conservative": 3 / 4 * LOG(3 / 2) + 1 / 4 * LOG(3),
    "robust": 3 / 2 * LOG(3 / 2) - 1 / 2 * LOG(3),
    "ipo": (LOG(4) - 1) ** 2,
    "hinge": 1 - LOG(2),
    "length-normalized": LOG(1 + 2 ** (-3 / 4)),
    "orpo": LOG(2) + 1 / 2 * LOG(4 / 3),
    "simpo": LOG(4 / 3),
    "kto, desirable": 1 / 3,
    "kto, undesirable": 3 / 2,
}


@pytest.mark.parametrize("name", BY_HAND)
def test_each_loss_on_one_pair_by_hand(name):
    """Two tokens of probability 1/2 are chosen over four of probability 1/4.

    The reference gives them 1/64 and 1/1024, so the log-ratios are log 16 and log 4, and with
    β = 1/2 the rewards log 4 and log 2: margin log 2, difference of log-ratios h = log 4.

    - DPO: -log σ(log 2) = -log(2/3). Conservative, ε = 1/4: 3/4 log(3/2) + 1/4 log 3.
      Robust, ε = 1/4: (3/4 log(3/2) - 1/4 log 3) / (1/2).
    - IPO: (h - 1/(2 β))² = (log 4 - 1)². Hinge: 1 - log 2.
    - Per token the rewards are (log 4)/2 and (log 2)/4: margin 3/4 log 2, σ = 1/(1 + 2^(-3/4)).
    - ORPO, λ = 1/2: odds 1 and 1/3, their ratio 3: log 2 - 1/2 log(3/4).
    - SimPO, β = 2, γ = log(4/3): σ(2 log 2 - log(4/3)) = σ(log 3) = 3/4.
    - KTO, KL = log 4: z₀ = log 2; 1 - σ(log 4 - log 2) = 1/3, and 3 (1 - σ(log 2 - log 2)).
    """
    assert losses()[name].item() == pytest.approx(BY_HAND[name], rel=1e-12)


def test_no_two_losses_are_one():
    values = sorted(value.item() for value in losses().values())
    assert all(b - a > 1e-3 for a, b in itertools.pairwise(values))


@pytest.mark.parametrize(
    ("loss", "expected"),
    [
        (lambda r, z: dpo_loss(r, z), [0.6931471806, 0.3132616875, 0.1269280110]),
        (lambda r, z: ipo_loss(r, z, 0.1), [25.0, 25.0, 225.0]),
        (lambda r, z: hinge_loss(r, z), [1.0, 0.0, 0.0]),
        (lambda r, z: dpo_loss(r, z, 0.1), [0.6931471806, 0.4132616875, 0.3269280110]),
    ],
    ids=["dpo", "ipo", "hinge", "conservative"],
)
def test_the_values_that_others_got_wrong(loss, expected):
    """Differences of log-ratios 0, 10 and 20 at β = 0.1; row 30 of the acceptance."""
    found = loss(implicit_reward(H, torch.zeros(3), 0.1), torch.zeros(3))
    torch.testing.assert_close(found, torch.tensor(expected), rtol=0, atol=1e-10)


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_the_gradient_of_dpo_is_the_probability_of_error(smoothing):
    """∂ℓ/∂m = ε - σ(-m), and no other; at m = log((1 - ε)/ε) it is 0."""
    margin = torch.tensor([-3.0, 0.0, LOG(3), 5.0, LOG(4)], requires_grad=True)
    dpo_loss(margin, torch.zeros(5), smoothing).sum().backward()
    expected = smoothing - 1 / (1 + margin.detach().exp())
    torch.testing.assert_close(margin.grad, expected, rtol=1e-12, atol=1e-15)
    if smoothing:
        assert abs(margin.grad[-1].item()) < 1e-15


def test_the_gradient_of_dpo_in_the_weights_is_that_of_the_paper():
    """∇L = -β σ(-m) (∇ log π(chosen) - ∇ log π(rejected)), with ∇ log softmax by hand."""
    logits = torch.tensor([0.3, -0.4, 1.1], requires_grad=True)
    ref = torch.tensor([0.1, 0.2, -0.5]).log_softmax(0)
    rewards = implicit_reward(logits.log_softmax(0), ref, 0.7)
    dpo_loss(rewards[0], rewards[2]).backward()
    p, one = logits.detach().softmax(0), torch.eye(3)
    m = 0.7 * (p[0].log() - ref[0] - p[2].log() + ref[2])
    weight = 1 / (1 + m.exp())
    expected = -0.7 * weight * ((one[0] - p) - (one[2] - p))
    torch.testing.assert_close(logits.grad, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", ["direct", "identity"])
def test_values_and_gradients_are_those_written_out_by_hand(name, rng):
    """DPO and IPO against NumPy, in the policy's log-probabilities."""
    logp, logp_ref = (-rng.random((2, 7)) * 9 for _ in range(2))
    dy, beta = rng.standard_normal(7), 0.3
    forward = getattr(alignment, f"{name}_preference")
    value, cache = forward(tuple(logp), tuple(logp_ref), beta)
    slopes = getattr(alignment, f"{name}_preference_backward")(dy, cache)
    ours = torch.tensor(logp, requires_grad=True)
    rewards = implicit_reward(ours, torch.tensor(logp_ref), beta)
    loss = dpo_loss(*rewards) if name == "direct" else ipo_loss(*rewards, beta)
    (loss * torch.tensor(dy)).sum().backward()
    np.testing.assert_allclose(loss.detach(), value, rtol=1e-12)
    np.testing.assert_allclose(ours.grad, np.stack(slopes), rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("flip", [0.0, 0.1, 0.4])
def test_robust_dpo_is_unbiased_under_flips(flip):
    """The mean over which labels are flipped is the loss of the true labels, exactly."""
    a, b = torch.randn(2, 50)
    mean = (1 - flip) * robust_dpo_loss(a, b, flip) + flip * robust_dpo_loss(b, a, flip)
    torch.testing.assert_close(mean, dpo_loss(a, b), rtol=1e-12, atol=1e-12)


def test_conservative_dpo_is_what_flips_make_of_dpo():
    a, b = torch.randn(2, 50)
    mean = 0.7 * dpo_loss(a, b) + 0.3 * dpo_loss(b, a)
    torch.testing.assert_close(dpo_loss(a, b, 0.3), mean, rtol=1e-12, atol=1e-12)


def test_ipo_has_its_least_at_a_finite_difference():
    """At h = 1/(2 β), from both sides; DPO's loss falls for ever."""
    beta = 0.25
    h = torch.tensor([1.0, 2.0, 3.0])
    assert ipo_loss(beta * h, torch.zeros(3), beta).tolist() == [1.0, 0.0, 1.0]


def test_large_margins_are_finite_in_single_precision():
    r = torch.tensor([-1e4, 1e4], dtype=torch.float32, requires_grad=True)
    zero = torch.zeros(2, dtype=torch.float32)
    total = dpo_loss(r, zero).sum() + robust_dpo_loss(r, zero, 0.1).sum()
    total.backward()
    assert total.isfinite()
    assert r.grad.isfinite().all()


def test_what_the_reference_says_of_the_prompt_cancels():
    """Adding a number to both log-ratios changes no loss of a difference."""
    a, b = torch.randn(2, 9)
    for loss in (dpo_loss, hinge_loss, lambda x, y: ipo_loss(x, y, 0.3)):
        torch.testing.assert_close(loss(a + 2, b + 2), loss(a, b), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("beta", [0, -0.1, math.inf, math.nan])
def test_a_price_that_is_none_is_refused(beta):
    with pytest.raises(InputError, match=r"beta=.* must be a positive, finite number"):
        implicit_reward(H, H, beta)
    with pytest.raises(InputError, match="beta="):
        ipo_loss(H, H, beta)


def test_shares_of_wrong_labels_are_below_a_half():
    with pytest.raises(InputError, match=r"label_smoothing=0.6 .* at most 0.5"):
        dpo_loss(H, H, 0.6)
    with pytest.raises(InputError, match=r"flip=0.5 .* below 0.5"):
        robust_dpo_loss(H, H, 0.5)
    assert torch.equal(dpo_loss(H, -H, 0.5), -(logsigmoid(2 * H) + logsigmoid(-2 * H)) / 2)


def test_the_reward_of_one_token_is_its_own_mean():
    found = length_normalized_reward(H, torch.ones(3), torch.tensor([1, 1, 1]), 0.1)
    assert torch.equal(found, implicit_reward(H, torch.ones(3), 0.1))


def test_an_answer_without_tokens_has_no_mean():
    with pytest.raises(InputError, match=r"the text at \[1\] has 0 tokens"):
        length_normalized_reward(H, H, torch.tensor([1, 0, 2]), 0.1)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("other", [(1,), (2,), (3, 1), ()], ids=str)
@pytest.mark.parametrize(
    "loss",
    [
        dpo_loss,
        hinge_loss,
        lambda a, b: robust_dpo_loss(a, b, 0.1),
        lambda a, b: ipo_loss(a, b, 0.1),
        lambda a, b: implicit_reward(a, b, 0.1),
        lambda a, b: length_normalized_reward(a, b, torch.ones(3), 0.1),
        lambda a, b: length_normalized_reward(a, a, b, 0.1),
    ],
    ids=["dpo", "hinge", "robust", "ipo", "reward", "per token", "lengths"],
)
def test_shapes_that_differ_are_named_and_nothing_is_spread(loss, other):
    """A column of three beside a row of three would be nine pairs."""
    given = re.escape(f"{tuple(H.shape)}") + ".*" + re.escape(f"{other}")
    with pytest.raises(InputError, match=f"the shapes differ: .*{given}"):
        loss(H, torch.ones(other))


def test_nan_stays_in_its_own_pair():
    """So that a trainer finds the samples that it came from."""
    a = torch.tensor([0.0, math.nan, 1.0])
    for loss in (dpo_loss, hinge_loss, lambda x, y: ipo_loss(x, y, 0.3)):
        assert loss(a, torch.zeros(3)).isnan().tolist() == [False, True, False]
