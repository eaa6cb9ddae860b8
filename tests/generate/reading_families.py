"""Small models of every kind that a reader reads."""

import pytest
import torch

from mathlm.models import GPT, GPTConfig, Recurrent

FAMILIES = {
    "gpt2": {},
    "llama": {"n_kv_heads": 2, "norm": "rms", "activation": "swiglu", "position": "rope"},
    "qwen": {"position": "rope", "norm": "rms", "qk_norm": True, "bias": "qkv", "d_head": 6},
    "alibi": {"position": "alibi", "window": 6},
    "relative": {"position": "relative", "activation": "geglu_tanh", "bias": False},
    "none": {"position": "none", "activation": "relu", "window": 9},
    "mistral": {"position": "rope", "n_kv_heads": 1, "window": 5, "activation": "silu"},
    "sinusoidal": {"position": "sinusoidal", "tie_embeddings": False},
}
EVERY = pytest.mark.parametrize("family", FAMILIES)
TIGHT = {"rtol": 1e-12, "atol": 1e-12}


def make(family="gpt2", **changes):
    if family in ("rnn", "lstm", "gru"):
        return Recurrent(kind=family, vocab_size=30, d_model=8, n_layers=2).eval()
    sizes = {"vocab_size": 30, "context": 100, "d_model": 16, "n_layers": 2, "n_heads": 4}
    model = GPT(GPTConfig(**sizes | FAMILIES[family] | changes)).eval()
    for p in model.parameters():
        p.data += 0.2 * torch.randn_like(p)
    return model


def tokens(*shape):
    return torch.randint(30, shape)


def logits(model, ids, mask=None):
    with torch.no_grad():
        return model(ids, mask=mask)
