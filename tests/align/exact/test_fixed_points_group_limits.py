"""Expected updates of groups against the losses themselves, and where they lead."""

import pytest
import torch
from align.exact.toy_worlds import ended, other, plain, standard

from mathlm.align import group_advantages, grpo_loss, kl_k2
from mathlm.align.exact import (
    at_own_spread,
    follow,
    group_limit_loss,
    next_token_table,
    reverse_tilt,
    token_tilted,
)
from mathlm.errors import InputError

BETA = 0.5


def free(world, logp):
    """Logits of every prefix that make this distribution."""
    return next_token_table(world, logp).requires_grad_()


def sampled_gradients(world, z, groups, samples):
    """Gradients of the published loss on many groups of the first prompt, one for each."""
    table = z.log_softmax(-1)
    tokens, ref = world.prefixes.along(table)[0], next_token_table(world, world.logp_ref)
    ref = world.prefixes.along(ref)[0]
    drawn = torch.multinomial(tokens.sum(-1).exp().detach().expand(groups, -1), samples, True)
    for y in drawn:
        A = group_advantages(world.rewards[0, y][None])[0]
        logp, mask = tokens[y], world.prefixes.real[y]
        loss = grpo_loss(logp, logp.detach(), ref[y], A, mask, beta=BETA).mean()
        yield torch.autograd.grad(loss, z, retain_graph=True)[0][0]


@pytest.mark.parametrize("make", [plain, ended])
def test_it_is_the_mean_gradient_of_the_published_loss_on_large_groups(make):
    world = make()
    z = free(world, other(world))
    limit = group_limit_loss(world, z.log_softmax(-1), BETA)[0]
    (exact,) = torch.autograd.grad(limit, z)
    found = torch.stack(list(sampled_gradients(world, z, 30, 4000)))
    error = found.std(0) / 30**0.5
    assert ((found.mean(0) - exact[0]).abs() < 5 * error + 1e-4).all()
    assert exact.abs().max() > 0.02


def test_without_spread_and_with_k2_of_whole_texts_it_would_be_the_gradient_of_the_objective():
    world = plain()
    z = free(world, other(world))
    table = z.log_softmax(-1)
    reward = group_limit_loss(world, table, 0, spread=False, mean_of_tokens=False).sum()
    logp, logp_ref = world.prefixes.along(table).sum(-1), world.logp_ref
    price = (logp.exp().detach() * kl_k2(logp, logp_ref)).sum()
    (found,) = torch.autograd.grad(reward + BETA * price, z)
    (exact,) = torch.autograd.grad(-world.objective(logp_of(world, z), BETA).sum(), z)
    assert (found - exact).abs().max() < 1e-12


def logp_of(world, z):
    return world.prefixes.along(z.log_softmax(-1)).sum(-1)


def test_following_the_exact_objective_ends_at_the_optimum():
    world = ended()

    def loss(table):
        return -world.objective(world.prefixes.along(table).sum(-1), BETA)

    end = follow(world, loss, world.logp_ref)
    assert world.kl(end, world.optimum(BETA).logp).max() < 1e-12


@pytest.mark.parametrize("spread", [True, False])
def test_following_the_published_loss_ends_at_the_fixed_point_in_closed_form(spread):
    world = plain()

    def solved(rewards):
        return token_tilted(world, rewards, BETA, reverse_tilt)

    end = follow(
        world, lambda t: group_limit_loss(world, t, BETA, spread=spread), world.logp_ref
    )
    known = at_own_spread(solved, world.rewards, world.logp_ref) if spread else None
    known = solved(world.rewards) if known is None else known
    assert (end.exp() - known.exp()).abs().max() < 1e-6


def test_the_mean_over_tokens_moves_the_end_where_lengths_differ():
    world = ended()

    def end(mean):
        return follow(
            world,
            lambda t: group_limit_loss(world, t, BETA, mean_of_tokens=mean),
            world.logp_ref,
            close=1e-7,
        )

    assert world.kl(end(True), end(False)).max() > 1e-3


@pytest.mark.slow
def test_on_the_standard_world_the_published_loss_ends_far_from_the_optimum():
    world = standard()
    best = world.optimum(BETA)
    end = follow(
        world, lambda t: group_limit_loss(world, t, BETA), world.logp_ref, rate=1, close=1e-8
    )
    share = world.objective(end, BETA).mean() / best.value.mean()
    assert world.kl(end, best.logp).mean() == pytest.approx(
        float((best.value - world.objective(end, BETA)).mean()) / BETA
    )
    assert world.kl(end, best.logp).mean() > 20 * 0.02
    assert share < 0.75


def test_a_policy_that_says_one_thing_has_no_spread_to_divide_by():
    world = plain()
    one = torch.full_like(world.logp_ref, -torch.inf)
    one[:, 0] = 0.0
    table = next_token_table(world, one).nan_to_num(neginf=-800.0)
    with pytest.raises(InputError, match="do not differ"):
        group_limit_loss(world, table, BETA, estimate=lambda a, b: 0 * a)


def test_too_few_steps_are_an_error():
    world = plain()
    with pytest.raises(InputError, match="most=2 steps"):
        follow(world, lambda t: group_limit_loss(world, t, BETA), world.logp_ref, most=2)
