import itertools
import math

import pytest
import torch

from mathlm.errors import InputError, InputTypeError
from mathlm.generate import (
    beam_generate,
    beam_search,
    exhaustive_search,
    generate,
    score,
    wu_length_penalty,
)
from mathlm.models import GPT, GPTConfig, Recurrent

FAMILIES = {
    "gpt2": {},
    "llama": {"n_kv_heads": 2, "norm": "rms", "activation": "swiglu", "position": "rope"},
    "lstm": None,
}
EVERY = pytest.mark.parametrize("family", FAMILIES)
PROMPT = torch.tensor([1, 0, 2])


def make(family="gpt2", vocab_size=4):
    sizes = {"vocab_size": vocab_size, "d_model": 16, "n_layers": 2}
    choices = FAMILIES[family]
    if choices is None:
        model = Recurrent(kind=family, **sizes).eval()
    else:
        model = GPT(GPTConfig(context=24, n_heads=4, **sizes | choices)).eval()
    for p in model.parameters():
        p.data += 0.4 * torch.randn_like(p)
    return model


def whole(model):
    """The log-probabilities that beam search asks for, from the whole text each time."""
    return lambda ids: model(ids)[:, -1].log_softmax(-1)


def assert_same(found, expected):
    assert [y.ids.tolist() for y in found] == [y.ids.tolist() for y in expected]
    assert [y.score for y in found] == pytest.approx([y.score for y in expected], rel=1e-12)


@EVERY
@pytest.mark.parametrize("cache", [True, False])
@pytest.mark.parametrize("beams", [1, 2, 3, 7])
def test_reading_through_the_cache_finds_what_reading_everything_finds(
    family, cache, beams, unchecked
):
    """With a token that ends: the number of beams that go on falls on the way."""
    model = make(family)
    found = beam_generate(model, PROMPT, 6, beams, [3], cache=cache)
    assert_same(found, beam_search(whole(model), PROMPT, 6, beams, end=3))


@EVERY
@pytest.mark.parametrize("length_penalty", [0.0, 1.0, wu_length_penalty(0.7)])
def test_with_a_beam_for_every_sequence_the_search_is_exhaustive(
    family, length_penalty, unchecked
):
    model = make(family)
    found = beam_generate(model, PROMPT, 4, 4**4, [2], length_penalty)
    assert_same(found, exhaustive_search(whole(model), PROMPT, 4, 2, length_penalty))


@EVERY
def test_one_beam_is_generation_at_temperature_zero(family, unchecked):
    model = make(family, vocab_size=11)
    (only,) = beam_generate(model, PROMPT, 15, 1)
    assert torch.equal(only.ids, generate(model, PROMPT[None], 15, 0.0)[0])


def test_the_score_is_that_of_the_text():
    model = make(vocab_size=11)
    with torch.no_grad():
        for ids, logp in beam_generate(model, PROMPT, 8, 5):
            (expected,) = score(model, PROMPT, [ids[3:]])
            assert logp == pytest.approx(expected.sum().item(), rel=1e-12)


def by_definition(model, n, stop):
    """Every text of up to n tokens that ends with its first stop, or is cut off at n."""
    for length in range(1, n + 1):
        for y in itertools.product(range(3), repeat=length):
            ends = [any(y[: i + 1][-len(s) :] == s for s in stop) for i in range(length)]
            if not any(ends[:-1]) and (ends[-1] or length == n):
                (logp,) = score(model, PROMPT, [torch.tensor(y)])
                yield logp.sum().item(), y


def test_a_stop_may_be_a_sequence_of_tokens(unchecked):
    model, stop = make(vocab_size=3), [(0, 1), (2,)]
    found = beam_generate(model, PROMPT, 4, 3**4, [(0, 1), 2])
    with torch.no_grad():
        expected = sorted(by_definition(model, 4, stop), reverse=True)
    assert [tuple(y.ids[3:].tolist()) for y in found] == [y for _, y in expected]
    assert {len(y) for _, y in expected} == {1, 2, 3, 4}


def test_a_stop_in_the_prompt_ends_nothing():
    """The prompt ends with 2, and (2, 0) would begin in it."""
    found = beam_generate(make(vocab_size=3), PROMPT, 2, 9, [(2, 0)])
    assert {len(y.ids) for y in found} == {5}


def test_the_text_of_a_wider_search_is_at_least_as_likely_in_the_mean(unchecked):
    """Not in each: in the mean over many models."""
    best = torch.zeros(3)
    for seed in range(12):
        torch.manual_seed(seed)
        model = make(vocab_size=9)
        best += torch.tensor([beam_generate(model, PROMPT, 6, k)[0].score for k in (1, 3, 27)])
    assert best[0] < best[1] < best[2]


def table_model(table, V):
    def log_probabilities(ids):
        rows = [table.get(tuple(row[1:]), [1 / V] * V) for row in ids.tolist()]
        return torch.tensor(rows).log()

    return log_probabilities


def test_an_exhaustive_search_in_numbers_done_by_hand():
    """0.6 · 0.5 twice, 0.4 · 0.9 and 0.4 · 0.1: the text that greedy decoding finds is second,
    and its twin, of the same probability, stands behind it.
    """
    table = {(): [0.6, 0.4], (0,): [0.5, 0.5], (1,): [0.9, 0.1]}
    found = exhaustive_search(table_model(table, 2), torch.tensor([0]), 2)
    assert [y.ids[1:].tolist() for y in found] == [[1, 0], [0, 0], [0, 1], [1, 1]]
    assert [math.exp(y.score) for y in found] == pytest.approx([0.36, 0.3, 0.3, 0.04])


def test_an_exhaustive_search_leaves_out_what_cannot_be():
    table = {(): [0.0, 1.0], (1,): [0.25, 0.75]}
    found = exhaustive_search(table_model(table, 2), torch.tensor([0]), 2)
    assert [y.ids[1:].tolist() for y in found] == [[1, 1], [1, 0]]


def test_all_texts_together_are_certain():
    model = make()
    for end in (None, 3):
        found = exhaustive_search(whole(model), PROMPT, 5, end)
        assert sum(math.exp(y.score) for y in found) == pytest.approx(1.0, abs=1e-12)


def test_the_length_penalty_of_wu_in_numbers_done_by_hand():
    """(5 + 7) / 6 = 2 and (5 + 1) / 6 = 1."""
    assert wu_length_penalty(1.0)(7) == pytest.approx(2.0)
    assert wu_length_penalty(0.5)(7) == pytest.approx(2**0.5)
    assert wu_length_penalty(0.6)(1) == pytest.approx(1.0)


def test_a_penalty_given_as_a_function_divides_the_score():
    model = make()
    plain, divided = (
        beam_generate(model, PROMPT, 4, 3, length_penalty=f) for f in (0.0, lambda n: 2.0 * n)
    )
    assert [8 * y.score for y in divided] == pytest.approx([y.score for y in plain])


def test_of_many_equal_continuations_the_lowest_tokens_are_kept():
    """70,000 equally likely tokens, more than a sort that is not stable keeps in order."""
    logp = torch.full((1, 70_000), -math.log(70_000))
    found = beam_search(lambda ids: logp.expand(len(ids), -1), PROMPT, 1, 40)
    assert [y.ids[-1].item() for y in found] == list(range(40))


def test_the_mode_of_the_model_comes_back():
    model = make().train()
    beam_generate(model, PROMPT, 3, 2)
    assert model.training


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_new_tokens": 0}, "max_new_tokens=0 must be at least 1"),
        ({"max_new_tokens": 22}, "3 prompt tokens and 22 new .* longer than the context 24"),
        ({"beams": 0}, "beams=0 must be at least 1"),
        ({"stop": [[]]}, r"stop\[0\] is empty"),
        ({"stop": [1, (2, 4)]}, r"stop\[1\] has token 4, outside 0\.\.3"),
        ({"length_penalty": math.inf}, "length_penalty=inf must be finite"),
        ({"length_penalty": 1e9}, "divides the score of 2 tokens by inf"),
        ({"length_penalty": lambda n: 0.0}, r"divides the score of 1 tokens by 0\.0"),
        ({"ids": PROMPT[None]}, r"ids has shape \(1, 3\)"),
        ({"ids": PROMPT + 4}, r"outside 0\.\.3"),
    ],
)
def test_searches_that_make_no_sense_are_refused(options, message, unchecked):
    given = {"ids": PROMPT, "max_new_tokens": 2, "beams": 2} | options
    with pytest.raises(InputError, match=message):
        beam_generate(make(), **given)


def test_prompts_that_are_no_tokens_are_refused(unchecked):
    with pytest.raises(InputTypeError, match="ids must be int64, got float64"):
        beam_generate(make(), PROMPT.double(), 2, 2)
    with pytest.raises(InputTypeError, match="ids is a list: give a tensor"):
        beam_generate(make(), [1, 2], 2, 2)
    with pytest.raises(InputTypeError, match="stop=3 is one int"):
        beam_generate(make(), PROMPT, 2, 2, stop=3)


def test_a_model_that_gives_nan_is_noticed():
    model = make()
    model.head.register_forward_hook(lambda *a: a[2] * torch.nan)
    with pytest.raises(InputError, match="4 of 4 logits are NaN"):
        beam_generate(model, PROMPT, 2, 2)


def test_more_texts_than_can_be_enumerated_are_refused():
    with pytest.raises(InputError, match="at 4 tokens there are 16,777,216 continuations"):
        exhaustive_search(lambda ids: torch.zeros(len(ids), 64).log_softmax(-1), PROMPT, 9)
    with pytest.raises(InputError, match="alpha=nan must be finite"):
        wu_length_penalty(math.nan)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"beams": 2.5}, "beams=2.5 must be an integer"),
        ({"max_new_tokens": "2"}, "max_new_tokens='2' must be an integer"),
        ({"length_penalty": "wu"}, "length_penalty='wu' must be a number or a function"),
        ({"length_penalty": lambda n: None}, r"length_penalty\(1\) gave None"),
        ({"model": torch.nn.Linear(2, 2)}, "model is a Linear: give a GPT"),
    ],
)
def test_arguments_of_another_kind_are_named(options, message, unchecked):
    given = {"model": make(), "ids": PROMPT, "max_new_tokens": 2, "beams": 2} | options
    with pytest.raises(InputTypeError, match=message):
        beam_generate(**given)


def test_the_exponent_of_wu_is_a_number(unchecked):
    with pytest.raises(InputTypeError, match="alpha='a' must be a number"):
        wu_length_penalty("a")
