"""Every loss that trl defines as we do, against trl 1.16: its own code, on the same numbers."""

from itertools import pairwise

import pytest
import torch
from align import trl_alone
from torch.testing import assert_close

from mathlm.align import (
    bradley_terry_loss,
    centring_penalty,
    cispo_loss,
    clip_share,
    dapo_loss,
    dpo_loss,
    dr_grpo_loss,
    grpo_loss,
    gspo_loss,
    hinge_loss,
    implicit_reward,
    ipo_loss,
    kl_k3,
    kto_loss,
    length_normalized_reward,
    orpo_loss,
    rloo_loss,
    robust_dpo_loss,
    sapo_loss,
    simpo_loss,
    token_entropies,
    token_mean,
)

BETA = 0.3
MASK = torch.tensor([[True, False, False], [True, True, True], [True, True, False]])
LENGTHS = torch.tensor([3, 1, 4, 2, 2, 5])


def same(ours, theirs, atol=1e-12):
    """Values, and gradients in what both were given."""
    assert_close(ours, theirs, rtol=0, atol=atol)


@pytest.fixture
def pairs():
    """log π of three chosen and three rejected texts, and the same of a reference."""
    return [(-8 * torch.rand(3) - 1).requires_grad_() for _ in range(2)] + [
        -8 * torch.rand(3) - 1 for _ in range(2)
    ]


def rewards(pairs):
    chosen, rejected, ref_chosen, ref_rejected = pairs
    return implicit_reward(chosen, ref_chosen, BETA), implicit_reward(
        rejected, ref_rejected, BETA
    )


def per_token(pairs):
    chosen, rejected, ref_chosen, ref_rejected = pairs
    return (
        length_normalized_reward(chosen, ref_chosen, LENGTHS[:3], BETA),
        length_normalized_reward(rejected, ref_rejected, LENGTHS[3:], BETA),
    )


def gradients(loss, leaves):
    return torch.cat(torch.autograd.grad(loss, leaves, retain_graph=True))


DPO = {
    "sigmoid": lambda p: dpo_loss(*rewards(p)),
    "hinge": lambda p: hinge_loss(*rewards(p)),
    "ipo": lambda p: ipo_loss(*per_token(p), BETA),
    "robust": lambda p: robust_dpo_loss(*rewards(p), 0.1),
    "sigmoid_norm": lambda p: dpo_loss(*per_token(p)),
}


@pytest.mark.parametrize("kind", DPO)
def test_losses_on_pairs_are_those_of_trl(kind, pairs):
    """Its IPO is that of log-ratios per token."""
    smoothing = 0.1 if kind == "robust" else 0.0
    theirs = trl_alone.dpo(*pairs, kind, LENGTHS, BETA, smoothing)
    ours = DPO[kind](pairs).mean()
    same(ours, theirs)
    same(gradients(ours, pairs[:2]), gradients(theirs, pairs[:2]))


def test_no_two_of_them_are_the_same(pairs):
    found = sorted(loss(pairs).mean().item() for loss in DPO.values())
    assert min(b - a for a, b in pairwise(found)) > 1e-3


def test_conservative_dpo_is_trls_loss_with_smoothed_labels(pairs):
    chosen, rejected = rewards(pairs)
    theirs = trl_alone.conservative(chosen / BETA, rejected / BETA, BETA, 0.1)
    same(dpo_loss(chosen, rejected, label_smoothing=0.1), theirs)


def test_simpo_is_trls(pairs):
    chosen, rejected = pairs[:2]
    same(simpo_loss(chosen, rejected, 2.0, 0.7), trl_alone.simpo(chosen, rejected, 2.0, 0.7))


def test_orpo_is_trls_but_for_the_surprise_and_its_32_bits(pairs):
    chosen, rejected = pairs[:2]
    ours = orpo_loss(chosen, rejected, 0.5) + chosen
    same(ours, trl_alone.odds_ratio(chosen, rejected, 0.5).double(), atol=1e-6)


@pytest.mark.parametrize("kl", [0.4, -0.4])
def test_kto_is_trls(kl):
    """Of texts in any order: trl puts the desirable ones first, which a mean does not see."""
    logp = (-8 * torch.rand(5)).requires_grad_()
    ref, desirable = -8 * torch.rand(5), torch.tensor([True, False, False, True, False])
    theirs = trl_alone.kto(logp, ref, desirable, kl, BETA, (1.5, 0.7))
    reward = implicit_reward(logp, ref, BETA)
    ours = kto_loss(reward, desirable, kl, BETA, 1.5, 0.7).mean()
    same(ours, theirs)
    same(gradients(ours, [logp]), gradients(theirs, [logp]))


def test_losses_of_rewards_are_trls():
    chosen, rejected, margin = torch.randn(3, 5)
    same(bradley_terry_loss(chosen, rejected).mean(), trl_alone.reward(chosen, rejected))
    with_margin = bradley_terry_loss(chosen, rejected, margin).mean()
    same(with_margin, trl_alone.reward(chosen, rejected, margin))
    centred = bradley_terry_loss(chosen, rejected) + 0.01 * centring_penalty(chosen, rejected)
    same(centred.mean(), trl_alone.reward(chosen, rejected, centre=0.01))


def mean(pair):
    return pair[0] / pair[1]


GROUP = {
    "grpo": lambda x, o, r, A: grpo_loss(x, o, r, A, MASK, beta=0.0).mean(),
    "bnpo": lambda x, o, r, A: mean(token_mean(dapo_loss(x, o, A, MASK, 0.2, 0.2), MASK)),
    "dapo": lambda x, o, r, A: mean(token_mean(dapo_loss(x, o, A, MASK, 0.2, 0.28), MASK)),
    "dr_grpo": lambda x, o, r, A: dr_grpo_loss(x, o, A, MASK, 7).mean(),
    "cispo": lambda x, o, r, A: mean(token_mean(cispo_loss(x, o, A, MASK, 1.0, 0.7), MASK)),
    "sapo": lambda x, o, r, A: sapo_loss(x, o, A, MASK, 0.9, 1.2).mean(),
}


@pytest.fixture
def tokens():
    """log π of three texts' tokens, that of the policy that wrote and of a reference; A."""
    logp, old, ref = -3 * torch.rand(3, 3, 3)
    return logp.requires_grad_(), old, ref, torch.tensor([0.8, -1.3, 0.4])


@pytest.mark.parametrize("kind", GROUP)
def test_losses_of_groups_are_those_of_trl(kind, tokens):
    """Its epsilon_high for CISPO is the bound itself, not how far it is above 1."""
    clips = {"dapo": (0.2, 0.28), "cispo": (0.2, 1.7)}.get(kind, (0.2, 0.2))
    logp, old, ref, A = tokens
    theirs, _ = trl_alone.grpo(
        logp, old, ref, A, MASK, kind, clips=clips, max_completion_length=7
    )
    ours = GROUP[kind](*tokens)
    same(ours, theirs)
    same(gradients(ours, [logp]), gradients(theirs, [logp]))


def test_grpo_with_the_divergence_is_trls_and_so_is_what_it_reports(tokens):
    logp, old, ref, A = tokens
    theirs, metrics = trl_alone.grpo(logp, old, ref, A, MASK, beta=0.3)
    ours = grpo_loss(logp, old, ref, A, MASK, beta=0.3).mean()
    same(ours, theirs)
    same(gradients(ours, [logp]), gradients(theirs, [logp]))
    assert metrics["kl"] == pytest.approx([kl_k3(logp, ref)[MASK].mean().item()])
    share = clip_share(logp, old, A[:, None].expand(3, 3), 0.2, MASK)
    assert metrics["clip_ratio/region_mean"] == pytest.approx([share])


def test_a_ratio_of_texts_is_trls(tokens):
    """Near 1, so that some are cut and some are not."""
    logp, old, ref, A = tokens
    near = old + 1e-3 * (logp - old)
    theirs, _ = trl_alone.grpo(near, old, ref, A, MASK, "grpo", "sequence", (3e-4, 4e-4))
    ours = gspo_loss(near, old, A, MASK).mean()
    same(ours, theirs)
    same(gradients(ours, [logp]), gradients(theirs, [logp]))


def test_leave_one_out_has_trls_gradient_where_the_policy_wrote(tokens):
    """trl has a ratio in place of the logarithm; at ratio 1 their gradients are the same."""
    logp, _, _, A = tokens
    old = torch.where(MASK, logp, 0.0).sum(1).detach()
    theirs = trl_alone.rloo(logp, old, A, MASK)
    ours = rloo_loss(logp, A, MASK).mean()
    same(gradients(ours, [logp]), gradients(theirs, [logp]))


def test_entropies_are_trls():
    from trl.trainer.utils import entropy_from_logits

    logits = torch.randn(2, 3, 7)
    same(token_entropies(logits, torch.zeros(2, 3).long()), entropy_from_logits(logits))
