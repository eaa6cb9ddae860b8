import pytest
import torch
from torch import nn

from mathlm.errors import InputError, InputTypeError
from mathlm.generate import generate
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


def test_modes_come_back_after_an_error_too(monkeypatch):
    model = make().train()
    monkeypatch.setattr(
        model.head, "forward", lambda x: x.new_full((*x.shape[:2], 30), torch.nan)
    )
    with pytest.raises(InputError, match="logits are NaN"):
        generate(model, torch.zeros(1, 1, dtype=torch.long), 2)
    assert model.training


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
