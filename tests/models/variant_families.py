"""Tiny random models of transformers, of the families that a GPT's variant covers."""

from contextlib import contextmanager
from unittest.mock import patch

import torch

SIZES = {
    "vocab_size": 60, "hidden_size": 16, "num_hidden_layers": 3, "num_attention_heads": 4,
    "num_key_value_heads": 2, "intermediate_size": 40, "max_position_embeddings": 32,
    "rms_norm_eps": 1e-6, "pad_token_id": None, "bos_token_id": None, "eos_token_id": None,
}  # fmt: skip
ALTERNATING = {"layer_types": ["sliding_attention", "full_attention", "sliding_attention"]}
BOTH_BASES = {
    "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
    "full_attention": {"rope_type": "linear", "factor": 2.0, "rope_theta": 900.0},
}
GEMMA = {"head_dim": 6, "query_pre_attn_scalar": 5, "sliding_window": 5}
CAPS = {"attn_logit_softcapping": 2.0, "final_logit_softcapping": 3.0}
KINDS = {
    "gemma2": ("Gemma2", "", {**GEMMA, **CAPS, **ALTERNATING}),
    "gemma3_text": ("Gemma3", "Text", {**GEMMA, "rope_parameters": BOTH_BASES, **ALTERNATING}),
    "olmo2": ("Olmo2", "", {}),
    "olmo3": ("Olmo3", "", {"sliding_window": 5, "rope_parameters": BOTH_BASES} | ALTERNATING),
    "qwen3": ("Qwen3", "", {"head_dim": 6}),
    "llama": ("Llama", "", {}),
}


@contextmanager
def in_double():
    """Where transformers asks for float32, as in norms, softmax and angles, it has float64."""
    double = patch.multiple(torch, float32=torch.float64, float=torch.float64)
    with double, patch.object(torch.Tensor, "float", torch.Tensor.double):
        yield


def make_theirs(kind, **changes):
    """A model with weights so large that every part of it matters."""
    import transformers

    name, middle, own = KINDS[kind]
    rope = {"rope_parameters": {"rope_type": "default", "rope_theta": 500.0}}
    config = getattr(transformers, f"{name}{middle}Config")(**rope | SIZES | own | changes)
    config._attn_implementation = "eager"
    model = getattr(transformers, f"{name}ForCausalLM")(config)
    generator = torch.Generator().manual_seed(0)
    for p in model.parameters():
        noise = torch.randn(p.shape, generator=generator, dtype=torch.float64)
        p.data += 0.2 * noise.to(p.dtype)
    return model.eval()
