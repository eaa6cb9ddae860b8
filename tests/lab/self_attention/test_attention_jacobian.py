import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from lab.self_attention.attention_jacobian import self_attention_jacobian
from mathlm.errors import InputError
from mathlm.reference import self_attention


def problem(rng, T=4, D=5, K=3, V=2):
    return rng.normal(size=(T, D)), *(rng.normal(size=(n, D)) for n in (K, K, V))


def causal(T):
    return np.tril(np.ones((T, T), dtype=bool))


@pytest.mark.parametrize("mask", [None, causal(4), np.eye(4, dtype=bool)])
def test_blocks_match_autograd(rng, mask):
    x, *W = problem(rng)

    def forward(x):
        q, k, v = (x @ torch.from_numpy(w).T for w in W)
        seen = None if mask is None else torch.from_numpy(mask)
        sdpa = torch.nn.functional.scaled_dot_product_attention
        return sdpa(q[None], k[None], v[None], attn_mask=seen)[0]

    expected = torch.func.jacrev(forward)(torch.from_numpy(x))
    assert_allclose(self_attention_jacobian(x, *W, mask), expected, rtol=1e-10, atol=1e-12)


def test_blocks_match_central_differences(rng):
    x, *W = problem(rng, T=3)
    step, numeric = 1e-6, np.zeros((3, 2, 3, 5))
    for s, d in np.ndindex(3, 5):
        nudge = np.zeros_like(x)
        nudge[s, d] = step
        up, down = (self_attention(x + sign * nudge, *W)[0] for sign in (1, -1))
        numeric[:, :, s, d] = (up - down) / (2 * step)
    assert_allclose(self_attention_jacobian(x, *W), numeric, rtol=1e-6, atol=1e-8)


@settings(max_examples=30, deadline=None)
@given(T=st.integers(1, 7), D=st.integers(1, 4), seed=st.integers(0, 10**6))
def test_a_causal_mask_makes_every_block_above_the_diagonal_zero(T, D, seed):
    x, *W = problem(np.random.default_rng(seed), T, D)
    blocks = self_attention_jacobian(x, *W, causal(T)).transpose(0, 2, 1, 3)
    assert_array_equal(blocks[~causal(T)], 0.0)


def test_a_single_position_gives_its_value_map(rng):
    """One key has weight 1 and y = v: the scores do not matter, so ∂y/∂x = W_v."""
    x, *W = problem(rng, T=1)
    assert_allclose(self_attention_jacobian(x, *W)[0, :, 0], W[2], atol=1e-15)


def test_with_zero_queries_each_block_is_an_equal_share_of_the_value_map(rng):
    """W_q = 0: scores are 0 and stay 0 in k; off the diagonal ∂y_t/∂x_s = W_v / T."""
    x, _, W_k, W_v = problem(rng)
    blocks = self_attention_jacobian(x, np.zeros_like(W_k), W_k, W_v)
    assert_allclose(blocks[0, :, 1], W_v / 4)
    assert_allclose(blocks[1, :, 1], W_v / 4)


def test_a_batch_is_refused(rng):
    x, *W = problem(rng)
    with pytest.raises(InputError, match=r"\(1, 4, 5\), expected \(positions, features\)"):
        self_attention_jacobian(x[None], *W)
