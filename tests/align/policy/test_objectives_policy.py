"""Objectives of policies, on the batches of rollouts."""

import math
from functools import cache

import pytest
import torch
from align.toy_policies import actor_and_critic, batches, policy

from mathlm.align import (
    GRPO,
    PPO,
    CorrectedGRPO,
    DrGRPO,
    GroupCredit,
    PolicyAndValue,
    Reinforce,
    TokenCredit,
    ValueModel,
    centred_advantages,
    group_advantages,
    kl_k3,
    no_baseline,
    sequence_mean,
)
from mathlm.align.exact import standard_world
from mathlm.align.masks import require_columns
from mathlm.errors import ConfigError, InputError
from mathlm.train.objectives import split

OBJECTIVES = {
    "reinforce": Reinforce(),
    "grpo": GRPO(beta=0.3),
    "corrected": CorrectedGRPO(beta=0.3),
    "dr": DrGRPO(length=5),
    "ppo": PPO(value_weight=0, beta=0.2, kl=kl_k3),
    "entropy": PPO(value_weight=0, entropy_bonus=0.1, aggregate=sequence_mean),
}


class Says(torch.nn.Module):
    """A policy whose log-probabilities stand in a table."""

    def __init__(self, logp):
        super().__init__()
        self.logp = torch.nn.Parameter(logp)


def read(model, batch, *, temperature=1.0):
    """What the table says."""
    return model.logp.masked_fill(batch["targets"] == -100, 0.0)


def by_hand(**columns):
    """Two texts, of two tokens and of one: log-ratios log 2, 0 and -log 2 to the old policy."""
    old = torch.tensor([[-1.0, -2.0], [-1.5, 0.0]])
    new = old + math.log(2) * torch.tensor([[1.0, 0.0], [-1.0, 0.0]])
    batch = {
        "ids": torch.tensor([[0, 1], [0, 2]]),
        "targets": torch.tensor([[1, 2], [3, -100]]),
        "logp_old": old,
        "logp_ref": old,
        "advantages": torch.tensor([1.0, -1.0]),
    }
    return Says(new), batch | columns


@pytest.mark.parametrize(("objective", "total", "count"), [
    # -A log π: text 1 has -(log 2 - 1 - 2), text 2 has -log 2 - 1.5
    (Reinforce(read=read), 3 - math.log(2) - math.log(2) - 1.5, 2),
    # clipped at 1.2 and 1; the ratio 1/2 of a bad text is cut at 0.8
    (DrGRPO(read=read, length=4), (-1.2 - 1.0 + 0.8) / 4, 2),
    (DrGRPO(read=read, length=4, clip=0.5), (-1.5 - 1.0 + 0.5) / 4, 2),
    (PPO(read=read, value_weight=0), -1.2 - 1.0 + 0.8, 3),
    # means over 2 and 1 tokens; k3 with r = 1/2 is log 2 - 1/2, with r = 2 it is 1 - log 2
    (GRPO(read=read, beta=1.0),
     (-2.2 + math.log(2) - 0.5) / 2 + 0.8 + 1 - math.log(2), 2),
    (CorrectedGRPO(read=read, beta=1.0), -2.2 + 0.8 + math.log(2) ** 2, 2),
    (PPO(read=read, value_weight=0, beta=1.0), -2.2 + 0.8 + math.log(2) ** 2, 3),
], ids=["reinforce", "dr", "wide", "ppo", "grpo", "corrected", "kl in the loss"])  # fmt: skip
def test_losses_by_hand(objective, total, count):
    loss, found = objective(*by_hand())
    assert loss.item() == pytest.approx(total, abs=1e-12)
    assert found == count


def test_values_and_entropy_by_hand():
    """Zero logits over seven tokens: H = log 7 at each token; values 0 and returns 2."""
    model = PolicyAndValue(policy(), ValueModel(policy()))
    with torch.no_grad():
        model.policy.token_embedding.weight.zero_()
    _, batch = by_hand(logp_old=torch.full((2, 2), -math.log(7)), advantages=torch.zeros(2))
    batch |= {"values": torch.zeros(2, 2), "returns": torch.full((2, 2), 2.0)}
    loss, count = PPO(value_weight=0.5, entropy_bonus=0.1)(model, batch)
    assert loss.item() == pytest.approx(3 * (0.5 * 2.0 - 0.1 * math.log(7)), abs=1e-12)
    assert count == 3


def test_clipped_values_by_hand():
    """Values 1, before 0, returns 2: within 1/4 of 0 the error is 7/4, which is the worse."""
    model, batch = by_hand(advantages=torch.zeros(2))
    batch |= {"values": torch.zeros(2, 2), "returns": torch.full((2, 2), 2.0)}
    ones = lambda model, batch: torch.ones(2, 2)  # noqa: E731
    ppo = PPO(value_weight=1, value_clip=0.25, read=read, read_values=ones)
    loss, count = ppo(PolicyAndValue(model, ValueModel(policy())), batch)
    assert loss.item() == pytest.approx(3 * 1.75**2 / 2, abs=1e-12)
    assert count == 3


def everything(loss, mask):
    """Sum over all places, whether something counts there or not."""
    return loss.sum(), 1


def test_what_is_to_be_aggregated_is_zero_where_nothing_counts():
    """Old log-probabilities, values and returns at the padding, and a sum that has no mask."""
    model, batch = by_hand()
    pad = batch["targets"] == -100
    batch |= {"values": torch.zeros(2, 2), "returns": torch.full((2, 2), 2.0)}
    batch |= {name: batch[name].masked_fill(pad, -2.0) for name in ("logp_old", "logp_ref")}
    ones = lambda model, batch: torch.ones(2, 2)  # noqa: E731
    ppo = {"read": read, "read_values": ones, "beta": 1.0}
    both = PolicyAndValue(model, ValueModel(policy()))
    found, _ = PPO(**ppo, aggregate=everything)(both, batch)
    assert torch.equal(found, PPO(**ppo)(both, batch)[0])


def test_an_advantage_of_a_token_that_does_not_count_is_left_out():
    model, batch = by_hand(advantages=torch.tensor([[1.0, 1.0], [-1.0, math.nan]]))
    loss, _ = Reinforce(read=read)(model, batch)
    assert loss.item() == pytest.approx(3 - math.log(2) - math.log(2) - 1.5, abs=1e-12)


def test_a_loss_with_values_is_as_precise_as_the_models():
    """What the rollouts say of values has 64 bits."""
    model, batch = by_hand()
    batch |= {name: batch[name].float() for name in ("logp_old", "advantages")}
    batch |= {"values": torch.zeros(2, 2), "returns": torch.ones(2, 2)}
    read_values = lambda model, batch: torch.ones(2, 2).float()  # noqa: E731
    both = PolicyAndValue(model.float(), ValueModel(policy()))
    for name in ("values", "returns"):
        one = batch | {name: batch[name].float()}
        loss, _ = PPO(read=read, read_values=read_values, value_clip=0.5)(both, one)
        assert loss.dtype == torch.float32


@pytest.mark.parametrize("name", OBJECTIVES)
@pytest.mark.parametrize("parts", [2, 4])
def test_the_gradient_does_not_depend_on_the_split(name, parts):
    credit = GroupCredit(baseline=group_advantages)
    model, old = policy(), policy()
    batch = batches(old, credit)(0)
    with torch.no_grad():  # another policy than the one that wrote
        for weights in model.parameters():
            weights.add_(0.02 * torch.randn_like(weights))
    gradients = []
    for pieces in (1, parts):
        sums = [OBJECTIVES[name](model, part) for part in split(batch, 6, pieces)]
        model.zero_grad()
        (sum(loss for loss, _ in sums) / sum(count for _, count in sums)).backward()
        gradients.append(torch.cat([p.grad.flatten() for p in model.parameters()]))
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-12)
    assert gradients[0].abs().max() > 1e-4


@pytest.mark.parametrize("name", OBJECTIVES)
def test_what_stands_at_padding_changes_no_bit(name):
    model = policy(1)
    batch = batches(policy(), GroupCredit())(0)
    asked = batch["targets"] != -100
    poisoned = batch | {
        n: torch.where(asked, batch[n], 1e6) for n in ("logp_old", "logp_ref")
    }  # fmt: skip
    losses = [OBJECTIVES[name](model, b)[0] for b in (batch, poisoned)]
    assert torch.equal(*losses)


def test_dropout_is_off_and_the_first_ratio_is_one():
    """A training policy: the loss of its own rollouts is minus the mean advantage, exactly."""
    model, data = actor_and_critic(credit=TokenCredit(beta=0.1))
    batch = data(0)
    loss, count = PPO(value_weight=0)(model.train(), batch)
    assert loss.item() == pytest.approx(-float(batch["advantages"].sum()), abs=1e-12)
    assert count == int(batch["lengths"].sum())


@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_objectives_read_at_the_temperature_of_the_draw(temperature):
    model = policy()
    batch = batches(model, GroupCredit(baseline=no_baseline), temperature=temperature)(0)
    loss = DrGRPO(length=5)(model, batch)[0]
    expected = -(batch["advantages"] * batch["lengths"]).sum() / 5
    assert loss.item() == pytest.approx(float(expected), abs=1e-12)


@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_entropies_and_ratios_beside_them_are_read_at_the_temperature_of_the_draw(temperature):
    """Ratios of 1 leave -A; the entropies are those that torch finds."""
    model = policy().eval()
    batch = batches(model, GroupCredit(baseline=no_baseline), temperature=temperature)(0)
    loss = PPO(value_weight=0, entropy_bonus=0.1)(model, batch)[0]
    drawn_from = torch.distributions.Categorical(logits=model(batch["ids"]) / temperature)
    entropy = drawn_from.entropy()[batch["targets"] != -100].sum()
    expected = -(batch["advantages"] * batch["lengths"]).sum() - 0.1 * entropy
    assert loss.item() == pytest.approx(expected.item(), abs=1e-12)


@pytest.mark.parametrize(("objective", "says"), [
    (GRPO(), "GRPO needs logp_ref, and the batch has"),
    (PPO(value_weight=0, beta=0.1), "PPO needs logp_ref"),
])  # fmt: skip
def test_a_column_that_is_missing_is_named(objective, says):
    batch = batches(policy(), GroupCredit(), reference=None)(0)
    with pytest.raises(InputError, match=says):
        objective(policy(), batch)


def test_a_batch_without_targets_is_called_so():
    model, batch = by_hand()
    del batch["targets"]
    with pytest.raises(InputError, match="an objective on rollouts needs targets, and the"):
        PPO(read=read, value_weight=0)(model, batch)


def test_a_batch_of_nothing_is_called_so():
    with pytest.raises(InputError, match=r"GRPO needs logp_ref, and the batch has nothing$"):
        require_columns({}, "GRPO", "logp_ref")
    batch = dict.fromkeys(("targets", "ids"), torch.zeros(1))
    with pytest.raises(InputError, match=r"GRPO needs logp_ref, and .* has ids, targets$"):
        require_columns(batch, "GRPO", "logp_ref")


def test_values_need_a_value_model():
    model, data = actor_and_critic()
    with pytest.raises(ConfigError, match="train a PolicyAndValue, or set it to 0"):
        PPO()(model.policy, data(0))
    with pytest.raises(InputError, match="PPO needs values"):
        PPO()(model, batches(policy(), GroupCredit())(0))


@pytest.mark.parametrize("weight", ["value_weight", "entropy_bonus", "beta"])
def test_negative_weights_are_refused(weight):
    with pytest.raises(InputError, match=f"{weight}=-1 must be at least 0"):
        PPO(**{weight: -1})


@cache
def double():
    """A world of two prompts with four completions each."""
    return standard_world(1, vocabulary=2, length=2, prompts=2)


def table(model, batch, *, temperature=1.0):
    """Log-probabilities looked up in the world."""
    return double().read(model, batch, temperature=temperature)


CREDITS = {
    "RLOO": (GroupCredit(beta=0.5), Reinforce(read=table)),
    "corrected": (GroupCredit(), CorrectedGRPO(beta=0.5, read=table)),
    "tokens": (TokenCredit(beta=0.5, lam=1.0), Reinforce(read=table)),
    "centred": (GroupCredit(baseline=centred_advantages, beta=0.5), Reinforce(read=table)),
    "k2 by tokens": (GroupCredit(), PPO(beta=0.5, value_weight=0, read=table,
                                        aggregate=lambda x, m: (x.sum(), len(x)))),
    "published": (GroupCredit(baseline=group_advantages), GRPO(beta=0.5, read=table)),
}  # fmt: skip


def another_policy(world):
    """Not the reference, so that the divergence has a gradient."""
    model = world.reference()
    with torch.no_grad():
        for weights in model.parameters():
            weights.add_(0.1 * torch.randn_like(weights))
    return model


def all_groups(world, model):
    """Every pair of completions of every prompt, and the probability of each pair."""
    P, Y = world.rewards.shape
    x, y, z = torch.meshgrid(torch.arange(P), torch.arange(Y), torch.arange(Y), indexing="ij")
    prompt = x.flatten().repeat_interleave(2)
    completion = torch.stack((y.flatten(), z.flatten()), 1).flatten()
    batch = world.batch(prompt, completion)
    with torch.no_grad():
        logp = world.log_probabilities(model)
        batch["logp_old"] = world.read(model, batch)
        batch["logp_ref"] = world.read(world.model, batch)
    batch["rewards"] = world.rewards[prompt, completion]
    batch["finished"] = torch.ones_like(prompt, dtype=torch.bool)
    return batch, (logp[x, y] + logp[x, z]).exp().flatten()


def expected_gradient(name):
    """Mean over all groups of what the objective's gradient is in each, and the exact one."""
    world, (credit, objective) = double(), CREDITS[name]
    model = another_policy(world)
    batch, p = all_groups(world, model)
    batch |= credit(batch, 2)
    total = torch.zeros(())
    for group, part in zip(p, split(batch, len(batch["ids"]), len(p)), strict=True):
        loss, count = objective(model, part)
        total = total + group * loss / count
    (total / len(world.prompts)).backward()
    exact = world.policy_gradient(model, 0.5)
    found = torch.cat([w.grad.flatten() for w in model.parameters()])
    return found, -torch.cat([exact[n].flatten() for n, _ in model.named_parameters()])


@pytest.mark.parametrize("name", ["RLOO", "corrected", "tokens"])
def test_the_expected_gradient_is_the_exact_one_by_enumeration(name):
    torch.testing.assert_close(*expected_gradient(name), rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", ["centred", "k2 by tokens", "published"])
def test_the_expected_gradient_of_others_is_another(name):
    """A centred group loses half of the reward, k2 by tokens what comes later, GRPO both."""
    found, exact = expected_gradient(name)
    assert (found - exact).norm() > 0.05 * exact.norm()
    if name == "centred":
        torch.testing.assert_close(2 * found, exact, rtol=0, atol=1e-10)
