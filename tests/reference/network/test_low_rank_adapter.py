import numpy as np
import pytest
from numpy.testing import assert_allclose

from mathlm.errors import ConfigError, InputError
from mathlm.reference import (
    bottleneck,
    bottleneck_backward,
    dot_product_attention,
    numerical_vjp,
    prefix_share,
)


def draw(rng, batch=(4,), D=3, w=2):
    shapes = ((*batch, D), (w, D), (w,), (D, w), (D,))
    return [rng.normal(size=s) for s in shapes]


@pytest.mark.parametrize("batch", [(), (4,), (2, 3)], ids=str)
@pytest.mark.parametrize("activation", ["relu", "gelu", "silu"])
def test_gradients_are_those_of_differences(activation, batch, rng):
    values = draw(rng, batch)
    y, cache = bottleneck(*values, activation)
    dy = rng.normal(size=y.shape)
    for i, gradient in enumerate(bottleneck_backward(dy, cache)):
        f = lambda z, i=i: bottleneck(*values[:i], z, *values[i + 1 :], activation)[0]  # noqa: E731
        assert_allclose(gradient, numerical_vjp(f, values[i], dy), rtol=1e-6, atol=1e-8)


def test_by_hand():
    """x = (1, 2), W_down = (1, 1): relu(3 - 1) = 2; W_up = (1, -1): x + (2, -2) + (0, 1)."""
    y, _ = bottleneck([1.0, 2.0], [[1.0, 1.0]], [-1.0], [[1.0], [-1.0]], [0.0, 1.0])
    assert y.tolist() == [3.0, 1.0]


def test_what_does_not_fit_is_refused(rng):
    x, W_down, b_down, W_up, b_up = draw(rng)
    with pytest.raises(InputError, match=r"W_up has shape \(2, 3\)"):
        bottleneck(x, W_down, b_down, W_up.T, b_up)
    with pytest.raises(ConfigError, match="'swiglu' is not one of relu"):
        bottleneck(x, W_down, b_down, W_up, b_up, "swiglu")
    arguments = {"x": x, "W_down": W_down, "b_down": b_down, "W_up": W_up, "b_up": b_up}
    for name, array in arguments.items():
        with pytest.raises(InputError, match=f"^{name} holds"):
            bottleneck(**arguments | {name: np.nan * array})


def test_attention_with_a_prefix_is_a_mixture_of_both(rng):
    q, k, v = (rng.normal(size=(2, 5, 4)) for _ in range(3))
    own_k, own_v = (rng.normal(size=(2, 3, 4)) for _ in range(2))
    causal = np.tril(np.ones((5, 5), dtype=bool))
    mask = np.concatenate((np.ones((5, 3), dtype=bool), causal), 1)
    together = np.concatenate((own_k, k), 1), np.concatenate((own_v, v), 1)
    share = prefix_share(q, k, own_k, causal)[..., None]
    text, prefix = (
        dot_product_attention(q, k, v, causal)[0],
        dot_product_attention(q, own_k, own_v)[0],
    )
    mixed = (1 - share) * text + share * prefix
    assert_allclose(dot_product_attention(q, *together, mask)[0], mixed, rtol=1e-12, atol=1e-13)


def test_shares_of_scores_of_ten_thousand_and_of_no_text():
    """e^10000 against itself, a third of it and three times it; then against nothing."""
    q, k = np.full((1, 1), 1e4), np.ones((1, 1))
    for ratio, share in ((1.0, 1 / 2), (1 / 3, 1 / 4), (3.0, 3 / 4)):
        k_prefix = k + np.log(ratio) / 1e4
        assert_allclose(prefix_share(q, k, k_prefix), [share], rtol=1e-9)  # scores end at 1e-12
    assert_allclose(prefix_share(q, k, -k, np.zeros((1, 1), dtype=bool)), [1.0])


def test_queries_with_scores_of_one_and_of_ten_thousand_live_together():
    """Scores ±10⁴ beside 10⁴, then ±1 beside 1: e / (e + e + 1/e) of the second is prefix."""
    q, k, k_prefix = np.array([[[1e4], [1.0]]]), np.array([[[-1.0], [1.0]]]), np.ones((1, 1, 1))
    expected = [[1 / 2, 1 / (2 + np.exp(-2))]]
    assert_allclose(prefix_share(q, k, k_prefix), expected, rtol=1e-12)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"k": np.ones((2, 3, 4))},
            r"q \(5, 4\), k \(2, 3, 4\) and k_prefix \(2, 4\) do not fit",
        ),
        ({"k_prefix": np.ones((2, 3))}, "do not fit"),
        ({"k": np.ones((0, 4))}, "none is empty"),
        ({"k_prefix": np.ones((0, 4))}, "none is empty"),
        ({"q": np.full((5, 4), np.nan)}, "^q holds 20 NaN"),
        ({"k": np.full((3, 4), np.nan)}, "^k holds 12 NaN"),
        ({"k_prefix": np.full((2, 4), np.nan)}, "^k_prefix holds 8 NaN"),
        ({"k": np.full((3, 4), 1e308)}, "^scores holds 15 NaN or infinite"),
        ({"k_prefix": np.full((2, 4), 1e308)}, "^prefix_scores holds 10 NaN or infinite"),
    ],
)
def test_keys_and_queries_that_do_not_fit_a_prefix_are_refused(change, message):
    arguments = {"q": np.ones((5, 4)), "k": np.ones((3, 4)), "k_prefix": np.ones((2, 4))}
    with pytest.raises(InputError, match=message):
        prefix_share(**(arguments | change))
