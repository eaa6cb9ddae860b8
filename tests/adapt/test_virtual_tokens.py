import copy

import pytest
import torch

from mathlm import adapt
from mathlm.errors import ConfigError, InputError, InputTypeError, MathLMError
from mathlm.functional import document_mask, document_positions
from mathlm.generate import generate, token_log_probabilities
from mathlm.models import GPT, Bert, BertConfig, GPTConfig

TIGHT = {"rtol": 1e-12, "atol": 1e-12}
V, D, L, G, K, H, M, CONTEXT = 11, 16, 2, 2, 4, 4, 3, 16
TOKENS = torch.tensor([3, 1, 4])
POSITIONS = ["learned", "sinusoidal", "rope", "alibi", "relative", "none"]


def base_model(position="rope", **options):
    sizes = {"vocab_size": V, "context": CONTEXT, "d_model": D, "n_layers": L, "n_heads": H}
    config = GPTConfig(**sizes, n_kv_heads=G, position=position, norm="rms", **options)
    torch.manual_seed(1)
    model = GPT(config).eval()
    with torch.no_grad():  # large enough for texts to matter
        for p in model.parameters():
            p.mul_(8) if p.ndim > 1 else p
    return model


def joined(model):
    return adapt.add_prefix(copy.deepcopy(model), M, gated=False, tokens=TOKENS)


def prompted(model):
    return adapt.add_prompt(copy.deepcopy(model), tokens=TOKENS)


def gated(model, gate=0.5):
    model = adapt.add_prefix(copy.deepcopy(model), M, seed=2)
    with torch.no_grad():
        for layer in model.virtual.layers:
            layer.gate.add_(gate)
    return model


def draw_ids(rows=2, length=7):
    return torch.randint(V, (rows, length))


ALL = pytest.mark.parametrize("add", [joined, prompted, gated])
BEFORE = pytest.mark.parametrize("add", [joined, prompted])


@BEFORE
@pytest.mark.parametrize("position", POSITIONS)
def test_it_starts_as_the_model_that_has_read_the_tokens(add, position):
    base, ids = base_model(position, qk_norm=True), draw_ids()
    both = torch.cat((TOKENS.expand(2, -1), ids), 1)
    torch.testing.assert_close(add(base)(ids), base(both)[:, M:], **TIGHT)


def test_a_prefix_is_the_cache_that_holds_its_tokens():
    base, ids = base_model(), draw_ids(1)
    cache = base.new_cache(1)
    with torch.no_grad():
        base(TOKENS[None], cache=cache)
        layers = joined(base).virtual.layers
        torch.testing.assert_close(layers[1].k, cache.layers[1].k[0, :, :M], **TIGHT)
        torch.testing.assert_close(layers[1].v, cache.layers[1].v[0, :, :M], **TIGHT)
        torch.testing.assert_close(joined(base)(ids), base(ids, cache=cache), **TIGHT)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("position", ["rope", "alibi"])
def test_a_gated_prefix_starts_as_the_model_bit_for_bit(dtype, position):
    base, ids = base_model(position).to(dtype), draw_ids()
    model = adapt.add_prefix(copy.deepcopy(base), M, seed=0)
    assert torch.equal(model(ids), base(ids))
    assert model.config == base.config


def test_a_gated_prefix_is_read_alike_at_every_position():
    base = base_model("none", window=1)  # each token sees itself alone
    ids = torch.full((1, 5), 7)
    logits = gated(base)(ids)
    torch.testing.assert_close(logits, logits[:, :1].expand_as(logits), **TIGHT)
    assert (logits - base(ids)).abs().max() > 1e-3


def test_keys_of_a_gated_prefix_are_not_turned():
    base = base_model()
    prefix = adapt.add_prefix(copy.deepcopy(base), M, tokens=TOKENS).virtual.layers[0]
    block = base.blocks[0]
    x = block.attention_norm(base.token_embedding(TOKENS)[None])
    torch.testing.assert_close(prefix.k, block.attention.project(x)[1][0], **TIGHT)


@ALL
@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_on_either_side_changes_nothing(add, side):
    model, ids = add(base_model()), draw_ids(1, 5)
    pad = torch.full((1, 3), 9)
    row = torch.cat((pad, ids) if side == "left" else (ids, pad), 1)
    mask = torch.cat((pad < 0, ids >= 0) if side == "left" else (ids >= 0, pad < 0), 1)
    torch.testing.assert_close(model(row, mask=mask)[mask], model(ids)[0], **TIGHT)


@ALL
def test_each_document_of_a_packed_row_sees_it(add):
    model, a, b = add(base_model()), draw_ids(1, 4), draw_ids(1, 5)
    documents = torch.tensor([[0] * 4 + [1] * 5 + [-1]])
    row = torch.cat((a, b, torch.zeros(1, 1, dtype=torch.int64)), 1)
    where = document_positions(documents)
    packed = model(row, mask=document_mask(documents), positions=where)
    torch.testing.assert_close(packed[:, :4], model(a), **TIGHT)
    torch.testing.assert_close(packed[:, 4:9], model(b), **TIGHT)


@ALL
@pytest.mark.parametrize("split", [1, 4, 6])
def test_cached_equals_uncached(add, split):
    model, ids = add(base_model()), draw_ids()
    cache = model.new_cache(2)
    with torch.no_grad():
        parts = [model(x, cache=cache) for x in (ids[:, :split], ids[:, split:])]
        torch.testing.assert_close(torch.cat(parts, 1), model(ids), **TIGHT)
    assert cache.length == 7


@ALL
def test_greedy_tokens_and_scores_are_those_of_the_model(add):
    model, ids = add(base_model()), draw_ids()
    written = generate(model, ids, 4, temperature=0)
    assert torch.equal(model(written)[:, 6:-1].argmax(-1), written[:, 7:])
    assert torch.equal(generate(model, ids, 4, temperature=0, cache=False), written)
    with torch.no_grad():
        logp = token_log_probabilities(model, ids)
    expected = model(ids).log_softmax(-1)[:, :-1].gather(2, ids[:, 1:, None])[..., 0]
    torch.testing.assert_close(logp, expected, **TIGHT)


@ALL
def test_taps_change_nothing(add):
    model, ids, taps = add(base_model()), draw_ids(), {}
    torch.testing.assert_close(model(ids, taps=taps), model(ids), **TIGHT)
    weights = taps["blocks.1.attention.weights"]
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, H, 7), **TIGHT)


@ALL
def test_gradients_are_slopes_and_reach_nothing_else(add):
    model, ids = add(base_model("rope")), draw_ids()
    own = adapt.trainable(model)
    assert all(name.startswith("virtual.") for name in own)
    gradients = torch.autograd.grad(loss_of(model, ids), list(own.values()))
    for p, g in zip(own.values(), gradients, strict=True):
        step = 1e-6 * torch.randn_like(p)
        rise = loss_moved(model, ids, p, step) - loss_moved(model, ids, p, -step)
        torch.testing.assert_close(2 * (g * step).sum(), rise, rtol=1e-5, atol=1e-11)


def loss_of(model, ids):
    return model(ids).log_softmax(-1)[..., 0].mean()


@torch.no_grad()
def loss_moved(model, ids, p, step):
    p.add_(step)
    loss = loss_of(model, ids)
    p.sub_(step)
    return loss


@pytest.mark.parametrize(
    ("add", "count"),
    [(joined, 2 * M * L * G * K), (gated, 2 * M * L * G * K + L * H), (prompted, M * D)],
)
def test_what_is_trained_is_counted_exactly(add, count):
    assert adapt.count_trainable(add(base_model()))[0] == count


@ALL
def test_removal_leaves_the_model_before(add):
    base, ids = base_model(), draw_ids()
    model = adapt.remove_adapters(add(base))
    assert torch.equal(model(ids), base(ids))
    assert model.config == base.config
    assert list(model.state_dict()) == list(base.state_dict())


@BEFORE
def test_the_context_is_shorter_by_its_length(add):
    model = add(base_model())
    assert model.config.context == CONTEXT - M
    model(draw_ids(1, CONTEXT - M))
    with pytest.raises(InputError, match="14 tokens is longer than the context 13"):
        model(draw_ids(1, CONTEXT - M + 1))


def test_a_cache_of_another_start_is_refused():
    base, ids = base_model(), draw_ids()
    cache = base.new_cache(2)
    with torch.no_grad():
        base(ids, cache=cache)
        with pytest.raises(InputError, match="7 tokens that were read without virtual"):
            joined(base)(ids[:, :1], cache=cache)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"length": 0}, "length=0 must be at least 1"),
        ({"length": 17}, "length=17 is more than the context of 16"),
        ({"length": 2, "gated": "no"}, "gated='no' must be True or False"),
        ({"length": 2, "seed": "x"}, "seed='x' must be a whole number"),
        ({"length": 1, "tokens": [2**70]}, "is outside of every vocabulary"),
        ({"length": 16, "gated": False}, "leaves no place for text in a context of 16"),
        ({"length": 2, "tokens": [1, 2, 3]}, "length=2, and 3 tokens are given"),
        ({"length": 1, "tokens": [11]}, "token id 11"),
        ({"length": 1, "tokens": []}, "give .m,., at least one"),
    ],
)
def test_a_prefix_that_does_not_fit_is_refused_and_changes_nothing(options, message, unchecked):
    model = base_model()
    with pytest.raises(MathLMError, match=message):
        adapt.add_prefix(model, **options)
    assert adapt.additions(model) == []
    assert all(p.requires_grad for p in model.parameters())


def test_two_at_once_and_windows_and_other_models_are_refused():
    with pytest.raises(InputError, match="a prefix of length 3 already"):
        adapt.add_prompt(gated(base_model()), 2)
    with pytest.raises(ConfigError, match="sees 4 keys back, and would lose sight"):
        adapt.add_prompt(base_model(window=4), 2)
    with pytest.raises(InputError, match="give a length, or the tokens"):
        adapt.add_prompt(base_model())
    with pytest.raises(InputError, match="no bottleneck adapters, no prefix and no prompt"):
        adapt.remove_adapters(base_model())


def test_a_model_that_is_no_gpt_is_refused(unchecked):
    config = BertConfig(vocab_size=9, context=8, d_model=8, n_layers=1, n_heads=2)
    with pytest.raises(InputTypeError, match="model is a Bert: bottlenecks, prefixes"):
        adapt.add_prefix(Bert(config), 2)
