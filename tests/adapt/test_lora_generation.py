import pytest
import torch

from mathlm.adapt import add_lora, merge_lora, trainable, unmerge_lora, use_adapter
from mathlm.errors import ConfigError, InputError
from mathlm.generate import generate, quantize
from mathlm.generate.fused_step import DecodeStep, prepared_step
from mathlm.models import GPT, GPTConfig
from mathlm.models.files.saving import save_pretrained

PROMPT = torch.randint(20, (2, 5), generator=torch.Generator().manual_seed(0))


def adapted(**changes):
    sizes = {"vocab_size": 20, "context": 32, "d_model": 32, "n_layers": 2, "n_heads": 2}
    torch.manual_seed(0)
    llama = {"norm": "rms", "position": "rope", "activation": "swiglu", "bias": False}
    model = GPT(GPTConfig(**sizes | llama | changes))
    for p in model.parameters():
        p.data += 0.2 * torch.randn_like(p)
    add_lora(model, 4, 8, "all-linear", seed=0)
    for p in trainable(model).values():
        p.data += 0.2 * torch.randn_like(p)
    return model.eval()


def greedy(model):
    """Tokens by the whole forward pass, one at a time."""
    ids = PROMPT
    with torch.no_grad():
        for _ in range(20):
            ids = torch.cat((ids, model(ids)[:, -1:].argmax(-1)), 1)
    return ids


def written(model):
    return generate(model, PROMPT, 20, temperature=0)


@pytest.mark.parametrize("changes", [{}, {"bias": True, "norm": "layer", "activation": "gelu"}])
def test_generation_uses_the_update_that_is_in_use_now(changes):
    model = adapted(**changes)
    assert prepared_step(model) is not None
    first = written(model)
    assert torch.equal(first, greedy(model))
    assert torch.equal(written(merge_lora(model)), first)
    assert torch.equal(written(unmerge_lora(model)), first)
    use_adapter(model, None)
    base = written(model)
    assert torch.equal(base, greedy(model))
    assert not torch.equal(base, first)


def test_a_step_of_training_is_noticed():
    model = adapted()
    before = prepared_step(model)
    assert prepared_step(model) is before
    model.blocks[0].attention.W_q.B["default"].data[0, 0] += 1
    assert prepared_step(model) is not before
    assert torch.equal(written(model), greedy(model))


@pytest.mark.parametrize("merged", [False, True])
def test_the_step_is_the_forward_pass(merged):
    model = adapted()
    model = merge_lora(model) if merged else model
    cache = model.new_cache(2)
    with torch.no_grad():
        expected = model(PROMPT)[:, -1]
        found = DecodeStep(model)(PROMPT, cache)
    torch.testing.assert_close(found, expected, rtol=1e-12, atol=1e-12)


def test_in_half_precision_the_update_is_not_rounded_into_the_weights():
    """A tiny update, far below the grid of the weights, still reaches the logits."""
    model = adapted().to(torch.bfloat16)
    layer = model.blocks[0].attention.W_o
    x = torch.randn(3, 32, dtype=torch.bfloat16)
    layer.B["default"] = torch.nn.Parameter(torch.full((32, 4), 1e-3, dtype=x.dtype))
    step = DecodeStep(model)
    zero = torch.zeros(3, 32, dtype=torch.bfloat16)
    with torch.no_grad():
        assert torch.equal(step.layers[0].add_W_o(zero, x), layer(x))


def test_a_quantized_model_writes_with_its_update():
    model = quantize(merge_lora(adapted(), keep=False).float(), 8)
    base = written(model)
    add_lora(model, 4, 8, "all-linear", seed=0)
    assert torch.equal(written(model), base)
    for p in trainable(model).values():
        p.data += 0.2 * torch.randn_like(p)
    assert torch.equal(written(model), greedy(model))
    assert not torch.equal(written(model), base)


@pytest.mark.parametrize("merged", [False, True])
def test_a_model_with_updates_is_not_saved_without_them(tmp_path, merged):
    model = merge_lora(adapted()) if merged else adapted()
    with pytest.raises(ConfigError, match=r"has low-rank adapters: merge_lora\(model, keep=F"):
        save_pretrained(model, tmp_path / "folder")
    assert not (tmp_path / "folder").exists()


def test_an_untied_and_merged_head_is_saved_with_the_model(tmp_path):
    model = merge_lora(adapted(), keep=False)
    add_lora(model, 4, targets="head", untie=True)
    model.head.B["default"].data.normal_()
    expected = model(PROMPT)
    save_pretrained(merge_lora(model, keep=False), tmp_path / "folder")
    again = GPT.from_pretrained(tmp_path / "folder", dtype=torch.float64)
    torch.testing.assert_close(again(PROMPT), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("bits", [8, 4])
def test_codes_are_not_made_of_a_model_with_updates(bits):
    with pytest.raises(InputError, match="codes are made of a model without low-rank adapters"):
        quantize(adapted(), bits)
