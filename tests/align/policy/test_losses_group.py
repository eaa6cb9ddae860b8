"""Losses of groups by hand, and their gradients by enumeration of a small world of texts."""

import math

import pytest
import torch
from torch.testing import assert_close

from mathlm.align import (
    centred_advantages,
    cispo_loss,
    corrected_grpo_loss,
    dapo_loss,
    dr_grpo_loss,
    group_advantages,
    grpo_loss,
    gspo_loss,
    kl_k3,
    leave_one_out_advantages,
    ppo_loss,
    rewards_with_kl,
    rloo_loss,
    sapo_loss,
    sequence_mean,
    sequence_sum,
)
from mathlm.errors import InputError

MASK = torch.tensor([[True, False, False], [True, True, True]])
E = math.e
WITH_REFERENCE = {grpo_loss: {}, corrected_grpo_loss: {}}
WITHOUT = {
    dr_grpo_loss: {"length": 4},
    dapo_loss: {},
    gspo_loss: {},
    cispo_loss: {"clip_low": 0.5, "clip_high": 0.7},
    sapo_loss: {},
}
LOSSES = [*WITH_REFERENCE, *WITHOUT, rloo_loss]
every = pytest.mark.parametrize("loss", LOSSES, ids=lambda f: f.__name__)


def run(loss, logp, old, ref, A, mask=MASK):
    if loss is rloo_loss:
        return loss(logp, A, mask)
    if loss in WITHOUT:
        return loss(logp, old, A, mask, **WITHOUT[loss])
    return loss(logp, old, ref, A, mask)


def test_one_fixture_tells_all_of_them_apart():
    """log ρ = 1 for a text of one token with A = 1, and -1, 0, 0 for three with A = -2.

    Cut at ε = 0.2, the surrogates are -1.2 and 1.6, 2, 2. log π is 0 where not said, so that
    log π/π_ref is 1 and -1 in all, and k₃ = 1/e and e - 2 at those two tokens. CISPO
    cuts ρ at 1.7 and 0.5. SAPO has 4 σ(ρ - 1) above the mean, 4/1.05 σ(1.05 (ρ - 1)) below.
    """
    logp = torch.tensor([[1.0, 9, 9], [-1, 0, 0]])
    zero, A = torch.zeros(2, 3), torch.tensor([1.0, -2.0])
    expected = {
        rloo_loss: [-1.0, -2.0],
        grpo_loss: [-1.2 + 0.04 / E, (5.6 + 0.04 * (E - 2)) / 3],
        dr_grpo_loss: [-1.2 / 4, 5.6 / 4],
        dapo_loss: [[-1.28, 0, 0], [1.6, 2, 2]],
        gspo_loss: [-1.0004, 2 * 0.9997],
        cispo_loss: [[-1.7, 0, 0], [2 * 0.5 * -1, 0, 0]],
        sapo_loss: [
            -4 / (1 + math.exp(1 - E)),
            2 / 3 * (4 / 1.05) * (1 / (1 + math.exp(1.05 * (1 - 1 / E))) + 0.5 + 0.5),
        ],
        corrected_grpo_loss: [-1.2 + 0.02, 5.6 + 0.02],
    }
    for loss, numbers in expected.items():
        found = run(loss, logp, zero, zero, A)
        assert_close(found, torch.tensor(numbers), rtol=0, atol=1e-12, msg=loss.__name__)


def test_the_published_loss_is_the_mean_over_tokens_of_clipped_ratios_and_k3():
    logp, old, ref = torch.randn(3, 2, 3)
    A = torch.randn(2)
    tokens = ppo_loss(logp, old, A[:, None].expand(2, 3)) + 0.1 * kl_k3(logp, ref)
    total, count = sequence_mean(tokens, MASK)
    found = grpo_loss(logp, old, ref, A, MASK, clip=0.2, beta=0.1)
    assert_close(found.sum() / 2, total / count)


def test_a_sequence_ratio_is_the_geometric_mean_of_its_tokens():
    """Inside the clip: s = exp((0.3 + 0.1 - 0.1)/3 · 1e-3)."""
    log_rho = 1e-3 * torch.tensor([[0.2, 0, 0], [0.3, 0.1, -0.1]])
    found = gspo_loss(log_rho, torch.zeros(2, 3), torch.ones(2), MASK)
    assert_close(found, -torch.tensor([2e-4, 1e-4]).exp(), rtol=0, atol=1e-15)


def gradient_weights(loss, log_rho, A):
    """Weight of -A ∇log π of one token, at each of the ratios."""
    logp = log_rho[:, None].clone().requires_grad_()
    one = torch.ones(len(logp), 1, dtype=torch.bool)
    loss(logp, torch.zeros_like(logp), torch.full((len(logp),), A), one).sum().backward()
    return -logp.grad[:, 0] / A


def test_the_weight_of_cispo_is_the_ratio_within_its_bounds():
    """As published nothing is cut below; the ratio of PPO would have weight 0 above 1.2."""
    log_rho = torch.tensor([-30.0, -1, 0, 1, math.log(5), 3, 1000])
    for A in (0.7, -0.7):
        found = gradient_weights(cispo_loss, log_rho, A)
        assert_close(found, torch.tensor([math.exp(-30), 1 / E, 1, E, 5, 5, 5]))


def test_the_weight_of_sapo_is_the_ratio_over_a_squared_hyperbolic_cosine():
    log_rho = torch.linspace(-3, 3, 13)
    rho = log_rho.exp()
    for A, tau in ((0.7, 1.0), (-0.7, 1.05)):
        expected = rho / (tau * (rho - 1) / 2).cosh().square()
        assert_close(gradient_weights(sapo_loss, log_rho, A), expected)
    assert_close(gradient_weights(sapo_loss, torch.tensor([1000.0]), 1.0), torch.zeros(1))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
@pytest.mark.parametrize("A", [1.0, -1.0])
def test_a_ratio_beyond_the_largest_number_has_gradient_0(dtype, A):
    logp = torch.tensor([[12.0, 500.0]], dtype=dtype, requires_grad=True)
    ones, mask = torch.tensor([A], dtype=dtype), torch.ones(1, 2, dtype=torch.bool)
    loss = sapo_loss(logp, torch.zeros_like(logp), ones, mask)
    loss.sum().backward()
    assert_close(loss.float().item(), -4 * A / (1.0 if A > 0 else 1.05), rtol=0.01, atol=0)
    assert logp.grad.tolist() == [[0.0, 0.0]]


@pytest.mark.parametrize(
    ("loss", "options", "message"),
    [
        (cispo_loss, {"clip_low": 1.1}, r"may go 1\.1 below 1 and 4\.0 above"),
        (cispo_loss, {"clip_low": 0.0}, r"may go 0\.0 below 1 and 4\.0 above"),
        (cispo_loss, {"clip_high": math.inf}, r"may go 1\.0 below 1 and inf above"),
        (cispo_loss, {"clip_high": 0.0}, r"may go 1\.0 below 1 and 0\.0 above"),
        (dapo_loss, {"clip_low": 0.0}, r"may go 0\.0 below 1 and 0\.28 above"),
        (dapo_loss, {"clip_high": math.inf}, r"may go 0\.2 below 1 and inf above"),
        (dapo_loss, {"clip_high": 0.0}, r"may go 0\.2 below 1 and 0\.0 above"),
        (sapo_loss, {"gate": 0.0}, r"gate=0\.0 must be a positive"),
        (sapo_loss, {"gate_negative": -1.0}, r"gate_negative=-1\.0 must be a positive"),
    ],
)
def test_bounds_and_gates_outside_their_range_are_refused(loss, options, message):
    with pytest.raises(InputError, match=message):
        loss(*torch.zeros(2, 2, 3), torch.zeros(2), MASK, **options)


@every
@pytest.mark.parametrize("poison", [1e6, -1e6, math.nan, math.inf])
def test_what_the_mask_leaves_out_changes_no_bit(loss, poison):
    def values(left_out):
        draw = torch.Generator().manual_seed(0)
        given = [torch.randn(2, 3, generator=draw) for _ in range(3)]
        given = [x.masked_fill(~MASK, left_out) for x in given]
        given[0].requires_grad_()
        found = run(loss, *given, torch.tensor([0.7, -0.4]))
        found.sum().backward()
        return found.detach(), given[0].grad

    for clean, poisoned in zip(values(0.0), values(poison), strict=True):
        assert torch.equal(clean, poisoned)
        assert poisoned.isfinite().all()


@pytest.mark.parametrize("loss", [dapo_loss, cispo_loss], ids=lambda f: f.__name__)
def test_an_answer_without_tokens_counts_nothing_whatever_its_advantage(loss):
    logp = torch.zeros(2, 3).requires_grad_()
    found = loss(
        logp,
        torch.zeros(2, 3),
        torch.tensor([math.nan, 1]),
        MASK & torch.tensor([[False], [True]]),
    )
    found.sum().backward()
    assert found[0].tolist() == [0, 0, 0]
    assert logp.grad[0].tolist() == [0, 0, 0]


@every
def test_a_loss_is_as_precise_as_the_log_probabilities(loss):
    """In float32 where the usual numbers have 64 bits."""
    assert (
        run(loss, *torch.zeros(3, 2, 3).float(), torch.ones(2).float()).dtype == torch.float32
    )


@every
def test_gradients_pass_through_the_policy_alone(loss):
    given = [torch.randn(2, 3).requires_grad_() for _ in range(3)]
    A = torch.randn(2).requires_grad_()
    run(loss, *given, A).sum().backward()
    assert [x.grad is not None for x in (*given, A)] == [True, False, False, False]


@every
def test_advantages_of_tokens_are_refused(loss, unchecked):
    with pytest.raises(InputError, match=r"advantages has shape \(2, 3\), expected \(2,\)"):
        run(loss, *torch.zeros(4, 2, 3))


@pytest.mark.parametrize("loss", [grpo_loss, gspo_loss, sapo_loss], ids=lambda f: f.__name__)
def test_an_empty_answer_is_refused_where_its_mean_would_be_taken(loss):
    empty = torch.tensor([[True, True, True], [False, False, False]])
    with pytest.raises(InputError, match="sequence 1 has no token that counts"):
        run(loss, *torch.zeros(3, 2, 3), torch.zeros(2), empty)


@pytest.mark.parametrize("loss", WITH_REFERENCE, ids=lambda f: f.__name__)
def test_a_reference_of_another_shape_is_refused_by_name(loss, unchecked):
    zeros = torch.zeros(2, 3)
    with pytest.raises(InputError, match=r"logp \(2, 3\), logp_ref \(2, 1\)"):
        loss(zeros, zeros, zeros[:, :1], torch.zeros(2), MASK)


@pytest.mark.parametrize("loss", WITH_REFERENCE, ids=lambda f: f.__name__)
def test_a_negative_weight_of_the_divergence_is_refused(loss):
    with pytest.raises(InputError, match=r"beta=-0\.1 must be at least 0 and finite"):
        loss(*torch.zeros(3, 2, 3), torch.zeros(2), MASK, beta=-0.1)


# A world of all texts of one or two tokens over 3: token 0 ends the text.
TEXTS = torch.tensor([[0, 0], [1, 0], [1, 1], [1, 2], [2, 0], [2, 1], [2, 2]])
WRITTEN = torch.tensor([[True, False]] + [[True, True]] * 6)
BETA = 0.5


def read(table):
    """Log-probabilities (7, 2) of the tokens of all texts under a table of 4 · 3 logits."""
    logp = table.log_softmax(-1)
    first = logp[0, TEXTS[:, 0]]
    second = logp[1 + TEXTS[:, 0], TEXTS[:, 1]]
    return torch.stack([first, torch.where(WRITTEN[:, 1], second, 0.0)], 1)


@pytest.fixture
def world():
    """A policy, log π_ref of all tokens, and the rewards of the texts."""
    table, ref = torch.randn(2, 4, 3)
    return table.requires_grad_(), read(ref), torch.randn(7)


def exact_gradient(world, beta):
    """∇(β KL(π ‖ π_ref) - E_π[r]), as an expectation over all texts."""
    table, ref, r = world
    logp = read(table).sum(1)
    cost = beta * (logp - ref.sum(1)) - r
    return torch.autograd.grad((logp.exp() * cost).sum(), table)[0]


def expected_gradient(world, loss_of_pair):
    """Average over all 49 groups of two texts of the gradient of the mean loss of a group."""
    table, ref, r = world
    logp, total = read(table), 0.0
    assert logp.sum(1).exp().sum().item() == pytest.approx(1, abs=1e-12)
    for i in range(7):
        for j in range(7):
            pair = torch.tensor([i, j])
            weight = logp[pair].sum().exp().detach()
            loss = loss_of_pair(logp[pair], ref[pair], r[pair], WRITTEN[pair])
            total = total + weight * loss.mean()
    return torch.autograd.grad(total, table)[0]


def corrected(logp, ref, r, mask):
    A = leave_one_out_advantages(r[None])[0]
    return corrected_grpo_loss(logp, logp, ref, A, mask, beta=BETA)


def leave_one_out(logp, ref, r, mask):
    paid = rewards_with_kl(r, logp, ref, mask, BETA)
    return rloo_loss(logp, leave_one_out_advantages(paid.sum(1)[None])[0], mask)


def published(logp, ref, r, mask):
    return grpo_loss(logp, logp, ref, group_advantages(r[None])[0], mask, beta=BETA)


@pytest.mark.parametrize("way", [corrected, leave_one_out], ids=["corrected", "rloo"])
def test_two_of_them_have_the_gradient_of_the_regularised_reward(way, world):
    assert_close(expected_gradient(world, way), exact_gradient(world, BETA), rtol=0, atol=1e-12)


def test_the_published_one_has_another(world):
    """Not even in direction."""
    found, exact = expected_gradient(world, published), exact_gradient(world, BETA)
    assert torch.cosine_similarity(found.flatten(), exact.flatten(), dim=0) < 0.99


def test_a_fixed_length_gives_the_gradient_of_the_reward_divided_by_it(world):
    """With the centred rewards of groups of two, half of it, once more."""

    def way(logp, ref, r, mask):
        return dr_grpo_loss(logp, logp, centred_advantages(r[None])[0], mask, length=2)

    found = expected_gradient(world, way)
    assert_close(found, exact_gradient(world, 0.0) / 4, rtol=0, atol=1e-12)


def test_k3_token_by_token_has_another_gradient_than_the_divergence_of_texts(world):
    """And k₂ token by token, too: what a token changes of later divergence is left out."""
    table, ref, _ = world

    def of_tokens(logp, ref, r, mask):
        return sequence_sum(kl_k3(logp, ref, mask), mask)

    found = expected_gradient(world, of_tokens)
    zero = (table, ref, torch.zeros(7))
    exact = exact_gradient(zero, 1.0)
    assert (found - exact).norm() > 0.1 * exact.norm()
