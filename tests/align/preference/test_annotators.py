"""Simulated judges: what they see, how often they err, and pairs drawn for them."""

import numpy as np
import pytest
import torch

from mathlm.align import (
    Annotator,
    bradley_terry_loss,
    compare,
    fit_strengths,
    rao_kupper_log_probabilities,
)
from mathlm.align.reward.bradley_terry import count_wins
from mathlm.errors import ConfigError, InputError

MANY = 40_000


def shares(annotator, difference, seed=0):
    """How often each of the three was decided."""
    decisions = annotator.judge(np.full(MANY, difference), seed)
    return np.bincount(decisions, minlength=3) / MANY


def test_the_plain_judge_is_bradley_and_terrys():
    d = np.linspace(-3, 3, 7)
    p = Annotator().probabilities(d)
    loss = bradley_terry_loss(torch.tensor(d), torch.zeros(7))
    np.testing.assert_allclose(p[:, 0], np.exp(-loss.numpy()), rtol=1e-14)
    np.testing.assert_allclose(p[:, 1], 0, atol=1e-15)


def test_the_judge_with_ties_is_rao_and_kuppers():
    d = np.linspace(-3, 3, 7)
    p = Annotator(tie=0.4).probabilities(d)
    logp = rao_kupper_log_probabilities(torch.tensor(d), torch.zeros(7), 0.4)
    np.testing.assert_allclose(p, logp.exp().numpy(), rtol=1e-12)


def test_a_temperature_divides_what_is_seen():
    hot, plain = Annotator(temperature=4.0), Annotator()
    np.testing.assert_allclose(hot.probabilities(2.0), plain.probabilities(0.5))


def test_ties_are_counted_in_reward_at_every_temperature():
    """All numbers doubled are the same judge in another unit; without noise, the limit."""
    doubled, plain = Annotator(temperature=2.0, tie=1.0), Annotator(tie=0.5)
    np.testing.assert_allclose(doubled.probabilities(2.0), plain.probabilities(1.0))
    cold, exact = Annotator(temperature=1e-3, tie=0.5), Annotator(temperature=0, tie=0.5)
    d = [0.6, 0.4, -0.4, -0.6]
    np.testing.assert_allclose(cold.probabilities(d), exact.probabilities(d), atol=1e-12)


def test_slips_exchange_the_sides_and_leave_ties_alone():
    """σ(1) = 0.7310585786300049; a tenth of the decisions is written down wrong."""
    right = 0.7310585786300049
    p = Annotator(flip=0.1).probabilities(1.0)
    assert p.tolist() == pytest.approx([0.9 * right + 0.1 * (1 - right), 0, 1 - p[0]])
    ties = [Annotator(tie=0.5, flip=f).probabilities(1.0)[1] for f in (0.0, 0.3)]
    assert ties[0] == pytest.approx(ties[1])


@pytest.mark.parametrize(
    "options",
    [{}, {"temperature": 2.0, "tie": 0.6, "flip": 0.2}, {"flip": 1.0}, {"temperature": 0}],
    ids=["plain", "noisy", "always wrong", "exact"],
)
def test_decisions_come_as_often_as_their_probabilities_say(options):
    judge = Annotator(**options)
    for difference in (-1.0, 0.0, 0.7):
        p = judge.probabilities(difference)
        assert p.sum() == pytest.approx(1.0)
        np.testing.assert_allclose(shares(judge, difference), p, atol=4 * 0.5 / MANY**0.5)


def test_without_noise_the_better_wins_and_equals_tie():
    exact = Annotator(temperature=0, tie=0.5)
    assert exact.judge([2.0, 0.3, -0.5, -0.6]).tolist() == [0, 1, 1, 2]
    assert Annotator(temperature=0).judge([0.0, 1e-9, -1e-9]).tolist() == [1, 0, 2]


def test_who_loves_length_sees_it_as_reward():
    lover = Annotator(length_weight=0.5)
    assert lover.sees([1.0, 1.0], [0.0, 1.0], [2, 9], [6, 1]).tolist() == [-1.0, 4.0]
    with pytest.raises(InputError, match="give length_a and length_b"):
        lover.sees([1.0], [0.0])


def test_decisions_are_a_function_of_the_seed():
    d = np.zeros(100)
    again = [Annotator().judge(d, seed) for seed in (3, 3, 4)]
    assert np.array_equal(again[0], again[1])
    assert not np.array_equal(again[0], again[2])


@pytest.mark.parametrize(
    "options",
    [{"temperature": -1}, {"flip": 1.5}, {"tie": -0.1}, {"length_weight": float("nan")}],
    ids=["temperature", "flip", "tie", "length"],
)
def test_a_judge_that_cannot_be_is_refused(options):
    with pytest.raises(ConfigError, match=next(iter(options))):
        Annotator(**options)


def test_a_reward_that_is_no_number_is_refused():
    with pytest.raises(InputError, match="NaN or infinite"):
        Annotator().sees([np.nan], [0.0])


def rewards(rng):
    return rng.normal(size=(3, 5))


def test_no_completion_is_compared_with_itself_and_all_are_met(rng):
    found = compare(rewards(rng), Annotator(), 2000)
    assert (found.first != found.second).all()
    for prompt in range(3):
        assert set(found.first[found.prompt == prompt]) == set(range(5))


def test_pairs_are_drawn_as_their_probabilities_say():
    """Two independent draws of p = (0.6, 0.3, 0.1), given that they differ."""
    p = np.array([0.6, 0.3, 0.1])
    found = compare(np.zeros((1, 3)), Annotator(), MANY, logp=np.log(p)[None])
    table = np.outer(p, p) * (1 - np.eye(3))
    seen = np.zeros((3, 3))
    np.add.at(seen, (found.first, found.second), 1 / MANY)
    np.testing.assert_allclose(seen, table / table.sum(), atol=0.01)


def test_a_prompt_with_one_likely_completion_has_pairs():
    """Of p = (1, 2e-22, 1e-22) a pair holds the first, and the second in two of three cases."""
    log_p = np.log([[1.0, 2e-22, 1e-22], [0.2, 0.5, 0.3]])
    found = compare(np.zeros((2, 3)), Annotator(), MANY, logp=log_p)
    seen = np.zeros((2, 3, 3))
    np.add.at(seen, (found.prompt, found.first, found.second), 2 / MANY)
    table = [[0, 1 / 3, 1 / 6], [1 / 3, 0, 0], [1 / 6, 0, 0]]
    np.testing.assert_allclose(seen[0], table, atol=0.02)
    assert (found.first != found.second).all()
    few = compare(np.zeros((1, 2)), Annotator(), 5, logp=[[0.0, -50.0]])
    assert (few.first + few.second == 1).all()


def test_what_cannot_be_drawn_is_not():
    logp = np.log(np.array([[0.5, 0.5, 1e-300]]))
    logp[0, 2] = -np.inf
    found = compare(np.zeros((1, 3)), Annotator(), 500, logp=logp)
    assert set(found.first) | set(found.second) == {0, 1}
    with pytest.raises(InputError, match="fewer than two completions"):
        compare(np.zeros((1, 2)), Annotator(), 5, logp=np.array([[0.0, -np.inf]]))


def test_the_chosen_are_those_decided_for(rng):
    true = rewards(rng)
    found = compare(true, Annotator(temperature=0, tie=0.3), 500)
    prompt, chosen, rejected = found.chosen
    assert (true[prompt, chosen] - true[prompt, rejected] > 0.3).all()
    assert found.ties == 500 - len(prompt) > 0
    assert len(found) == 500


def test_decided_pairs_can_be_had_as_texts(rng):
    found = compare(rewards(rng), Annotator(temperature=0), 20)
    texts = [[f"{p}{y}" for y in "abcde"] for p in "xyz"]
    pairs = found.preferences(["x?", "y?", "z?"], texts)
    prompt, chosen, rejected = (side[0] for side in found.chosen)
    assert pairs[0].prompt[0].content == "xyz"[prompt] + "?"
    assert pairs[0].chosen == "xyz"[prompt] + "abcde"[chosen]
    assert pairs[0].rejected == "xyz"[prompt] + "abcde"[rejected]
    assert len(pairs) == 20


def test_true_rewards_are_found_again_from_many_comparisons(rng):
    """The way of the whole chapter: known rewards, noisy judges, maximum likelihood."""
    true = rng.normal(size=(1, 6))
    _, won, lost = compare(true, Annotator(temperature=1.0), 20_000, seed=1).chosen
    fit = fit_strengths(count_wins(won, lost, 6))
    error = fit.values - (true[0] - true[0].mean())
    assert (np.abs(error) < 4 * fit.standard_errors).all()
    assert fit.standard_errors.max() < 0.05


def test_lengths_reach_the_judge(rng):
    """Rewards equal, lengths 0 to 4: the longer is always preferred."""
    lover = Annotator(temperature=0, length_weight=1.0)
    _, chosen, rejected = compare(np.zeros((3, 5)), lover, 200, lengths=np.arange(5)).chosen
    assert (chosen > rejected).all()
    assert len(chosen) == 200


def test_comparisons_are_a_function_of_the_seed(rng):
    true = rewards(rng)
    runs = [compare(true, Annotator(), 50, seed=s) for s in (5, 5, 6)]
    assert np.array_equal(runs[0].first, runs[1].first)
    assert np.array_equal(runs[0].decision, runs[1].decision)
    assert not np.array_equal(runs[0].first, runs[2].first)


def test_what_does_not_fit_is_refused(rng):
    with pytest.raises(InputError, match="with Y >= 2"):
        compare(np.zeros((3, 1)), Annotator(), 5)
    with pytest.raises(InputError, match="number=0 positive"):
        compare(rewards(rng), Annotator(), 0)
    with pytest.raises(InputError, match="sum to 1 in each row"):
        compare(rewards(rng), Annotator(), 5, logp=np.zeros((3, 5)))
