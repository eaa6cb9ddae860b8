from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mathlm.errors import InputError
from mathlm.reference import (
    Transformer,
    TransformerConfig,
    decoder,
    decoder_backward,
    decoder_block,
    decoder_block_backward,
    encoder,
    encoder_backward,
    positioned_embedding,
    positioned_embedding_backward,
    post_norm_block,
    sinusoidal_table,
)

CONFIG = TransformerConfig(
    vocab_size=5, context=8, d_model=4, n_layers=2, n_decoder_layers=3, n_heads=2, d_ff=3
)


def weights_of(stack, rng):
    names = {n: w for n, w in Transformer(CONFIG, rng).weights.items() if n.startswith(stack)}
    return {n.removeprefix(stack): w + rng.normal(size=w.shape) / 4 for n, w in names.items()}


def part(weights, prefix):
    return {n.removeprefix(prefix): w for n, w in weights.items() if n.startswith(prefix)}


OTHER = replace(CONFIG, activation="gelu", norm_eps=0.1)


def test_an_encoder_is_its_blocks_one_after_another(rng):
    weights, x = weights_of("encoder.", rng), rng.normal(size=(2, 3, 4))
    seen = np.array([True, True, False])[None]
    factors = {f"{i}.attention": rng.integers(0, 3, x.shape) / 2 for i in range(2)}
    y = x
    for i in ("0.", "1."):
        maps, thin = part(weights, i), part(factors, i)
        y, _ = post_norm_block(y, maps, 2, seen, "layer", "gelu", 0.1, thin)
    assert_array_equal(encoder(x, weights, OTHER, seen, factors)[0], y)


def test_a_decoder_is_its_blocks_one_after_another(rng):
    weights, memory = weights_of("decoder.", rng), rng.normal(size=(2, 4, 4))
    x, causal = rng.normal(size=(2, 3, 4)), np.tril(np.ones((3, 3), dtype=bool))
    seen = np.array([True, True, False, True])[None]
    factors = {f"{i}.cross_attention": rng.integers(0, 3, x.shape) / 2 for i in range(3)}
    y = x
    for i in ("0.", "1.", "2."):
        maps, thin = part(weights, i), part(factors, i)
        y, _ = decoder_block(y, memory, maps, 2, causal, seen, "gelu", 0.1, thin)
    assert_array_equal(decoder(x, memory, weights, OTHER, causal, seen, factors)[0], y)


def assert_slopes(value, arrays, gradients, dy, rng, h=1e-6):
    """Each gradient against central differences along a random direction of its array."""
    for i, (array, gradient) in enumerate(zip(arrays, gradients, strict=True)):
        direction = rng.normal(size=array.shape)
        ahead, behind = (
            value(*arrays[:i], array + shift * direction, *arrays[i + 1 :]) for shift in (h, -h)
        )
        slope = (dy * (ahead - behind)).sum() / (2 * h)
        assert_allclose((gradient * direction).sum(), slope, rtol=1e-6, atol=1e-7)


@pytest.mark.usefixtures("unchecked")
def test_the_gradient_of_an_encoder_matches_central_differences(rng):
    weights, (x, dy) = weights_of("encoder.", rng), rng.normal(size=(2, 2, 3, 4))
    names, seen = list(weights), np.array([True, True, False])[None]

    def value(x, *arrays):
        return encoder(x, dict(zip(names, arrays, strict=True)), CONFIG, seen)[0]

    dx, dweights = encoder_backward(dy, encoder(x, weights, CONFIG, seen)[1])
    gradients = (dx, *(dweights[name] for name in names))
    assert_slopes(value, (x, *weights.values()), gradients, dy, rng)


def test_every_block_of_a_decoder_reads_the_memory_and_sends_a_gradient_back(rng):
    """The gradient in the memory is the sum of three, one a block, last block first."""
    weights, memory = weights_of("decoder.", rng), rng.normal(size=(2, 4, 4))
    x, dy = rng.normal(size=(2, 2, 3, 4))
    caches, y = [], x
    for i in range(3):
        y, cache = decoder_block(y, memory, part(weights, f"{i}."), 2)
        caches.append(cache)
    ours, stack = decoder(x, memory, weights, CONFIG)
    assert_array_equal(ours, y)
    total, dx = 0.0, dy
    for cache in reversed(caches):
        dx, dmemory, _ = decoder_block_backward(dx, cache)
        assert np.abs(dmemory).max() > 1e-3
        total = total + dmemory
    found = decoder_backward(dy, stack)
    assert_array_equal(found[0], dx)
    assert_array_equal(found[1], total)


@pytest.mark.usefixtures("unchecked")
def test_the_gradient_of_a_decoder_matches_central_differences(rng):
    weights, memory = weights_of("decoder.", rng), rng.normal(size=(1, 2, 4))
    x, dy = rng.normal(size=(2, 1, 2, 4))
    names, causal = list(weights), np.tril(np.ones((2, 2), dtype=bool))

    def value(x, memory, *arrays):
        return decoder(x, memory, dict(zip(names, arrays, strict=True)), CONFIG, causal)[0]

    _, cache = decoder(x, memory, weights, CONFIG, causal)
    dx, dmemory, dweights = decoder_backward(dy, cache)
    gradients = (dx, dmemory, *(dweights[name] for name in names))
    assert_slopes(value, (x, memory, *weights.values()), gradients, dy, rng)


def test_tokens_become_scaled_rows_at_positions_that_count_real_tokens(rng):
    table = rng.normal(size=(5, 4))
    ids = np.array([[3, 1, 0, 2], [4, 0, 1, 3]])
    real = np.array([[False, True, False, True], [True, True, False, False]])
    x, _ = positioned_embedding(ids, table, real)
    P = sinusoidal_table(2, 4)
    assert_array_equal(x[~real], 0)
    assert_allclose(x[0, [1, 3]], 2 * table[[1, 2]] + P, rtol=1e-14)
    assert_allclose(x[1, :2], 2 * table[[4, 0]] + P, rtol=1e-14)


def test_the_gradient_of_a_table_gathers_real_tokens_only(rng):
    """Token 3 stands at two real places and at one of padding: 4 = √D times the sum of two."""
    ids, real = np.array([[3, 3, 1, 3]]), np.array([[True, True, True, False]])
    dy = rng.normal(size=(1, 4, 16))
    _, cache = positioned_embedding(ids, rng.normal(size=(5, 16)), real)
    dtable = positioned_embedding_backward(dy, cache)
    assert_allclose(dtable[3], 4 * (dy[0, 0] + dy[0, 1]), rtol=1e-14)
    assert_allclose(dtable[1], 4 * dy[0, 2], rtol=1e-14)
    assert_array_equal(dtable[[0, 2, 4]], 0)


def test_a_gradient_of_another_shape_is_refused(rng):
    ids, real = np.array([[3, 1]]), np.array([[True, True]])
    _, cache = positioned_embedding(ids, rng.normal(size=(5, 4)), real)
    with pytest.raises(InputError, match=r"dy has shape \(1, 2, 3\), but y has \(1, 2, 4\)"):
        positioned_embedding_backward(np.ones((1, 2, 3)), cache)
    with pytest.raises(InputError, match=r"dy has shape \(2, 4\), but y has \(1, 2, 4\)"):
        positioned_embedding_backward(np.ones((2, 4)), cache)
