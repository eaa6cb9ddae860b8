"""How many directions fit and can be told apart: bounds, formulas by hand, and trials."""

import math

import pytest
import torch

from lab.features import capacity
from mathlm.errors import InputError, InputTypeError


def test_directions_have_length_one_and_spread_evenly():
    """Each squared entry is 1/D on average, each cosine has mean 0 and variance 1/D."""
    f = capacity.random_directions(5000, 50).double()
    torch.testing.assert_close(f.norm(dim=1), torch.ones(5000), rtol=0, atol=1e-6)
    torch.testing.assert_close(f.square().mean(0), torch.full((50,), 1 / 50), rtol=0.1, atol=0)
    cosines = (f[:2500] * f[2500:]).sum(1)
    assert cosines.square().mean() == pytest.approx(1 / 50, rel=0.1)


def test_chunks_of_directions_are_not_repeated():
    f = capacity.random_directions(4097, 8)
    assert f.unique(dim=0).shape == (4097, 8)


@pytest.mark.parametrize("n", [3, 4, 7])
def test_regular_simplices_meet_the_bound(n):
    """n + 1 corners of a simplex have the cosine -1/n, the least there is."""
    assert capacity.welch_bound(n + 1, n) == pytest.approx(1 / n, rel=1e-12)


def test_no_directions_are_below_the_bound():
    f = capacity.random_directions(40, 7).double()
    off = (f @ f.T)[~torch.eye(40, dtype=torch.bool)]
    assert off.square().mean().sqrt() >= capacity.welch_bound(40, 7)
    assert capacity.welch_bound(7, 7) == 0.0


def test_the_rule_for_the_exercise():
    """4096/(8 ln 100,000) with ln 100,000 = 11.5129."""
    assert capacity.readout_rule(4096, 100_000) == pytest.approx(4096 / 92.1034, rel=1e-5)


def test_success_by_hand():
    """D = 64, k = 1: noise of 1/8 passes ½ at 4 standard deviations, Q(4) = 3.167e-5."""
    assert capacity.readout_success(64, 1001, 1) == pytest.approx(
        math.exp(-1000 * 3.167e-5), rel=1e-4
    )


def test_trials_succeed_as_often_as_foretold():
    """200 trials: standard error at most √(1/4/200) = 0.035; the dictionary is shared."""
    sizes = [4, 8, 12]
    threshold, ranked = capacity.measured_readout(512, 5000, sizes, trials=200)
    foretold = torch.tensor([capacity.readout_success(512, 5000, k) for k in sizes])
    assert 0.05 < foretold[1] < 0.95
    torch.testing.assert_close(threshold, foretold, rtol=0, atol=0.12)
    assert (ranked >= threshold).all()


def test_orthogonal_features_are_all_read(monkeypatch):
    frame = [torch.eye(16)[:10], torch.eye(16)[10:]]
    monkeypatch.setattr("lab.features.capacity.direction_chunks", lambda *_: iter(frame))
    threshold, ranked = capacity.measured_readout(16, 16, [1, 10], trials=3)
    assert threshold.tolist() == ranked.tolist() == [1.0, 1.0]


def test_a_twin_in_a_later_chunk_is_heard(monkeypatch):
    """The same directions again: every feature that is there has one that is not."""
    frame = [torch.eye(8), torch.eye(8)]
    monkeypatch.setattr("lab.features.capacity.direction_chunks", lambda *_: iter(frame))
    threshold, ranked = capacity.measured_readout(8, 16, [2], trials=3)
    assert threshold.tolist() == ranked.tolist() == [0.0]


BAD = {
    "none": (lambda: capacity.random_directions(0, 3), "count=0"),
    "one": (lambda: capacity.welch_bound(1, 3), "count=1 must be 2 or more"),
    "rule": (lambda: capacity.readout_rule(10, 1), "count=1 must be 2 or more"),
    "more": (lambda: capacity.readout_success(10, 5, 6), "active=6 from 1 to 5"),
    "sizes": (lambda: capacity.measured_readout(10, 5, []), "0 sizes"),
    "trials": (lambda: capacity.measured_readout(10, 5, [1], trials=0), "trials=0"),
}


@pytest.mark.parametrize(("call", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    "call",
    [
        lambda: capacity.random_directions(3, 2.5),
        lambda: capacity.welch_bound(10, float("nan")),
        lambda: capacity.readout_success(10, 5, 1.5),
        lambda: capacity.measured_readout(10, 5, [True]),
    ],
    ids=["half", "nan", "active", "bool"],
)
def test_sizes_that_are_no_whole_numbers_are_refused(call):
    with pytest.raises(InputTypeError, match="must be whole numbers"):
        call()


@pytest.mark.usefixtures("unchecked")
def test_one_number_in_place_of_a_list_is_refused():
    with pytest.raises(InputTypeError, match="active is a int: give a list"):
        capacity.measured_readout(10, 5, 2)
