"""Training a reward on pairs: what is read of them, and what of its success is length."""

import math

import numpy as np
import pytest
import torch
from align.toy_chats import NAMED, TOKENIZER, model

from mathlm.align import (
    BradleyTerry,
    PairBatches,
    RewardModel,
    bradley_terry_loss,
    encode_pairs,
    pair_rewards,
    reward_metrics,
)
from mathlm.align.reward.objective import whole_texts
from mathlm.errors import ConfigError, InputError
from mathlm.text import Message, Preference

ASKED = [
    ("ab", "cd", "c"),
    ("a", "b", "hgfedcba"),
    ("gh", "abc", "cba"),
    ("", "d", "e"),
    ("fed", "gg", "a"),
]


def batches(size=5, pairs=ASKED):
    given = [
        Preference(prompt=(Message("user", ask),), chosen=good, rejected=bad)
        for ask, good, bad in pairs
    ]
    return PairBatches(encode_pairs(given, NAMED, TOKENIZER, 24), size)


def reward_model():
    body = model()
    for p in body.parameters():
        p.data.mul_(4)
    return RewardModel(body, std=1.0, seed=0)


class ByTable(torch.nn.Module):
    """A reward that is the number of tokens a, less that of all others times a weight."""

    def __init__(self, weight=0.0):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor(weight))

    def forward(self, ids, mask):
        a = TOKENIZER.encode("a")[0]
        return ((ids == a) & mask).sum(1) - self.weight * mask.sum(1)


def test_answers_are_rewarded_with_the_end_of_their_turn():
    """Each conversation alone, whole, without any padding."""
    scored, pairs = reward_model(), batches()
    found = pair_rewards(scored, next(iter(pairs)))
    for side, chats in enumerate((pairs.encoded.chosen, pairs.encoded.rejected)):
        alone = [scored(torch.from_numpy(chat.ids)[None]) for chat in chats]
        torch.testing.assert_close(found[side], torch.cat(alone), rtol=0, atol=1e-12)


def test_which_pairs_share_a_batch_changes_no_reward():
    scored = reward_model()
    together = pair_rewards(scored, next(iter(batches())))
    alone = torch.cat([pair_rewards(scored, batch) for batch in batches(1)], 1)
    torch.testing.assert_close(together, alone, rtol=0, atol=1e-12)


def test_texts_are_read_to_their_last_target():
    ids = torch.tensor([[5, 6, 7, 0], [5, 6, 7, 8]])
    targets = torch.tensor([[-100, 7, 9, -100], [-100, -100, -100, 9]])
    whole, mask = whole_texts(ids, targets)
    assert [row[real].tolist() for row, real in zip(whole, mask, strict=True)] == [
        [5, 6, 7, 9],
        [5, 6, 7, 8, 9],
    ]
    with pytest.raises(InputError, match="row 1 has no token"):
        whole_texts(ids, torch.tensor([[1, 1, 1, 1], [-100] * 4]))


def test_the_objective_is_the_sum_over_pairs_and_their_number():
    scored, batch = reward_model(), next(iter(batches()))
    chosen, rejected = pair_rewards(scored, batch)
    loss, count = BradleyTerry(margin=0.5, centring=0.1)(scored, batch)
    expected = bradley_terry_loss(chosen, rejected, 0.5) + 0.1 * (chosen + rejected) ** 2
    torch.testing.assert_close(loss, expected.sum())
    assert count == 5


def test_at_the_start_each_pair_costs_log_two():
    loss, count = BradleyTerry()(RewardModel(model()), next(iter(batches())))
    assert loss.item() / count == pytest.approx(math.log(2), abs=1e-15)


def test_a_step_against_the_gradient_lowers_the_loss():
    scored, batch, objective = reward_model(), next(iter(batches())), BradleyTerry()
    optimizer = torch.optim.SGD(scored.parameters(), lr=1e-7)
    before, _ = objective(scored, batch)
    before.backward()
    optimizer.step()
    assert objective(scored, batch)[0] < before


@pytest.mark.parametrize("option", ["margin", "centring"])
def test_a_negative_option_is_refused(option):
    with pytest.raises(ConfigError, match=option):
        BradleyTerry(**{option: -0.1})


def test_what_a_reward_by_table_is_worth():
    """Numbers of a in chosen and rejected: 0 0, 0 1, 1 1, 0 0, 0 1: three halves of 5 right.

    With the ends the lengths are 3 2, 2 9, 4 4, 2 2, 3 2: longer is right in 2 + 1 of 5.
    """
    found = reward_metrics(ByTable(), batches())
    assert found["accuracy"] == pytest.approx(1.5 / 5)
    assert found["length_accuracy"] == pytest.approx(3 / 5)
    assert found["beyond_length"] == pytest.approx(-1.5 / 5)
    lost = math.log(1 + math.e)
    assert found["loss"] == pytest.approx((3 * math.log(2) + 2 * lost) / 5)
    assert found["calibration"] == pytest.approx(0.4 / (1 + math.exp(-1)))


def test_prompts_count_in_no_length():
    """All prompts are longer by four letters, and rewards and lengths stay as they were."""
    longer = [("hhhh" + ask, good, bad) for ask, good, bad in ASKED]
    one, other = (reward_metrics(ByTable(), batches(2, pairs)) for pairs in (ASKED, longer))
    assert one == pytest.approx(other)


def test_the_correlation_with_length_is_that_of_numpy():
    pairs = batches()
    rewards = pair_rewards(ByTable(0.3), next(iter(pairs))).detach().numpy()
    expected = np.corrcoef(rewards.ravel(), pairs.encoded.lengths.ravel())[0, 1]
    found = reward_metrics(ByTable(0.3), pairs)
    assert found["length_correlation"] == pytest.approx(expected)
    assert found["reward_spread"] == pytest.approx(rewards.std())


def test_shorter_is_a_rule_of_length_too():
    pairs = [(ask, "a", "bbb") for ask in "abcd"]
    found = reward_metrics(ByTable(), batches(2, pairs))
    assert (found["accuracy"], found["length_accuracy"]) == (1.0, 1.0)


def test_the_error_of_the_gain_is_that_of_paired_differences():
    """Right and rule: 1 0, 1 1, 0 1, 1 0, in four pairs: gain 1/4, spread of (1, 0, -1, 1)."""
    pairs = [("b", "a", "bbb"), ("c", "abb", "b"), ("d", "bbb", "a"), ("e", "a", "bb")]
    found = reward_metrics(ByTable(), batches(4, pairs))
    assert found["length_accuracy"] == 0.5
    assert found["beyond_length"] == pytest.approx(0.25)
    assert found["beyond_length_error"] == pytest.approx(np.std([1, 0, -1, 1]) / 2)


def test_a_reward_that_says_nothing_is_calibrated_and_dropout_is_off():
    body = model(dropout=0.5).train()
    found = reward_metrics(RewardModel(body), batches())
    assert (found["accuracy"], found["calibration"]) == (0.5, 0.0)
    assert found["length_correlation"] == 0.0
    scored = RewardModel(body, std=1.0, seed=0).train()
    assert reward_metrics(scored, batches()) == reward_metrics(scored, batches())
    assert scored.training


def test_without_pairs_nothing_is_measured():
    with pytest.raises(InputError, match="no pairs to measure"):
        reward_metrics(ByTable(), [])
