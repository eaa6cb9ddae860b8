import pytest
import torch

from mathlm.errors import InputError
from mathlm.layers import DecoderCache, KeyValueCache, MemoryCache


def test_a_layer_returns_all_that_was_appended():
    layer = KeyValueCache(1, 2, 3, 8, 4).layers[0]
    k, v = torch.randn(2, 2, 3, 7, 4)
    for start, end in ((0, 4), (4, 5), (5, 7)):
        found = layer.append(k[:, :, start:end], v[:, :, start:end])
    assert torch.equal(found[0], k)
    assert torch.equal(found[1], v)


def test_a_layer_writes_into_memory_set_aside_before():
    layer = KeyValueCache(1, 2, 3, 8, 4).layers[0]
    address = layer.k.data_ptr()
    k, _ = layer.append(*torch.randn(2, 2, 3, 7, 4))
    assert k.data_ptr() == address


def test_a_full_layer_refuses_more_and_keeps_what_it_has():
    layer = KeyValueCache(1, 1, 1, 8, 2).layers[0]
    layer.append(*torch.ones(2, 1, 1, 6, 2))
    with pytest.raises(InputError, match="the cache holds 6 of 8 positions, 3 more do not fit"):
        layer.append(*torch.ones(2, 1, 1, 3, 2))
    assert (layer.length, layer.k.sum().item()) == (6, 12.0)


def test_keys_that_need_a_gradient_are_refused():
    layer = KeyValueCache(1, 1, 1, 8, 2).layers[0]
    k = torch.ones(1, 1, 1, 2, requires_grad=True)
    with pytest.raises(InputError, match=r"torch\.no_grad"):
        layer.append(k, k)


def test_another_number_of_rows_is_refused():
    with pytest.raises(InputError, match="the cache holds 2 rows, the ids have 3"):
        KeyValueCache(1, 2, 1, 8, 2).require_room(3, 1)


def test_dtype_is_the_one_asked_for():
    assert KeyValueCache(1, 1, 1, 8, 2, torch.bfloat16).layers[0].v.dtype == torch.bfloat16


def test_a_memory_cache_is_empty_until_it_is_filled():
    cache, memory = MemoryCache(), torch.randn(2, 5, 4)
    assert not cache.holds(memory)
    cache.fill(memory, *torch.randn(2, 2, 1, 5, 4))
    assert cache.holds(memory)


@pytest.mark.parametrize("shape", [(2, 5, 4), (2, 6, 4)])
def test_another_memory_is_refused(shape):
    cache = DecoderCache(1, 2, 1, 8, 4)
    cache.require_memory(torch.ones(2, 5, 4))
    cache.memory_layers[0].fill(torch.ones(2, 5, 4), *torch.randn(2, 2, 1, 5, 4))
    cache.require_memory(torch.ones(2, 5, 4))
    with pytest.raises(InputError, match=r"another memory \(2, 5, 4\) than the given one \(2"):
        cache.require_memory(torch.zeros(shape))


def test_a_decoder_cache_has_room_for_each_layer():
    cache = DecoderCache(3, 2, 1, 8, 4)
    assert (len(cache.layers), len(cache.memory_layers), cache.length) == (3, 3, 0)
    assert cache.layers[2].k.shape == (2, 1, 8, 4)


@pytest.mark.parametrize("batch", [1, 5])
def test_the_cache_takes_the_bytes_that_the_formula_counts(batch):
    """2 L B G S K b: keys and values of L = 3 layers, G = 2 heads, S = 40, K = 6, 8 bytes."""
    cache = KeyValueCache(3, batch, 2, 40, 6)
    assert cache.bytes == 2 * 3 * batch * 2 * 40 * 6 * 8


def test_a_sliding_cache_takes_the_bytes_of_the_window_and_a_quarter():
    """A window of 8 and 2 places more, whatever the capacity."""
    cache = KeyValueCache(1, 1, 1, 1000, 6, window=8)
    assert cache.bytes == 2 * 10 * 6 * 8


def test_a_sliding_layer_returns_the_window_in_order():
    """Before each append the window is the last 3 keys; the first are returned as they come."""
    layer = KeyValueCache(1, 1, 1, 100, 1, window=4).layers[0]
    x = torch.arange(20.0).view(1, 1, 20, 1)
    for t in range(20):
        k, v = layer.append(x[:, :, t : t + 1], -x[:, :, t : t + 1])
        assert torch.equal(k.flatten()[-4:], x.flatten()[max(0, t - 3) : t + 1])
        assert torch.equal(v, -k)
    assert layer.length == 20


def test_rows_of_a_cache_are_kept_in_the_order_asked_for():
    cache, (k, v) = KeyValueCache(1, 3, 1, 8, 2), torch.randn(2, 3, 1, 5, 2)
    cache.layers[0].append(k, v)
    cache.select(torch.tensor([2, 2, 0, 1]))
    assert torch.equal(cache.layers[0].k[:, :, :5], k[[2, 2, 0, 1]])
    assert torch.equal(cache.layers[0].v[:, :, :5], v[[2, 2, 0, 1]])
    assert cache.batch == 4


def test_the_rows_of_a_memory_follow_those_of_the_decoder():
    cache, memory = DecoderCache(1, 2, 1, 8, 4), torch.randn(2, 5, 4)
    k, v = torch.randn(2, 2, 1, 5, 4)
    cache.memory_layers[0].fill(memory, k, v)
    cache.select(torch.tensor([1, 0]))
    assert torch.equal(cache.memory_layers[0].k, k.flip(0))
    cache.require_memory(memory.flip(0))
