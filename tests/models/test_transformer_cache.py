"""Decoding in steps gives what decoding at once gives."""

import pytest
import torch
from models.transformer_families import FAMILIES, TIGHT, make, tokens

from mathlm.errors import InputError

EVERY = pytest.mark.parametrize("family", FAMILIES)


@pytest.fixture(autouse=True)
def no_gradients():
    with torch.no_grad():
        yield


def in_parts(model, target, memory, ends, **masks):
    """Logits of the target, read up to each of the ends in turn with one cache."""
    cache, parts = model.new_cache(len(target)), []
    for start, end in zip([0, *ends], ends, strict=False):
        parts.append(model.decode(target[:, start:end], memory, cache=cache, **masks))
    return torch.cat(parts, 1)


@EVERY
def test_every_split_into_prefill_and_decode_gives_the_same_logits(family):
    model, target = make(family), tokens(2, 12)
    memory = model.encode(tokens(2, 7))
    whole = model.decode(target, memory)
    for end in range(1, 12):
        torch.testing.assert_close(in_parts(model, target, memory, [end, 12]), whole, **TIGHT)


@EVERY
def test_reading_token_by_token_is_reading_at_once(family):
    model, target, source = make(family), tokens(2, 24), tokens(2, 7)
    mask = torch.arange(7) < torch.tensor([[7], [3]])
    memory = model.encode(source, mask)
    steps = in_parts(model, target, memory, list(range(1, 25)), memory_mask=mask)
    torch.testing.assert_close(steps, model(source, target, source_mask=mask), **TIGHT)


@EVERY
@pytest.mark.parametrize("side", ["left", "right"])
def test_a_cache_remembers_which_tokens_of_the_target_are_padding(family, side):
    model, target = make(family), tokens(2, 9)
    memory, prompt = model.encode(tokens(2, 7)), torch.ones(2, 5) > 0
    prompt[1, :3] = side == "right"
    prompt[1, 3:] = side == "left"
    cache, ones = model.new_cache(2), torch.ones(2, 4) > 0
    first = model.decode(target[:, :5], memory, target_mask=prompt, cache=cache)
    later = model.decode(target[:, 5:], memory, cache=cache)
    mask = torch.cat((prompt, ones), 1)
    whole = model.decode(target, memory, target_mask=mask)
    torch.testing.assert_close(torch.cat((first, later), 1)[mask], whole[mask], **TIGHT)


@EVERY
def test_greedy_tokens_are_the_same_with_and_without_a_cache(family):
    model, start = make(family), tokens(3, 1)
    memory, cache = model.encode(tokens(3, 6)), model.new_cache(3)
    at_once, in_steps = start, start
    for _ in range(20):
        y = model.decode(at_once, memory)
        at_once = torch.cat((at_once, y[:, -1:].argmax(-1)), 1)
        y = model.decode(in_steps[:, -1:], memory, cache=cache)
        in_steps = torch.cat((in_steps, y[:, -1:].argmax(-1)), 1)
    assert torch.equal(at_once, in_steps)


def test_keys_and_values_of_the_memory_are_computed_once_a_layer():
    model, target, calls = make(), tokens(2, 5), []
    for block in model.decoder:
        block.cross_attention.W_v.register_forward_hook(lambda *_: calls.append(1))
    in_parts(model, target, model.encode(tokens(2, 7)), [1, 2, 3, 4, 5])
    assert len(calls) == 2


def test_taps_see_the_weights_of_a_step():
    model, target, taps = make(), tokens(2, 5), {}
    memory, cache = model.encode(tokens(2, 7)), model.new_cache(2)
    model.decode(target[:, :4], memory, cache=cache)
    model.decode(target[:, 4:], memory, cache=cache, taps=taps)
    whole = {}
    model.decode(target, memory, taps=whole)
    for name in ("decoder.1.attention.weights", "decoder.1.cross_attention.weights"):
        torch.testing.assert_close(taps[name], whole[name][:, :, 4:], **TIGHT)


def test_a_cache_has_the_sizes_of_the_decoder():
    cache = make("pre-norm", n_decoder_layers=3).float().new_cache(5, 7)
    assert (cache.batch, cache.capacity, len(cache.layers)) == (5, 7, 3)
    assert cache.layers[0].k.shape == (5, 4, 7, 5)
    assert cache.layers[0].k.dtype == torch.float32


def test_a_refused_memory_leaves_the_cache_as_it_was():
    model, target = make(), tokens(2, 5)
    memory, cache = model.encode(tokens(2, 7)), model.new_cache(2)
    model.decode(target[:, :3], memory, cache=cache)
    with pytest.raises(InputError, match="the cache holds keys and values of another memory"):
        model.decode(target[:, 3:], memory + 1, cache=cache)
    y = model.decode(target[:, 3:], memory, cache=cache)
    torch.testing.assert_close(y, model.decode(target, memory)[:, 3:], **TIGHT)


def test_a_cache_past_the_context_or_its_room_is_refused():
    model = make()
    memory, cache = model.encode(tokens(2, 7)), model.new_cache(2, 4)
    with pytest.raises(InputError, match="holds 0 of 4 positions, 5 more do not fit"):
        model.decode(tokens(2, 5), memory, cache=cache)
    cache = model.new_cache(2, 40)
    model.decode(tokens(2, 24), memory, cache=cache)
    with pytest.raises(InputError, match="25 tokens is longer than the context 24"):
        model.decode(tokens(2, 1), memory, cache=cache)


def test_another_number_of_rows_is_refused():
    model = make()
    with pytest.raises(InputError, match="the cache holds 3 rows, the ids have 2"):
        model.decode(tokens(2, 4), model.encode(tokens(2, 7)), cache=model.new_cache(3))


def test_a_mask_that_contradicts_the_cache_is_refused():
    model = make()
    memory, cache = model.encode(tokens(2, 7)), model.new_cache(2)
    model.decode(tokens(2, 3), memory, cache=cache)
    mask = torch.arange(4) > torch.tensor([[0], [-1]])
    with pytest.raises(InputError, match="mask differs from the one that the cached tokens"):
        model.decode(tokens(2, 1), memory, target_mask=mask, cache=cache)


def test_gradients_are_refused():
    model = make()
    memory = model.encode(tokens(2, 7))
    with (
        torch.enable_grad(),
        pytest.raises(InputError, match=r"no gradients: run under torch\.no_grad"),
    ):
        model.decode(tokens(2, 3), memory, cache=model.new_cache(2))
