"""A vector added to the stream while a model reads and writes."""

import copy

import pytest
import torch

from mathlm.adapt import add_prefix, add_prompt, remove_adapters
from mathlm.errors import InputError, InputTypeError
from mathlm.generate import generate
from mathlm.interpret import Steered, record, steering_vector
from mathlm.models import GPT, Bert, BertConfig, GPTConfig

IDS = torch.randint(20, (2, 8), generator=torch.Generator().manual_seed(3))
AT = "blocks.0.resid_post"


def small(**changes):
    sizes = {"vocab_size": 20, "context": 16, "d_model": 8, "n_layers": 2, "n_heads": 2}
    return GPT(GPTConfig(**sizes | changes)).eval()


def test_zeros_change_nothing_bit_for_bit():
    model = small()
    for vectors in ({AT: torch.zeros(8)}, {}):
        assert torch.equal(Steered(model, vectors)(IDS), model(IDS, taps={}))
        torch.testing.assert_close(Steered(model, vectors)(IDS), model(IDS))


def test_the_vector_is_added_at_its_tap_and_nowhere_before():
    model, v = small(), torch.randn(8)
    plain, steered = record(model, IDS), record(Steered(model, {AT: v}), IDS)
    torch.testing.assert_close(steered[AT], plain[AT] + v, rtol=0, atol=0)
    assert torch.equal(steered["blocks.0.resid_mid"], plain["blocks.0.resid_mid"])
    assert torch.equal(steered["blocks.1.resid_pre"], steered[AT])


def test_at_the_last_tap_the_logits_are_those_of_the_moved_stream():
    model, v, last = small(), torch.randn(8), "blocks.1.resid_post"
    by_hand = model.head(model.final_norm(record(model, IDS)[last] + v))
    torch.testing.assert_close(Steered(model, {last: v})(IDS), by_hand, rtol=0, atol=0)


def test_the_model_stays_as_it_is_and_its_weights_are_shared():
    model = small()
    before, steered = model(IDS), Steered(model, {AT: torch.arange(8.0)})
    assert not torch.allclose(steered(IDS), before)
    assert torch.equal(model(IDS), before)
    assert steered.head.weight is model.head.weight
    assert [*steered.state_dict()] == [*model.state_dict()]


def test_steering_twice_adds_both():
    model, v = small(), torch.randn(8)
    twice = Steered(Steered(model, {AT: v}), {AT: 2 * v})
    torch.testing.assert_close(twice(IDS), Steered(model, {AT: 3 * v})(IDS))


@pytest.mark.parametrize("cache", [True, False])
def test_generated_text_is_that_of_the_steered_logits(cache):
    steered = Steered(small(position="rope"), {AT: 3 * torch.randn(8)})
    text, written = IDS, generate(steered, IDS, 6, temperature=0, cache=cache)
    for _ in range(6):
        text = torch.cat((text, steered(text)[:, -1:].argmax(-1)), 1)
    assert torch.equal(written, text)
    assert not torch.equal(written, generate(steered.source[0], IDS, 6, temperature=0))


def test_the_vector_is_the_difference_of_means_over_texts():
    model = small()
    texts = [torch.tensor(t) for t in ([1, 2, 3, 4], [5, 6], [7, 8, 9])]
    a = [record(model, t[None])[AT][0, 1:].mean(0) for t in texts]
    found = steering_vector(model, texts[:2], texts[2:], AT, skip=1)
    torch.testing.assert_close(found, (a[0] + a[1]) / 2 - a[2])


def test_the_same_texts_on_both_sides_give_zero():
    texts = [*IDS]
    assert (steering_vector(small(), texts, texts, "embedding") == 0).all()


def test_a_tap_that_is_not_there_is_refused_with_those_near_it():
    with pytest.raises(InputError, match=r"'blocks.0.resid_pots'.*blocks.0.resid_post"):
        Steered(small(), {"blocks.0.resid_pots": torch.zeros(8)})
    with pytest.raises(InputError, match="nothing of width D passes a tap"):
        steering_vector(small(), [*IDS], [*IDS], "blocks.0.attention.q")
    with pytest.raises(InputError, match=r"'blocks.2.resid_post'"):
        Steered(small(), {"blocks.2.resid_post": torch.zeros(8)})


def test_vectors_that_cannot_be_added_are_refused():
    with pytest.raises(InputError, match=r"is \(3,\), expected \(8,\)"):
        Steered(small(), {AT: torch.zeros(3)})
    with pytest.raises(InputError, match="NaN or infinity"):
        Steered(small(), {AT: torch.full((8,), torch.nan)})


def test_texts_that_have_no_mean_are_refused():
    with pytest.raises(InputError, match="unwanted holds no text"):
        steering_vector(small(), [*IDS], [], AT)
    with pytest.raises(InputError, match=r"\(1,\) must be \(T,\) with more than skip=1"):
        steering_vector(small(), [torch.tensor([3])], [*IDS], AT, skip=1)


def test_only_a_gpt_is_steered(unchecked):
    bert = Bert(BertConfig(vocab_size=20, context=8, d_model=8, n_layers=1, n_heads=2))
    with pytest.raises(InputTypeError, match="Bert is not a GPT"):
        Steered(bert, {})


def test_a_vector_that_is_changed_later_does_not_change_the_model():
    model, v = small(), torch.ones(8)
    steered = Steered(model, {AT: v})
    before = steered(IDS)
    v.mul_(3)
    assert torch.equal(steered(IDS), before)


@pytest.mark.usefixtures("unchecked")
def test_vectors_and_texts_of_another_kind_are_refused():
    model = small()
    with pytest.raises(InputTypeError, match=r"vectors must be a dict .* got Tensor"):
        Steered(model, torch.zeros(8))
    with pytest.raises(InputTypeError, match="is a list"):
        Steered(model, {AT: [0.0] * 8})
    with pytest.raises(InputTypeError, match=r"a text is a list and skip=0"):
        steering_vector(model, [[1, 2]], [[3]], AT)
    with pytest.raises(InputTypeError, match=r"skip=0\.5"):
        steering_vector(model, [*IDS], [*IDS], AT, skip=0.5)
    bert = Bert(BertConfig(vocab_size=20, context=8, d_model=8, n_layers=1, n_heads=2)).eval()
    with pytest.raises(InputTypeError, match="Bert is not a GPT"):
        steering_vector(bert, [*IDS], [*IDS], AT)


@pytest.mark.usefixtures("unchecked")
def test_one_text_in_place_of_a_list_of_texts_is_refused():
    with pytest.raises(InputError, match=r"shape \(\) must be \(T,\)"):
        steering_vector(small(), IDS[0], [*IDS], AT)


@torch.no_grad()
def test_a_text_read_in_two_parts_is_that_read_at_once():
    steered = Steered(small(), {AT: torch.randn(8)})
    cache = steered.new_cache(2)
    parts = [steered(ids, cache=cache) for ids in (IDS[:, :5], IDS[:, 5:])]
    torch.testing.assert_close(torch.cat(parts, 1), steered(IDS), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("on", ["steered", "model"])
@pytest.mark.parametrize("add", [add_prefix, add_prompt])
@torch.no_grad()
def test_a_prefix_is_read_and_taken_away_by_model_and_steered_alike(add, on):
    model, tokens = small(), [1, 2, 3]
    steered = Steered(model, {AT: torch.zeros(8)})
    one, before = {"steered": steered, "model": model}[on], model(IDS)
    add(one, 3, tokens=tokens)
    for p in model.virtual.parameters():
        p += 0.5
    assert steered.virtual is model.virtual
    assert steered.config.context == model.config.context
    assert not torch.allclose(model(IDS), before)
    torch.testing.assert_close(steered(IDS), model(IDS))
    remove_adapters(one)
    torch.testing.assert_close(steered(IDS), before)
    torch.testing.assert_close(model(IDS), before)
    assert (steered.config.context, steered.virtual, model.virtual) == (16, None, None)


@torch.no_grad()
def test_a_copy_of_a_steered_model_has_weights_of_its_own():
    steered = Steered(small(), {AT: torch.ones(8)})
    copied = copy.deepcopy(steered)
    torch.testing.assert_close(copied(IDS), steered(IDS), rtol=0, atol=0)
    assert copied.source[0].blocks is copied.blocks is not steered.blocks
