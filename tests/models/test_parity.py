"""The model equals independent implementations of the families that it covers."""

import warnings

import pytest
import torch

from mathlm.models import GPT, GPTConfig

SIZES = {"vocab_size": 60, "context": 32, "d_model": 24, "n_layers": 2, "n_heads": 4}
GPT2 = SIZES | {"norm_eps": 1e-5}
LLAMA = SIZES | {
    "n_kv_heads": 2, "d_ff": 40, "norm": "rms", "norm_eps": 1e-6, "activation": "swiglu",
    "position": "rope", "rope_base": 500.0, "bias": False, "tie_embeddings": False,
}  # fmt: skip
IDS = torch.arange(40).view(2, 20) * 7 % 60


def randomize(model):
    """Weights large enough that every part of the model matters, gains and shifts included."""
    generator = torch.Generator().manual_seed(0)
    for p in model.parameters():
        p.data += 0.3 * torch.randn(p.shape, generator=generator)
    return model.eval()


def make_gpt2():
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(
        vocab_size=60, n_positions=32, n_embd=24, n_layer=2, n_head=4, layer_norm_epsilon=1e-5
    )
    return randomize(GPT2LMHeadModel(config))


def make_llama():
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(
        vocab_size=60, max_position_embeddings=32, hidden_size=24, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, intermediate_size=40, rms_norm_eps=1e-6,
        rope_parameters={"rope_type": "default", "rope_theta": 500.0},
        tie_word_embeddings=False,
    )  # fmt: skip
    return randomize(LlamaForCausalLM(config))


def from_gpt2(theirs):
    """Their Conv1D holds (in, out) and one matrix for queries, keys and values."""
    ours = {"head.weight": theirs["lm_head.weight"]}
    ours["token_embedding.weight"] = theirs["transformer.wte.weight"]
    ours["position.weight"] = theirs["transformer.wpe.weight"]
    names = {"final_norm": "transformer.ln_f"}
    for i in range(2):
        block, h = f"blocks.{i}", f"transformer.h.{i}"
        names |= {
            f"{block}.attention_norm": f"{h}.ln_1",
            f"{block}.feed_forward_norm": f"{h}.ln_2",
        }
        maps = {"attention.W_o": "attn.c_proj"}
        maps |= {"feed_forward.W_in": "mlp.c_fc", "feed_forward.W_out": "mlp.c_proj"}
        for our, their in maps.items():
            ours[f"{block}.{our}.weight"] = theirs[f"{h}.{their}.weight"].mT
            ours[f"{block}.{our}.bias"] = theirs[f"{h}.{their}.bias"]
        for kind in ("weight", "bias"):
            parts = theirs[f"{h}.attn.c_attn.{kind}"].chunk(3, -1)
            for name, part in zip("qkv", parts, strict=True):
                ours[f"{block}.attention.W_{name}.{kind}"] = part.mT if part.ndim == 2 else part
    for our, their in names.items():
        ours[f"{our}.gamma"] = theirs[f"{their}.weight"]
        ours[f"{our}.beta"] = theirs[f"{their}.bias"]
    return ours


def from_llama(theirs):
    names = {
        "embed_tokens": "token_embedding", "lm_head": "head", "norm": "final_norm",
        "input_layernorm": "attention_norm", "post_attention_layernorm": "feed_forward_norm",
        "layers": "blocks", "self_attn": "attention", "mlp": "feed_forward",
        "q_proj": "W_q", "k_proj": "W_k", "v_proj": "W_v", "o_proj": "W_o",
        "up_proj": "W_in", "gate_proj": "W_gate", "down_proj": "W_out",
    }  # fmt: skip
    ours = {}
    for name, value in theirs.items():
        parts = [names.get(part, part) for part in name.removeprefix("model.").split(".")]
        if parts[-2].endswith("norm"):
            parts[-1] = "gamma"
        ours[".".join(parts)] = value
    return ours


FAMILIES = {"gpt2": (make_gpt2, from_gpt2, GPT2), "llama": (make_llama, from_llama, LLAMA)}
EVERY = pytest.mark.parametrize("family", FAMILIES)


def both(family, dtype, **changes):
    """Our logits and theirs, computed with the same weights."""
    torch.set_default_dtype(torch.float32)
    make, convert, fields = FAMILIES[family]
    with warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        theirs = make().to(dtype)
        ours = GPT(GPTConfig(**fields | changes)).to(dtype).eval()
        ours.load_state_dict(convert(theirs.state_dict()))
        return ours(IDS), theirs(IDS, use_cache=False).logits


@EVERY
def test_float32_logits_agree_to_1e_5(family):
    ours, theirs = both(family, torch.float32)
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


def test_float64_logits_of_gpt2_agree_to_1e_10():
    ours, theirs = both("gpt2", torch.float64)
    torch.testing.assert_close(ours, theirs, rtol=1e-10, atol=1e-10)


def test_float64_logits_of_llama_agree_but_for_their_float32_angles():
    ours, theirs = both("llama", torch.float64)
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    ("family", "change"),
    [
        ("gpt2", {"activation": "gelu"}),
        ("gpt2", {"activation": "relu"}),
        ("gpt2", {"activation": "silu"}),
        ("gpt2", {"norm_eps": 1e-1}),
        ("gpt2", {"window": 4}),
        ("gpt2", {"n_heads": 3}),
        ("llama", {"rope_base": 10_000.0}),
        ("llama", {"norm_eps": 1e-1}),
        ("llama", {"window": 4}),
        ("llama", {"position": "none"}),
        ("llama", {"position": "alibi"}),
        ("llama", {"position": "sinusoidal"}),
    ],
)
def test_any_other_choice_shows_in_the_logits(family, change):
    ours, theirs = both(family, torch.float64, **change)
    assert (ours - theirs).abs().max() > 1e-3


@pytest.mark.parametrize(
    ("family", "change"),
    [
        ("gpt2", {"norm": "rms"}),
        ("gpt2", {"position": "rope"}),
        ("gpt2", {"bias": "qkv"}),
        ("gpt2", {"bias": False}),
        ("gpt2", {"qk_norm": True}),
        ("gpt2", {"n_kv_heads": 2}),
        ("llama", {"activation": "silu"}),
        ("llama", {"n_kv_heads": 4}),
        ("llama", {"d_ff": 48}),
        ("llama", {"qk_norm": True}),
        ("llama", {"bias": True}),
    ],
)
def test_a_choice_that_changes_the_weights_does_not_load(family, change):
    with pytest.raises(RuntimeError, match="loading state_dict"):
        both(family, torch.float64, **change)
