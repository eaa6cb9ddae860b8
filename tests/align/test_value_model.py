"""Values of every position, and a policy with values as one model."""

import torch
from align.toy_policies import policy

from mathlm.align import PolicyAndValue, RewardModel, ValueModel, target_values


def test_a_value_is_a_linear_map_of_the_state_at_its_position():
    torch.manual_seed(0)
    model, ids = ValueModel(policy()).eval(), torch.tensor([[1, 2, 3], [4, 5, 0]])
    assert torch.equal(model(ids), torch.zeros(2, 3))
    torch.nn.init.normal_(model.head.weight)
    torch.nn.init.constant_(model.head.bias, 2.0)
    h = model.body.hidden(ids)[1, 2]
    expected = (h * model.head.weight[0]).sum() + 2
    torch.testing.assert_close(model(ids)[1, 2], expected, rtol=0, atol=1e-12)


def test_a_value_knows_only_what_stands_before_it():
    model = ValueModel(policy()).eval()
    torch.nn.init.normal_(model.head.weight)
    short, long = model(torch.tensor([[1, 2]])), model(torch.tensor([[1, 2, 3, 4]]))
    torch.testing.assert_close(short, long[:, :2], rtol=0, atol=1e-12)


def test_it_can_start_as_a_reward_model():
    """Its value of a whole text then is the reward of the text."""
    reward, ids = RewardModel(policy(), std=0.5, seed=1).eval(), torch.tensor([[1, 2, 3]])
    reward.centre(torch.tensor([0.7]))
    values = ValueModel.from_reward_model(reward)
    torch.testing.assert_close(values(ids)[:, -1], reward(ids), rtol=0, atol=1e-12)


def test_values_are_read_without_dropout_and_with_a_gradient():
    model, batch = ValueModel(policy(dropout=0.5)).train(), {"ids": torch.tensor([[1, 2, 3]])}
    torch.nn.init.normal_(model.head.weight)
    first, second = target_values(model, batch), target_values(model, batch)
    assert torch.equal(first, second)
    assert model.training
    first.sum().backward()
    assert model.head.bias.grad.item() == 3.0


def test_values_of_half_precision_are_given_in_single():
    assert ValueModel(policy().bfloat16())(torch.tensor([[1, 2]])).dtype == torch.float32


def test_both_as_one_model_are_the_policy_when_called():
    both, ids = PolicyAndValue(policy(), ValueModel(policy(1))).eval(), torch.tensor([[1, 2]])
    assert torch.equal(both(ids), both.policy(ids))
    assert both.config["policy"] == both.policy.config
    assert both.config["value"] == both.value.body.config


def test_a_value_model_may_share_the_weights_of_the_policy():
    model = policy()
    both = PolicyAndValue(model, ValueModel(model))
    extra = sum(p.numel() for p in both.parameters()) - sum(
        p.numel() for p in model.parameters()
    )
    assert extra == model.config.d_model + 1
