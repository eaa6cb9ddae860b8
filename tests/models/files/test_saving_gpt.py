"""Folders that we write, read back by us and by transformers."""

import json

import pytest
import torch

from mathlm.errors import CheckpointError, ConfigError, InputError
from mathlm.functional import RopeScaling
from mathlm.generate import quantize
from mathlm.interpret import Steered
from mathlm.models import (
    GPT,
    GPTConfig,
    MixtureConfig,
    MixtureGPT,
    load_weights,
    save_pretrained,
)

SIZES = {
    "vocab_size": 50, "context": 24, "d_model": 24, "n_layers": 2, "n_heads": 4, "d_ff": 40,
    "norm_eps": 1e-6,
}  # fmt: skip
ROPE = {"norm": "rms", "position": "rope", "activation": "swiglu", "rope_base": 500.0}
LINEAR = RopeScaling(kind="linear", factor=2.0)
YARN = RopeScaling(kind="yarn", factor=2.0, original_context=12)
KINDS = {
    "gpt2": {},
    "gpt2 relu untied": {"activation": "relu", "tie_embeddings": False},
    "llama": ROPE | {"bias": False, "n_kv_heads": 2, "d_head": 8},
    "llama biases": ROPE | {"bias": True, "tie_embeddings": False},
    "llama linear": ROPE | {"bias": False, "rope_scaling": LINEAR},
    "llama yarn": ROPE | {"bias": False, "rope_scaling": YARN},
    "mistral": ROPE | {"bias": False, "n_kv_heads": 2, "window": 5},
    "qwen2": ROPE | {"bias": "qkv", "n_kv_heads": 2},
    "qwen3": ROPE | {"bias": False, "qk_norm": True, "d_head": 8},
}
IDS = torch.arange(40).view(2, 20) * 7 % 50


def make(**choices):
    """A model with weights large enough that every part of it matters."""
    model = GPT(GPTConfig(**SIZES, **choices)).eval()
    for p in model.parameters():
        p.data += 0.3 * torch.randn_like(p)
    return model


@pytest.mark.parametrize("choices", KINDS.values(), ids=KINDS.keys())
def test_what_is_written_is_read_back_bit_for_bit(tmp_path, choices):
    model = make(**choices)
    again = GPT.from_pretrained(save_pretrained(model, tmp_path / "new"), dtype=torch.float64)
    own = {name: t for name, t in model.state_dict().items()}
    assert all(torch.equal(t, own[name]) for name, t in again.state_dict().items())
    assert torch.equal(again(IDS), model(IDS))


@pytest.mark.parametrize("choices", KINDS.values(), ids=KINDS.keys())
@torch.no_grad()
def test_transformers_reads_it_and_computes_the_same(tmp_path, choices):
    """Theirs has the angles and norms of a Llama in float32, whatever the weights are."""
    import transformers

    model = make(**choices)
    read = transformers.AutoModelForCausalLM.from_pretrained
    theirs = read(
        save_pretrained(model, tmp_path), dtype=torch.float64, attn_implementation="eager"
    )
    assert (theirs.eval()(IDS).logits - model(IDS)).abs().max() < 1e-4
    assert model(IDS).std() > 0.5


def test_half_precision_takes_half_the_bytes_and_its_rounding(tmp_path):
    model = make()
    full = save_pretrained(model.float(), tmp_path / "full")
    half = save_pretrained(model, tmp_path / "half", dtype=torch.float16)
    whole, part = (sum(t.nbytes for t in load_weights(f).values()) for f in (full, half))
    assert whole == 2 * part
    assert json.loads((half / "config.json").read_text())["dtype"] == "float16"
    again = GPT.from_pretrained(half).token_embedding.weight
    assert torch.equal(again, model.token_embedding.weight.half().float())


@pytest.mark.parametrize(
    ("choices", "said"),
    [
        ({"position": "sinusoidal"}, "position"),
        ({"n_kv_heads": 2}, "kv_heads"),
        ({"window": 5}, "window"),
        ({"activation": "swiglu"}, "activation"),
        (ROPE | {"bias": "qkv", "d_head": 8}, "head_width"),
        (ROPE | {"bias": True, "window": 4}, "window"),
    ],
)
def test_what_no_type_of_theirs_has_is_refused_by_name(tmp_path, choices, said):
    with pytest.raises(ConfigError, match=f"'{said}'.*save a checkpoint instead"):
        save_pretrained(make(**choices), tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_model_that_is_there_is_not_overwritten(tmp_path):
    save_pretrained(make(), tmp_path)
    with pytest.raises(CheckpointError, match=r"config.json is there already"):
        save_pretrained(make(), tmp_path)


def test_other_dtypes_are_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"dtype=torch\.int8 is not one of float16"):
        save_pretrained(make(), tmp_path, dtype=torch.int8)


def test_a_model_with_experts_is_refused(tmp_path):
    """No reader knows the names of its weights."""
    config = GPTConfig(
        vocab_size=20, context=8, d_model=16, n_layers=1, n_heads=2, norm="rms",
        activation="swiglu", position="rope", bias=False,
    )  # fmt: skip
    model = MixtureGPT(MixtureConfig(gpt=config, n_experts=3, top_k=2)).gpt
    with pytest.raises(ConfigError, match="the model has experts, which such a folder cannot"):
        save_pretrained(model, tmp_path)
    assert not list(tmp_path.iterdir())


def test_weights_that_the_dtype_does_not_hold_are_refused(tmp_path):
    model = make()
    model.blocks[0].attention.W_o.weight.data[0, 0] = 1e5
    with pytest.raises(InputError, match=r"c_proj.*1 of 576 .* infinite in float16"):
        save_pretrained(model, tmp_path, dtype=torch.float16)
    assert not list(tmp_path.iterdir())


def test_a_quantized_model_is_refused(tmp_path):
    with pytest.raises(ConfigError, match=r"is quantized.*quantize what is loaded"):
        save_pretrained(quantize(make().float()), tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_steered_model_is_refused_and_its_source_is_not(tmp_path):
    steered = Steered(make(), {"blocks.0.resid_post": torch.ones(24)})
    with pytest.raises(ConfigError, match=r"is steered.*save model\.source\[0\]"):
        save_pretrained(steered, tmp_path / "steered")
    assert not (tmp_path / "steered").exists()
    save_pretrained(steered.source[0], tmp_path / "plain")
