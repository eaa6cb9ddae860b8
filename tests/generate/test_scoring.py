import itertools
import math

import pytest
import torch

from mathlm.errors import InputError, InputTypeError
from mathlm.generate import (
    score,
    scoring,
    stream,
    token_log_probabilities,
    token_probabilities,
)
from mathlm.models import GPT, GPTConfig, Recurrent

V = 13
FAMILIES = {
    "gpt2": {},
    "llama": {"n_kv_heads": 2, "norm": "rms", "activation": "swiglu", "position": "rope"},
    "window": {"position": "alibi", "window": 4},
    "lstm": None,
}
EVERY = pytest.mark.parametrize("family", FAMILIES)


def make(family="gpt2", vocab_size=V, **changes):
    sizes = {"vocab_size": vocab_size, "d_model": 16, "n_layers": 2}
    choices = FAMILIES[family]
    if choices is None:
        return Recurrent(kind=family, **sizes).eval()
    sizes |= {"context": 40, "n_heads": 4}
    model = GPT(GPTConfig(**sizes | choices | changes)).eval()
    for p in model.parameters():
        p.data += 0.3 * torch.randn_like(p)
    return model


def texts(B=3, T=12):
    return torch.randint(V, (B, T))


def by_definition(model, row, temperature=1.0):
    """Each token looked up behind its own prefix, read by itself."""
    logp = [
        (model(row[None, :t])[0, -1] / temperature).log_softmax(-1)[row[t]]
        for t in range(1, len(row))
    ]
    return torch.stack(logp)


@EVERY
@pytest.mark.parametrize("temperature", [1.0, 0.6])
def test_each_token_is_looked_up_behind_its_prefix(family, temperature):
    model, ids = make(family), texts()
    with torch.no_grad():
        found = token_log_probabilities(model, ids, temperature=temperature)
        expected = torch.stack([by_definition(model, row, temperature) for row in ids])
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


@EVERY
@pytest.mark.parametrize("tokens", [1, 2, 5, 11, 100])
def test_pieces_of_any_size_give_the_same_numbers(family, tokens, monkeypatch):
    model, ids = make(family), texts()
    mask = torch.ones_like(ids, dtype=torch.bool)
    mask[0, :4], mask[1, 8:] = False, False
    whole = token_log_probabilities(model, ids, mask)  # gradients are recorded: read at once
    monkeypatch.setattr(scoring, "LOGITS", tokens * len(ids) * V)
    with torch.no_grad():
        found = token_log_probabilities(model, ids, mask)
    torch.testing.assert_close(found, whole.detach(), rtol=1e-12, atol=1e-12)


def test_under_no_grad_the_logits_of_a_long_text_are_never_held_together(monkeypatch):
    seen, read = [], scoring.IncrementalReader.read

    def watched(self, *args, **options):
        seen.append(read(self, *args, **options))
        return seen[-1]

    monkeypatch.setattr(scoring.IncrementalReader, "read", watched)
    monkeypatch.setattr(scoring, "LOGITS", 7 * 2 * V)
    with torch.no_grad():
        token_log_probabilities(make(), texts(2, 40))
    assert [logits.shape[1] for logits in seen] == [7, 7, 7, 7, 7, 4]


@EVERY
@pytest.mark.parametrize("side", ["left", "right"])
def test_neither_padding_nor_other_rows_change_a_number(family, side):
    model, T = make(family), 16
    ids, mask = texts(4, T), torch.zeros(4, T, dtype=torch.bool)
    for row, n in zip(mask, (2, 3, 7, 16), strict=True):
        row[slice(n) if side == "right" else slice(T - n, T)] = True
    with torch.no_grad():
        found = token_log_probabilities(model, ids, mask)
        for row, real, logp in zip(ids, mask, found, strict=True):
            alone = token_log_probabilities(model, row[real][None])[0]
            targets = real[1:] & (real.cumsum(0)[:-1] > 0)
            torch.testing.assert_close(logp[targets], alone, rtol=1e-12, atol=1e-12)
            assert (logp[~targets] == 0).all()


def test_what_stands_at_padding_is_not_looked_at():
    model, ids = make(), texts(1, 8)
    mask = torch.arange(8)[None] >= 3
    with torch.no_grad():
        one, two = (
            token_log_probabilities(model, ids.masked_fill(~mask, v), mask) for v in (0, 5)
        )
    assert torch.equal(one, two)


@EVERY
def test_over_all_continuations_the_probabilities_sum_to_one(family):
    """4 tokens, three of them: 64 texts, every one of them or none."""
    model, prompt = make(family, vocab_size=4), torch.tensor([2, 0, 1])
    every = [torch.tensor(y) for y in itertools.product(range(4), repeat=3)]
    with torch.no_grad():
        total = sum(logp.sum().exp() for logp in score(model, prompt, every))
    assert total.item() == pytest.approx(1.0, abs=1e-12)


@EVERY
def test_completions_of_any_length_cost_what_they_cost_alone(family):
    model = make(family)
    prompts = [torch.randint(V, (n,)) for n in (1, 9, 4)]
    completions = [torch.randint(V, (n,)) for n in (6, 1, 11)]
    with torch.no_grad():
        found = score(model, prompts, completions)
        for p, c, logp in zip(prompts, completions, found, strict=True):
            expected = by_definition(model, torch.cat((p, c)))[len(p) - 1 :]
            torch.testing.assert_close(logp, expected, rtol=1e-12, atol=1e-12)


def test_one_prompt_serves_all_completions():
    model, prompt = make(), torch.randint(V, (5,))
    completions = [torch.randint(V, (n,)) for n in (2, 4)]
    with torch.no_grad():
        found = score(model, prompt, completions)
        expected = score(model, [prompt, prompt], completions)
    assert all(torch.equal(a, b) for a, b in zip(found, expected, strict=True))


@EVERY
def test_it_is_the_distribution_that_a_temperature_draws_from(family):
    model, prompt = make(family), torch.randint(V, (5,))
    with torch.no_grad():
        p = token_probabilities(model(prompt[None])[0, -1], 0.7)
        found = score(model, prompt, list(torch.arange(V)[:, None]), temperature=0.7)
    torch.testing.assert_close(torch.cat(found).exp(), p, rtol=1e-12, atol=1e-15)


@EVERY
@pytest.mark.parametrize("cache", [True, False])
def test_what_generation_reports_while_it_writes_is_the_score(family, cache):
    """Prompts of 2 and 6 tokens, the first with padding in front; 20 tokens are drawn."""
    model, ids = make(family), texts(2, 6)
    mask = torch.arange(6) >= torch.tensor([[4], [0]])
    options = {"temperature": 0.8, "top_k": 7, "seed": 1, "cache": cache, "mask": mask}
    steps = list(stream(model, ids, 20, **options))
    written = torch.stack([step.tokens for step in steps], 1)
    prompts = [row[real] for row, real in zip(ids, mask, strict=True)]
    with torch.no_grad():
        found = torch.stack(score(model, prompts, list(written)))
    reported = torch.stack([step.log_probabilities for step in steps], 1)
    torch.testing.assert_close(found, reported, rtol=1e-12, atol=1e-12)


@EVERY
def test_without_truncation_the_draw_has_the_probability_that_scoring_says(family):
    model, ids = make(family), texts(2, 3)
    steps = list(stream(model, ids, 10, 0.6, seed=0))
    written = torch.stack([step.tokens for step in steps], 1)
    with torch.no_grad():
        found = torch.stack(score(model, list(ids), list(written), temperature=0.6))
    drawn = torch.stack([step.drawn_log_probabilities for step in steps], 1)
    torch.testing.assert_close(found, drawn, rtol=1e-12, atol=1e-12)


def test_gradients_are_those_of_the_definition():
    model, prompt = make(), torch.randint(V, (4,))
    completions = [torch.randint(V, (n,)) for n in (3, 5)]
    sum(x.sum() for x in score(model, prompt, completions)).backward()
    found = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    whole = [by_definition(model, torch.cat((prompt, c)))[3:].sum() for c in completions]
    sum(whole).backward()
    for p, grad in zip(model.parameters(), found, strict=True):
        torch.testing.assert_close(grad, p.grad, rtol=1e-10, atol=1e-12)


def test_under_no_grad_nothing_is_recorded():
    with torch.no_grad():
        assert not token_log_probabilities(make(), texts()).requires_grad
    assert token_log_probabilities(make(), texts()).requires_grad


def test_frozen_models_are_read_in_pieces_where_gradients_are_recorded_too():
    model = make().requires_grad_(False)
    assert not token_log_probabilities(model, texts()).requires_grad


@pytest.mark.parametrize("recorded", [True, False])
def test_dropout_is_off_meanwhile_and_the_mode_comes_back(recorded):
    model, ids = make(dropout=0.5).train(), texts()
    with torch.set_grad_enabled(recorded):
        first, second = (token_log_probabilities(model, ids) for _ in range(2))
    assert torch.equal(first, second)
    assert model.training


def test_half_precision_is_scored_in_single_precision():
    logp = token_log_probabilities(make().bfloat16(), texts())
    assert logp.dtype == torch.float32
    assert (logp < 0).all()


def test_a_token_of_probability_zero_costs_everything():
    model = make(tie_embeddings=False)
    model.head.register_forward_hook(lambda *a: a[2].index_fill(-1, torch.tensor(3), -math.inf))
    with torch.no_grad():
        found = token_log_probabilities(model, torch.tensor([[1, 3, 2]]))
    assert found[0, 0] == -math.inf
    assert found[0, 1].isfinite()


@pytest.mark.parametrize("recorded", [True, False])
def test_a_model_that_gives_nan_is_noticed(recorded):
    model = make()
    model.head.register_forward_hook(lambda *a: a[2] * torch.nan)
    with (
        torch.set_grad_enabled(recorded),
        pytest.raises(InputError, match="token 1 of row 0 is NaN"),
    ):
        token_log_probabilities(model, texts())


LONG = torch.zeros(1, 42, dtype=torch.long)


@pytest.mark.parametrize(
    ("ids", "options", "error", "message"),
    [
        (texts()[:, :1], {}, InputError, r"ids have shape \(3, 1\): .* 2 tokens or more"),
        (texts()[0], {}, InputError, r"ids have shape \(12,\)"),
        (texts()[:0], {}, InputError, r"ids have shape \(0, 12\)"),
        (texts().double(), {}, InputTypeError, "token ids must be int64"),
        (texts() + V, {}, InputError, r"outside 0\.\.12"),
        (LONG, {}, InputError, "42 tokens has 41 before its last, more than the context 40"),
        (texts(), {"temperature": 0.0}, InputError, "temperature=0.0 must be positive"),
        (texts(), {"temperature": math.nan}, InputError, "temperature=nan must be positive"),
        (
            texts(),
            {"mask": torch.ones(3, 11, dtype=torch.bool)},
            InputError,
            r"mask \(3, 11\) must have the shape of ids \(3, 12\)",
        ),
        (texts(), {"mask": torch.ones(3, 12)}, InputTypeError, "mask must be bool"),
        (
            texts(),
            {"mask": torch.arange(12).expand(3, 12) < torch.tensor([[9], [1], [0]])},
            InputError,
            "row 1 has 1 real tokens; it needs 2",
        ),
    ],
)
def test_texts_that_cannot_be_scored_are_refused(ids, options, error, message):
    with pytest.raises(error, match=message):
        token_log_probabilities(make(), ids, **options)


def test_a_list_is_no_text(unchecked):
    with pytest.raises(InputTypeError, match="ids are a list: give a tensor"):
        token_log_probabilities(make(), [[1, 2, 3]])


def test_a_text_one_token_longer_than_the_context_can_be_scored():
    with torch.no_grad():
        assert token_log_probabilities(make(), LONG[:, :41]).shape == (1, 40)


@pytest.mark.parametrize(
    ("prompt", "completions", "error", "message"),
    [
        (texts()[0], [], InputError, "no completions"),
        (texts()[0], [texts()[0, :0]], InputError, r"completion 0 has shape \(0,\)"),
        (texts()[0, :0], [texts()[0]], InputError, r"prompt 0 has shape \(0,\)"),
        ([texts()[0]], [texts()[0]] * 2, InputError, "1 prompts for 2 completions"),
        (texts()[0], texts()[0], InputError, r"completion 0 has shape \(\)"),
        (texts()[0], [[1, 2]], InputTypeError, "completion 0 .* int64, got list"),
        (texts()[0], [texts()[0].double()], InputTypeError, "got torch.float64"),
        (texts()[0], [torch.tensor([V])], InputError, r"outside 0\.\.12"),
    ],
)
def test_completions_that_cannot_be_scored_are_refused(
    prompt, completions, error, message, unchecked
):
    with pytest.raises(error, match=message):
        score(make(), prompt, completions)


@EVERY
@pytest.mark.parametrize("recorded", [True, False])
def test_padding_between_the_tokens_of_a_text_changes_no_number(family, recorded, monkeypatch):
    """Holes of one and of three places; pieces of five places end inside them."""
    monkeypatch.setattr(scoring, "LOGITS", 5 * 2 * V)
    model, ids = make(family), texts(2, 12)
    mask = torch.ones_like(ids, dtype=torch.bool)
    mask[0, 3], mask[1, 4:7], mask[1, 0] = False, False, False
    with torch.set_grad_enabled(recorded):
        found = token_log_probabilities(model, ids, mask)
    for row, real, logp in zip(ids, mask, found.detach(), strict=True):
        targets = real[1:] & (real.cumsum(0)[:-1] > 0)
        expected = by_definition(model, row[real]).detach()
        torch.testing.assert_close(logp[targets], expected, rtol=1e-12, atol=1e-12)
        assert (logp[~targets] == 0).all()


@pytest.mark.parametrize("token", [-100, V])
def test_the_last_token_is_one_of_the_vocabulary(token):
    with pytest.raises(InputError, match=rf"token id {token} at \[0, 2\] is outside 0\.\.12"):
        token_log_probabilities(make(), torch.tensor([[1, 2, token]]))
    completions = [torch.tensor([1]), torch.tensor([1, 2, token])]
    with pytest.raises(InputError, match=rf"token id {token} at \[1, 3\] is outside 0\.\.12"):
        score(make(), torch.tensor([5]), completions)


def test_a_temperature_that_is_zero_in_the_format_of_the_logits_is_refused():
    model = make().float()
    model.head.register_forward_hook(lambda *a: a[2] + 100)
    with pytest.raises(InputError, match=r"temperature=1e-45 is 0 in torch\.float32"):
        token_log_probabilities(model, texts(), temperature=1e-45)
    ids = torch.cat((texts(1, 4), torch.zeros(1, 1, dtype=torch.long)), 1)
    ids[0, 4] = model(ids[:, :4])[0, -1].argmax()
    assert token_log_probabilities(model, ids, temperature=1e-37)[0, -1] == 0


def test_arguments_of_another_kind_are_named(unchecked):
    model, ids = make(), texts()
    with pytest.raises(InputTypeError, match=r"mask is a list: .* of ids \(3, 12\)"):
        token_log_probabilities(model, ids, [[True] * 12] * 3)
    with pytest.raises(InputTypeError, match="temperature='hot' must be a number"):
        token_log_probabilities(model, ids, temperature="hot")
    with pytest.raises(InputTypeError, match="model is a Linear: give a GPT or a Recurrent"):
        token_log_probabilities(torch.nn.Linear(2, 2), ids)
    with pytest.raises(InputTypeError, match="prompt is None: give a tensor"):
        score(model, None, [ids[0]])
    with pytest.raises(InputError, match="ids are on meta, the model is on cpu"):
        token_log_probabilities(model, ids.to("meta"))
