"""A small GPT with residuals, norms, or neither, and with its norms in other places."""

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


class BranchNormBlock(ResidualBlock):
    """Each sublayer reads the bare stream; what it gives is normalized before it is added.

    Computes::

        x ← x + norm(attention(x)),   x ← x + norm(feed_forward(x))

    References:
        OLMo team (2025), arXiv:2501.00656, section 3.3.2.
    """

    def forward(self, x: Tensor, *, taps: Taps | None = None, **attend: Any) -> Tensor:
        """The stream after the block."""
        x = x + self.attention_norm(self.attention(x, taps=taps, **attend))
        return x + self.feed_forward_norm(self.feed_forward(x, taps))


class DeepNormBlock(ResidualBlock):
    """Post-norm with a larger weight on the stream.

    Implements eq-deep-norm::

        x ← norm(α x + attention(x)),   x ← norm(α x + feed_forward(x))

    References:
        Wang et al. (2022), arXiv:2203.00555, figure 2.
    """

    alpha = 1.0

    def forward(self, x: Tensor, *, taps: Taps | None = None, **attend: Any) -> Tensor:
        """The stream after the block."""
        x = self.attention_norm(self.alpha * x + self.attention(x, taps=taps, **attend))
        return self.feed_forward_norm(self.alpha * x + self.feed_forward(x, taps))


BLOCKS: dict[str, type[ResidualBlock]] = {
    "pre-norm": Block,
    "post-norm": PostNormBlock,
    "no-norm": Block,
    "no-residual": ReplacingBlock,
    "branch-norm": BranchNormBlock,
    "deep-norm": DeepNormBlock,
}
STARTS = ("full", "xavier")
SCALED = ("W_v.weight", "W_o.weight", "W_in.weight", "W_out.weight")  # by β of DeepNorm


def deep_norm_constants(depth: int) -> tuple[float, float]:
    """Weight of the stream and scale of the branches' matrices in a decoder of some depth.

    Implements eq-deep-norm-constants::

        α = (2 L)^(1/4),   β = (8 L)^(-1/4)

    Args:
        depth: Blocks, L.

    Returns:
        (α, β).

    References:
        Wang et al. (2022), arXiv:2203.00555, figure 2.
    """
    return (2 * depth) ** 0.25, (8 * depth) ** -0.25


def build(
    kind: str,
    depth: int,
    seed: int = 0,
    *,
    start: str = "full",
    d_model: int = 32,
    context: int = 64,
) -> GPT:
    """A byte-level GPT of one kind of block, with rotary positions and heads of width 16.

    Matrices start normal, vectors of bytes with variance 1. Blocks with no norm inside, or with
    one after each sum, have none before the head.

    Args:
        kind: "pre-norm", "post-norm", "no-norm" (residuals only), "no-residual" (norms only),
            "branch-norm" (on what a sublayer gives) or "deep-norm".
        depth: Blocks.
        seed: Of the weights.
        start: "full": variance 1/inputs, branches as large as what they read; "xavier":
            2/(inputs + outputs), as in Xiong et al. (2020).
        d_model: Width D.
        context: Longest sequence [bytes].

    Raises:
        ConfigError: If the kind or the start is not known, or a size does not fit.
    """
    if kind not in BLOCKS:
        raise ConfigError(f"kind={kind!r} must be one of {', '.join(BLOCKS)}")
    if start not in STARTS:
        raise ConfigError(f"start={start!r} must be one of {', '.join(STARTS)}")
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
    if kind in ("post-norm", "deep-norm", "no-norm"):
        model.final_norm = nn.Identity()
    _draw(model, start)
    if kind == "deep-norm":
        _scale_branches(model, *deep_norm_constants(depth))
    return model


def _draw(model: GPT, start: str) -> None:
    """Fresh matrices; vectors keep what they have."""
    for p in model.parameters():
        if p.ndim == 2:
            inputs = p.shape[1] if start == "full" else sum(p.shape) / 2
            nn.init.normal_(p, std=inputs**-0.5)
    nn.init.normal_(model.token_embedding.weight)


def _scale_branches(model: GPT, alpha: float, beta: float) -> None:
    for block in model.blocks:
        cast(DeepNormBlock, block).alpha = alpha
        for name, p in block.named_parameters():
            if name.endswith(SCALED):
                p.data.mul_(beta)


def block_gradients(model: GPT, batch: dict[str, Tensor]) -> list[float]:
    """Norm of the gradient of the mean loss in all weights of each block, from the bottom."""
    loss, targets = next_token(model, batch)
    norms = []
    for block in model.blocks:
        grads = torch.autograd.grad(loss / targets, list(block.parameters()), retain_graph=True)
        norms.append(math.sqrt(sum(float(g.square().sum()) for g in grads)))
    return norms
