"""Small encoder-decoders of every kind, for the tests."""

import torch

from mathlm.models import Transformer, TransformerConfig

TIGHT = {"rtol": 1e-12, "atol": 1e-13}
SIZES = {"vocab_size": 50, "context": 24, "d_model": 24, "n_layers": 2, "n_heads": 4}
T5 = {
    "norm": "rms", "norm_first": True, "position": "relative", "n_buckets": 8,
    "max_distance": 12, "bias": False, "scale_embeddings": False, "attention_scale": False,
    "tie_embeddings": "all", "scale_head": True,
}  # fmt: skip
FAMILIES = {
    "2017": {"target_vocab_size": 40},
    "tied": {"tie_embeddings": "all", "activation": "gelu"},
    "target": {"tie_embeddings": "target", "position": "learned", "n_decoder_layers": 3},
    "inputs": {"tie_embeddings": "inputs", "position": "none", "norm": "rms"},
    "pre-norm": {"norm_first": True, "activation": "swiglu", "d_head": 5},
    "t5": T5,
    "t5 1.1": T5 | {"tie_embeddings": "inputs", "activation": "geglu_tanh"},
}


def config_of(family="2017", **changes):
    return TransformerConfig(**SIZES | FAMILIES[family] | changes)


def make(family="2017", **changes):
    """A model with weights large enough for every part to matter."""
    model = Transformer(config_of(family, **changes))
    with torch.no_grad():
        for p in model.parameters():
            p.add_(0.2 * torch.randn_like(p))
    return model.eval()


def tokens(*shape):
    return torch.randint(40, shape)
