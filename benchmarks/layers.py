"""Layers that transformers has too: a mixture of experts, and the mixer of a state space."""

from collections.abc import Callable
from functools import partial

import torch
from torch import nn
from transformers import Mamba2Config, MixtralConfig
from transformers.models.mamba2.modeling_mamba2 import Mamba2Mixer
from transformers.models.mixtral.modeling_mixtral import MixtralSparseMoeBlock

from mathlm.layers import Mamba2, MixtureOfExperts

from .timing import Row, compare

D, B, T = 256, 4, 256
EXPERTS, CHOSEN, WIDTH = 8, 2, 512
HEADS, HEAD_WIDTH, STATE = 8, 64, 64


def experts_pair() -> tuple[nn.Module, nn.Module]:
    """Eight experts of which a token takes two, of equal weights."""
    config = MixtralConfig(
        hidden_size=D, intermediate_size=WIDTH,
        num_local_experts=EXPERTS, num_experts_per_tok=CHOSEN,
    )  # fmt: skip
    config._experts_implementation = "eager"
    ours, theirs = MixtureOfExperts(D, WIDTH, EXPERTS, CHOSEN), MixtralSparseMoeBlock(config)
    with torch.no_grad():
        theirs.gate.weight.copy_(ours.W_router.weight)
        theirs.experts.gate_up_proj.copy_(torch.cat([ours.W_gate, ours.W_in], 1))
        theirs.experts.down_proj.copy_(ours.W_out)
    return ours, theirs


def state_space_pair() -> tuple[nn.Module, nn.Module]:
    """The mixer of Mamba-2, of equal weights; transformers' without kernels of a GPU."""
    config = Mamba2Config(
        hidden_size=D, num_heads=HEADS, head_dim=HEAD_WIDTH, state_size=STATE,
        expand=HEADS * HEAD_WIDTH // D, n_groups=1, chunk_size=64, use_bias=False,
    )  # fmt: skip
    ours = Mamba2(D, HEADS, HEAD_WIDTH, STATE)
    theirs = Mamba2Mixer(config, layer_idx=0)
    theirs.load_state_dict(ours.state_dict())
    return ours, theirs


PAIRS = {
    "moe-layer": ("transformers Mixtral", experts_pair),
    "state-space-layer": ("transformers Mamba-2", state_space_pair),
}


def row(device: str, name: str) -> Row:
    """Forward and backward, gradients of the input and of all weights."""
    peer, make = PAIRS[name]
    ours, theirs = (layer.to(device) for layer in make())
    x = torch.randn(B, T, D, device=device, requires_grad=True)
    torch.testing.assert_close(ours(x), theirs(x), rtol=1e-3, atol=1e-4)
    return compare(
        name, peer,
        lambda: ours(x).sum().backward(), lambda: theirs(x).sum().backward(),
        work=B * T, unit="tokens/s", rounds=7, repeats=1,
    )  # fmt: skip


BENCHMARKS: dict[str, Callable[[str], Row]] = {name: partial(row, name=name) for name in PAIRS}
