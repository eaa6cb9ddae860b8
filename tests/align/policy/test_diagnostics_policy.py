import math

import pytest
import torch

from mathlm.align import approximate_kl, clip_share, explained_variance
from mathlm.align.policy.diagnostics import group_record
from mathlm.errors import InputError, InputTypeError

ZERO = torch.zeros(4, dtype=torch.float64)


def test_a_token_is_cut_if_its_ratio_went_where_its_advantage_wants_it():
    """ρ = 1.3, 1.3, 0.7, 0.7 with both signs: two of four; 1.19 and 0.81 are within ε = 0.2."""
    logp = torch.tensor([1.3, 1.3, 0.7, 0.7, 1.19, 0.81]).log()
    A = torch.tensor([1.0, -1.0, 1.0, -1.0, 1.0, -1.0])
    assert clip_share(logp[:4], ZERO, A[:4], 0.2) == 0.5
    assert clip_share(logp, torch.zeros(6), A, 0.2) == 2 / 6


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
        clip_share(ZERO, ZERO, ZERO, 0.2, ZERO)


def test_groups_by_hand():
    """Spreads 2, 0, 1 within three groups; a group of one has nothing to compare."""
    rewards = torch.tensor([1.0, 5.0, 0.1, 0.1, 3.0, 1.0])
    assert group_record(rewards, 2) == {"group_std": 1.0, "equal_groups": 1 / 3}
    assert group_record(rewards, 1) == {}
