import math

import numpy as np
import pytest
import torch

from mathlm import functional as F
from mathlm import reference as ref
from mathlm.errors import InputError, InputTypeError

TIGHT = {"rtol": 1e-12, "atol": 1e-13}


def test_each_function_is_the_reference():
    x, g, gamma = torch.randn(2, 3, 4, 5), torch.randn(2, 3, 4, 5), torch.randn(5)
    sinks, mask = torch.randn(3), torch.ones(4, 5, dtype=torch.bool).tril(1)
    pairs = [
        (F.soft_cap(x, 2.0), ref.soft_cap(x.numpy(), 2.0)[0]),
        (F.attention_gate(x, g), ref.attention_gate(x.numpy(), g.numpy())[0]),
        (F.centered_rms_norm(x, gamma), ref.centered_rms_norm(x.numpy(), gamma.numpy())[0]),
        (
            F.sink_softmax(x, sinks, mask),
            ref.sink_softmax(x.numpy(), sinks.numpy(), mask.numpy())[0],
        ),
    ]
    for ours, right in pairs:
        np.testing.assert_allclose(ours, right, **TIGHT)


def test_a_cap_keeps_the_order_and_nearly_keeps_small_numbers():
    x = torch.linspace(-3, 3, 50)
    y = F.soft_cap(x, 1.0)
    assert (y.diff() > 0).all()
    assert (y.abs() < 1).all()
    torch.testing.assert_close(F.soft_cap(x, 1e4), x, rtol=0, atol=1e-7)


def test_a_sink_of_minus_infinity_is_the_softmax_and_of_zero_one_more_key():
    scores = torch.randn(2, 3, 4, 5)
    none = torch.full((3,), -math.inf)
    torch.testing.assert_close(F.sink_softmax(scores, none), scores.softmax(-1), **TIGHT)
    more = torch.cat((scores, torch.zeros(2, 3, 4, 1)), -1).softmax(-1)[..., :-1]
    torch.testing.assert_close(F.sink_softmax(scores, torch.zeros(3)), more, **TIGHT)


@pytest.mark.parametrize("sink", [0.0, -math.inf])
def test_a_query_that_sees_nothing_has_weights_zero(sink):
    mask, sinks = torch.zeros(4, 5, dtype=torch.bool), torch.full((3,), sink)
    assert (F.sink_softmax(torch.randn(3, 4, 5), sinks, mask) == 0).all()


def test_weights_have_the_precision_of_the_scores():
    weights = F.sink_softmax(torch.randn(3, 4, 5).float(), torch.zeros(3))
    assert weights.dtype == torch.float32


def test_a_quarter_turn_of_the_first_two_features_or_of_all_there_are():
    """(a, b) becomes (-b, a), in each vector of a batch."""
    x, angle = torch.tensor([[1.0, 0.0, 5.0], [3.0, 2.0, 7.0]]), (torch.zeros(1), torch.ones(1))
    assert F.rotate_leading(x, *angle).tolist() == [[0, 1, 5], [-2, 3, 7]]
    assert F.rotate_leading(x[:, :2], *angle).tolist() == [[0, 1], [-2, 3]]


def test_the_centered_gain_of_1_doubles_and_eps_is_added_to_the_mean_square():
    """Mean square 1, and 3: x/2."""
    x = torch.tensor([1.0, -1.0])
    assert F.centered_rms_norm(x, torch.ones(2), eps=3.0).tolist() == [1, -1]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_keeps_the_digits_of_a_gain_around_1(dtype):
    """The result is the exact one, rounded once: off by half a step of the format at most."""
    x, gamma = torch.randn(40, 64).to(dtype), (1e-3 * torch.randn(64)).to(dtype)
    for stored in (gamma, gamma.double()):
        y = F.centered_rms_norm(x, stored)
        exact = F.centered_rms_norm(x.double(), gamma.double())
        assert y.dtype == dtype
        half = torch.finfo(dtype).eps / 2
        torch.testing.assert_close(y.double(), exact, rtol=half * (1 + 1e-3), atol=1e-6)


def test_only_the_first_features_turn_and_scores_see_distances_only():
    cos, sin = F.rotary_table(30, 4)
    q, k = torch.randn(10), torch.randn(10)
    assert torch.equal(F.rotate_leading(q, cos[7], sin[7])[4:], q[4:])
    assert not torch.equal(F.rotate_leading(q, cos[7], sin[7])[:4], q[:4])

    def score(m, n):
        return F.rotate_leading(q, cos[m], sin[m]) @ F.rotate_leading(k, cos[n], sin[n])

    torch.testing.assert_close(score(9, 2), score(25, 18), rtol=1e-10, atol=1e-12)


@pytest.mark.usefixtures("unchecked")
def test_errors_name_the_numbers():
    for cap in (-1, 0, math.inf):
        with pytest.raises(InputError, match=f"cap={cap} must be positive"):
            F.soft_cap(torch.zeros(2), cap)
    with pytest.raises(InputTypeError, match="mask must be bool"):
        F.sink_softmax(torch.zeros(3, 4, 4), torch.zeros(3), torch.ones(4, 4).long())
    with pytest.raises(InputError, match=r"sinks \(2,\) must be \(3,\)"):
        F.sink_softmax(torch.zeros(3, 4, 4), torch.zeros(2))
    with pytest.raises(InputError, match="3 angles turn 6 features, and x has 4"):
        F.rotate_leading(torch.zeros(2, 4), torch.zeros(2, 3), torch.zeros(2, 3))
