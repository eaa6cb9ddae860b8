"""The logit lens, against models that really end at an earlier depth."""

import copy

import pytest
import torch

from mathlm.errors import InputError, InputTypeError
from mathlm.interpret import logit_lens
from mathlm.models import GPT, Bert, BertConfig, GPTConfig

SIZES = {"vocab_size": 11, "context": 8, "d_model": 8, "n_layers": 3, "n_heads": 4}
KINDS = {
    "gpt2": {"norm": "layer", "bias": True, "position": "learned"},
    "layer norm without bias": {"norm": "layer", "bias": False, "position": "alibi"},
    "llama": {
        "norm": "rms", "activation": "swiglu", "position": "rope", "bias": "qkv",
        "n_kv_heads": 2, "tie_embeddings": False,
    },
}  # fmt: skip
IDS = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])
MASK = torch.tensor([[True] * 5, [False, False, True, True, True]])


def perturbed(kind):
    """A GPT whose gains and shifts are not those of the start."""
    model = GPT(GPTConfig(**SIZES, **KINDS[kind])).eval()
    for parameter in model.parameters():
        parameter.data.add_(torch.randn_like(parameter), alpha=0.3)
    return model


def cut(model, depth):
    """The same model without the blocks from ``depth`` on."""
    short = copy.deepcopy(model)
    short.blocks = short.blocks[:depth]
    return short


@torch.no_grad()
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("mask", [None, MASK])
def test_each_depth_says_what_the_model_says_that_ends_there(kind, mask):
    """The one at the full depth is the model itself."""
    model = perturbed(kind)
    found = logit_lens(model, IDS, mask)
    expected = [cut(model, depth)(IDS, mask=mask) for depth in range(4)]
    real = torch.ones_like(IDS).bool() if mask is None else mask
    torch.testing.assert_close(
        found[:, real], torch.stack(expected)[:, real], rtol=1e-12, atol=1e-12
    )


@torch.no_grad()
def test_a_stream_that_only_grows_longer_is_read_alike_at_every_depth():
    """Blocks that double the stream, under a norm that divides by its length."""
    model = GPT(GPTConfig(**SIZES, **KINDS["llama"], norm_eps=1e-30))
    for block in model.blocks:
        block.attention.W_o.weight.zero_()
        block.feed_forward.forward = lambda x, taps=None: x
        block.feed_forward_norm = torch.nn.Identity()
    found = logit_lens(model, IDS)
    torch.testing.assert_close(found, found[:1].expand(4, -1, -1, -1), rtol=1e-12, atol=1e-12)


def test_post_norm_models_and_bad_ids_are_refused():
    with pytest.raises(InputTypeError, match="Bert is not a GPT: only in pre-norm"):
        logit_lens(Bert(BertConfig(**SIZES)).eval(), IDS)
    with pytest.raises(InputError, match=r"token id 12 .* outside 0..10"):
        logit_lens(perturbed("gpt2"), IDS + 9)
