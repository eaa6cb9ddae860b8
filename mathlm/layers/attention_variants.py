"""The attention, the blocks and the tables of current models, as variants of the plain ones."""

import math
from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor, nn

from .. import functional as F
from ..errors import ConfigError, InputError
from ..shapes import Float
from .attention import SelfAttention
from .block import ResidualBlock
from .cache import LayerCache
from .feedforward import FeedForward
from .normalization import RMSNorm
from .position import Rotation
from .taps import Taps, scope, tap


class CenteredRMSNorm(nn.Module):
    """Root-mean-square normalization with the gain 1 + γ, γ = 0 at the start.

    Implements eq-current-gain::

        y = (1 + γ) ⊙ x / √(mean(x²) + ε)

    Args:
        d_model: Width D.
        eps: Added to the mean square.

    Raises:
        ConfigError: If the width is less than 1, or eps is negative or not finite.

    Example:
        >>> CenteredRMSNorm(2)(torch.tensor([2.0, -2.0])).round(decimals=3)
        tensor([ 1., -1.], grad_fn=...)
    """

    def __init__(self, d_model: int, eps: float = 1e-5) -> None:
        super().__init__()
        if d_model < 1 or not 0 <= eps < math.inf:
            raise ConfigError(
                f"need d_model={d_model} of 1 or more, and eps={eps} finite and not negative"
            )
        self.eps = eps
        self.gamma = nn.Parameter(torch.zeros(d_model))

    def forward(self, x: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch D"]:
        """Divide by the root mean square over the last axis and scale by 1 + γ."""
        return F.centered_rms_norm(x, self.gamma, self.eps)


class VariantAttention(SelfAttention):
    """Self-attention with what current models add: each option alone, or several.

    Implements eq-current-attention::

        q, k = norm(W_q x), norm(W_k x),   rotate their first features
        z = soft_cap(scale · q kᵀ),   A = softmax(z with the sink b),   y = W_o (σ(W_g x) ⊙ A v)

    Args:
        d_model: Width of the model, D.
        n_heads: Query heads, H.
        n_kv_heads: Key/value heads, G. None = ``n_heads``.
        d_head: Width of one head, K. None = D / H.
        bias: As in :class:`SelfAttention`.
        qk_norm: Queries and keys are RMS-normalized in each head ("head"), over all heads
            together ("all"), or not (None).
        centered: Whether the gain of that normalization is 1 + γ.
        score_cap: c of :func:`mathlm.functional.soft_cap`; None = scores are as they are.
        sinks: Whether each head has a learned sink, 0 at the start.
        gate: Whether what the heads read is gated.
        window: Keys that a query may see, itself included; None = all earlier ones.
        norm_eps: ε of the normalization of queries and keys.
        dropout: Probability with which an attention weight is set to 0 in training.
        scale: Factor of the scores; None = 1/√d_k.

    Raises:
        ConfigError: If the sizes do not divide.

    Example:
        >>> attention = VariantAttention(d_model=16, n_heads=4, gate=True, sinks=True)
        >>> attention(torch.randn(1, 5, 16)).shape
        torch.Size([1, 5, 16])
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        n_kv_heads: int | None = None,
        d_head: int | None = None,
        *,
        bias: bool | Literal["qkv"] = False,
        qk_norm: Literal["head", "all"] | None = None,
        centered: bool = False,
        score_cap: float | int | None = None,
        sinks: bool = False,
        gate: bool = False,
        window: int | None = None,
        norm_eps: float | int = 1e-5,
        dropout: float | int = 0.0,
        scale: float | int | None = None,
    ) -> None:
        super().__init__(
            d_model,
            n_heads,
            n_kv_heads,
            d_head,
            bias=bias,
            window=window,
            norm_eps=norm_eps,
            dropout=dropout,
            scale=scale,
        )
        self.qk_norm, self.score_cap = qk_norm, score_cap
        if qk_norm is not None:
            maps = (self.W_q, self.W_k)
            widths = [self.d_head if qk_norm == "head" else W.out_features for W in maps]
            norm: Callable[..., Any] = CenteredRMSNorm if centered else RMSNorm
            self.q_norm, self.k_norm = (norm(width, norm_eps) for width in widths)
        self.sinks = nn.Parameter(torch.zeros(n_heads)) if sinks else None
        width = n_heads * self.d_head
        self.W_g = nn.Linear(d_model, width, bias=False) if gate else None

    def forward(self, x: Float[Tensor, "B T D"], **attend: Any) -> Float[Tensor, "B T D"]:  # type: ignore[override]
        """Mix the positions of ``x``; arguments as in :class:`SelfAttention`."""
        y = self.heads(*self.project(x), **attend).transpose(1, 2).flatten(2)  # (B, T, H K)
        if self.W_g is not None:
            y = F.attention_gate(y, self.W_g(x))
        return self.W_o(y)

    def project(self, x: Float[Tensor, "B T D"]) -> tuple[Tensor, Tensor, Tensor]:
        """Queries (B, H, T, K), keys and values (B, G, T, K)."""
        if self.qk_norm != "all" or self.q_norm is None or self.k_norm is None:
            return super().project(x)
        q, k, v = self.q_norm(self.W_q(x)), self.k_norm(self.W_k(x)), self.W_v(x)
        q, k, v = (h.unflatten(-1, (-1, self.d_head)).transpose(1, 2) for h in (q, k, v))
        return q, k, v

    def heads(
        self,
        q: Float[Tensor, "B H T K"],
        k: Float[Tensor, "B G T K"],
        v: Float[Tensor, "B G T K"],
        mask: Tensor | None = None,
        rotation: Rotation | None = None,
        bias: Tensor | None = None,
        cache: LayerCache | None = None,
        taps: Taps | None = None,
    ) -> Float[Tensor, "B H T K"]:
        """What each head reads, with the first features of queries and keys turned."""
        if rotation is not None:
            q, k = F.rotate_leading(q, *rotation), F.rotate_leading(k, *rotation)
        return super().heads(q, k, v, mask, None, bias, cache, taps)

    def attend(
        self,
        q: Float[Tensor, "B H T K"],
        k: Float[Tensor, "B G S K"],
        v: Float[Tensor, "B G S K"],
        mask: Tensor | None,
        bias: Tensor | None,
        taps: Taps | None,
    ) -> Float[Tensor, "B H T K"]:
        """Values mixed by the weights; no fused kernel caps scores or knows a sink."""
        if self.score_cap is None and self.sinks is None:
            return super().attend(q, k, v, mask, bias, taps)
        dropout = self.dropout if self.training else 0.0
        if taps is not None and dropout > 0:
            raise InputError("taps show the weights without dropout: call model.eval() first")
        k, v = (h.repeat_interleave(self.group, 1) for h in (k, v))
        if mask is None:
            mask = F.causal_mask(q.shape[2], k.shape[2], self.window, q.device)
        q, k, v = tap(taps, "q", q), tap(taps, "k", k), tap(taps, "v", v)
        weights = tap(taps, "weights", self.weights(q, k, mask, bias))
        weights = nn.functional.dropout(weights, dropout)
        return tap(taps, "heads", weights @ v)

    def weights(
        self, q: Tensor, k: Tensor, mask: Tensor, bias: Tensor | None
    ) -> Float[Tensor, "B H T S"]:
        """Shares of attention of capped scores, less what the sinks take."""
        scale = 1 / math.sqrt(q.shape[-1]) if self.scale is None else self.scale
        scores = scale * q @ k.mT
        scores = scores if self.score_cap is None else F.soft_cap(scores, self.score_cap)
        scores = scores if bias is None else scores + bias
        if self.sinks is not None:
            return F.sink_softmax(scores, self.sinks, mask)
        lowest = torch.finfo(scores.dtype).min
        return scores.masked_fill(~mask, lowest).softmax(-1) * mask


class BranchNormBlock(ResidualBlock):
    """A block that normalizes what each branch adds, and not what it reads.

    Implements eq-current-after::

        x ← x + norm(attention(x))
        x ← x + norm(feed_forward(x))

    Args:
        attention_norm: Normalization of what attention adds.
        attention: Mixes positions.
        feed_forward_norm: Normalization of what the feed-forward network adds.
        feed_forward: Acts on each position alone.
        dropout: Probability with which an entry of either branch is set to 0 in training.

    Example:
        >>> from mathlm.layers import RMSNorm
        >>> parts = RMSNorm(8), SelfAttention(8, 2), RMSNorm(8), FeedForward(8, 32)
        >>> BranchNormBlock(*parts)(torch.randn(1, 3, 8)).shape
        torch.Size([1, 3, 8])

    References:
        OLMo Team (2024), arXiv:2501.00656, section 2.
    """

    def forward(
        self, x: Float[Tensor, "B T D"], *, taps: Taps | None = None, **attend: Any
    ) -> Float[Tensor, "B T D"]:
        """Read from and add to the residual stream; taps as in :class:`Block`."""
        x = tap(taps, "resid_pre", x)
        a = self.attention_norm(self.attend(x, taps, **attend))
        x = tap(taps, "resid_mid", x + self.dropout(tap(taps, "attention_out", a)))
        f = self.feed_forward_norm(self.feed_forward(x, scope(taps, "feed_forward.")))
        return tap(taps, "resid_post", x + self.dropout(tap(taps, "feed_forward_out", f)))


class SandwichBlock(ResidualBlock):
    """A block that normalizes what each branch reads, and what it adds.

    Implements eq-current-both::

        x ← x + norm(attention(norm(x)))
        x ← x + norm(feed_forward(norm(x)))

    Args:
        attention_norm: Normalization of what attention reads.
        attention: Mixes positions.
        feed_forward_norm: Normalization of what the feed-forward network reads.
        feed_forward: Acts on each position alone.
        dropout: Probability with which an entry of either branch is set to 0 in training.
        attention_out_norm: Normalization of what attention adds.
        feed_forward_out_norm: Normalization of what the feed-forward network adds.

    Example:
        >>> from mathlm.layers import RMSNorm
        >>> parts = RMSNorm(8), SelfAttention(8, 2), RMSNorm(8), FeedForward(8, 32)
        >>> after = dict(attention_out_norm=RMSNorm(8), feed_forward_out_norm=RMSNorm(8))
        >>> SandwichBlock(*parts, **after)(torch.randn(1, 3, 8)).shape
        torch.Size([1, 3, 8])

    References:
        Gemma Team (2024), arXiv:2408.00118, section 2.
    """

    def __init__(
        self,
        attention_norm: nn.Module,
        attention: SelfAttention,
        feed_forward_norm: nn.Module,
        feed_forward: FeedForward,
        dropout: float = 0.0,
        *,
        attention_out_norm: nn.Module,
        feed_forward_out_norm: nn.Module,
    ) -> None:
        super().__init__(attention_norm, attention, feed_forward_norm, feed_forward, dropout)
        self.attention_out_norm = attention_out_norm
        self.feed_forward_out_norm = feed_forward_out_norm

    def forward(
        self, x: Float[Tensor, "B T D"], *, taps: Taps | None = None, **attend: Any
    ) -> Float[Tensor, "B T D"]:
        """Read from and add to the residual stream; taps as in :class:`Block`."""
        x = tap(taps, "resid_pre", x)
        a = self.attention_out_norm(self.attend(self.attention_norm(x), taps, **attend))
        x = tap(taps, "resid_mid", x + self.dropout(tap(taps, "attention_out", a)))
        f = self.feed_forward(self.feed_forward_norm(x), scope(taps, "feed_forward."))
        f = self.feed_forward_out_norm(f)
        return tap(taps, "resid_post", x + self.dropout(tap(taps, "feed_forward_out", f)))


class ScaledEmbedding(nn.Embedding):
    """Token vectors times √D, so that a table that is a head too has entries of size 1 here.

    Implements eq-current-embedding::

        x = √D E[ids]

    Args:
        vocab_size: V.
        d_model: D.

    Example:
        >>> embedding = ScaledEmbedding(vocab_size=5, d_model=16)
        >>> torch.allclose(embedding(torch.tensor([3])), 4 * embedding.weight[3])  # √16
        True
    """

    def __init__(self, vocab_size: int, d_model: int) -> None:
        super().__init__(vocab_size, d_model)

    def forward(self, ids: Tensor) -> Float[Tensor, "*batch D"]:
        """Rows of the table, scaled."""
        return math.sqrt(self.embedding_dim) * super().forward(ids)


class CappedHead(nn.Linear):
    """A head whose logits are soft-capped.

    Implements eq-current-cap::

        logits = c tanh(x W_headᵀ / c)

    Args:
        d_model: D.
        vocab_size: V.
        cap: c, positive.

    Example:
        >>> head = CappedHead(d_model=8, vocab_size=5, cap=30.0)
        >>> bool(head(1000 * torch.randn(3, 8)).abs().max() <= 30)
        True
    """

    def __init__(self, d_model: int, vocab_size: int, cap: float | int) -> None:
        super().__init__(d_model, vocab_size, bias=False)
        self.cap = cap

    def forward(self, x: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch V"]:
        """Capped logits."""
        return F.soft_cap(super().forward(x), self.cap)
