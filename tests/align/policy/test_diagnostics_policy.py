import math

import pytest
import torch

from mathlm.align import approximate_kl, clip_share, explained_variance, rollout_record
from mathlm.align.policy.diagnostics import (
    first_of,
    group_record,
    plain,
    said,
    update_record,
)
from mathlm.errors import InputError, InputTypeError

ZERO = torch.zeros(4, dtype=torch.float64)


def test_a_token_is_cut_if_its_ratio_went_where_its_advantage_wants_it():
    """ρ = 1.3, 1.3, 0.7, 0.7 with both signs: two of four; 1.19 and 0.81 are within ε = 0.2."""
    logp = torch.tensor([1.3, 1.3, 0.7, 0.7, 1.19, 0.81]).log()
    A = torch.tensor([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    assert clip_share(logp[:4], ZERO, A[:4], 0.2) == 0.5
    assert clip_share(logp, torch.zeros(6), A) == 2 / 6


def test_a_ratio_at_the_bound_or_without_an_advantage_is_not_cut():
    """ρ = 1.2 and 0.8 just so; ρ = 2 and 1/2 with A = 0; ρ = 1/2 of a small gain."""
    log_rho = [math.log1p(0.2), math.log1p(-0.2), math.log(2), -math.log(2), -math.log(2)]
    A = torch.tensor([1.0, -1.0, 0.0, 0.0, 0.5])
    assert clip_share(torch.tensor(log_rho), torch.zeros(5), A, 0.2) == 0


def test_the_divergence_from_the_policy_that_wrote_by_hand():
    """ρ = 2 and 1: (2 - 1 - ln 2 + 0)/2; texts are from the old policy."""
    logp = torch.tensor([2.0, 1.0]).log()
    expected = (1 - math.log(2)) / 2
    assert approximate_kl(logp, torch.zeros(2)) == pytest.approx(expected, abs=1e-15)


def test_it_is_unbiased_for_the_divergence_of_the_old_policy_from_the_new():
    """All outcomes of 4, each as often as the old policy draws it: 1, 2, 3 and 4 of 10."""
    old = torch.tensor([0.1, 0.2, 0.3, 0.4]).log()
    new = torch.randn(4).log_softmax(0)
    draws = torch.tensor([0, 1, 1, 2, 2, 2, 3, 3, 3, 3])
    exact = (old.exp() * (old - new)).sum().item()
    assert approximate_kl(new[draws], old[draws]) == pytest.approx(exact, abs=1e-14)


def test_explained_variance_by_hand():
    """R = 0, 2, 4, 6 has variance 5. V = R: all; V = 3: nothing; V = -R: 1 - 4."""
    R = torch.tensor([0.0, 2, 4, 6])
    assert explained_variance(R, R) == 1
    assert explained_variance(torch.full((4,), 3.0), R) == 0
    assert explained_variance(-R, R) == pytest.approx(-3, abs=1e-15)


def test_what_is_all_equal_cannot_be_explained():
    assert explained_variance(torch.randn(4), torch.full((4,), 0.1)) is None
    assert explained_variance(torch.randn(1), torch.ones(1)) is None


@pytest.mark.parametrize(
    ("look", "names"),
    [
        (clip_share, ["logp", "logp_old", "advantages"]),
        (explained_variance, ["values", "returns"]),
    ],
)
def test_each_shape_is_compared_with_the_others(look, names, unchecked):
    for odd in names:
        shapes = {name: (2, 1) if name == odd else (2, 3) for name in names}
        with pytest.raises(InputError) as error:
            look(**{name: torch.zeros(shape) for name, shape in shapes.items()})
        for name, shape in shapes.items():
            assert f"{name} {shape}" in str(error.value)


@pytest.mark.parametrize("poison", [1e6, -1e6, math.nan, math.inf])
def test_what_the_mask_leaves_out_changes_no_bit(poison):
    mask = torch.tensor([True, False, True, True])
    x, y, z = torch.randn(3, 4)
    bad = [v.masked_fill(~mask, poison) for v in (x, y, z)]
    assert clip_share(*bad, 0.2, mask) == clip_share(x, y, z, 0.2, mask)
    assert approximate_kl(*bad[:2], mask) == approximate_kl(x, y, mask)
    assert explained_variance(*bad[:2], mask) == explained_variance(x, y, mask)


def test_nothing_to_look_at_is_an_error(unchecked):
    none = torch.zeros(4, dtype=torch.bool)
    for look in (approximate_kl, explained_variance):
        with pytest.raises(InputError, match="nothing counts: the mask is False everywhere"):
            look(ZERO, ZERO, none)
        with pytest.raises(InputTypeError, match="mask must be bool"):
            look(ZERO, ZERO, ZERO)
    with pytest.raises(InputTypeError, match="mask must be bool"):
        clip_share(ZERO, ZERO, ZERO, 0.2, ZERO)


def test_groups_by_hand():
    """Spreads 2, 0, 1 within three groups; a group of one has nothing to compare."""
    rewards = torch.tensor([1.0, 5.0, 0.1, 0.1, 3.0, 1.0])
    assert group_record(rewards, 2) == {"group_std": 1.0, "equal_groups": 1 / 3}
    assert group_record(rewards, 1) == {}


def rollouts(**columns):
    """Two texts, of two tokens and of one."""
    return {
        "targets": torch.tensor([[5, 6], [5, -100]]),
        "logp_old": torch.tensor([[-1.0, -3.0], [-2.0, 0.0]]),
        "rewards": torch.tensor([1.0, 3.0]),
        "lengths": torch.tensor([2, 1]),
        "finished": torch.tensor([True, False]),
    } | columns


PLAIN = {"reward": 2, "reward_std": 1, "entropy": 2, "length": 1.5, "finished": 0.5}


def test_a_record_of_rollouts_by_hand():
    assert rollout_record(rollouts()) == PLAIN
    assert rollout_record(rollouts(), 2) == PLAIN | {"group_std": 1, "equal_groups": 0}


def test_a_record_with_a_reference_by_hand():
    """Sums of log π/π_ref are 1 and 1/2; k₃ is 1/e, and in the other e^(-1/2) - 1/2."""
    record = rollout_record(rollouts(logp_ref=torch.tensor([[-2.0, -3.0], [-2.5, 7.0]])))
    k3 = (math.exp(-1) + math.exp(-0.5) - 0.5) / 2
    assert record == pytest.approx(PLAIN | {"kl": 0.75, "kl_k3": k3}, abs=1e-15)


def test_a_record_with_values_by_hand():
    """R = 1, 4, 4 has variance 2; R - V = 0, 2, 1 has 2/3, a third of it."""
    values = torch.tensor([[1.0, 2.0], [3.0, 9.0]])
    returns = torch.tensor([[1.0, 4.0], [4.0, 0.0]])
    record = rollout_record(rollouts(values=values, returns=returns))
    expected = PLAIN | {"value": 2, "explained_variance": 2 / 3}
    assert record == pytest.approx(expected, abs=1e-15)
    equal = rollout_record(rollouts(values=values, returns=torch.ones(2, 2)))
    assert equal == PLAIN | {"value": 2}


def test_a_record_needs_the_columns_of_rollouts():
    batch = rollouts()
    del batch["lengths"], batch["finished"]
    text = "rollout_record needs lengths, finished, and the batch"
    with pytest.raises(InputError, match=text):
        rollout_record(batch)


def test_how_far_the_steps_moved_by_hand():
    """ρ = 2, 1 and 1/2: the first and the last of three are cut, unless A says otherwise."""
    moved = math.log(2) * torch.tensor([[1.0, 0.0], [-1.0, 5.0]])
    batch, of_texts = rollouts(), torch.tensor([1.0, -1.0])
    logp = batch["logp_old"] + moved
    expected = {"clip_share": 2 / 3, "moved": (1 - math.log(2) - 0.5 + math.log(2)) / 3}
    found = update_record(batch | {"advantages": of_texts}, logp, 0.2)
    assert found == pytest.approx(expected, abs=1e-15)
    of_tokens = torch.tensor([[-1.0, 1.0], [-1.0, 1.0]])
    found = update_record(batch | {"advantages": of_tokens}, logp, 0.2)
    assert found == pytest.approx(expected | {"clip_share": 1 / 3}, abs=1e-15)


def test_a_record_is_said_in_a_line():
    record = {
        "iteration": 0, "length": 2.0, "kl": 0.00123456, "kl_k3": 0.1, "reward": 0.5,
        "reward_std": 0.1, "group_std": 0.2, "equal_groups": 0.25, "dropped": 0,
        "explained_variance": 0.0, "samples": [],
    }  # fmt: skip
    assert said(record) == (
        "iteration 0  KL 0.001235 (expected about 0 if it begins as its reference)  reward 0.5"
        "  length 2  share of equal groups 0.25  explained variance 0"
    )
    assert said({"iteration": 1, "dropped": 3, "kl": 0.5}) == "iteration 1  KL 0.5  dropped 3"


def test_the_first_completion_is_shown_and_a_long_one_cut():
    samples = [{"completion": "a\n", "reward": 0.12345}, {"completion": "b", "reward": 1.0}]
    assert first_of(samples) == r"  'a\n' (reward 0.123)"
    long = first_of([{"completion": "x" * 500, "reward": 1}])
    assert long == f"  '{'x' * 119} (reward 1)"
    assert first_of([]) == ""


def test_ids_and_texts_are_kept_as_data_of_json():
    assert plain(torch.tensor([3, 1])) == [3, 1]
    assert plain("ab") == "ab"
