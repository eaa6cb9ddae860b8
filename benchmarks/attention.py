"""Self-attention and a whole block against the same modules of torch, at three lengths each."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from mathlm.layers import FeedForward, LayerNorm, PostNormBlock, SelfAttention

from .timing import Row, compare

D, H = 256, 8
TOKENS = 4096  # in a batch, at every length
ATTENTION_LENGTHS = (256, 1024, 4096)
BLOCK_LENGTHS = (64, 256, 1024)


def copy_attention(ours: SelfAttention, theirs: nn.MultiheadAttention) -> None:
    """Give torch's module our weights, which it stores in one matrix."""
    maps = (ours.W_q, ours.W_k, ours.W_v)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(torch.cat([W.weight for W in maps]))
        theirs.in_proj_bias.copy_(torch.cat([W.bias for W in maps]))
        theirs.out_proj.weight.copy_(ours.W_o.weight)
        theirs.out_proj.bias.copy_(ours.W_o.bias)


def attention_pair(device: str, T: int) -> tuple[Callable, Callable]:
    """Causal attention of one input, by our module and by torch's, of equal weights."""
    ours = SelfAttention(D, H, bias=True).to(device)
    theirs = nn.MultiheadAttention(D, H, batch_first=True).to(device)
    copy_attention(ours, theirs)
    hidden = nn.Transformer.generate_square_subsequent_mask(T, device=torch.device(device))

    def peer(x: Tensor) -> Tensor:
        return theirs(x, x, x, attn_mask=hidden, is_causal=True, need_weights=False)[0]

    return ours, peer


def block_pair(device: str) -> tuple[nn.Module, nn.Module]:
    """The block of the first transformers, all to all, of equal weights."""
    ours = PostNormBlock(
        LayerNorm(D),
        SelfAttention(D, H, bias=True, causal=False),
        LayerNorm(D),
        FeedForward(D, 4 * D, "relu"),
    ).to(device)
    theirs = nn.TransformerEncoderLayer(D, H, 4 * D, 0.0, batch_first=True).to(device)
    copy_attention(ours.attention, theirs.self_attn)
    theirs.linear1.load_state_dict(ours.feed_forward.W_in.state_dict())
    theirs.linear2.load_state_dict(ours.feed_forward.W_out.state_dict())
    return ours, theirs


def row(device: str, kind: str, T: int) -> Row:
    """Forward and backward, gradients of the input and of all weights."""
    ours, theirs = attention_pair(device, T) if kind == "attention" else block_pair(device)
    x = torch.randn(TOKENS // T, T, D, device=device, requires_grad=True)
    torch.testing.assert_close(ours(x), theirs(x), rtol=1e-3, atol=1e-4)
    peer = (
        "torch.nn.MultiheadAttention"
        if kind == "attention"
        else "torch TransformerEncoderLayer"
    )
    return compare(
        f"{kind}-{T}", peer,
        lambda: ours(x).sum().backward(), lambda: theirs(x).sum().backward(),
        work=TOKENS, unit="tokens/s", rounds=7, repeats=1,
    )  # fmt: skip


BENCHMARKS: dict[str, Callable[[str], Row]] = {
    f"{kind}-{T}": partial(row, kind=kind, T=T)
    for kind, lengths in (("attention", ATTENTION_LENGTHS), ("block", BLOCK_LENGTHS))
    for T in lengths
}
