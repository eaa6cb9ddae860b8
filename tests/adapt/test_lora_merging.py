import copy

import pytest
import torch
from torch import nn

from mathlm.adapt import (
    adapter_names,
    add_lora,
    merge_lora,
    remove_adapter,
    trainable,
    unmerge_lora,
    use_adapter,
)
from mathlm.errors import InputError
from mathlm.functional import merged_weight
from mathlm.generate import quantize
from mathlm.layers import LoRALinear
from mathlm.models import GPT, GPTConfig

IDS = torch.randint(20, (4, 16), generator=torch.Generator().manual_seed(0))


def adapted(dtype=torch.float64, size=0.05, **changes):
    """A GPT in evaluation mode, with a trained update of every map of its blocks."""
    sizes = {"vocab_size": 20, "context": 16, "d_model": 32, "n_layers": 2, "n_heads": 2}
    model = add_lora(GPT(GPTConfig(**sizes | changes)).to(dtype), 4, 8, "all-linear", seed=0)
    generator = torch.Generator().manual_seed(1)
    for name, p in trainable(model).items():
        if ".B." in name:
            p.data += size * torch.randn(p.shape, dtype=p.dtype, generator=generator)
    return model.eval()


def plain_maps(model):
    return [m.base.weight.clone() for m in model.modules() if isinstance(m, LoRALinear)]


@pytest.mark.parametrize("keep", [True, False])
@pytest.mark.parametrize(("dtype", "most"), [(torch.float64, 1e-10), (torch.float32, 1e-5)])
def test_the_merged_model_has_the_same_logits(dtype, most, keep):
    model = adapted(dtype)
    before = model(IDS)
    base = use_adapter(copy.deepcopy(model), None)(IDS)
    assert merge_lora(model, keep=keep) is model
    assert (model(IDS) - before).abs().max() <= most
    assert (base - before).abs().max() > 1e-3


def test_in_bfloat16_the_merged_weights_are_the_rounded_sums():
    model = adapted(torch.bfloat16)
    expected = [
        (m.base.weight.float() + 2 * (m.B["default"] @ m.A["default"])).bfloat16()
        for m in model.modules()
        if isinstance(m, LoRALinear)
    ]
    merge_lora(model, keep=False)
    found = [m.weight for m in model.blocks.modules() if isinstance(m, nn.Linear)]
    assert len(found) == 12
    assert all(torch.equal(*pair) for pair in zip(found, expected, strict=True))


def test_in_bfloat16_merging_changes_the_predictions_little():
    model = adapted(torch.bfloat16)
    before = model(IDS).double().log_softmax(-1)
    after = merge_lora(model)(IDS).double().log_softmax(-1)
    kl = (before.exp() * (before - after)).sum(-1)
    assert 0 < kl.max() <= 1e-2


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_unmerged_weights_are_what_they_were_bit_for_bit(dtype):
    model = adapted(dtype)
    before, weights = model(IDS), plain_maps(model)
    for _ in range(3):
        assert unmerge_lora(merge_lora(model)) is model
    assert all(torch.equal(*pair) for pair in zip(plain_maps(model), weights, strict=True))
    assert torch.equal(model(IDS), before)


def test_merged_for_good_the_maps_are_plain_and_the_names_those_of_the_model():
    model, sizes = adapted(), {"vocab_size": 20, "context": 16, "d_model": 32, "n_heads": 2}
    merge_lora(model, keep=False)
    fresh = GPT(GPTConfig(**sizes, n_layers=2)).eval()
    fresh.load_state_dict(model.state_dict())
    assert adapter_names(model) == []
    assert torch.equal(fresh(IDS), model(IDS))
    assert not any(p.requires_grad for p in model.parameters())


def test_only_the_update_in_use_is_merged():
    model = adapted()
    first = model(IDS)
    add_lora(model, 2, targets="W_o", name="two")
    use_adapter(model, "default")
    torch.testing.assert_close(merge_lora(model)(IDS), first, rtol=1e-10, atol=1e-10)
    assert adapter_names(unmerge_lora(model)) == ["default", "two"]


def test_a_merged_head_is_untied_from_the_embedding():
    model = GPT(GPTConfig(vocab_size=20, context=16, d_model=32, n_layers=1, n_heads=2)).eval()
    add_lora(model, 2, targets="head", untie=True)
    model.head.B["default"].data.normal_()
    before, table = model(IDS), model.token_embedding.weight.clone()
    torch.testing.assert_close(merge_lora(model, keep=False)(IDS), before)
    assert torch.equal(model.token_embedding.weight, table)


def test_a_model_that_is_moved_while_merged_comes_back():
    model = adapted(torch.float32)
    other = copy.deepcopy(model).to(torch.bfloat16)
    merge_lora(model).to(torch.bfloat16)
    assert torch.equal(unmerge_lora(model)(IDS), other(IDS))


def test_while_merged_nothing_may_change():
    model = merge_lora(adapted())
    before = model(IDS)
    for act, doing in (
        (lambda: add_lora(model, 2, name="two"), "adding an adapter"),
        (lambda: use_adapter(model, None), "using another adapter"),
        (lambda: remove_adapter(model, "default"), "removing an adapter"),
        (lambda: merge_lora(model), "merging again"),
        (lambda: merge_lora(model, keep=False), "merging again"),
    ):
        with pytest.raises(InputError, match=rf"unmerge_lora\(model\) before {doing}"):
            act()
    assert torch.equal(model(IDS), before)


def test_training_while_merged_is_refused():
    model = merge_lora(adapted()).train()
    with pytest.raises(InputError, match="merged, and would not learn"):
        model(IDS)
    unmerge_lora(model)(IDS).sum().backward()


def test_what_is_not_merged_cannot_come_out():
    with pytest.raises(InputError, match="no adapter of this model is merged"):
        unmerge_lora(adapted())
    with pytest.raises(InputError, match="no adapter of this model is merged"):
        unmerge_lora(merge_lora(adapted(), keep=False))


def test_nothing_to_merge_is_refused():
    with pytest.raises(InputError, match="no low-rank adapter to merge"):
        merge_lora(merge_lora(adapted(), keep=False))
    with pytest.raises(InputError, match="no adapter is in use"):
        merge_lora(use_adapter(adapted(), None))


def test_other_updates_are_not_lost():
    model = add_lora(adapted(), 2, name="two")
    with pytest.raises(InputError, match="keep=False would lose 'default'"):
        merge_lora(model, keep=False)
    assert adapter_names(model) == ["default", "two"]


def test_codes_take_up_no_update():
    model = merge_lora(adapted(torch.float32), keep=False)
    quantized = add_lora(quantize(model, 8), 2)
    with pytest.raises(InputError, match="weights of 8 bits, whose grid is coarser"):
        merge_lora(quantized)


def test_an_update_that_diverged_leaves_the_model_as_it_was():
    model = adapted()
    last = [m for m in model.modules() if isinstance(m, LoRALinear)][-1]
    last.B["default"].data[0] = torch.inf
    weights = plain_maps(model)
    with pytest.raises(InputError, match=r"W_out: 128 of 4096 merged weights are not finite"):
        merge_lora(model, keep=False)
    assert all(torch.equal(*pair) for pair in zip(plain_maps(model), weights, strict=True))


def test_a_model_of_this_kind_is_merged_by_the_equation():
    model = adapted()
    layer = model.blocks[1].attention.W_v
    A, B = layer.A["default"], layer.B["default"]
    expected = layer.base.weight + 2 * (B @ A)
    torch.testing.assert_close(merged_weight(layer.base.weight, A, B, 2.0), expected)
    merge_lora(model)
    torch.testing.assert_close(layer.merged, expected, rtol=1e-14, atol=1e-14)
