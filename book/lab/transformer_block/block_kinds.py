"""A small GPT with residuals, norms, or neither; its weights keep the size of a signal."""

import math
from typing import Any, cast

import torch
from torch import Tensor, nn

from mathlm.errors import ConfigError
from mathlm.layers import Block, PostNormBlock, Taps
from mathlm.layers.block import ResidualBlock
from mathlm.models import GPT, GPTConfig
from mathlm.train import next_token


class ReplacingBlock(ResidualBlock):
    """Two halves in a row: nothing is added to the stream, all of it is replaced."""

    def forward(self, x: Tensor, *, taps: Taps | None = None, **attend: Any) -> Tensor:
        """The stream becomes feed_forward(norm(attention(norm(x))))."""
        x = self.attention(self.attention_norm(x), taps=taps, **attend)
        return self.feed_forward(self.feed_forward_norm(x), taps)


BLOCKS: dict[str, type[ResidualBlock]] = {
    "pre-norm": Block,
    "post-norm": PostNormBlock,
    "no-norm": Block,
    "no-residual": ReplacingBlock,
}


def build(kind: str, depth: int, seed: int = 0, *, d_model: int = 32, context: int = 64) -> GPT:
    """A byte-level GPT of one kind of block, with rotary positions and heads of width 16.

    Matrices start normal with variance 1/inputs, vectors of bytes with variance 1. Blocks with
    no norm inside, or with one behind each sum, have none in front of the head.

    Args:
        kind: "pre-norm", "post-norm", "no-norm" (residuals only) or "no-residual" (norms only).
        depth: Blocks.
        seed: Of the weights.
        d_model: Width D.
        context: Longest sequence [bytes].

    Raises:
        ConfigError: If the kind is not known, or a size does not fit.
    """
    if kind not in BLOCKS:
        raise ConfigError(f"kind={kind!r} must be one of {', '.join(BLOCKS)}")
    torch.manual_seed(seed)
    model = GPT(GPTConfig(
        vocab_size=256, context=context, d_model=d_model, n_layers=depth,
        n_heads=max(1, d_model // 16), position="rope", tie_embeddings=False,
    ))  # fmt: skip
    for i, b in enumerate(cast(list[ResidualBlock], list(model.blocks))):
        first, second = b.attention_norm, b.feed_forward_norm
        if kind == "no-norm":
            first, second = nn.Identity(), nn.Identity()
        model.blocks[i] = BLOCKS[kind](first, b.attention, second, b.feed_forward)
    if kind in ("post-norm", "no-norm"):
        model.final_norm = nn.Identity()
    for p in model.parameters():
        _ = nn.init.normal_(p, std=p.shape[1] ** -0.5) if p.ndim == 2 else p
    nn.init.normal_(model.token_embedding.weight)
    return model


def block_gradients(model: GPT, batch: dict[str, Tensor]) -> list[float]:
    """Norm of the gradient of the mean loss in all weights of each block, from the bottom."""
    loss, targets = next_token(model, batch)
    norms = []
    for block in model.blocks:
        grads = torch.autograd.grad(loss / targets, list(block.parameters()), retain_graph=True)
        norms.append(math.sqrt(sum(float(g.square().sum()) for g in grads)))
    return norms
