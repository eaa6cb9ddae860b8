import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mathlm.errors import ConfigError, InputError, InputTypeError
from mathlm.reference import (
    decoder_block,
    decoder_block_backward,
    feed_forward,
    layer_norm,
    multi_head_attention,
    numerical_vjp,
    post_norm_block,
)

D, H, T, S, F = 4, 2, 4, 5, 3
THIRDS = ("attention", "cross_attention", "feed_forward")
CAUSAL = np.tril(np.ones((T, T), dtype=bool))


def draw_weights(rng, activation="relu", bias=True, width=D):
    """Two heads of width 2; three hidden units; a memory of the width given."""
    rows = {"attention.W_q": (D, D), "attention.W_k": (D, D), "attention.W_v": (D, D)}
    rows |= {f"cross_attention.{n}": (D, width) for n in ("W_k", "W_v")}
    rows |= {f"{n}_attention.{m}": (D, D) for n in ("cross",) for m in ("W_q", "W_o")}
    rows |= {"attention.W_o": (D, D), "feed_forward.W_in": (F, D)}
    rows |= {"feed_forward.W_gate": (F, D)} if activation == "swiglu" else {}
    rows |= {"feed_forward.W_out": (D, F)}
    weights = {f"{n}.weight": rng.normal(size=s) / 2 for n, s in rows.items()}
    for third in THIRDS:
        weights[f"{third}_norm.gamma"] = 1 + rng.normal(size=D) / 4
        weights |= {f"{third}_norm.beta": rng.normal(size=D) / 4} if bias else {}
    if bias:
        weights |= {f"{n}.bias": rng.normal(size=s[0]) / 2 for n, s in rows.items()}
    return weights


def draw_streams(rng, width=D, batch=(2,)):
    return rng.normal(size=(*batch, T, D)), rng.normal(size=(*batch, S, width))


def part(weights, prefix):
    return {n.removeprefix(prefix): w for n, w in weights.items() if n.startswith(prefix)}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("activation", "bias", "width", "dropped"),
    [("gelu", True, D, False), ("swiglu", False, 6, False), ("silu", True, 3, True)],
)
def test_backward_matches_central_differences(activation, bias, width, dropped, rng):
    weights = draw_weights(rng, activation, bias, width)
    (x, memory), dy = draw_streams(rng, width), rng.normal(size=(2, T, D))
    seen = rng.random((2, 1, T, S)) < 0.7
    factors = {third: rng.integers(0, 3, x.shape) / 2 for third in THIRDS} if dropped else None
    rest = (H, CAUSAL, seen, activation, 0.1, factors)

    def value(x, memory, *arrays):
        return decoder_block(x, memory, dict(zip(weights, arrays, strict=True)), *rest)[0]

    _, cache = decoder_block(x, memory, weights, *rest)
    dx, dmemory, dweights = decoder_block_backward(dy, cache)
    numeric = numerical_vjp(value, (x, memory, *weights.values()), dy)
    assert list(dweights) == list(weights)
    for ours, theirs in zip((dx, dmemory, *dweights.values()), numeric, strict=True):
        assert_allclose(ours, theirs, rtol=1e-6, atol=1e-8)


def test_the_thirds_stand_where_the_equations_put_them(rng):
    weights, (x, memory) = draw_weights(rng), draw_streams(rng)
    seen = rng.random((2, 1, T, S)) < 0.7

    def norm(z, third):
        parts = (weights[f"{third}_norm.{name}"] for name in ("gamma", "beta"))
        return layer_norm(z, *parts)[0]

    own, cross = (part(weights, f"{third}.") for third in THIRDS[:2])
    u = norm(x + multi_head_attention(x, own, H, CAUSAL)[0], "attention")
    w = norm(u + multi_head_attention(u, cross, H, seen, memory)[0], "cross_attention")
    y = norm(w + feed_forward(w, part(weights, "feed_forward."))[0], "feed_forward")
    assert_allclose(decoder_block(x, memory, weights, H, CAUSAL, seen)[0], y, rtol=1e-13)


def test_without_what_it_reads_it_is_an_encoder_block_with_one_more_normalization(rng):
    """A third of zeros, gain 1 and shift 0: normalizing what is normalized changes nothing."""
    weights, (x, memory) = draw_weights(rng), draw_streams(rng)
    weights |= {n: 0 * w for n, w in weights.items() if n.startswith("cross_attention")}
    plain = {"attention_norm.gamma": np.ones(D), "attention_norm.beta": np.zeros(D)}
    weights |= plain | {"cross_attention_norm.gamma": np.ones(D)}
    block = {n: w for n, w in weights.items() if not n.startswith("cross_attention")}
    y, _ = decoder_block(x, memory, weights, H, CAUSAL, eps=1e-20)
    assert_allclose(y, post_norm_block(x, block, H, CAUSAL, eps=1e-20)[0], rtol=1e-12)


def test_the_order_of_the_memory_does_not_matter(rng):
    weights, (x, memory) = draw_weights(rng), draw_streams(rng)
    order = [3, 0, 4, 2, 1]
    (y, cache), (again, moved) = (
        decoder_block(x, m, weights, H, CAUSAL) for m in (memory, memory[:, order])
    )
    dy = rng.normal(size=y.shape)
    assert_allclose(again, y, rtol=1e-12)
    dmemory, dmoved = (decoder_block_backward(dy, c)[1] for c in (cache, moved))
    assert_allclose(dmoved, dmemory[:, order], rtol=1e-10, atol=1e-14)


def test_memory_that_nobody_sees_may_hold_anything_and_gets_no_gradient(rng):
    weights, (x, memory) = draw_weights(rng), draw_streams(rng)
    seen = np.arange(S) < 3
    y, cache = decoder_block(x, memory[:, :3], weights, H, CAUSAL)
    memory[:, 3:] = np.nan
    again, padded = decoder_block(x, memory, weights, H, CAUSAL, seen[None])
    assert_allclose(again, y, rtol=1e-13)
    dy = rng.normal(size=y.shape)
    dmemory = decoder_block_backward(dy, padded)[1]
    assert_array_equal(dmemory[:, 3:], 0)
    assert_allclose(
        dmemory[:, :3], decoder_block_backward(dy, cache)[1], rtol=1e-11, atol=1e-14
    )


def test_a_gradient_at_one_position_reaches_the_past_and_the_whole_memory(rng):
    weights, (x, memory) = draw_weights(rng), draw_streams(rng, batch=())
    _, cache = decoder_block(x, memory, weights, H, CAUSAL)
    for t in range(T):
        dy = np.zeros((T, D))
        dy[t] = rng.normal(size=D)
        dx, dmemory, _ = decoder_block_backward(dy, cache)
        assert_array_equal(dx.any(-1), CAUSAL[t])
        assert dmemory.any(-1).all()


@pytest.mark.parametrize("third", THIRDS)
def test_a_third_that_drops_everything_is_as_if_it_were_not_there(third, rng):
    weights, (x, memory) = draw_weights(rng), draw_streams(rng)
    nothing = {n: 0 * w for n, w in weights.items() if n.startswith(f"{third}.")}
    dropped, _ = decoder_block(x, memory, weights, H, dropout={third: np.zeros(x.shape)})
    assert_array_equal(dropped, decoder_block(x, memory, weights | nothing, H)[0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cross_attention_norm.gamma": np.ones(3)}, r"norm.gamma'\] has shape \(3,\)"),
        ({"feed_forward_norm.beta": np.ones(5)}, r"norm.beta'\] .* expected \(4,\)"),
        ({"cross_attention.W_o.weight": np.ones((3, D))}, r"W_o.weight'\] .* expected 4 rows"),
        ({"cross_attention.W_k.weight": np.ones((D, 3))}, r"W_k.weight'\] .* \(out, 4\)"),
        ({"memory_norm.gamma": np.ones(D)}, r"unknown names \['memory_norm.gamma'\]"),
        ({"feed_forward.W_in.weight": np.full((F, D), np.inf)}, "W_in.weight.* holds 12 NaN"),
    ],
)
def test_weights_that_do_not_fit_are_refused(change, message, rng):
    x, memory = draw_streams(rng)
    with pytest.raises(InputError, match=message):
        decoder_block(x, memory, draw_weights(rng) | change, H)


def test_a_missing_weight_is_named_in_full(rng):
    weights = draw_weights(rng)
    del weights["cross_attention.W_v.weight"]
    with pytest.raises(InputError, match=r"lacks \['cross_attention.W_v.weight'\]"):
        decoder_block(*draw_streams(rng), weights, H)


@pytest.mark.usefixtures("unchecked")
def test_streams_masks_factors_and_gradients_that_do_not_fit_are_refused(rng):
    weights, (x, memory) = draw_weights(rng), draw_streams(rng)
    with pytest.raises(InputError, match="different batch axes"):
        decoder_block(x, memory[:1], weights, H)
    with pytest.raises(InputError, match="memory holds 40 NaN"):
        decoder_block(x, np.nan * memory, weights, H)
    with pytest.raises(InputTypeError, match="mask has dtype int64; give booleans"):
        decoder_block(x, memory, weights, H, None, np.ones((T, S), dtype=int))
    with pytest.raises(InputError, match=r"dropout\['attention'\] has shape \(4,\), expected"):
        decoder_block(x, memory, weights, H, dropout={"attention": np.ones(D)})
    with pytest.raises(ConfigError, match="activation='tanh' is not one of relu"):
        decoder_block(x, memory, weights, H, activation="tanh")
    with pytest.raises(InputError, match=r"dy has shape \(4, 4\), but y has \(2, 4, 4\)"):
        decoder_block_backward(x[0], decoder_block(x, memory, weights, H)[1])
