import dataclasses

import pytest
import torch
from torch import nn

from mathlm.errors import CheckpointMismatchError, ConfigError, InputError, InputTypeError
from mathlm.generate import generate
from mathlm.models import Recurrent, RecurrentConfig
from mathlm.optim import AdamW
from mathlm.train import TokenWindows, Trainer, TrainerConfig, next_token

TIGHT = {"rtol": 1e-12, "atol": 1e-13}
KINDS = pytest.mark.parametrize("kind", ["rnn", "lstm", "gru"])
V = 11
PERIODIC = [0, 3, 1, 4, 1, 5, 9, 2, 6] * 30


def make(kind="lstm", **changes):
    sizes = {"vocab_size": V, "d_model": 12, "n_layers": 2}
    return Recurrent(kind=kind, **sizes | changes).eval()


def tokens(*shape):
    return torch.randint(V, shape)


def parts(state):
    return state if isinstance(state, tuple) else (state,)


@KINDS
def test_logits_are_those_of_torch_layers_between_an_embedding_and_a_head(kind):
    model, ids = make(kind), tokens(2, 7)
    layers = getattr(nn, kind.upper())(12, 12, 2, batch_first=True)
    layers.load_state_dict(model.layers.state_dict())
    E, W, b = model.token_embedding.weight, model.head.weight, model.head.bias
    expected = layers(E[ids])[0] @ W.T + b
    torch.testing.assert_close(model(ids), expected, **TIGHT)


@KINDS
@pytest.mark.parametrize("fused", [True, False])
def test_every_split_into_two_readings_gives_the_same_logits(kind, fused):
    model, ids = make(kind, fused=fused), tokens(2, 17)
    whole, final = model.read(ids)
    for split in range(1, 17):
        first, state = model.read(ids[:, :split])
        second, last = model.read(ids[:, split:], state)
        torch.testing.assert_close(torch.cat((first, second), 1), whole, **TIGHT)
        torch.testing.assert_close(parts(last), parts(final), **TIGHT)


@KINDS
def test_every_split_into_prefill_and_decode_gives_the_same_logits(kind):
    model, ids = make(kind), tokens(2, 17)
    with torch.no_grad():
        whole = model(ids)
        for split in range(1, 17):
            cache = model.new_cache(2)
            logits = [model(part, cache=cache) for part in (ids[:, :split], ids[:, split:])]
            torch.testing.assert_close(torch.cat(logits, 1), whole, **TIGHT)
        assert cache.length == 17


@KINDS
def test_logits_at_a_token_do_not_depend_on_later_ones(kind):
    model, ids = make(kind), tokens(2, 9)
    other = torch.cat((ids[:, :5], (ids[:, 5:] + 1) % V), 1)
    torch.testing.assert_close(model(other)[:, :5], model(ids)[:, :5], **TIGHT)
    assert (model(other)[:, 5:] - model(ids)[:, 5:]).abs().max() > 1e-3


@KINDS
def test_padding_anywhere_changes_nothing_at_real_tokens(kind):
    model, ids = make(kind), tokens(3, 8)
    mask = torch.rand(3, 8) < 0.6
    mask[:, 3] = True
    logits = model(ids, mask=mask)
    for i in range(3):
        alone = model(ids[i : i + 1, mask[i]])
        torch.testing.assert_close(logits[i, mask[i]], alone[0], **TIGHT)


@KINDS
@pytest.mark.parametrize("options", [{"temperature": 0.0}, {"temperature": 0.7, "top_k": 5}])
def test_the_same_text_is_generated_with_and_without_a_cache(kind, options):
    model, ids = make(kind), tokens(3, 5)
    cached = generate(model, ids, 40, seed=1, **options)
    assert cached.shape == (3, 45)
    assert torch.equal(generate(model, ids, 40, seed=1, cache=False, **options), cached)


@KINDS
@pytest.mark.parametrize("side", ["left", "right"])
def test_padded_prompts_continue_as_they_do_alone(kind, side):
    model, ids = make(kind), tokens(2, 9)
    mask = torch.ones(2, 9, dtype=torch.bool)
    mask[0] = torch.arange(9) < 4 if side == "right" else torch.arange(9) >= 5
    for cache in (True, False):
        new = generate(model, ids, 12, 0.0, cache=cache, mask=mask)[0, 9:]
        assert torch.equal(new, generate(model, ids[:1, mask[0]], 12, 0.0)[0, 4:])


def test_generation_reads_each_token_once(monkeypatch):
    model, lengths, hidden = make(), [], Recurrent.hidden
    monkeypatch.setattr(
        Recurrent,
        "hidden",
        lambda *a, **k: (lengths.append(a[1].shape[1]), hidden(*a, **k))[1],
    )
    generate(model, tokens(1, 6), 5)
    assert lengths == [6, 1, 1, 1, 1]


def trainer(kind, folder=None, steps=60, **changes):
    torch.manual_seed(1)
    model = Recurrent(kind=kind, vocab_size=V, d_model=16, **changes)
    data = TokenWindows(PERIODIC, context=12, batch_size=4, vocab_size=V)
    optimizer = AdamW(model.parameters(), lr=0.02)
    return Trainer(
        model, next_token, data, optimizer, TrainerConfig(steps=steps, folder=folder)
    )


@KINDS
@pytest.mark.parametrize("tie", [False, True])
def test_the_loss_of_a_periodic_text_falls_by_half_in_sixty_steps(kind, tie):
    history = trainer(kind, tie_embeddings=tie).fit()
    assert history[-1]["loss"] < 0.5 * history[0]["loss"]


@KINDS
def test_a_resumed_run_is_the_unbroken_one_bit_for_bit(kind, tmp_path):
    options = {"dropout": 0.3, "n_layers": 2, "tie_embeddings": True}
    unbroken = trainer(kind, steps=8, **options)
    unbroken.fit()
    trainer(kind, tmp_path, steps=5, **options).fit()
    resumed = trainer(kind, tmp_path, steps=8, **options)
    assert resumed.resume() == 5
    resumed.fit()
    for a, b in zip(unbroken.model.parameters(), resumed.model.parameters(), strict=True):
        assert torch.equal(a, b)


def test_a_checkpoint_of_another_kind_is_refused(tmp_path):
    trainer("gru", tmp_path, steps=2).fit()
    with pytest.raises(CheckpointMismatchError, match=r"model\.kind was gru, is lstm"):
        trainer("lstm", tmp_path, steps=4).resume()


def test_the_record_of_a_run_rebuilds_its_model():
    record = trainer("gru", n_layers=3, tie_embeddings=True).describe()["model"]
    sizes = {name: value for name, value in record.items() if name != "class"}
    config = RecurrentConfig(**sizes)
    assert (record["class"], config.kind, config.n_layers) == ("RecurrentConfig", "gru", 3)
    assert Recurrent(config).config == Recurrent(**sizes).config == config


def test_a_tied_head_is_the_embedding():
    tied, untied = make(tie_embeddings=True), make()
    assert tied.head.weight is tied.token_embedding.weight
    numbers = [sum(p.numel() for p in m.parameters()) for m in (untied, tied)]
    assert numbers[0] - numbers[1] == V * 12


def test_the_forget_bias_reaches_the_layers():
    model = make("lstm", forget_bias=1.0)
    assert (model.layers.bias_ih_l1[12:24] == 1).all()


def test_both_forms_of_configuration_at_once_are_refused():
    with pytest.raises(ConfigError, match="not both: got config and d_model"):
        Recurrent(RecurrentConfig(), d_model=8)


def test_a_config_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        RecurrentConfig().d_model = 3


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "elman"}, "kind='elman' is not one of 'rnn', 'lstm', 'gru'"),
        ({"d_model": 0}, "d_model=0 must be at least 1"),
        ({"n_layers": 2.0}, r"n_layers=2\.0 must be an integer"),
        ({"dropout": -0.1}, r"dropout=-0\.1 is outside"),
        ({"kind": "gru", "forget_bias": 1.0}, r"forget_bias=1\.0 needs kind='lstm': 'gru'"),
    ],
)
def test_fields_out_of_range_are_refused(fields, message):
    with pytest.raises(ConfigError, match=message):
        Recurrent(**fields)


@pytest.mark.parametrize(
    ("ids", "error", "message"),
    [
        (torch.zeros(2, 3), InputTypeError, "token ids must be int64, got float32"),
        (torch.tensor([[1, V]]), InputError, r"token id 11 at \[0, 1\] is outside 0\.\.10"),
        (torch.zeros(2, 0, dtype=torch.long), InputError, r"ids have shape \(2, 0\)"),
        (torch.zeros(3, dtype=torch.long), InputError, r"ids have shape \(3,\)"),
    ],
)
@pytest.mark.parametrize("cached", [False, True])
def test_ids_that_do_not_fit_are_refused(ids, error, message, cached):
    model = make()
    with pytest.raises(error, match=message):
        model(ids, cache=model.new_cache(len(ids)) if cached else None)


def test_states_masks_and_caches_that_do_not_fit_are_refused():
    model, ids = make("gru"), tokens(2, 4)
    with pytest.raises(InputError, match=r"h of the state has shape \(2, 3, 12\)"):
        model.read(ids, torch.zeros(2, 3, 12))
    with pytest.raises(InputError, match="cache holds 3 rows, the ids have 2"):
        model(ids, cache=model.new_cache(3))
    with torch.no_grad():
        model(ids, cache=(cache := model.new_cache(2)))
    mask = torch.ones(2, 4, dtype=torch.bool)
    with pytest.raises(InputError, match=r"\(2, 4\), but 4 cached and 4 new .* need \(2, 8\)"):
        model(ids, mask=mask, cache=cache)


def test_a_cache_refuses_gradients_and_read_passes_them():
    model, ids = make(), tokens(2, 4)
    with pytest.raises(InputError, match="a state cache holds no gradients"):
        model(ids, cache=model.new_cache(2))
    _, state = model.read(ids)
    logits, _ = model.read(ids, state)
    (gradient,) = torch.autograd.grad(logits.sum(), state[1])
    assert gradient.abs().max() > 0
