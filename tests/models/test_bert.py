import subprocess
import sys

import pytest
import torch
from torch import nn

from mathlm.errors import (
    ConfigError,
    InputError,
    InputTypeError,
)
from mathlm.models import Bert, BertConfig

TIGHT = {"rtol": 1e-12, "atol": 1e-13}
SIZES = {"vocab_size": 50, "context": 24, "d_model": 24, "n_layers": 2, "n_heads": 4}


def make(**changes):
    """A model with weights large enough for every part to matter."""
    model = Bert(BertConfig(**SIZES | changes))
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.2 * torch.randn_like(p))
    return model.eval()


def tokens(*shape):
    return torch.randint(SIZES["vocab_size"], shape)


def test_every_token_sees_every_other():
    model, taps = make(), {}
    y = model(tokens(1, 6), taps=taps)
    for t in range(6):
        (dx,) = torch.autograd.grad(
            y[0, t].square().sum(), taps["embedding"], retain_graph=True
        )
        assert (dx[0].abs().sum(-1) > 1e-6).all()


def test_an_embedding_is_the_normalized_sum_of_token_position_and_segment():
    model, ids, taps = make(), tokens(2, 5), {}
    segments = torch.tensor([[0, 0, 1, 1, 1], [1, 0, 1, 0, 1]])
    model(ids, segments=segments, taps=taps)
    tables = (model.token_embedding, model.segment_embedding, model.position)
    E, S, P = (table.weight for table in tables)
    x = E[ids] + S[segments] + P[:5]
    gain, shift = model.embedding_norm.gamma, model.embedding_norm.beta
    expected = nn.functional.layer_norm(x, (24,), gain, shift, 1e-12)
    torch.testing.assert_close(taps["embedding"], expected, **TIGHT)


def test_without_segments_all_are_the_first():
    model, ids = make(), tokens(2, 5)
    assert torch.equal(model(ids), model(ids, segments=torch.zeros_like(ids)))
    assert (model(ids) - model(ids, segments=torch.ones_like(ids))).abs().max() > 1e-3


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("length", [1, 3, 7, 16])
def test_padding_on_either_side_changes_nothing_at_real_tokens(side, length):
    model, alone, T = make(), tokens(1, length), 16
    start = T - length if side == "left" else 0
    real = slice(start, start + length)
    ids, mask = tokens(2, T), torch.ones(2, T, dtype=torch.bool)
    ids[0, real], mask[0] = alone, False
    mask[0, real] = True
    torch.testing.assert_close(model(ids, mask=mask)[0, real], model(alone)[0], **TIGHT)


def test_other_ids_under_the_padding_give_the_same_bits():
    model, ids = make(), tokens(3, 9)
    mask = torch.arange(9) < torch.tensor([[9], [4], [1]])
    poisoned = torch.where(mask, ids, tokens(3, 9))
    assert not torch.equal(poisoned, ids)
    assert torch.equal(model(poisoned, mask=mask)[mask], model(ids, mask=mask)[mask])


@pytest.mark.parametrize("poison", [1e6, float("nan")])
def test_the_embedding_of_padding_does_not_matter(poison):
    model, ids = make(), tokens(2, 8).clamp(min=1)
    ids[0, :3] = ids[1, 6:] = 0  # token 0 is padding
    results = []
    for value in (0.0, poison):
        model.token_embedding.weight.data[0] = value
        y = model(ids, mask=ids != 0)
        model.zero_grad()
        y[ids != 0].square().sum().backward()
        results.append([y, *(p.grad for p in model.parameters())])
    torch.testing.assert_close(results[0], results[1], **TIGHT)
    assert all(r.isfinite().all() for r in results[1])


def test_a_row_without_real_tokens_leaves_the_others_and_all_gradients_finite():
    model, ids = make(), tokens(3, 6)
    mask = torch.ones(3, 6, dtype=torch.bool)
    mask[1] = False
    y = model(ids, mask=mask)
    torch.testing.assert_close(y[[0, 2]], model(ids[[0, 2]]), **TIGHT)
    y.square().sum().backward()
    assert all(p.grad.isfinite().all() for p in model.parameters())


def test_taps_change_nothing_and_name_every_layer():
    model, ids, taps = make(), tokens(2, 8), {}
    mask = torch.arange(8) < torch.tensor([[8], [3]])
    y = model(ids, mask=mask, taps=taps)
    torch.testing.assert_close(y[mask], model(ids, mask=mask)[mask], **TIGHT)
    assert torch.equal(taps["blocks.1.resid_post"], y)
    assert torch.equal(taps["blocks.0.resid_pre"], taps["embedding"])
    weights = taps["blocks.1.attention.weights"]  # (B, H, T, S)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 4, 8), **TIGHT)
    assert (weights[1, ..., 3:] == 0).all()


def test_attention_without_a_mask_shows_all_weights():
    taps = {}
    make()(tokens(2, 8), taps=taps)
    assert (taps["blocks.0.attention.weights"] > 0).all()


def test_every_parameter_gets_a_gradient():
    model = make()
    model(tokens(4, 24), segments=torch.randint(2, (4, 24))).square().sum().backward()
    assert [n for n, p in model.named_parameters() if p.grad is None] == []
    assert (model.segment_embedding.weight.grad != 0).any()


def test_weights_start_normal_with_the_deviation_of_the_paper():
    model = Bert(BertConfig(vocab_size=500, context=64, d_model=96, n_layers=2, n_heads=4))
    for weight in (model.token_embedding.weight, model.blocks[1].feed_forward.W_out.weight):
        assert weight.std().item() == pytest.approx(0.02, rel=0.05)
    assert (model.blocks[1].attention.W_o.bias == 0).all()


def test_dropout_acts_in_training_only():
    model, ids = make(dropout=0.5), tokens(2, 8)
    assert torch.equal(model(ids), model(ids))
    model.train()
    assert not torch.equal(model(ids), model(ids))


def test_half_precision_is_near_the_exact_values():
    model, ids = make(), tokens(2, 8)
    mask = torch.arange(8) < torch.tensor([[8], [3]])
    exact, y = model(ids, mask=mask), model.bfloat16()(ids, mask=mask)
    assert y.dtype == torch.bfloat16
    assert (y.double() - exact)[mask].abs().max() < 0.2


@pytest.mark.slow
def test_the_model_is_one_graph_for_the_compiler():
    """In a process of its own: the checks of annotations under test would break the graph."""
    code = """
import torch
from mathlm.models import Bert, BertConfig
model = Bert(BertConfig(vocab_size=9, context=8, d_model=8, n_layers=2, n_heads=2))
compiled = torch.compile(model, fullgraph=True, backend="eager")
ids = torch.arange(8)[None]
torch.testing.assert_close(compiled(ids, mask=ids < 6), model(ids, mask=ids < 6))
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_heads": 5}, "n_heads=5 must divide d_model=24"),
        ({"d_model": 0}, "d_model=0 must be at least 1"),
        ({"n_layers": True}, "n_layers=True must be an integer"),
        ({"n_segments": 0}, "n_segments=0 must be at least 1"),
        ({"d_ff": 0}, "d_ff=0 must be at least 1, or None for the default"),
        ({"dropout": 1.0}, r"dropout=1\.0 is outside"),
        ({"norm_eps": -1.0}, r"norm_eps=-1\.0 is outside"),
        ({"norm_eps": float("nan")}, "norm_eps=nan is outside"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(changes, message):
    with pytest.raises(ConfigError, match=message):
        BertConfig(**SIZES | changes)


@pytest.mark.parametrize("d_ff", [None, 40])
def test_the_feed_forward_network_is_four_times_as_wide_unless_told(d_ff):
    assert BertConfig(**SIZES, d_ff=d_ff).ff_width == (96 if d_ff is None else 40)


@pytest.mark.parametrize(
    ("ids", "error", "message"),
    [
        (torch.tensor([[1, 50]]), InputError, r"token id 50 at \[0, 1\] is outside 0\.\.49"),
        (torch.ones(1, 3), InputTypeError, "token ids must be int64, got float32"),
        (torch.ones(2, 0, dtype=torch.long), InputError, r"ids are empty, of shape \(2, 0\)"),
        (torch.ones(3, dtype=torch.long), InputError, r"ids have shape \(3,\)"),
        (torch.ones(1, 25, dtype=torch.long), InputError, "25 tokens .* the context 24"),
    ],
)
def test_ids_that_do_not_fit_are_refused(ids, error, message):
    with pytest.raises(error, match=message):
        make()(ids)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"mask": torch.ones(2, 4)}, InputTypeError, "mask must be bool, .* got float32"),
        ({"mask": torch.ones(2, 5) > 0}, InputError, r"mask \(2, 5\) must have .* \(2, 4\)"),
        ({"mask": torch.ones(2, 4, 4) > 0}, InputError, r"mask \(2, 4, 4\) must have"),
        ({"segments": torch.ones(2, 5).long()}, InputError, r"segments \(2, 5\) must have"),
        ({"segments": torch.full((2, 4), 2)}, InputError, r"segment 2 at \[0, 0\] is outside"),
        ({"segments": torch.ones(2, 4)}, InputTypeError, "segments must be int64"),
    ],
)
def test_masks_and_segments_that_do_not_fit_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        make()(tokens(2, 4), **arguments)
