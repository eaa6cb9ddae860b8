import math

import pytest
import torch
from align.exact.toy_worlds import standard

from mathlm.align.exact import standard_scores, standard_world
from mathlm.errors import InputError


def test_it_has_216_completions_of_3_tokens_for_4_prompts():
    world = standard()
    assert world.prompts.tolist() == [[0], [1], [2], [3]]
    assert world.rewards.shape == (4, 216)
    assert world.completions.shape == (216, 3)


def test_rewards_have_mean_0_and_spread_1_for_each_prompt():
    rewards = standard().rewards
    assert rewards.mean(-1).abs().max() < 1e-12
    assert torch.allclose(rewards.square().mean(-1), torch.ones(4), atol=1e-12, rtol=0)


def test_the_reference_is_far_from_uniform():
    logp = standard().logp_ref
    entropy = -(logp.exp() * logp).sum(-1)
    assert (entropy < math.log(216) - 0.5).all()


def test_the_same_seed_gives_the_same_world_and_another_seed_another():
    again, second = standard_world(), standard_world(1)
    assert torch.equal(again.rewards, standard().rewards)
    assert torch.equal(again.logp_ref, standard().logp_ref)
    assert not torch.equal(second.rewards, again.rewards)
    assert not torch.equal(second.logp_ref, again.logp_ref)


def test_single_precision_gives_the_same_world_up_to_rounding():
    torch.set_default_dtype(torch.float32)
    world = standard_world()
    assert world.logp_ref.dtype == torch.float32
    assert torch.allclose(world.logp_ref.double(), standard().logp_ref, atol=1e-3)
    assert torch.allclose(world.rewards.double(), standard().rewards, atol=1e-6)


def test_making_a_world_leaves_the_random_numbers_of_others_alone():
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    standard_world(3)
    assert torch.equal(torch.rand(3), expected)


def test_standard_scores_by_hand():
    assert standard_scores(torch.tensor([[1.0, 3.0]])).tolist() == [[-1.0, 1.0]]


@pytest.mark.parametrize(
    "sizes", [{"prompts": 7}, {"prompts": 0}, {"length": 0}, {"vocabulary": 0}, {"end": 6}]
)
def test_sizes_that_do_not_fit_are_refused(sizes):
    with pytest.raises(InputError):
        standard_world(**sizes)
