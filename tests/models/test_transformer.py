import itertools
import math
import subprocess
import sys

import pytest
import torch
from models.transformer_families import FAMILIES, TIGHT, make, tokens

from mathlm.errors import InputError, InputTypeError
from mathlm.layers import DecoderBlock, PostNormBlock

EVERY = pytest.mark.parametrize("family", FAMILIES)


def beside(row, T, side):
    """Two rows of T tokens, the first of them ``row`` and padding, and their mask."""
    ids, mask = tokens(2, T), torch.ones(2, T, dtype=torch.bool)
    real = slice(T - row.numel(), T) if side == "left" else slice(0, row.numel())
    ids[0, real], mask[0] = row, False
    mask[0, real] = True
    return ids, mask


@EVERY
def test_logits_depend_on_the_whole_source_and_the_target_so_far(family):
    model, source, target = make(family), tokens(1, 5), tokens(1, 6)
    taps = {}
    y = model(source, target, taps=taps)
    for t in range(6):
        ds, dt = torch.autograd.grad(
            y[0, t].square().sum(),
            (taps["source_embedding"], taps["target_embedding"]),
            retain_graph=True,
        )
        assert (ds.abs().sum(-1) > 1e-9).all()
        assert (dt[0, : t + 1].abs().sum(-1) > 1e-9).all()
        assert (dt[0, t + 1 :] == 0).all()


@EVERY
def test_padding_on_either_side_of_either_sequence_changes_nothing(family):
    model = make(family)
    lengths, sides = ((1, 7), (3, 1), (7, 11), (16, 3)), (("left", "right"), ("right", "left"))
    for (S, T), (at, to) in itertools.product(lengths, sides):
        source, target = tokens(1, S), tokens(1, T)
        (s, s_mask), (t, t_mask) = beside(source, 16, at), beside(target, 11, to)
        y = model(s, t, source_mask=s_mask, target_mask=t_mask)
        torch.testing.assert_close(y[0, t_mask[0]], model(source, target)[0], **TIGHT)


def test_float32_padding_agrees_to_1e_5():
    model, source, target = make("t5").float(), tokens(1, 9), tokens(1, 5)
    s, mask = beside(source, 16, "left")
    y = model(s, target.expand(2, 5), source_mask=mask)
    torch.testing.assert_close(y[0], model(source, target)[0], rtol=1e-5, atol=1e-5)


@EVERY
def test_other_ids_under_the_padding_give_the_same_bits(family):
    model, source, target = make(family), tokens(3, 9), tokens(3, 6)
    s_mask = torch.arange(9) < torch.tensor([[9], [4], [1]])
    t_mask = torch.arange(6) < torch.tensor([[2], [6], [5]])
    masks = {"source_mask": s_mask, "target_mask": t_mask}
    poisoned = (torch.where(s_mask, source, 7), torch.where(t_mask, target, 7))
    y = model(*poisoned, **masks)
    assert torch.equal(y[t_mask], model(source, target, **masks)[t_mask])


@pytest.mark.parametrize("poison", [1e6, float("nan")])
def test_the_embedding_of_padding_does_not_matter(poison):
    model, source, target = make(), tokens(2, 8).clamp(min=1), tokens(2, 7).clamp(min=1)
    source[0, :3] = source[1, 6:] = target[0, 5:] = target[1, :2] = 0  # token 0 is padding
    results = []
    for value in (0.0, poison):
        for table in (model.source_embedding, model.target_embedding):
            table.weight.data[0] = value
        y = model(source, target, source_mask=source != 0, target_mask=target != 0)[target != 0]
        results.append([y, *torch.autograd.grad(y.square().sum(), model.parameters())])
    torch.testing.assert_close(results[1], results[0], **TIGHT)


@EVERY
def test_rows_without_real_tokens_leave_the_others_and_all_gradients_finite(family):
    model, source, target = make(family), tokens(3, 6), tokens(3, 5)
    s_mask, t_mask = torch.ones(3, 6) > 0, torch.ones(3, 5) > 0
    s_mask[1], t_mask[2] = False, False
    y = model(source, target, source_mask=s_mask, target_mask=t_mask)
    torch.testing.assert_close(y[:1], model(source[:1], target[:1]), **TIGHT)
    y.square().sum().backward()
    assert all(p.grad.isfinite().all() for p in model.parameters())


@EVERY
def test_masks_that_show_everything_change_nothing(family):
    model, source, target = make(family), tokens(2, 6), tokens(2, 5)
    masks = {"source_mask": torch.ones(2, 6) > 0, "target_mask": torch.ones(2, 5) > 0}
    y = model(source, target, **masks)
    torch.testing.assert_close(y, model(source, target), **TIGHT)


def test_an_embedding_is_scaled_by_the_root_of_the_width_and_has_its_place_added():
    """Place 2 has sin 2 and cos 2 as its first two features."""
    model, target, taps = make(), tokens(1, 5), {}
    model(tokens(1, 5), target, taps=taps)
    rows = math.sqrt(24) * model.target_embedding.weight[target[0, 2]]
    first = rows[:2] + torch.tensor([math.sin(2), math.cos(2)])
    torch.testing.assert_close(taps["target_embedding"][0, 2, :2], first, **TIGHT)


def test_without_positions_the_source_is_a_set():
    model, source, target = make("inputs"), tokens(1, 7), tokens(1, 5)
    shuffled = source[:, torch.randperm(7)]
    torch.testing.assert_close(model(shuffled, target), model(source, target), **TIGHT)
    ordered = make("2017")
    assert (ordered(shuffled, target) - ordered(source, target)).abs().max() > 1e-3


def test_the_relative_tables_serve_all_layers_of_one_stack_each():
    model, source, target, taps = make("t5"), tokens(1, 7), tokens(1, 7), {}
    model.source_position.weight.data.zero_()
    for block in (*model.encoder, *model.decoder):
        block.attention.W_q.weight.data.zero_()
    model(source, target, taps=taps)
    bias = model.target_position(torch.arange(7), torch.arange(7))
    causal = torch.ones(7, 7).tril() > 0
    expected = bias.masked_fill(~causal, -math.inf).softmax(-1)[None]
    for i in range(2):
        torch.testing.assert_close(taps[f"decoder.{i}.attention.weights"], expected, **TIGHT)
        uniform = torch.full((1, 4, 7, 7), 1 / 7)
        torch.testing.assert_close(taps[f"encoder.{i}.attention.weights"], uniform, **TIGHT)


def test_the_encoder_looks_both_ways_with_different_numbers():
    model = make("t5")
    forward, back = model.source_position, model.target_position
    a, b = torch.tensor([0]), torch.tensor([3])
    assert (forward(a, b) != forward(b, a)).all()
    assert (forward(a, b) != forward(a, a)).all()
    assert torch.equal(back(a, b), back(a, a))  # what comes later is never seen


@EVERY
def test_taps_change_nothing_and_name_every_stage(family):
    model, source, target, taps = make(family), tokens(2, 6), tokens(2, 5), {}
    mask = torch.arange(6) < torch.tensor([[6], [2]])
    y = model(source, target, source_mask=mask, taps=taps)
    torch.testing.assert_close(y, model(source, target, source_mask=mask), **TIGHT)
    assert torch.equal(taps["memory"], model.encode(source, mask, taps={}))
    assert torch.equal(taps["encoder.0.resid_pre"], taps["source_embedding"])
    assert torch.equal(taps["decoder.0.resid_pre"], taps["target_embedding"])
    weights = taps["decoder.1.cross_attention.weights"]
    assert weights.shape == (2, 4, 5, 6)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 4, 5), **TIGHT)
    assert (weights[1, ..., 2:] == 0).all()


def test_the_head_reads_what_the_last_tap_holds():
    for family, divisor in (("2017", 1.0), ("t5", math.sqrt(24))):
        model, taps = make(family), {}
        y = model(tokens(2, 6), tokens(2, 5), taps=taps)
        expected = taps["decoded"] / divisor @ model.head.weight.mT
        torch.testing.assert_close(y, expected, **TIGHT)


def test_memory_is_zero_at_padding():
    mask = torch.arange(6) < torch.tensor([[6], [2]])
    memory = make().encode(tokens(2, 6), mask)
    assert (memory[1, 2:] == 0).all()
    assert (memory[mask] != 0).all()


@EVERY
def test_forward_is_encode_and_decode(family):
    model, source, target = make(family), tokens(2, 6), tokens(2, 5)
    mask = torch.arange(6) < torch.tensor([[6], [2]])
    memory = model.encode(source, mask)
    y = model.decode(target, memory, memory_mask=mask)
    assert torch.equal(y, model(source, target, source_mask=mask))


def test_blocks_are_those_that_the_configuration_asks_for():
    post, pre = make(), make("pre-norm")
    assert isinstance(post.encoder[0], PostNormBlock)
    assert isinstance(pre.decoder[0], DecoderBlock)
    assert post.decoder_norm is None
    assert pre.encoder_norm is not None
    assert (len(make("target").encoder), len(make("target").decoder)) == (2, 3)


def test_dropout_acts_in_training_only_on_sums_and_branches():
    """With all dropped but for the residual stream, no token reaches the logits."""
    model, source, target = make("2017", dropout=0.5), tokens(2, 8), tokens(2, 7)
    assert torch.equal(model(source, target), model(source, target))
    model.train()
    assert not torch.equal(model(source, target), model(source, target))
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 1.0
    assert torch.equal(model(source, target), model(source.flip(1), target.flip(1)))


def test_bfloat16_weights_give_bfloat16_logits_near_the_exact_ones():
    model, source, target = make("t5"), tokens(2, 8), tokens(2, 7)
    exact, y = model(source, target), model.bfloat16()(source, target)
    assert y.dtype == torch.bfloat16
    assert (y.double() - exact).abs().max() < 0.1 * exact.std()


@pytest.mark.parametrize(
    ("source", "target", "error", "message"),
    [
        (tokens(2, 5) + 50, tokens(2, 5), InputError, r"token id \d+ at .* outside 0\.\.49"),
        (tokens(2, 5), tokens(2, 5) + 40, InputError, r"token id \d+ at .* outside 0\.\.39"),
        (tokens(2, 25), tokens(2, 5), InputError, "25 tokens is longer than the context 24"),
        (tokens(2, 5), tokens(2, 25), InputError, "25 tokens is longer than the context 24"),
        (tokens(2, 0), tokens(2, 5), InputError, r"ids are empty, of shape \(2, 0\)"),
        (tokens(2, 5), tokens(2, 0), InputError, r"ids are empty, of shape \(2, 0\)"),
        (tokens(5), tokens(2, 5), InputError, r"ids have shape \(5,\), expected"),
        (tokens(2, 5), tokens(2, 5) * 1.0, InputTypeError, "token ids must be int64"),
        (
            tokens(3, 5),
            tokens(2, 5),
            InputError,
            r"memory \(3, 5, 24\) does not fit the target",
        ),
    ],
)
def test_ids_that_do_not_fit_are_refused(source, target, error, message):
    with pytest.raises(error, match=message):
        make()(source, target)


@pytest.mark.parametrize(
    ("masks", "error", "message"),
    [
        ({"source_mask": torch.ones(2, 5)}, InputTypeError, "mask must be bool"),
        ({"target_mask": torch.ones(2, 4)}, InputTypeError, "mask must be bool"),
        ({"source_mask": torch.ones(2, 4) > 0}, InputError, r"mask \(2, 4\) .* \(2, 5\)"),
        ({"target_mask": torch.ones(2, 5) > 0}, InputError, r"mask \(2, 5\) must be \(2, 4\)"),
        ({"target_mask": torch.ones(2, 4, 4) > 0}, InputError, r"\(2, 4, 4\) must have one"),
    ],
)
def test_masks_that_do_not_fit_are_refused(masks, error, message):
    with pytest.raises(error, match=message):
        make()(tokens(2, 5), tokens(2, 4), **masks)


@pytest.mark.parametrize(
    ("memory", "mask", "error", "message"),
    [
        (torch.randn(2, 5, 20), None, InputError, r"memory \(2, 5, 20\) .* \(2, S, 24\)"),
        (torch.randn(5, 24), None, InputError, r"memory \(5, 24\) does not fit"),
        (tokens(2, 5, 24), None, InputTypeError, "memory must be what encode returns"),
        (torch.randn(2, 5, 24), torch.ones(2, 6) > 0, InputError, r"must be \(2, 5\)"),
        (torch.randn(2, 5, 24), torch.ones(2, 5), InputTypeError, "real token of the source"),
    ],
)
def test_a_memory_that_does_not_fit_is_refused(memory, mask, error, message, unchecked):
    with pytest.raises(error, match=message):
        make().decode(tokens(2, 4), memory, memory_mask=mask)


@pytest.mark.slow
def test_the_model_is_one_graph_for_the_compiler():
    """In a process of its own: the checks of annotations under test would break the graph."""
    code = """
import torch
from mathlm.models import Transformer, TransformerConfig
sizes = dict(vocab_size=9, context=8, d_model=8, n_layers=2, n_heads=2)
model = Transformer(TransformerConfig(**sizes))
compiled = torch.compile(model, fullgraph=True, backend="eager")
ids = torch.arange(8)[None]
masks = {"source_mask": ids < 6, "target_mask": ids < 7}
torch.testing.assert_close(compiled(ids, ids, **masks), model(ids, ids, **masks))
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)
