"""The whole machine: all gradients against autograd and differences, and invariances."""

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from reference.torch_transformer import transformer_logits, transformer_loss

from mathlm import models
from mathlm.errors import InputError, InputTypeError
from mathlm.reference import (
    Transformer,
    TransformerConfig,
    cross_entropy,
    draw_dropout,
    softmax,
)

TIES = pytest.mark.parametrize("tie", ["none", "target", "all"])
SIZES = {"vocab_size": 6, "context": 9, "d_model": 8, "n_layers": 2, "n_heads": 2, "d_ff": 5}


def make(rng, **changes):
    """A model whose weights, gains and shifts too, lie away from their first values."""
    model = Transformer(TransformerConfig(**(SIZES | changes)), rng)
    model.weights = {n: w + 0.3 * rng.normal(size=w.shape) for n, w in model.weights.items()}
    return model


def draw_sentences(rng, model, B=3, S=4, T=5):
    """Ids (B, S) and (B, T + 1) with padding at random places; the first row is whole."""
    source = rng.integers(0, model.config.vocab_size, (B, S))
    target = rng.integers(0, model.config.target_vocab, (B, T + 1))
    masks = [rng.random(ids.shape) < 0.7 for ids in (source, target)]
    for mask in masks:
        mask[0] = True
    return source, target, *masks


def tensors(arrays):
    return {name: torch.tensor(a) for name, a in arrays.items()}


def by_autograd(model, sentences, smoothing, factors, dlogits=None):
    """Loss, or the product of the logits with dlogits, and its gradients by name."""
    weights = {n: torch.tensor(w, requires_grad=True) for n, w in model.weights.items()}
    source, target, seen, real = map(torch.tensor, sentences)
    inputs = (source, target[:, :-1], seen, real[:, :-1], tensors(factors or {}))
    logits = transformer_logits(weights, model.config, *inputs)
    if dlogits is None:
        value = transformer_loss(logits, target, real, smoothing)
    else:
        value = (logits * torch.tensor(dlogits)).sum()
    value.backward()
    return value.item(), {name: w.grad.numpy() for name, w in weights.items()}


def assert_same_gradients(ours, theirs, rtol=1e-10):
    """Relative to the entry, and to the largest one: a shift of the keys has gradient 0."""
    assert list(ours) == list(theirs)
    largest = max(np.abs(g).max() for g in theirs.values())
    for name, gradient in ours.items():
        assert_allclose(gradient, theirs[name], rtol=rtol, atol=1e-13 * largest, err_msg=name)


def random_model(seed):
    """Another shape, activation, tie and depth for each seed."""
    rng = np.random.default_rng(seed)
    tie = rng.choice(["none", "target", "all"])
    heads = int(rng.integers(1, 4))
    sizes = {
        "vocab_size": int(rng.integers(2, 9)),
        "d_model": 2 * heads * int(rng.integers(1, 4)),
        "n_heads": heads,
        "n_layers": int(rng.integers(1, 4)),
        "n_decoder_layers": int(rng.integers(1, 4)),
        "d_ff": int(rng.integers(1, 9)),
        "activation": str(rng.choice(["relu", "gelu", "silu", "swiglu"])),
        "tie_embeddings": str(tie),
        "bias": bool(rng.random() < 0.7),
    }
    sizes |= {} if tie == "all" else {"target_vocab_size": int(rng.integers(2, 9))}
    return rng, make(rng, **sizes)


@pytest.mark.parametrize("seed", range(20))
def test_all_gradients_equal_those_of_autograd(seed):
    rng, model = random_model(seed)
    B, S, T = (int(rng.integers(1, most)) for most in (4, 6, 7))
    sentences, smoothing = draw_sentences(rng, model, B, S, T), float(rng.random())
    factors = draw_dropout(model.config, ((B, S), (B, T)), 0.3, rng) if seed % 2 else None
    loss, cache = model.loss(*sentences, label_smoothing=smoothing, dropout=factors)
    expected, gradients = by_autograd(model, sentences, smoothing, factors)
    assert_allclose(loss, expected, rtol=1e-12)
    assert_same_gradients(model.backward(cache), gradients)


@pytest.mark.parametrize("seed", range(5))
def test_gradients_of_any_product_with_the_logits_equal_those_of_autograd(seed):
    rng, model = random_model(100 + seed)
    source, target, seen, real = draw_sentences(rng, model)
    logits, cache = model.logits(source, target[:, :-1], seen, real[:, :-1])
    dlogits = rng.normal(size=logits.shape)
    value, gradients = by_autograd(model, (source, target, seen, real), 0, None, dlogits)
    assert_allclose((logits * dlogits).sum(), value, rtol=1e-10)
    assert_same_gradients(model.logits_backward(dlogits, cache), gradients)


def both_halves(rng, **changes):
    """The same weights in NumPy and in torch."""
    ours = make(rng, **changes)
    theirs = models.Transformer(models.TransformerConfig(**(SIZES | changes)))
    missing, unexpected = theirs.load_state_dict(tensors(ours.weights), strict=False)
    assert not unexpected
    assert not {name for name, _ in theirs.named_parameters()} & set(missing)
    return ours, theirs


@TIES
@pytest.mark.parametrize("bias", [True, False])
def test_logits_and_gradients_equal_those_of_the_torch_model(tie, bias, rng):
    ours, theirs = both_halves(rng, tie_embeddings=tie, bias=bias)
    source, target, seen, real = draw_sentences(rng, ours)
    logits, cache = ours.logits(source, target, seen, real)
    masks = {"source_mask": torch.tensor(seen), "target_mask": torch.tensor(real)}
    expected = theirs(torch.tensor(source), torch.tensor(target), **masks)
    assert_allclose(logits[real], expected.detach().numpy()[real], rtol=1e-10)
    dlogits = rng.normal(size=logits.shape) * real[..., None]
    expected.backward(torch.tensor(dlogits))
    found = {name: w.grad.numpy() for name, w in theirs.named_parameters()}
    assert_same_gradients(ours.logits_backward(dlogits, cache), found)


class Given(torch.nn.Module):
    """In the place of a dropout: multiplies by the next of the given factors."""

    def __init__(self, factors):
        super().__init__()
        self.factors = factors

    def forward(self, x):
        return x * next(self.factors)


def test_given_dropout_equals_that_of_the_torch_model(rng):
    ours, theirs = both_halves(rng)
    source, target, seen, real = draw_sentences(rng, ours)
    drawn = draw_dropout(ours.config, (source.shape, target.shape), 0.4, rng)
    order = sorted(
        drawn, key=lambda place: ("source", "encode", "target", "decode").index(place[:6])
    )
    given = Given(torch.tensor(drawn[place]) for place in order)
    for module in list(theirs.modules()):
        if isinstance(getattr(module, "dropout", None), torch.nn.Dropout):
            module.dropout = given
    masks = {"source_mask": torch.tensor(seen), "target_mask": torch.tensor(real)}
    expected = theirs(torch.tensor(source), torch.tensor(target), **masks).detach().numpy()
    logits, _ = ours.logits(source, target, seen, real, drawn)
    assert next(given.factors, None) is None
    assert_allclose(logits[real], expected[real], rtol=1e-10)


@pytest.mark.usefixtures("unchecked")
@TIES
def test_all_gradients_match_central_differences(tie, rng):
    """Of each weight along a random direction; entry by entry where the parts are tested."""
    model = make(rng, n_layers=1, n_decoder_layers=2, tie_embeddings=tie, activation="gelu")
    sentences = draw_sentences(rng, model)
    factors = draw_dropout(model.config, ((3, 4), (3, 5)), 0.2, rng)
    options = {"label_smoothing": 0.1, "dropout": factors}
    weights, h = model.weights, 1e-5
    gradients = model.backward(model.loss(*sentences, **options)[1], dloss=1.7)
    for name, gradient in gradients.items():
        direction, losses = rng.normal(size=gradient.shape), []
        for shift in (h, -h):
            model.weights = weights | {name: weights[name] + shift * direction}
            losses.append(1.7 * model.loss(*sentences, **options)[0])
        numeric = (losses[0] - losses[1]) / (2 * h)
        assert_allclose((gradient * direction).sum(), numeric, 1e-6, 1e-8, err_msg=name)


def test_the_loss_is_the_mean_surprise_of_each_next_token(rng):
    """From the definition, row by row and token by token, with the entropies of chapter 3."""
    model = make(rng)
    source, target, seen, real = draw_sentences(rng, model)
    surprises = []
    for row in range(3):
        logits, _ = model.logits(
            *(a[[row]] for a in (source, target[:, :-1], seen, real[:, :-1]))
        )
        for t in np.flatnonzero(real[row, :-1] & real[row, 1:]):
            wanted = 0.8 * np.eye(6)[target[row, t + 1]] + 0.2 / 6
            surprises.append(cross_entropy(wanted, softmax(logits[0, t])))
    loss, _ = model.loss(source, target, seen, real, label_smoothing=0.2)
    assert_allclose(loss, np.mean(surprises), rtol=1e-12)


def test_the_gradient_of_a_shared_table_is_the_sum_over_its_uses(rng):
    """The same numbers in three tables: their three gradients add up to that of one."""
    shared = make(rng, tie_embeddings="all")
    apart = Transformer(TransformerConfig(**SIZES), rng)
    table = shared.weights["source_embedding.weight"]
    tables = ("source_embedding.weight", "target_embedding.weight", "head.weight")
    apart.weights = {name: shared.weights.get(name, table) for name in apart.weights}
    sentences = draw_sentences(rng, shared)
    one, three = (m.backward(m.loss(*sentences)[1]) for m in (shared, apart))
    total = sum(three.pop(name) for name in tables)
    assert_allclose(one.pop("source_embedding.weight"), total, rtol=1e-12, atol=1e-15)
    assert one.keys() == three.keys()


@pytest.mark.parametrize("side", ["left", "right"])
def test_padding_changes_neither_the_loss_nor_any_gradient(side, rng):
    model = make(rng)
    source, target = rng.integers(0, 6, (2, 3)), rng.integers(0, 6, (2, 5))
    loss, cache = model.loss(source, target)
    padded, masks = [], []
    for ids, more in ((source, 4), (target, 2)):
        width = ((0, 0), (more, 0) if side == "left" else (0, more))
        padded.append(np.pad(ids, width, constant_values=5))
        masks.append(np.pad(np.ones(ids.shape, dtype=bool), width))
    again, padded_cache = model.loss(*padded, *masks)
    assert_allclose(again, loss, rtol=1e-12)
    assert_same_gradients(model.backward(padded_cache), model.backward(cache))


def test_what_stands_at_padding_does_not_matter(rng):
    model = make(rng)
    source, target, seen, real = draw_sentences(rng, model)
    poison = [np.where(m, ids, 5 - ids) for ids, m in ((source, seen), (target, real))]
    (one, one_cache), (two, two_cache) = (
        model.loss(*ids, seen, real) for ids in ((source, target), poison)
    )
    assert one == two
    for name, gradient in model.backward(one_cache).items():
        assert_array_equal(gradient, model.backward(two_cache)[name])


def test_rows_of_a_batch_do_not_touch_each_other(rng):
    model = make(rng)
    source, target, seen, real = draw_sentences(rng, model)
    together, _ = model.logits(source, target, seen, real)
    for row in range(3):
        alone, _ = model.logits(*(a[[row]] for a in (source, target, seen, real)))
        assert_allclose(together[[row]], alone, rtol=1e-10, atol=1e-12)


def test_a_token_of_the_target_moves_only_later_logits(rng):
    model, source = make(rng), rng.integers(0, 6, (1, 4))
    target = rng.integers(0, 6, (1, 5))
    changed = target.copy()
    changed[0, 2] = (target[0, 2] + 1) % 6
    one, two = (model.logits(source, ids)[0] for ids in (target, changed))
    assert_array_equal((one != two).any((0, 2)), [False, False, True, True, True])


def test_every_token_of_the_source_moves_all_logits(rng):
    model, source = make(rng), rng.integers(0, 6, (1, 4))
    target = rng.integers(0, 6, (1, 3))
    before, _ = model.logits(source, target)
    for s in range(4):
        changed = source.copy()
        changed[0, s] = (source[0, s] + 1) % 6
        assert (model.logits(changed, target)[0] != before).any(-1).all()


def test_the_order_of_the_source_matters_only_through_positions(rng, monkeypatch):
    model = make(rng)
    source, target = np.array([[1, 4, 2, 0]]), rng.integers(0, 6, (1, 3))
    pair = (source, source[:, ::-1])
    one, two = (model.logits(ids, target)[0] for ids in pair)
    assert np.abs(one - two).max() > 1e-3
    no_positions = lambda length, width: np.zeros((length, width))  # noqa: E731
    monkeypatch.setattr("mathlm.reference.network.stacks.sinusoidal_table", no_positions)
    one, two = (model.logits(ids, target)[0] for ids in pair)
    assert_allclose(one, two, rtol=1e-11, atol=1e-13)


def test_a_source_without_a_real_token_tells_the_decoder_nothing(rng):
    model, target = make(rng), rng.integers(0, 6, (2, 4))
    seen = np.zeros((2, 3), dtype=bool)
    one, two = (model.loss(ids, target, seen)[0] for ids in rng.integers(0, 6, (2, 2, 3)))
    assert np.isfinite(one)
    assert one == two


@pytest.mark.usefixtures("unchecked")
def test_some_steps_against_the_gradient_lower_the_loss_by_half(rng):
    model = Transformer(TransformerConfig(**SIZES), rng)
    source, target = rng.integers(0, 6, (4, 4)), rng.integers(0, 6, (4, 5))
    first, _ = model.loss(source, target)
    for _ in range(60):
        loss, cache = model.loss(source, target)
        gradients = model.backward(cache)
        model.weights = {n: w - 0.1 * gradients[n] for n, w in model.weights.items()}
    assert loss < first / 2


def test_weights_that_do_not_fit_are_refused_with_the_whole_list(rng):
    model, ids = make(rng), np.array([[1, 2]])
    del model.weights["decoder.1.cross_attention.W_k.bias"]
    model.weights |= {"head.bias": np.zeros(6), "encoder.0.attention.W_q.weight": np.eye(3)}
    with pytest.raises(InputError) as error:
        model.logits(ids, ids)
    assert "missing ['decoder.1.cross_attention.W_k.bias']" in str(error.value)
    assert "unknown ['head.bias']" in str(error.value)
    assert "'encoder.0.attention.W_q.weight': ((3, 3), (8, 8))" in str(error.value)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        ([1, 2], r"source has shape \(2,\), expected \(rows, tokens\)"),
        (np.zeros((1, 0), dtype=int), r"source has shape \(1, 0\)"),
        ([[1, 6]], r"token id 6 at \[0, 1\] is outside 0..5"),
        ([[-1, 2]], r"token id -1 at \[0, 0\] is outside 0..5"),
        ([[0] * 10], "source has 10 tokens a row, more than the 9 that context=9 allows"),
        ([[1], [2]], "source has 2 rows and target 1"),
    ],
)
def test_ids_that_do_not_fit_are_refused(ids, message, rng):
    with pytest.raises(InputError, match=message):
        make(rng).logits(ids, [[1, 2]])


def test_a_target_that_does_not_fit_is_called_so(rng):
    model, ids = make(rng), np.array([[1, 2]])
    with pytest.raises(InputError, match=r"target has shape \(2,\), expected \(rows, tokens\)"):
        model.logits(ids, [1, 2])
    with pytest.raises(InputError, match=r"target_mask has shape \(2,\), expected \(1, 2\)"):
        model.logits(ids, ids, None, np.array([True, True]))


def test_sentences_that_hold_nothing_to_predict_are_refused(rng):
    model, ids = make(rng), np.array([[1, 2, 3]])
    with pytest.raises(InputError, match=r"\(1, 1\); a sentence needs at least 2 tokens"):
        model.loss(ids, [[1]])
    with pytest.raises(InputError, match="none of the 2 labels is real"):
        model.loss(ids, ids, None, np.array([[True, False, True]]))
    with pytest.raises(InputError, match="target has 11 tokens a row, more than the 10 that"):
        model.loss(ids, [[1] * 11])
    assert np.isfinite(model.loss(ids, [[1] * 10])[0])


def test_masks_ids_and_gradients_of_a_wrong_kind_are_refused(rng):
    model, ids = make(rng), np.array([[1, 2, 3]])
    with pytest.raises(InputTypeError, match="source_mask has dtype int64; give booleans"):
        model.loss(ids, ids, np.ones((1, 3), dtype=int))
    with pytest.raises(InputError, match=r"target_mask has shape \(3,\), expected \(1, 3\)"):
        model.loss(ids, ids, None, np.ones(3, dtype=bool))
    with pytest.raises(InputTypeError, match="token ids must be integers, got float64"):
        model.logits(ids / 2, ids)
    with pytest.raises(InputError, match=r"dy has shape \(1, 3\), but y has \(1, 3, 6\)"):
        model.logits_backward(np.ones((1, 3)), model.logits(ids, ids)[1])
    model.weights["head.weight"] = np.full((6, 8), np.nan)
    with pytest.raises(InputError, match="the weight of the head holds 48 NaN"):
        model.logits(ids, ids)
