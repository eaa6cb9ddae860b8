"""Values of one run put into another, against the two runs and models changed by hand."""

import copy

import numpy as np
import pytest
import torch
from recipes.pretended_cuda import pretended_cuda

from mathlm.errors import InputError, InputTypeError
from mathlm.interpret import At, patch, record
from mathlm.interpret.patching import replaced
from mathlm.models import GPT, Bert, BertConfig, GPTConfig

SIZES = {"vocab_size": 11, "context": 8, "d_model": 8, "n_layers": 3, "n_heads": 4}
KINDS = {
    "gpt2": {"norm": "layer", "bias": True, "position": "learned"},
    "llama": {"norm": "rms", "position": "rope", "bias": "qkv", "n_kv_heads": 2},
}
CLEAN = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])
CORRUPT = torch.tensor([[7, 1, 4, 8, 5], [9, 0, 6, 5, 3]])
MASK = torch.tensor([[True] * 5, [False, False, True, True, True]])


def perturbed(kind="llama", **changes):
    """A GPT whose weights are large enough for every part to matter."""
    model = GPT(GPTConfig(**SIZES | KINDS[kind] | changes)).eval()
    for parameter in model.parameters():
        parameter.data.add_(torch.randn_like(parameter), alpha=0.3)
    return model


def output(model, ids, mask=None):
    """Logits as the recorded run computes them."""
    return model.head(record(model, ids, mask)["final_norm"]).detach()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mask", [None, MASK])
def test_patching_nothing_changes_no_bit(kind, mask):
    model = perturbed(kind)
    own = record(model, CORRUPT, mask)
    expected = output(model, CORRUPT, mask)
    assert torch.equal(patch(model, CORRUPT, {}, mask), expected)
    assert torch.equal(patch(model, CORRUPT, own, mask), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_patching_everything_is_the_other_run_to_the_bit(kind):
    model = perturbed(kind)
    found = patch(model, CORRUPT, record(model, CLEAN))
    assert torch.equal(found, output(model, CLEAN))
    assert (found - output(model, CORRUPT)).abs().max() > 1e-2


@pytest.mark.parametrize("name", ["embedding", "blocks.1.resid_mid", "blocks.2.resid_post"])
def test_the_stream_of_another_run_at_any_depth_is_the_other_run(name):
    model = perturbed()
    found = patch(model, CORRUPT, {name: record(model, CLEAN)[name]})
    assert torch.equal(found, output(model, CLEAN))


@pytest.mark.parametrize("name", ["embedding", "blocks.0.resid_post", "final_norm"])
def test_with_taps_off_the_numbers_are_the_same(name):
    model = perturbed()
    found = patch(model, CORRUPT, {name: record(model, CLEAN)[name]})
    torch.testing.assert_close(found, model(CLEAN).detach(), rtol=1e-12, atol=1e-12)


def test_a_position_of_the_embedding_is_the_token_there():
    """Rows 3, 1, 4, 8, 5: of the clean prompt only the first token."""
    model, clean = perturbed(), record(perturbed(), CLEAN)
    clean = record(model, CLEAN)["embedding"]
    found = patch(model, CORRUPT, {"embedding": At(value=clean, positions=[0])})
    mixed = CORRUPT.clone()
    mixed[:, 0] = CLEAN[:, 0]
    assert torch.equal(found, output(model, mixed))
    last = patch(model, CORRUPT, {"embedding": At(value=clean, positions=[-2, 1])})
    mixed = CLEAN.clone()
    mixed[:, 0] = CORRUPT[:, 0]
    assert torch.equal(last, output(model, mixed))


@torch.no_grad()
def test_a_head_that_says_nothing_is_a_head_without_columns():
    model = perturbed()
    by_hand, heads = copy.deepcopy(model), torch.zeros(1, 4, 5, 2)
    by_hand.blocks[1].attention.W_o.weight[:, 4:6] = 0.0  # of head 2, K = 2
    found = patch(model, CLEAN, {"blocks.1.attention.heads": At(value=heads, heads=[2])})
    torch.testing.assert_close(found, by_hand(CLEAN), rtol=1e-12, atol=1e-12)


def test_a_head_and_a_position_together_are_one_place():
    model, name = perturbed(), "blocks.1.attention.q"
    other, own = record(model, CLEAN)[name], record(model, CORRUPT)[name]
    mixed = own.clone()
    mixed[:, 3, 2] = other[:, 3, 2]
    found = patch(model, CORRUPT, {name: At(value=other, heads=[3], positions=[2])})
    assert torch.equal(found, patch(model, CORRUPT, {name: mixed}))
    assert not torch.equal(found, patch(model, CORRUPT, {name: At(value=other, heads=[3])}))


def test_a_bert_can_be_patched():
    bert = Bert(BertConfig(**SIZES)).eval()
    name = "blocks.2.resid_post"
    found = patch(bert, CORRUPT, {name: record(bert, CLEAN)[name]})
    torch.testing.assert_close(found, bert(CLEAN).detach(), rtol=1e-12, atol=1e-12)


def test_a_name_that_is_no_tap_is_refused_with_those_near_it():
    model = perturbed()
    value = record(model, CLEAN)["blocks.1.resid_post"]
    with pytest.raises(
        InputError, match=r"no tap 'blocks.1.resid_pst'; near .* blocks.1.resid_post"
    ):
        patch(model, CORRUPT, {"blocks.1.resid_pst": value})
    with pytest.raises(InputError, match=r"no tap 'zzz'; it has embedding, blocks.0.resid_pre"):
        patch(model, CORRUPT, {"zzz": value})


def test_prompts_of_different_length_are_refused():
    model = perturbed()
    with pytest.raises(
        InputError, match=r"run of 4 tokens, these ids have 5: .* as many tokens"
    ):
        patch(model, CORRUPT, record(model, CLEAN[:, :4]))


def test_values_that_cannot_stand_there_are_refused():
    model, name = perturbed(), "blocks.0.attention_out"
    value = record(model, CLEAN)[name]
    with pytest.raises(InputError, match=r"\(2, 5, 7\) must be \(2, 5, 8\)"):
        patch(model, CORRUPT, {name: value[..., :7]})
    with pytest.raises(InputTypeError, match=r"float32, the model computes in torch.float64"):
        patch(model, CORRUPT, {name: value.float()})
    with pytest.raises(InputError, match="80 NaN or infinite"):
        patch(model, CORRUPT, {name: value * torch.nan})


@pytest.mark.parametrize(
    ("part", "says"),
    [
        ({"positions": [5]}, "asks for position 5: there are 5, 0 to 4"),
        ({"positions": []}, "asks for no position"),
        ({"heads": [0]}, r"has heads=\[0\], but the tap has none"),
    ],
)
def test_places_that_are_not_there_are_refused(part, says):
    model, name = perturbed(), "blocks.0.attention_out"
    value = At(value=record(model, CLEAN)[name], **part)
    with pytest.raises(InputError, match=says):
        patch(model, CORRUPT, {name: value})


def test_a_head_that_is_not_there_is_refused():
    model, name = perturbed(), "blocks.0.attention.k"
    value = At(value=record(model, CLEAN)[name], heads=[1, 4])
    with pytest.raises(InputError, match="asks for head 4: there are 4, 0 to 3"):
        patch(model, CORRUPT, {name: value})


@pytest.mark.usefixtures("unchecked")
def test_positions_of_any_whole_numbers_are_the_same_places():
    model, value = perturbed(), record(perturbed(), CLEAN)["embedding"]
    expected = patch(model, CORRUPT, {"embedding": At(value=value, positions=[1, 4])})
    for places in (np.array([1, 4]), torch.tensor([1, -1]), range(1, 5, 3)):
        found = patch(model, CORRUPT, {"embedding": At(value=value, positions=places)})
        assert torch.equal(found, expected)
    with pytest.raises(InputError, match="asks for position -6: there are 5"):
        patch(model, CORRUPT, {"embedding": At(value=value, positions=[-6])})
    with pytest.raises(InputTypeError, match="position 1: give a list of positions"):
        patch(model, CORRUPT, {"embedding": At(value=value, positions=1)})


def test_heads_are_replaced_on_a_gpu():
    value = torch.arange(12.0).reshape(1, 2, 3, 2)
    with pretended_cuda():
        part = At(value=torch.zeros(1, 2, 3, 2).to("cuda"), heads=[1])
        found = replaced("blocks.0.attention.heads", value.to("cuda"), part).cpu()
    assert torch.equal(found[:, 0], value[:, 0])
    assert found[:, 1].count_nonzero() == 0


def test_a_value_on_another_device_is_refused():
    value = torch.zeros(2, 5, 8, device="meta")
    with pytest.raises(InputError, match="is on meta, the model on cpu"):
        patch(perturbed(), CORRUPT, {"embedding": value})


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    "places", [torch.tensor([True, False, False, False, False]), [True, False], [0.5], ["a"],
               np.array([0.0]), np.int64(1)],
    ids=["mask", "bools", "half", "text", "float array", "scalar"],
)  # fmt: skip
def test_positions_that_are_no_list_of_whole_numbers_are_refused(places):
    model = perturbed()
    value = At(value=record(model, CLEAN)["embedding"], positions=places)
    with pytest.raises(
        InputTypeError, match=r"'embedding' asks for positions .* whole numbers"
    ):
        patch(model, CORRUPT, {"embedding": value})


@pytest.mark.usefixtures("unchecked")
def test_values_without_names_are_refused():
    with pytest.raises(InputTypeError, match=r"values must be a dict .* got Tensor"):
        patch(perturbed(), CORRUPT, torch.zeros(2, 5, 8))
