import copy

import pytest
import torch
from align.exact.toy_worlds import ended, moved, other, plain, standard

from mathlm.align import (
    DPO,
    PPO,
    GroupCredit,
    PolicyAndValue,
    Reinforce,
    TokenCredit,
    ValueModel,
    leave_one_out_advantages,
    target_log_probabilities,
)
from mathlm.align.exact import WorldPairs, WorldRollouts, policy_gradient
from mathlm.errors import ConfigError, InputError

CREDIT = GroupCredit(baseline=leave_one_out_advantages, beta=0.5)


def test_rollouts_hold_what_the_models_and_the_world_say_of_them():
    world, policy = ended(), moved(ended())
    batch = WorldRollouts(world, policy, CREDIT, samples=8)(0)
    rows = batch["prompt_index"], batch["completion_index"]
    with torch.no_grad():
        logp = target_log_probabilities(policy, batch)
        logp_ref = target_log_probabilities(world.model, batch)
    assert torch.allclose(batch["logp_old"], logp, atol=1e-12, rtol=0)
    assert torch.allclose(batch["logp_ref"], logp_ref, atol=1e-10, rtol=0)
    assert torch.equal(batch["rewards"], world.rewards[rows])
    assert torch.equal(batch["lengths"], (batch["targets"] != -100).sum(1))


def test_an_iteration_shows_the_same_rows_in_each_epoch_and_the_next_shows_others():
    world = ended()
    data = WorldRollouts(world, moved(world), CREDIT, samples=6, epochs=2, minibatches=3)
    seen = [data(step)["completion_index"] for step in range(12)]
    epochs = [torch.cat(seen[i : i + 3]) for i in range(0, 12, 3)]
    assert torch.equal(epochs[0].sort().values, epochs[1].sort().values)
    assert not torch.equal(epochs[0], epochs[1])
    assert not torch.equal(epochs[1].sort().values, epochs[2].sort().values)


@pytest.mark.parametrize("minibatches", [1, 2])
def test_rollouts_that_are_not_at_hand_are_refused(minibatches):
    world = ended()
    data = WorldRollouts(
        world, moved(world), CREDIT, samples=4, epochs=2, minibatches=minibatches
    )
    with pytest.raises(InputError, match=r"step 1 is within iteration 0, .* of -1 are"):
        data(1)
    data(0)
    assert len(data(1)["ids"]) == 8 // minibatches
    later = 2 * minibatches + 1
    with pytest.raises(InputError, match=rf"step {later} is within iteration 1, .* of 0 are"):
        data(later)


def test_no_two_epochs_have_the_same_order():
    """Neither of one iteration nor of different ones; 12 rows have 479,001,600 orders."""

    def credit(batch, samples):
        return {"row": torch.arange(2 * samples)}

    world = ended()
    data = WorldRollouts(world, moved(world), credit, samples=6, epochs=2, minibatches=3)
    rows = [data(step)["row"] for step in range(18)]
    orders = {tuple(torch.cat(rows[i : i + 3]).tolist()) for i in range(0, 18, 3)}
    assert len(orders) == 6
    assert all(sorted(order) == list(range(12)) for order in orders)


def test_rollouts_hold_the_values_before_each_token():
    world, value = ended(), ValueModel(ended().reference())
    torch.nn.init.normal_(value.head.weight)
    batch = WorldRollouts(world, moved(world), TokenCredit(), samples=8, value=value)(0)
    with torch.no_grad():
        said = value(batch["ids"]).masked_fill(batch["targets"] == -100, 0.0)
    assert torch.allclose(batch["values"], said, atol=1e-12, rtol=0)


def test_the_same_seed_and_weights_give_the_same_rows():
    world = ended()
    first, again, third = (
        WorldRollouts(world, moved(world), CREDIT, samples=6, seed=s)(5) for s in (1, 1, 2)
    )
    assert torch.equal(first["completion_index"], again["completion_index"])
    assert not torch.equal(first["completion_index"], third["completion_index"])


def test_rollouts_are_written_by_the_policy_as_it_is():
    world, policy = standard(), moved(standard())
    data = WorldRollouts(world, policy, CREDIT, samples=2000)
    for step in range(2):
        drawn = data(step)["completion_index"].unflatten(0, (4, -1))
        with torch.no_grad():
            chance = world.log_probabilities(policy).exp()
            share = torch.stack([x.bincount(minlength=216) for x in drawn]) / 2000
            assert ((share - chance).abs() < 5 * (chance / 2000).sqrt() + 2e-3).all()
            policy.head.weight.mul_(0.5)


def gradient_on(world, model, objective, data):
    """Gradient of the mean loss on many rollouts."""
    loss, count = objective(model, data(0))
    return policy_gradient(-loss / count, model)


def alignment(found, exact):
    """Cosine of the angle between two gradients."""
    a, b = (torch.cat([g[name].flatten() for name in exact]) for g in (found, exact))
    return torch.cosine_similarity(a, b, dim=0)


def test_on_many_rollouts_leave_one_out_has_the_exact_gradient():
    world, policy = plain(), moved(plain())
    data = WorldRollouts(world, policy, CREDIT, samples=40_000)
    found = gradient_on(world, policy, Reinforce(read=world.read), data)
    exact = world.policy_gradient(policy, 0.5)
    assert alignment(found, exact) > 0.998
    ratio = found["head.weight"].norm() / exact["head.weight"].norm()
    assert ratio == pytest.approx(1, abs=0.03)


def test_on_many_rollouts_ppo_has_the_direction_of_the_exact_gradient():
    world, policy = plain(), moved(plain())
    value = ValueModel(copy.deepcopy(policy))
    credit = TokenCredit(lam=1.0, beta=0.5)
    data = WorldRollouts(world, policy, credit, samples=40_000, value=value)
    objective = PPO(read=world.read, read_values=world.read_values)
    both = PolicyAndValue(policy, value)
    found = gradient_on(world, both, objective, data)
    exact = world.policy_gradient(policy, 0.5)
    assert alignment({n: found[f"policy.{n}"] for n in exact}, exact) > 0.998


def test_pairs_are_won_as_often_as_rewards_say():
    world = plain()
    batch = WorldPairs(world, 40_000)(0)
    won = torch.zeros(9, 9)
    rows = batch["chosen_ids"][:, 0] == 0  # of the first prompt
    number = {name: 3 * batch[f"{name}_targets"][rows, 0] + batch[f"{name}_targets"][rows, 1]
              for name in ("chosen", "rejected")}  # fmt: skip
    won.index_put_((number["chosen"], number["rejected"]), torch.ones(()), accumulate=True)
    r, n = world.rewards[0], won + won.mT
    chance = (r[:, None] - r).sigmoid()
    z = (won - n * chance) / (n * chance * (1 - chance)).sqrt()
    assert z.abs().max() < 4.5


def test_pairs_carry_what_the_reference_says():
    world = ended()
    batch = WorldPairs(world, 10)(3)
    for name in ("chosen", "rejected"):
        row = {k: batch[f"{name}_{k}"] for k in ("ids", "targets")}
        with torch.no_grad():
            said = target_log_probabilities(world.model, row).sum(1)
        assert torch.allclose(batch[f"{name}_logp_ref"], said, atol=1e-10, rtol=0)


def test_the_optimum_has_no_gradient_of_dpo_on_average():
    world, beta = plain(), 0.5
    z = world.optimum(beta).logp[0].clone().requires_grad_()
    h = beta * (z.log_softmax(-1) - world.logp_ref[0])
    won = (world.rewards[0][:, None] - world.rewards[0]).sigmoid()
    loss = -(won * torch.nn.functional.logsigmoid(h[:, None] - h)).sum()
    assert torch.autograd.grad(loss, z)[0].abs().max() < 1e-12


def test_pairs_depend_on_seed_and_step_alone():
    world = ended()
    one, same, later = WorldPairs(world, 20), WorldPairs(world, 20), WorldPairs(world, 20)(2)
    assert torch.equal(one(1)["chosen_ids"], same(1)["chosen_ids"])
    assert not torch.equal(one(1)["chosen_ids"], later["chosen_ids"])


def test_pairs_can_be_drawn_from_another_distribution():
    world = plain()
    batch = WorldPairs(world, 2000, logq=other(world))(0)
    assert DPO(read=world.read)(world.reference(), batch)[1] == 2000
    share = (batch["chosen_targets"][:1000] == 0).double().mean()
    uniform = (WorldPairs(world, 2000)(0)["chosen_targets"][:1000] == 0).double().mean()
    assert abs(share - uniform) > 0.05


@pytest.mark.parametrize("sizes", [{"samples": 0}, {"samples": 2, "minibatches": 5}])
def test_sizes_of_rollouts_that_do_not_fit_are_refused(sizes):
    with pytest.raises(ConfigError, match="minibatches"):
        WorldRollouts(ended(), moved(ended()), CREDIT, **sizes)


@pytest.mark.parametrize("pairs", [0, 3])
def test_each_prompt_has_as_many_pairs(pairs):
    with pytest.raises(ConfigError, match="multiple of 2"):
        WorldPairs(ended(), pairs)
