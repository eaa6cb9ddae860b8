import itertools
import subprocess
import sys

import pytest
import torch
from torch import nn

from mathlm import functional
from mathlm.errors import InputError, InputTypeError
from mathlm.functional import RopeScaling, cross_entropy
from mathlm.models import GPT, GPTConfig

TIGHT = {"rtol": 1e-12, "atol": 1e-13}
SIZES = {"vocab_size": 50, "context": 48, "d_model": 24, "n_layers": 2, "n_heads": 4}
FAMILIES = {
    "gpt2": {},
    "llama": {
        "n_kv_heads": 2, "norm": "rms", "activation": "swiglu", "position": "rope",
        "bias": False, "tie_embeddings": False,
    },
    "alibi": {"position": "alibi", "activation": "relu"},
    "qwen": {"position": "rope", "qk_norm": True, "bias": "qkv", "window": 5, "d_head": 8},
    "sinusoidal": {"position": "sinusoidal", "activation": "gelu", "window": 4},
    "none": {"position": "none", "activation": "silu", "n_kv_heads": 1},
    "alibi-window": {"position": "alibi", "window": 4},
    "relative": {"position": "relative", "n_kv_heads": 2, "tie_embeddings": False},
}  # fmt: skip
EVERY = pytest.mark.parametrize("family", FAMILIES)


def make(family="gpt2", **changes):
    """A model with weights large enough for every part to matter."""
    model = GPT(GPTConfig(**SIZES | FAMILIES[family] | changes))
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.2 * torch.randn_like(p))
    return model.eval()


def tokens(*shape):
    return torch.randint(SIZES["vocab_size"], shape)


@EVERY
def test_logits_at_a_token_do_not_depend_on_later_ones(family):
    model, ids = make(family), tokens(2, 9)
    other = torch.cat((ids[:, :5], tokens(2, 4)), 1)
    torch.testing.assert_close(model(other)[:, :5], model(ids)[:, :5], **TIGHT)
    assert (model(other)[:, 5:] - model(ids)[:, 5:]).abs().max() > 1e-3


@EVERY
def test_padding_on_either_side_changes_nothing_at_real_tokens(family):
    model = make(family)
    for length, side in itertools.product((1, 3, 7, 16), ("left", "right")):
        alone, T = tokens(1, length), 16
        start = T - length if side == "left" else 0
        ids, mask = tokens(2, T), torch.ones(2, T, dtype=torch.bool)
        ids[0, start : start + length] = alone
        mask[0] = torch.arange(T).sub(start).clamp(0, length - 1).add(start) == torch.arange(T)
        padded = model(ids, mask=mask)[0, start : start + length]
        torch.testing.assert_close(padded, model(alone)[0], **TIGHT)


@pytest.mark.parametrize("family", ["gpt2", "llama"])
@pytest.mark.parametrize("length", [1, 3, 7, 16])
def test_float32_padding_on_either_side_agrees_to_1e_5(family, length):
    model, alone = make(family).float(), tokens(1, length)
    expected = model(alone)[0]
    for real in (slice(16 - length, 16), slice(0, length)):
        ids, mask = tokens(1, 16), torch.zeros(1, 16, dtype=torch.bool)
        ids[:, real], mask[:, real] = alone, True
        padded = model(ids, mask=mask)[0, real]
        torch.testing.assert_close(padded, expected, rtol=1e-5, atol=1e-5)


@EVERY
@pytest.mark.parametrize("poison", [1e6, float("nan")])
def test_the_embedding_of_padding_does_not_matter(family, poison):
    model = make(family, tie_embeddings=False)
    ids = tokens(2, 8).clamp(min=1)
    ids[0, :3] = ids[1, 6:] = 0  # token 0 is padding
    targets = ids.masked_fill(ids == 0, -100)
    results = []
    for value in (0.0, poison):
        model.token_embedding.weight.data[0] = value
        logits = model(ids, mask=ids != 0)
        model.zero_grad()
        cross_entropy(logits, targets)[0].backward()
        results.append([logits[ids != 0], *(p.grad for p in model.parameters())])
    torch.testing.assert_close(results[0], results[1], **TIGHT)


def test_a_row_without_real_tokens_leaves_the_others_and_all_gradients_finite():
    model, ids = make(), tokens(3, 6)
    mask = torch.ones(3, 6, dtype=torch.bool)
    mask[1] = False
    logits = model(ids, mask=mask)
    torch.testing.assert_close(logits[[0, 2]], model(ids[[0, 2]]), **TIGHT)
    logits.square().sum().backward()
    assert all(p.grad.isfinite().all() for p in model.parameters())


@EVERY
def test_every_split_into_prefill_and_decode_gives_the_same_logits(family):
    model, ids = make(family), tokens(2, 33)
    with torch.no_grad():
        whole = model(ids)
        for split in range(1, 33):
            cache = model.new_cache(2)
            parts = [model(part, cache=cache) for part in (ids[:, :split], ids[:, split:])]
            torch.testing.assert_close(torch.cat(parts, 1), whole, **TIGHT)


@EVERY
def test_reading_token_by_token_is_reading_at_once(family):
    model, ids, cache = make(family), tokens(2, 33), make(family).new_cache(2)
    with torch.no_grad():
        parts = [model(ids[:, t : t + 1], cache=cache) for t in range(33)]
        torch.testing.assert_close(torch.cat(parts, 1), model(ids), **TIGHT)


@EVERY
def test_reading_in_three_parts_is_reading_at_once(family):
    model, ids = make(family), tokens(2, 33)
    cache = model.new_cache(2, capacity=33)
    with torch.no_grad():
        parts = [model(part, cache=cache) for part in ids.split([10, 20, 3], 1)]
        torch.testing.assert_close(torch.cat(parts, 1), model(ids), **TIGHT)


@EVERY
@pytest.mark.parametrize("side", ["left", "right"])
def test_a_cache_remembers_which_tokens_are_padding(family, side):
    """With the padding between prompt and continuation, too."""
    model, cache = make(family), make(family).new_cache(2)
    prompt, more = tokens(2, 6), tokens(2, 5)
    mask = torch.ones(2, 6, dtype=torch.bool)
    mask[0, :3] = side == "right"
    mask[0, 3:] = side == "left"
    alone = torch.cat((prompt[0, mask[0]], more[0]))[None]
    with torch.no_grad():
        model(prompt, mask=mask, cache=cache)
        parts = [model(part, cache=cache) for part in more.split([1, 3, 1], 1)]
        torch.testing.assert_close(torch.cat(parts, 1)[0], model(alone)[0, 3:], **TIGHT)


@EVERY
def test_packed_sequences_are_strangers_under_a_full_mask(family):
    model, a, b = make(family), tokens(1, 5), tokens(1, 6)
    document = torch.tensor([[0] * 5 + [1] * 6])
    same = document[:, :, None] == document[:, None, :]
    positions = torch.cat((torch.arange(5), torch.arange(6)))[None]
    ids = torch.cat((a, b), 1)
    packed = model(ids, mask=same, positions=positions)
    torch.testing.assert_close(packed[:, 5:], model(b), **TIGHT)
    torch.testing.assert_close(packed[:, :5], model(a), **TIGHT)
    assert torch.equal(model(ids, mask=same[:, None], positions=positions), packed)


def test_the_loss_of_one_packed_document_has_no_gradient_in_another():
    model, taps = make("llama"), {}
    document = torch.tensor([[0] * 5 + [1] * 6])
    mask = document[:, :, None] == document[:, None, :]
    logits = model(tokens(1, 11), mask=mask, taps=taps)
    taps["embedding"].retain_grad()
    (gradient,) = torch.autograd.grad(logits[:, 5:].square().sum(), taps["embedding"])
    assert (gradient[:, :5] == 0).all()
    assert (gradient[:, 5:] != 0).any()


@EVERY
def test_positions_counted_by_hand_are_those_counted_by_the_model(family):
    model, ids = make(family), tokens(2, 8)
    torch.testing.assert_close(model(ids, positions=torch.arange(8)), model(ids), **TIGHT)


@EVERY
def test_positions_given_at_first_go_on_in_the_cache(family):
    model, ids, cache = make(family), tokens(2, 8), make(family).new_cache(2)
    start = torch.tensor([[3], [7]])
    with torch.no_grad():
        whole = model(ids, positions=start + torch.arange(8))
        model(ids[:, :5], positions=start + torch.arange(5), cache=cache)
        rest = torch.cat([model(ids[:, t : t + 1], cache=cache) for t in (5, 6, 7)], 1)
    torch.testing.assert_close(rest, whole[:, 5:], **TIGHT)


@pytest.mark.parametrize("family", ["llama", "alibi", "none", "relative"])
def test_relative_positions_do_not_see_a_shift_of_all(family):
    model, ids = make(family), tokens(2, 8)
    shifted = model(ids, positions=torch.arange(8) + 20)
    torch.testing.assert_close(shifted, model(ids), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("family", ["gpt2", "sinusoidal"])
def test_absolute_positions_see_a_shift_of_all(family):
    model, ids = make(family), tokens(2, 8)
    assert (model(ids, positions=torch.arange(8) + 20) - model(ids)).abs().max() > 1e-3


def test_without_positions_the_earlier_tokens_are_a_set_for_one_block():
    model, ids = make("none", n_layers=1), tokens(1, 8)
    shuffled = torch.cat((ids[:, torch.randperm(7)], ids[:, 7:]), 1)
    torch.testing.assert_close(model(shuffled)[:, -1], model(ids)[:, -1], **TIGHT)


def test_without_positions_two_blocks_see_the_order_of_earlier_tokens():
    """The mask alone tells the first block how many tokens came before each."""
    model, ids = make("none", n_layers=2), tokens(1, 8)
    shuffled = torch.cat((ids[:, :7].flip(1), ids[:, 7:]), 1)
    assert (model(shuffled)[:, -1] - model(ids)[:, -1]).abs().max() > 1e-3


def test_reordered_projections_give_equal_logits_under_the_other_pairing(monkeypatch):
    model, ids, order = make("llama"), tokens(2, 9), functional.half_split_order(6)
    with monkeypatch.context() as patch:
        patch.setattr(functional, "rotate_half_split", functional.rotate_interleaved)
        interleaved = model(ids)
    assert (model(ids) - interleaved).abs().max() > 1e-3
    for block in model.blocks:
        for W in (block.attention.W_q, block.attention.W_k):
            W.weight.data = W.weight.data.unflatten(0, (-1, 6))[:, order].flatten(0, 1)
    torch.testing.assert_close(model(ids), interleaved, **TIGHT)


@pytest.mark.parametrize("kind", ["linear", "ntk", "yarn", "llama3"])
def test_scaled_rope_reads_beyond_the_trained_context(kind):
    """With 8 times the context linear scaling puts every eighth position on a trained one."""
    context = {} if kind in ("linear", "ntk") else {"original_context": 48}
    scaling = RopeScaling(kind=kind, factor=8, **context)
    plain, ids = make("llama"), tokens(1, 48)
    scaled = make("llama", context=384, rope_scaling=scaling)
    scaled.load_state_dict(plain.state_dict())
    spread = scaled(ids, positions=8 * torch.arange(48))
    assert torch.allclose(spread, plain(ids), **TIGHT) == (kind == "linear")
    assert scaled(tokens(1, 300)).isfinite().all()
    with pytest.raises(InputError, match="sequence of 385 tokens is longer than the context"):
        scaled(tokens(1, 385))


def test_the_relative_bias_of_a_text_without_its_beginning_is_that_of_the_whole():
    """A cut text reads like the same text after it, seen by a window as long as the cut."""
    model, ids = make("relative", n_layers=1, window=4), tokens(1, 20)
    torch.testing.assert_close(model(ids)[:, 10:], model(ids[:, 7:])[:, 3:], **TIGHT)


@EVERY
def test_taps_change_nothing_and_name_every_stage(family):
    model, ids, taps = make(family), tokens(2, 8), {}
    mask = torch.arange(8) >= torch.tensor([[0], [3]])
    logits = model(ids, mask=mask)
    torch.testing.assert_close(model(ids, mask=mask, taps=taps)[mask], logits[mask], **TIGHT)
    names = ("embedding", "blocks.1.resid_mid", "blocks.1.attention.weights", "final_norm")
    assert all(name in taps for name in names)
    torch.testing.assert_close(model.head(taps["final_norm"])[mask], logits[mask], **TIGHT)


def test_tied_embeddings_share_one_tensor():
    tied, untied = make(), make(tie_embeddings=False)
    assert tied.head.weight.data_ptr() == tied.token_embedding.weight.data_ptr()
    assert untied.head.weight.data_ptr() != untied.token_embedding.weight.data_ptr()
    difference = sum(p.numel() for p in untied.parameters()) - sum(
        p.numel() for p in tied.parameters()
    )
    assert difference == 50 * 24


def test_a_tied_model_is_still_tied_after_moving_and_loading():
    model, other = make(), make()
    other.load_state_dict(model.state_dict())
    other.float()
    assert other.head.weight.data_ptr() == other.token_embedding.weight.data_ptr()


def test_weights_start_as_in_gpt_2():
    model = GPT(GPTConfig(vocab_size=500, context=64, d_model=96, n_layers=8, n_heads=4))
    block = model.blocks[3]
    assert block.attention.W_q.weight.std().item() == pytest.approx(0.02, rel=0.05)
    assert model.token_embedding.weight.std().item() == pytest.approx(0.02, rel=0.05)
    assert block.attention.W_o.weight.std().item() == pytest.approx(0.02 / 4, rel=0.05)
    assert block.feed_forward.W_out.weight.std().item() == pytest.approx(0.02 / 4, rel=0.05)
    assert (block.feed_forward.W_out.bias == 0).all()


@EVERY
def test_a_new_model_predicts_all_tokens_about_alike(family):
    model, ids = GPT(GPTConfig(**SIZES | FAMILIES[family])), tokens(4, 20)
    loss, count = cross_entropy(model(ids[:, :-1]), ids[:, 1:])
    log_v = torch.tensor(50.0).log().item()
    assert (loss / count).item() == pytest.approx(log_v, rel=0.05)


@EVERY
def test_twenty_steps_halve_the_loss(family):
    model, ids = GPT(GPTConfig(**SIZES | FAMILIES[family])), tokens(4, 12)
    optimizer, losses = torch.optim.AdamW(model.parameters(), 1e-2), []
    for _ in range(20):
        loss, count = cross_entropy(model(ids[:, :-1]), ids[:, 1:])
        optimizer.zero_grad()
        (loss / count).backward()
        optimizer.step()
        losses.append(loss.item() / count)
    assert losses[-1] < losses[0] / 2


def test_every_parameter_gets_a_gradient():
    for family in FAMILIES:
        model = make(family)
        cross_entropy(model(tokens(2, 12)), tokens(2, 12))[0].backward()
        assert [n for n, p in model.named_parameters() if p.grad is None] == []


@EVERY
def test_bfloat16_weights_give_bfloat16_logits_near_the_exact_ones(family):
    model, ids = GPT(GPTConfig(**SIZES | FAMILIES[family])), tokens(2, 8)
    exact = model(ids).log_softmax(-1)
    logits = model.bfloat16()(ids)
    assert logits.dtype == torch.bfloat16
    log_p = logits.double().log_softmax(-1)
    divergence = (exact.exp() * (exact - log_p)).sum(-1)
    assert divergence.max().item() < 1e-3


@EVERY
def test_autocast_runs_forward_and_backward(family):
    model, ids = GPT(GPTConfig(**SIZES | FAMILIES[family])).float(), tokens(2, 8)
    mask = torch.arange(8) >= torch.tensor([[0], [3]])
    with torch.autocast("cpu", torch.bfloat16):
        logits = model(ids, mask=mask)
    loss, count = cross_entropy(logits, ids)
    (loss / count).backward()
    assert (loss.dtype, count) == (torch.float32, 16)
    assert all(p.grad.dtype == torch.float32 for p in model.parameters())


@EVERY
def test_dropout_acts_in_training_only(family):
    model, ids = make(family, dropout=0.5), tokens(2, 8)
    assert torch.equal(model(ids), model(ids))
    model.train()
    assert not torch.equal(model(ids), model(ids))


def test_another_context_takes_the_weights_of_a_model_without_learned_positions():
    for family in ("llama", "alibi", "sinusoidal", "none", "relative"):
        short, long = make(family), make(family, context=96)
        long.load_state_dict(short.state_dict())
        ids = tokens(1, 20)
        assert torch.equal(long(ids), short(ids))


@pytest.mark.parametrize(
    ("ids", "error", "message"),
    [
        (
            torch.tensor([[1, 2], [3, 50]]),
            InputError,
            r"token id 50 at \[1, 1\] is outside 0\.\.49",
        ),
        (torch.tensor([[-1]]), InputError, r"token id -1 at \[0, 0\] is outside 0\.\.49"),
        (torch.ones(1, 3), InputTypeError, "token ids must be int64, got float32"),
        (torch.ones(1, 3, dtype=torch.int32), InputTypeError, "must be int64, got int32"),
        (torch.ones(2, 0, dtype=torch.long), InputError, r"ids are empty, of shape \(2, 0\)"),
        (torch.ones(3, dtype=torch.long), InputError, r"ids have shape \(3,\)"),
        (
            torch.ones(1, 49, dtype=torch.long),
            InputError,
            "sequence of 49 tokens is longer than the context 48",
        ),
    ],
)
def test_ids_that_do_not_fit_are_refused(ids, error, message):
    with pytest.raises(error, match=message):
        make()(ids)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"mask": torch.ones(2, 4)}, InputTypeError, "mask must be bool, .* got float32"),
        ({"mask": torch.ones(2, 5).bool()}, InputError, r"mask \(2, 5\) must be \(2, 4\)"),
        ({"mask": torch.ones(2, 4, 5).bool()}, InputError, r"must be \(2, 4, 4\)"),
        ({"mask": torch.ones(3, 4, 4).bool()}, InputError, r"must be \(2, 4, 4\)"),
        ({"mask": torch.ones(4).bool()}, InputError, r"mask \(4,\)"),
        ({"positions": torch.arange(5)}, InputError, r"positions \(5,\) must be \(4,\)"),
        ({"positions": torch.arange(4) - 1}, InputError, r"position -1 at \[0\] is outside 0"),
        ({"positions": torch.arange(4) + 45}, InputError, r"position 48 at \[3\] is outside 0"),
    ],
)
def test_masks_and_positions_that_do_not_fit_are_refused(arguments, error, message):
    with pytest.raises(error, match=message):
        make()(tokens(2, 4), **arguments)


@torch.no_grad()
def test_a_cache_past_the_context_or_its_room_is_refused():
    model = make()
    cache = model.new_cache(1)
    model(tokens(1, 40), cache=cache)
    with pytest.raises(InputError, match="sequence of 49 tokens is longer than the context 48"):
        model(tokens(1, 9), cache=cache)
    small = model.new_cache(1, capacity=4)
    with pytest.raises(InputError, match="the cache holds 0 of 4 positions, 5 more do not fit"):
        model(tokens(1, 5), cache=small)


@torch.no_grad()
def test_a_mask_that_contradicts_the_cache_is_refused():
    model, cache = make(), make().new_cache(1)
    model(tokens(1, 4), cache=cache)
    with pytest.raises(InputError, match="mask differs from the one that the cached tokens"):
        model(tokens(1, 1), mask=torch.arange(5)[None] > 0, cache=cache)


@pytest.mark.slow
def test_the_model_is_one_graph_for_the_compiler():
    """In a process of its own: the checks of annotations under test would break the graph."""
    code = """
import torch
from mathlm.models import GPT, GPTConfig
model = GPT(GPTConfig(vocab_size=9, context=8, d_model=8, n_layers=2, n_heads=2))
compiled = torch.compile(model, fullgraph=True, backend="eager")
ids = torch.arange(8)[None]
torch.testing.assert_close(compiled(ids), model(ids))
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True)


def test_modules_are_named_as_the_book_names_them():
    names = {
        name.rsplit(".", 1)[-1]
        for name, m in make("llama").named_modules()
        if isinstance(m, nn.Linear)
    }
    assert names == {"W_q", "W_k", "W_v", "W_o", "W_in", "W_gate", "W_out", "head"}
