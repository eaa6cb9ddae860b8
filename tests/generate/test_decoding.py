import pytest
import torch
from torch import nn

from mathlm.errors import InputError, InputTypeError
from mathlm.generate import Sampler, generate, generate_ragged, speculative_generate, stream
from mathlm.models import GPT, GPTConfig

FAMILIES = {
    "gpt2": {},
    "llama": {"n_kv_heads": 2, "norm": "rms", "activation": "swiglu", "position": "rope"},
    "alibi": {"position": "alibi", "window": 6},
}
EVERY = pytest.mark.parametrize("family", FAMILIES)


def make(family="gpt2", **changes):
    sizes = {"vocab_size": 30, "context": 100, "d_model": 16, "n_layers": 2, "n_heads": 4}
    model = GPT(GPTConfig(**sizes | FAMILIES[family] | changes))
    for p in model.parameters():
        p.data += 0.2 * torch.randn_like(p)
    return model


def uniform():
    """A model whose logits are all 0."""
    model = make(tie_embeddings=False)
    nn.init.zeros_(model.head.weight)
    return model


def greedy_by_definition(model, ids, n):
    for _ in range(n):
        ids = torch.cat((ids, model(ids)[:, -1].argmax(-1, keepdim=True)), 1)
    return ids


@EVERY
@pytest.mark.parametrize("cache", [True, False])
def test_temperature_zero_is_the_likeliest_token_each_time(family, cache):
    model, ids = make(family), torch.randint(30, (2, 5))
    expected = greedy_by_definition(model, ids, 64)
    assert torch.equal(generate(model, ids, 64, 0.0, cache=cache), expected)


@EVERY
def test_with_fixed_shapes_the_same_tokens_are_drawn(family):
    model, ids = make(family), torch.randint(30, (3, 5))
    usual = generate(model, ids, 20, 0.7, seed=3)
    assert torch.equal(generate(model, ids, 20, 0.7, seed=3, fixed=True), usual)


def test_temperature_zero_does_not_hear_the_seed():
    model, ids = make(), torch.randint(30, (2, 5))
    runs = [generate(model, ids, 8, 0.0, seed=seed) for seed in (0, 1, None)]
    assert torch.equal(runs[0], runs[1])
    assert torch.equal(runs[0], runs[2])


@EVERY
@pytest.mark.parametrize("options", [{}, {"temperature": 0.7, "top_k": 9, "top_p": 0.8}])
def test_with_and_without_cache_the_same_tokens_are_drawn(family, options):
    model, ids = make(family), torch.randint(30, (3, 5))
    cached = generate(model, ids, 20, seed=3, **options)
    assert torch.equal(generate(model, ids, 20, seed=3, cache=False, **options), cached)


def test_a_seed_fixes_the_tokens_and_another_gives_others():
    model, ids = make(), torch.randint(30, (2, 5))
    first = generate(model, ids, 20, seed=1)
    assert torch.equal(generate(model, ids, 20, seed=1), first)
    assert not torch.equal(generate(model, ids, 20, seed=2), first)
    assert torch.equal(first[:, :5], ids)


def test_without_a_seed_each_call_draws_anew_and_leaves_the_global_generator_alone():
    model, ids = make(), torch.randint(30, (1, 5))
    state = torch.get_rng_state()
    assert not torch.equal(generate(model, ids, 30), generate(model, ids, 30))
    assert torch.equal(torch.get_rng_state(), state)


def test_sixteen_equal_prompts_do_not_begin_alike():
    ids = generate(uniform(), torch.zeros(16, 1, dtype=torch.long), 1, seed=0)
    assert ids[:, 1].unique().numel() > 1


@pytest.mark.parametrize("batch", [1, 2, 7])
def test_what_a_row_draws_does_not_depend_on_the_number_of_rows(batch):
    model, ids = make(), torch.randint(30, (16, 4))
    whole = generate(model, ids, 12, seed=5)
    assert torch.equal(generate(model, ids[:batch], 12, seed=5), whole[:batch])


def test_uniform_logits_are_drawn_uniformly():
    """Pearson's statistic with 29 degrees of freedom is below 58.3 with probability 0.999."""
    ids = generate(uniform(), torch.zeros(40, 1, dtype=torch.long), 99, seed=0)[:, 1:]
    expected = ids.numel() / 30
    statistic = ((ids.flatten().bincount(minlength=30) - expected) ** 2 / expected).sum()
    assert statistic < 58.3


@EVERY
@pytest.mark.parametrize("cache", [True, False])
@pytest.mark.parametrize("side", ["left", "right"])
def test_padded_prompts_continue_as_they_do_alone(family, cache, side):
    model, T = make(family), 16
    for length in (1, 3, 7, 16):
        alone = torch.randint(30, (1, length))
        ids, mask = torch.randint(30, (2, T)), torch.ones(2, T, dtype=torch.bool)
        mask[0] = torch.arange(T) < length if side == "right" else torch.arange(T) >= T - length
        ids[0, mask[0]] = alone[0]
        new = generate(model, ids, 8, 0.0, cache=cache, mask=mask)[0, T:]
        assert torch.equal(new, generate(model, alone, 8, 0.0)[0, length:])


def test_dropout_is_off_meanwhile_and_every_module_gets_its_mode_back():
    model, ids = make(dropout=0.5).train(), torch.randint(30, (1, 5))
    model.blocks[0].eval()
    modes = [m.training for m in model.modules()]
    first = generate(model, ids, 10, 0.0)
    assert torch.equal(generate(model, ids, 10, 0.0), first)
    assert [m.training for m in model.modules()] == modes
    assert torch.equal(first, greedy_by_definition(model.eval(), ids, 10))


def test_modes_come_back_after_an_error_too():
    model = make().train()
    nn.init.constant_(model.final_norm.gamma, torch.nan)
    with pytest.raises(InputError, match="30 of 30 logits are NaN"):
        generate(model, torch.zeros(1, 1, dtype=torch.long), 2)
    assert model.training


@pytest.mark.parametrize("temperature", [0.0, 1.0])
def test_logits_that_become_nan_later_are_noticed(temperature):
    model = make()
    model.position.weight.data[5:] = torch.nan
    with pytest.raises(InputError, match="30 of 30 logits are NaN"):
        generate(model, torch.zeros(1, 3, dtype=torch.long), 8, temperature)


def test_no_new_tokens_are_the_prompt():
    ids = torch.randint(30, (2, 5))
    assert torch.equal(generate(make(), ids, 0), ids)


def test_the_context_may_be_filled_to_the_last_token():
    assert generate(make(), torch.zeros(1, 60, dtype=torch.long), 40).shape == (1, 100)


def test_bfloat16_models_generate():
    ids = generate(make("llama").bfloat16(), torch.zeros(2, 3, dtype=torch.long), 10, seed=0)
    assert ids.shape == (2, 13)


@pytest.mark.parametrize(
    ("ids", "n", "error", "message"),
    [
        (torch.zeros(2, 0, dtype=torch.long), 5, InputError, r"prompt has shape \(2, 0\)"),
        (torch.zeros(5, dtype=torch.long), 5, InputError, r"prompt has shape \(5,\)"),
        (torch.zeros(1, 3), 5, InputTypeError, "token ids must be int64"),
        (torch.full((1, 3), 30), 5, InputError, r"token id 30 at \[0, 0\]"),
        (torch.zeros(1, 3, dtype=torch.long), -1, InputError, "max_new_tokens=-1"),
        (
            torch.zeros(1, 60, dtype=torch.long),
            41,
            InputError,
            "60 prompt tokens and 41 new ones .* 101 tokens, longer than the context 100",
        ),
    ],
)
def test_prompts_that_do_not_fit_are_refused(ids, n, error, message):
    with pytest.raises(error, match=message):
        generate(make(), ids, n)


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (
            torch.ones(2, 4, dtype=torch.bool),
            r"mask \(2, 4\) must have the shape of ids \(2, 3\)",
        ),
        (torch.tensor([[True] * 3, [False] * 3]), "row 1 of the prompt has no real token"),
    ],
)
def test_masks_that_do_not_fit_are_refused(mask, message):
    with pytest.raises(InputError, match=message):
        generate(make(), torch.zeros(2, 3, dtype=torch.long), 5, mask=mask)


def test_masks_that_are_not_bool_are_refused():
    ids = torch.zeros(2, 3, dtype=torch.long)
    with pytest.raises(InputTypeError, match="mask must be bool, True = real token, got int64"):
        generate(make(), ids, 5, mask=torch.ones_like(ids))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": -0.5}, r"temperature=-0\.5 must be finite and not negative"),
        ({"top_k": 0}, "top_k=0"),
        ({"top_p": 2.0}, "top_p=2.0"),
        ({"min_p": -1.0}, "min_p=-1.0"),
        ({"typical_p": 1.5}, "typical_p=1.5"),
        ({"repetition_penalty": 0.0}, "repetition_penalty=0.0"),
        ({"seed": -1}, "seed=-1 must be 0 or more"),
        ({"pad": 30}, r"pad=30 is outside 0\.\.29"),
        ({"stop": [[]]}, r"stop\[0\] is empty"),
        ({"stop": [30]}, r"stop\[0\] has token 30"),
    ],
)
@pytest.mark.parametrize("n", [0, 3])
def test_options_out_of_range_are_refused_even_if_nothing_is_drawn(options, message, n):
    with pytest.raises(InputError, match=message):
        generate(make(), torch.zeros(1, 3, dtype=torch.long), n, **options)


OPTIONS = {"temperature": 0.7, "top_k": 9, "min_p": 0.01, "presence_penalty": 0.5}
WAYS = {  # each continues a text with a sampler, or with its fields by name
    "generate": lambda m, x, **how: generate(m, x, 9, seed=1, **how),
    "ragged": lambda m, x, **how: torch.stack(generate_ragged(m, [*x], 9, seed=1, **how)),
    "stream": lambda m, x, **how: torch.stack(
        [s.tokens for s in stream(m, x, 9, seed=1, **how)]
    ),
    "drafted": lambda m, x, **how: speculative_generate(m, m, x, 9, 2, seed=1, **how),
}
EVERY_WAY = pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)


@EVERY_WAY
def test_a_sampler_stands_for_its_fields(way):
    model, ids = make().eval(), torch.randint(30, (4, 3))
    found = way(model, ids, sampler=Sampler(**OPTIONS))
    assert torch.equal(found, way(model, ids, **OPTIONS))
    assert not torch.equal(found, way(model, ids))


@EVERY_WAY
@pytest.mark.parametrize("beside", [{"temperature": 0.5}, {"top_k": 3}, {"min_p": 0.1}])
def test_a_sampler_and_an_option_beside_it_are_refused(way, beside):
    (name,) = beside
    with pytest.raises(
        InputTypeError, match=rf"got Sampler\(.*\) and {name} beside it: give a"
    ):
        way(make().eval(), torch.zeros(1, 3, dtype=torch.long), sampler=Sampler(), **beside)


@EVERY_WAY
def test_an_unknown_option_is_refused(way):
    with pytest.raises(InputTypeError, match=r"no option 'top_q'; .* are frequency_pen.*top_k"):
        way(make().eval(), torch.zeros(1, 3, dtype=torch.long), top_q=0.5)


def test_a_temperature_in_the_place_of_a_sampler_is_taken_once():
    model, ids = make(), torch.zeros(1, 3, dtype=torch.long)
    steps = [next(stream(model, ids, 1, *how)) for how in ((0.5,), (Sampler(0.5),))]
    assert torch.equal(*(step.probabilities for step in steps))
    with pytest.raises(InputTypeError, match=r"got 0\.5 and temperature beside it"):
        stream(model, ids, 1, 0.5, temperature=0.6)


def test_a_stopped_row_repeats_its_last_token_and_the_others_go_on():
    model, ids = make(), torch.randint(30, (6, 4))
    free = generate(model, ids, 20, 1.5, seed=3)[:, 4:]
    found = generate(model, ids, 20, 1.5, seed=3, stop=[7, 8, 9])[:, 4:]
    lengths = [first_of(row, {7, 8, 9}) for row in free.tolist()]
    assert min(lengths) < max(lengths) == found.shape[1]
    for row, whole, n in zip(found.tolist(), free.tolist(), lengths, strict=True):
        assert row == whole[:n] + [whole[n - 1]] * (max(lengths) - n)


def first_of(row, stops):
    """Tokens up to the first that stops, itself among them."""
    return next((i for i, token in enumerate(row, 1) if token in stops), len(row))


def test_stopped_rows_are_filled_with_the_pad_that_is_given():
    model, ids = make(), torch.randint(30, (6, 4))
    found = generate(model, ids, 20, 1.5, seed=3, stop=[7, 8, 9], pad=29)[:, 4:].tolist()
    assert any(29 in row for row in found)
    assert all(set(row[first_of(row, {7, 8, 9}) :]) <= {29} for row in found)


def test_stops_in_the_prompt_stop_nothing():
    ids = torch.full((1, 3), 7)
    assert generate(uniform(), ids, 5, 0.0, stop=[7]).tolist() == [[7, 7, 7, 0, 0, 0, 0, 0]]
    assert generate(uniform(), ids, 5, 0.0, stop=[[7, 0]]).shape == (1, 8)


def test_generation_ends_when_every_row_has_stopped():
    ids = torch.zeros(3, 2, dtype=torch.long)
    assert generate(uniform(), ids, 50, 0.0, stop=[[0, 0]]).shape == (3, 4)
    *_, last = stream(uniform(), ids, 50, 0.0, stop=[[0, 0]])
    assert last.finish == ("stop",) * 3


@pytest.mark.parametrize("side", ["left", "right"])
def test_penalties_do_not_hear_padding(side):
    model, alone = make(), torch.randint(1, 30, (1, 4))
    padding = (3, 0) if side == "left" else (0, 3)
    ids = nn.functional.pad(alone, padding, value=0)
    mask = nn.functional.pad(torch.ones_like(alone), padding).bool()
    options = {"repetition_penalty": 8.0, "frequency_penalty": 1.0}
    found = generate(model, ids, 20, 0.0, mask=mask, **options)[:, 7:]
    assert torch.equal(found, generate(model, alone, 20, 0.0, **options)[:, 4:])
    marked = ids.masked_fill(~mask, int(found[0, 0]))  # a token that a penalty would avoid
    again = generate(model, marked, 20, 0.0, mask=mask, **options)[:, 7:]
    assert torch.equal(again, found)


def test_a_strong_presence_penalty_lets_no_token_come_twice():
    ids = generate(make(), torch.zeros(2, 1, dtype=torch.long), 29, 0.0, presence_penalty=1e6)
    assert all(row[1:].unique().numel() == 29 for row in ids)


def test_a_strong_repetition_penalty_avoids_the_prompt():
    """With all logits equal to 1, tokens of the prompt fall behind: the lowest other is 2."""
    model = make(tie_embeddings=False)
    nn.init.constant_(model.head.weight, 1 / 16)
    nn.init.zeros_(model.final_norm.gamma)
    nn.init.ones_(model.final_norm.beta)
    ids = generate(model, torch.tensor([[0, 1]]), 3, 0.0, repetition_penalty=5.0)
    assert ids.tolist() == [[0, 1, 2, 3, 4]]


def test_a_constrained_text_is_the_only_one_that_is_allowed():
    from generate.test_stopping import Counting

    model = make(vocab_size=5)
    ids = torch.full((2, 3), 4)
    found = generate(model, ids, 9, 1.0, seed=0, constraint=Counting(last=3))
    assert found[:, 3:].tolist() == [[0, 1, 2, 3]] * 2
    *_, last = stream(model, ids, 9, 0.0, constraint=Counting(last=3))
    assert last.finish == ("stop", "stop")


def test_a_constraint_of_another_vocabulary_is_refused():
    from generate.test_stopping import Counting

    with pytest.raises(InputError, match=r"shape \(5,\), the model has 30 tokens"):
        generate(make(), torch.zeros(1, 1, dtype=torch.long), 9, constraint=Counting())


@EVERY
@pytest.mark.parametrize("cache", [True, False])
def test_ragged_prompts_continue_as_each_does_alone(family, cache):
    model = make(family)
    prompts = [torch.randint(30, (n,)) for n in (1, 3, 7, 16)]
    together = generate_ragged(model, prompts, 12, 0.0, cache=cache)
    for prompt, found in zip(prompts, together, strict=True):
        assert torch.equal(found, generate(model, prompt[None], 12, 0.0)[0])


def test_each_ragged_row_is_cut_behind_its_stop():
    model, prompts = make(), [torch.randint(30, (n,)) for n in (2, 5, 3, 4)]
    found = generate_ragged(model, prompts, 30, 1.5, seed=0, stop=[7, 8])
    whole = generate_ragged(model, prompts, 30, 1.5, seed=0)
    for prompt, row, free in zip(prompts, found, whole, strict=True):
        n = first_of(free[len(prompt) :].tolist(), {7, 8})
        assert torch.equal(row, free[: len(prompt) + n])
    assert len({len(row) for row in found}) > 1


@pytest.mark.parametrize(
    ("prompts", "message"),
    [
        ([], "prompts: got none"),
        (torch.zeros(2, 3, dtype=torch.long), "prompts: got a tensor, expected a list"),
        ([torch.zeros(2, 3, dtype=torch.long)], r"prompt 0 has shape \(2, 3\)"),
        ([torch.zeros(2).long(), torch.zeros(0).long()], r"prompt 1 has shape \(0,\)"),
        ([torch.zeros(99).long(), torch.zeros(1).long()], "longer than the context 100"),
    ],
)
def test_ragged_prompts_that_do_not_fit_are_refused(unchecked, prompts, message):
    with pytest.raises(InputError, match=message):
        generate_ragged(make(), prompts, 2)


def test_ragged_prompts_of_different_kinds_are_refused():
    with pytest.raises(InputTypeError, match=r"prompt 1 is torch\.int32: give an int64"):
        generate_ragged(make(), [torch.zeros(2).long(), torch.zeros(3).int()], 2)


def test_ragged_prompts_have_no_mask_of_their_own():
    with pytest.raises(InputTypeError, match="generate_ragged makes the mask itself"):
        generate_ragged(make(), [torch.zeros(2).long()], 2, mask=None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temperature": None}, "temperature=None must be a number"),
        ({"top_p": "0.9"}, r"top_p='0\.9' must be a number"),
        ({"top_k": 2.0}, r"top_k=2\.0 must be an integer"),
        ({"seed": 1.5}, r"seed=1\.5 must be an integer"),
        ({"max_new_tokens": 3.0}, r"max_new_tokens=3\.0 must be an integer"),
        ({"pad": 1.0}, r"pad=1\.0 must be an integer"),
        ({"ids": [[1, 2]]}, r"ids is a list: give an int64 tensor \(batch, tokens\)"),
        ({"mask": [[True]]}, "mask is a list: give a bool tensor"),
        ({"stop": 1.5}, r"stop=1\.5 is one float: give a list"),
        ({"model": nn.Linear(2, 2)}, "model is a Linear: give a GPT or a Recurrent"),
    ],
)
def test_arguments_of_another_kind_are_refused(unchecked, options, message):
    arguments = {"model": make(), "ids": torch.zeros(1, 3, dtype=torch.long)}
    with pytest.raises(InputTypeError, match=message):
        generate(**arguments | {"max_new_tokens": 3} | options)


def test_ids_on_another_device_are_refused():
    with pytest.raises(InputError, match="ids are on meta, the model is on cpu"):
        generate(make(), torch.zeros(1, 3, dtype=torch.long, device="meta"), 3)
