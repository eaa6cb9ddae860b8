import math

import pytest
import torch
from align.exact.toy_worlds import ended, moved, narrow, other, plain, standard

from mathlm.align.exact import (
    World,
    kl_by_token,
    next_token_table,
    policy_values,
    soft_values,
    token_advantages,
)

WORLDS = pytest.mark.parametrize("make", [plain, ended, standard])


@WORLDS
def test_next_tokens_of_completions_are_those_of_the_model_that_made_them(make):
    world, model = make(), moved(make())
    with torch.no_grad():
        table = world.token_table(model)
        found = next_token_table(world, world.log_probabilities(model))
    assert torch.allclose(found, table, atol=1e-10, rtol=0)


@WORLDS
def test_next_tokens_multiply_to_completions(make):
    world = make()
    logp = other(world)
    again = world.prefixes.along(next_token_table(world, logp)).sum(-1)
    assert torch.allclose(again, logp, atol=1e-12, rtol=0)


def backward(world, beta):
    """V* by its recursion, from the ends to the beginning."""
    tree, reference = world.prefixes, next_token_table(world, world.logp_ref)
    values = torch.zeros(len(world.prompts), len(tree.depth))
    for i in reversed(range(len(tree.depth))):
        ends = world.rewards[:, tree.leaf[i].clamp_min(0)]
        inner = values[:, tree.next[i].clamp_min(0)]
        behind = torch.where(tree.leaf[i] >= 0, ends, inner)
        values[:, i] = beta * (reference[:, i] + behind / beta).logsumexp(-1)
    return values


@WORLDS
@pytest.mark.parametrize("beta", [0.1, 0.5, 4.0])
def test_soft_values_obey_their_recursion(make, beta):
    world = make()
    assert torch.allclose(soft_values(world, beta), backward(world, beta), atol=1e-10, rtol=0)


@WORLDS
def test_the_optimum_token_by_token_is_the_reference_tilted_by_what_follows(make):
    world, beta = make(), 0.5
    V, tree = soft_values(world, beta), world.prefixes
    reference = next_token_table(world, world.logp_ref)
    tilted = reference + (tree.after(V, world.rewards) - V[..., None]) / beta
    optimal = next_token_table(world, world.optimum(beta).logp)
    assert torch.allclose(tilted, optimal, atol=1e-10, rtol=0)


def test_soft_values_without_a_price_are_the_best_that_can_come():
    world = ended()
    i = int(world.prefixes.next[0, 1])
    best = world.rewards[:, world.prefixes.inside[i]].amax(-1)
    assert torch.equal(soft_values(world, 0)[:, i], best)


def can_come(world):
    """(N, Y): which completions the reference may say behind each prefix."""
    return world.prefixes.inside & (world.logp_ref[0] > -math.inf)


def test_soft_values_without_a_price_leave_out_what_the_reference_never_says():
    world = narrow()
    can, values = can_come(world), soft_values(narrow(), 0)
    best = torch.stack([world.rewards[:, y].amax(1) for y in can[can.any(1)]], 1)
    assert torch.equal(values[:, can.any(1)], best)
    assert (values[:, ~can.any(1)] == -math.inf).all()


def test_behind_what_is_never_said_no_token_is():
    world = narrow()
    table, comes = next_token_table(world, world.logp_ref), can_come(world).any(1)
    assert not comes.all()
    assert (table[:, ~comes] == -math.inf).all()
    assert torch.allclose(table[:, comes].exp().sum(-1), torch.ones(()), atol=1e-12)


@pytest.mark.parametrize("make", [narrow, ended])
def test_a_policy_that_never_says_some_texts_has_values_and_divergences(make):
    world, never = make(), narrow().logp_ref == -math.inf
    logp = other(world).masked_fill(never, -math.inf).log_softmax(-1)
    root = policy_values(world, logp, 0.5)[:, 0]
    assert torch.allclose(root, world.objective(logp, 0.5), atol=1e-10, rtol=0)
    paid = kl_by_token(world, logp, world.logp_ref).sum(-1)
    assert torch.allclose(paid, world.kl(logp), atol=1e-12, rtol=0)


def test_soft_values_at_an_infinite_price_are_what_the_reference_earns():
    world = ended()
    assert torch.allclose(soft_values(world, math.inf), soft_values(world, 1e7), atol=1e-6)


@pytest.mark.parametrize("make", [plain, ended, narrow])
@pytest.mark.parametrize("beta", [1e4, 1e8])
def test_soft_values_at_a_large_price_are_near_what_the_reference_earns(make, beta):
    """By cumulants again; 32 bits lose no more than their last digits."""
    world, comes = make(), can_come(make()).any(1)
    mean = policy_values(world, world.logp_ref, 0)
    squares = policy_values(world.with_rewards(world.rewards.square()), world.logp_ref, 0)
    expected = (mean + (squares - mean.square()) / (2 * beta))[:, comes]
    found = soft_values(world, beta)[:, comes]
    assert torch.allclose(found, expected, atol=1e-7, rtol=0)
    logp, r = world.logp_ref.float(), world.rewards.float()
    single = soft_values(World(world.prompts, world.completions, logp, r), beta)[:, comes]
    assert torch.allclose(single.double(), expected, atol=1e-5, rtol=0)


@WORLDS
def test_values_of_a_policy_are_conditional_means(make):
    world, beta = make(), 0.5
    logp = other(world)
    values, tree = policy_values(world, logp, beta), world.prefixes
    i = int(tree.next[0, 1])
    inside = tree.inside[i]
    chance = logp[:, inside].softmax(-1)
    later = logp - tree.log_sums(logp)[:, [i]]  # log π(rest | prefix)
    later_ref = world.logp_ref - tree.log_sums(world.logp_ref)[:, [i]]
    earned = (world.rewards - beta * (later - later_ref))[:, inside]
    assert torch.allclose(values[:, i], (chance * earned).sum(-1), atol=1e-10, rtol=0)


@WORLDS
def test_the_value_of_the_empty_prefix_is_the_objective(make):
    world, beta = make(), 0.5
    logp = other(world)
    root = policy_values(world, logp, beta)[:, 0]
    assert torch.allclose(root, world.objective(logp, beta), atol=1e-10, rtol=0)


def test_the_optimal_policy_has_the_soft_values():
    world, beta = standard(), 0.5
    best = world.optimum(beta).logp
    assert torch.allclose(policy_values(world, best, beta), soft_values(world, beta), atol=1e-9)


def test_advantages_have_mean_0_under_the_policy():
    world = ended()
    logp = other(world)
    mean = (next_token_table(world, logp).exp() * token_advantages(world, logp, 0.5)).sum(-1)
    assert mean.abs().max() < 1e-12


def test_advantages_add_up_to_what_a_completion_earned_beyond_the_objective():
    world, beta = ended(), 0.5
    logp = other(world)
    added = world.prefixes.along(token_advantages(world, logp, beta)).sum(-1)
    earned = world.rewards - beta * (logp - world.logp_ref)
    beyond = earned - world.objective(logp, beta)[:, None]
    assert torch.allclose(added, beyond, atol=1e-10, rtol=0)


def test_at_the_optimum_no_token_is_better_than_another():
    world = standard()
    found = token_advantages(world, world.optimum(0.5).logp, 0.5)
    assert found.abs().max() < 1e-9


@WORLDS
def test_divergences_of_tokens_add_up_to_that_of_completions(make):
    world = make()
    p, q = other(world, 1), other(world, 2)
    by_token = kl_by_token(world, p, q)
    assert torch.allclose(by_token.sum(-1), world.kl(p, q), atol=1e-12, rtol=0)
    assert (by_token > 0).all()


def test_an_infinite_divergence_stays_with_its_token():
    """The policy begins as the other does; then it says what the other never says."""
    world = plain()
    p = torch.full((1, 9), 1 / 9).log().expand(2, 9)
    never = torch.tensor([False, False, True]).repeat(3)
    q = (torch.ones(9) / 6).log().masked_fill(never, -math.inf).expand(2, 9)
    found = kl_by_token(world, p, q)
    assert torch.allclose(found[:, 0], torch.zeros(2), atol=1e-12)
    assert (found[:, 1] == math.inf).all()
    assert (found.sum(-1) == world.kl(p, q)).all()


def test_tokens_that_nobody_says_have_a_finite_advantage():
    world = narrow()
    logp, reachable = other(world), world.logp_ref > -math.inf
    logp = logp.masked_fill(~reachable, -math.inf).log_softmax(-1)
    found, tree = token_advantages(world, logp, 0.5), world.prefixes
    comes = can_come(world).any(1)
    assert found[:, comes].isfinite().all()
    chance = next_token_table(world, logp).exp()[:, comes]
    assert (chance * found[:, comes]).sum(-1).abs().max() < 1e-12
    earned = world.rewards - 0.5 * (logp - world.logp_ref)
    beyond = earned - world.objective(logp, 0.5)[:, None]
    added = tree.along(found).sum(-1)
    assert torch.allclose(added[reachable], beyond[reachable], atol=1e-10, rtol=0)


def test_the_first_token_adds_the_divergence_of_first_tokens():
    world = plain()
    p, q = other(world, 1), other(world, 2)
    first = [x.exp().unflatten(1, (3, 3)).sum(-1) for x in (p, q)]
    expected = (first[0] * (first[0] / first[1]).log()).sum(-1)
    assert torch.allclose(kl_by_token(world, p, q)[:, 0], expected, atol=1e-12)
