import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mathlm.errors import ConfigError, InputError, InputTypeError
from mathlm.reference import (
    feed_forward,
    layer_norm,
    multi_head_attention,
    numerical_vjp,
    post_norm_block,
    post_norm_block_backward,
    pre_norm_block,
    pre_norm_block_backward,
)

D, H, T = 4, 2, 5
PAIRS = {
    "pre": (pre_norm_block, pre_norm_block_backward),
    "post": (post_norm_block, post_norm_block_backward),
}
KINDS = pytest.mark.parametrize("kind", list(PAIRS))
NORMS = pytest.mark.parametrize("norm", ["layer", "rms"])
CAUSAL = np.tril(np.ones((T, T), dtype=bool))


def draw_weights(rng, norm="layer", activation="relu", bias=True, G=1, F=3):
    """Two query heads of width 2 on one key; three hidden units."""
    rows = {"attention.W_q": (D, D), "attention.W_k": (2 * G, D), "attention.W_v": (2 * G, D)}
    rows |= {"attention.W_o": (D, D), "feed_forward.W_in": (F, D)}
    rows |= {"feed_forward.W_gate": (F, D)} if activation == "swiglu" else {}
    rows |= {"feed_forward.W_out": (D, F)}
    weights = {f"{n}.weight": rng.normal(size=s) / 2 for n, s in rows.items()}
    if bias:
        weights |= {f"{n}.bias": rng.normal(size=s[0]) / 2 for n, s in rows.items()}
    for place in ("attention_norm", "feed_forward_norm"):
        weights[f"{place}.gamma"] = 1 + rng.normal(size=D) / 4
        if norm == "layer" and bias:
            weights[f"{place}.beta"] = rng.normal(size=D) / 4
    return weights


def part(weights, prefix):
    return {n.removeprefix(prefix): w for n, w in weights.items() if n.startswith(prefix)}


@KINDS
@pytest.mark.parametrize(
    ("norm", "activation", "bias"), [("layer", "gelu", True), ("rms", "swiglu", False)]
)
def test_backward_matches_central_differences(kind, norm, activation, bias, rng):
    forward, backward = PAIRS[kind]
    weights = draw_weights(rng, norm, activation, bias)
    x, dy = rng.normal(size=(2, 3, D))
    mask = CAUSAL[:3, :3]

    def value(x, *rest):
        named = dict(zip(weights, rest, strict=True))
        return forward(x, named, H, mask, norm, activation, 0.1)[0]

    dx, dweights = backward(dy, forward(x, weights, H, mask, norm, activation, 0.1)[1])
    numeric = numerical_vjp(value, (x, *weights.values()), dy)
    assert list(dweights) == list(weights)
    for ours, theirs in zip((dx, *dweights.values()), numeric, strict=True):
        assert_allclose(ours, theirs, rtol=1e-6, atol=1e-8)


def test_the_halves_stand_where_the_equations_put_them(rng):
    weights, x = draw_weights(rng), rng.normal(size=(2, T, D))

    def norm(z, place):
        return layer_norm(z, weights[f"{place}.gamma"], weights[f"{place}.beta"])[0]

    def attend(z):
        return multi_head_attention(z, part(weights, "attention."), H, CAUSAL)[0]

    def feed(z):
        return feed_forward(z, part(weights, "feed_forward."))[0]

    u = x + attend(norm(x, "attention_norm"))
    y = u + feed(norm(u, "feed_forward_norm"))
    assert_allclose(pre_norm_block(x, weights, H, CAUSAL)[0], y, rtol=1e-13)
    u = norm(x + attend(x), "attention_norm")
    y = norm(u + feed(u), "feed_forward_norm")
    assert_allclose(post_norm_block(x, weights, H, CAUSAL)[0], y, rtol=1e-13)


@pytest.mark.parametrize("norm", ["layer", "rms"])
def test_a_large_eps_shrinks_what_the_last_normalization_gives(norm, rng):
    """Without halves, gain 1 and shift 0: x̂ of mean square 1 / (1 + ε / mean square)."""
    weights = {n: 0 * w for n, w in draw_weights(rng, norm).items()}
    weights |= {n: 1 + w for n, w in weights.items() if n.endswith("gamma")}
    x = np.array([[1.0, -1.0, 1.0, -1.0]])
    y, _ = post_norm_block(x, weights, H, norm=norm, eps=3.0)
    assert_allclose(y, x / np.sqrt(1 / 4 + 3) / 2, rtol=1e-12)


def silenced(weights):
    """Both output maps are zero: the halves add nothing."""
    zero = {n: 0 * w for n, w in weights.items() if "W_o" in n}
    return weights | zero


def test_a_pre_norm_block_whose_halves_add_nothing_is_the_identity(rng):
    x, dy = rng.normal(size=(2, 2, T, D))
    y, cache = pre_norm_block(x, silenced(draw_weights(rng)), H)
    assert_array_equal(y, x)
    assert_array_equal(pre_norm_block_backward(dy, cache)[0], dy)


def test_a_post_norm_block_whose_halves_add_nothing_still_normalizes(rng):
    x = rng.normal(size=(2, T, D))
    weights = silenced(draw_weights(rng))
    for place in ("attention_norm", "feed_forward_norm"):
        weights |= {f"{place}.gamma": np.ones(D), f"{place}.beta": np.zeros(D)}
    y, _ = post_norm_block(x, weights, H, eps=0.0)
    assert_allclose(y.mean(-1), 0, atol=1e-12)
    assert_allclose((y**2).mean(-1), 1, rtol=1e-12)


@KINDS
@NORMS
def test_shuffled_positions_give_shuffled_outputs_without_a_mask(kind, norm, rng):
    forward, weights = PAIRS[kind][0], draw_weights(rng, norm)
    x, order = rng.normal(size=(2, T, D)), [3, 0, 4, 2, 1]
    y, shuffled = (forward(z, weights, H, norm=norm)[0] for z in (x, x[:, order]))
    assert_allclose(shuffled, y[:, order], rtol=1e-12, atol=1e-13)


@KINDS
def test_the_jacobian_under_a_causal_mask_is_block_triangular(kind, rng):
    forward, backward = PAIRS[kind]
    _, cache = forward(rng.normal(size=(T, D)), draw_weights(rng), H, CAUSAL)
    reached = np.zeros((T, T), dtype=bool)
    for t in range(T):
        dy = np.zeros((T, D))
        dy[t] = rng.normal(size=D)
        reached[t] = backward(dy, cache)[0].any(-1)
    assert_array_equal(reached, CAUSAL)


@KINDS
@pytest.mark.parametrize("filling", [0.0, 1.0, 1e6])
def test_padding_changes_neither_values_nor_gradients(kind, filling, rng):
    forward, backward = PAIRS[kind]
    weights, x, dy = draw_weights(rng), *rng.normal(size=(2, T, D))
    alone, cache = forward(x, weights, H)
    tail = filling * rng.normal(size=(3, D))
    real = (np.arange(T + 3) < T)[None, None]
    y, padded = forward(np.concatenate([x, tail]), weights, H, real, eps=1e-5)
    dx, dweights = backward(np.concatenate([dy, np.zeros((3, D))]), padded)
    assert_allclose(y[:T], alone, rtol=1e-12, atol=1e-14)
    expected = backward(dy, cache)
    assert_allclose(dx[:T], expected[0], rtol=1e-12, atol=1e-13)
    assert_array_equal(dx[T:], 0)
    for name, gradient in expected[1].items():
        assert_allclose(dweights[name], gradient, rtol=1e-12, atol=1e-12)


@KINDS
def test_a_position_that_sees_nothing_is_treated_alone(kind, rng):
    """Nobody sees it either: another sequence around it changes nothing."""
    forward, mask = PAIRS[kind][0], CAUSAL.copy()
    mask[2], mask[:, 2] = False, False
    weights, (x, other) = draw_weights(rng), rng.normal(size=(2, T, D))
    other[2] = x[2]
    one, two = (forward(z, weights, H, mask)[0] for z in (x, other))
    assert_array_equal(one[2], two[2])
    assert np.isfinite(one).all()


@KINDS
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"attention_norm.gamma": np.ones(3)}, r"attention_norm.gamma'\] has shape \(3,\)"),
        (
            {"feed_forward_norm.beta": np.ones(5)},
            r"feed_forward_norm.beta'\] .* expected \(4,\)",
        ),
        ({"attention.W_o.weight": np.ones((3, D))}, r"W_o.weight'\] .* expected 4 rows"),
        ({"feed_forward.W_out.weight": np.ones((3, 3))}, r"W_out.weight'\] .* expected 4 rows"),
        ({"attention.W_q.weight": np.ones((5, D))}, "rows of W_q = 5 is not a multiple"),
        ({"attention.q_norm.gamma": np.ones(2)}, r"unknown names \['attention.q_norm.gamma'\]"),
        ({"feed_forward.W_in.weight": np.full((3, D), np.inf)}, "W_in.weight.* holds 12 NaN"),
    ],
)
def test_weights_that_do_not_fit_are_refused(kind, change, message, rng):
    weights = draw_weights(rng, bias=False) | change
    with pytest.raises(InputError, match=message):
        PAIRS[kind][0](np.ones((T, D)), weights, H)


@KINDS
def test_a_missing_weight_is_named_in_full(kind, rng):
    weights = draw_weights(rng)
    del weights["attention.W_v.weight"]
    with pytest.raises(InputError, match=r"weights lacks \['attention.W_v.weight'\]"):
        PAIRS[kind][0](np.ones((T, D)), weights, H)


@KINDS
def test_a_shift_is_unknown_to_rms_norm(kind, rng):
    with pytest.raises(InputError, match=r"unknown names .*attention_norm\.beta"):
        PAIRS[kind][0](np.ones((T, D)), draw_weights(rng), H, norm="rms")


@KINDS
def test_unknown_norms_and_activations_are_refused(kind, rng):
    forward, weights, x = PAIRS[kind][0], draw_weights(rng), np.ones((T, D))
    with pytest.raises(ConfigError, match="norm='batch' is not one of layer, rms"):
        forward(x, weights, H, norm="batch")
    with pytest.raises(ConfigError, match="activation='tanh' is not one of relu"):
        forward(x, weights, H, activation="tanh")


@pytest.mark.usefixtures("unchecked")
@KINDS
def test_streams_masks_and_gradients_that_do_not_fit_are_refused(kind, rng):
    (forward, backward), weights, x = PAIRS[kind], draw_weights(rng), np.ones((T, D))
    with pytest.raises(InputError, match="x holds 20 NaN"):
        forward(np.nan * x, weights, H)
    with pytest.raises(InputError, match=r"x has shape \(4,\), expected \(\*batch, positions"):
        forward(x[0], weights, H)
    with pytest.raises(InputTypeError, match="mask has dtype int64; give booleans"):
        forward(x, weights, H, np.ones((T, T), dtype=int))
    with pytest.raises(InputError, match=r"dy has shape \(5, 3\), but y has \(5, 4\)"):
        backward(x[:, 1:], forward(rng.normal(size=(T, D)), weights, H)[1])


@pytest.mark.parametrize("half", ["attention", "feed_forward"])
def test_given_factors_multiply_a_half_and_its_gradient(half, rng):
    """Against the same block whose half is followed by the factors, a diagonal in W_out."""
    weights, x, dy = draw_weights(rng), *rng.normal(size=(2, T, D))
    factors = np.tile(2.0 * rng.integers(0, 2, D), (T, 1))  # alike at every position
    out = f"{half}.{'W_o' if half == 'attention' else 'W_out'}"
    scaled = {f"{out}.weight": weights[f"{out}.weight"] * factors[0][:, None]}
    scaled |= {f"{out}.bias": weights[f"{out}.bias"] * factors[0]}
    y, cache = post_norm_block(x, weights, H, CAUSAL, dropout={half: factors})
    expected, other = post_norm_block(x, weights | scaled, H, CAUSAL)
    assert_allclose(y, expected, rtol=1e-12, atol=1e-14)
    dx, other_dx = (post_norm_block_backward(dy, c)[0] for c in (cache, other))
    assert_allclose(dx, other_dx, rtol=1e-11, atol=1e-13)
