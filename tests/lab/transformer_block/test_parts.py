from numpy.testing import assert_allclose

from mathlm.layers import Block, FeedForward, LayerNorm, SelfAttention
from mathlm.reference import multi_head_attention, self_attention, softmax, swiglu


def test_a_longer_input_sharpens_attention_by_the_square(rng):
    """attention(cX) is c times a mixture at temperature 1 / c²."""
    x, W = rng.normal(size=(5, 4)), rng.normal(size=(3, 4, 4))
    scores = (x @ W[0].T) @ (x @ W[1].T).T / 2
    expected = 3 * softmax(scores, temperature=1 / 9) @ (x @ W[2].T)
    assert_allclose(self_attention(3 * x, *W)[0], expected, rtol=1e-12)


def test_attention_of_one_token_is_a_matrix(rng):
    x, W = rng.normal(size=(1, 4)), rng.normal(size=(4, 4, 4))
    weights = {f"W_{m}.weight": w for m, w in zip("qkvo", W, strict=True)}
    assert_allclose(multi_head_attention(x, weights, 2)[0], x @ W[2].T @ W[3].T, rtol=1e-12)


def test_two_gated_units_multiply(rng):
    u, v = rng.normal(size=(2, 50)) * 3
    assert_allclose(swiglu(u, v)[0] + swiglu(-u, -v)[0], u * v, rtol=1e-12, atol=1e-14)


def test_a_block_has_12_d_squared_and_13_d_parameters():
    """4 D² + 4 D for attention, 8 D² + 5 D for the feed-forward network, 4 D for the norms."""
    D = 24
    parts = LayerNorm(D), SelfAttention(D, 4, bias=True), LayerNorm(D), FeedForward(D, 4 * D)
    assert sum(p.numel() for p in Block(*parts).parameters()) == 12 * D**2 + 13 * D
