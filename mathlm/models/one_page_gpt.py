"""A GPT to read in one sitting, from token ids to text: all of its mathematics, no options.

It is the model of the Llama family: pre-norm blocks, RMSNorm, rotary positions, grouped-query
attention, SwiGLU, no biases, the head tied to the embedding. :class:`mathlm.models.GPT` has
other choices too, with checks, taps, padding and prefixes; weights copy straight across. In
comments: B texts of T new and S known tokens, width D, H query and G key/value heads of width
K, F the width within the feed-forward network, V the size of the vocabulary.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = ["GPT", "Config"]


@dataclass(frozen=True, kw_only=True)
class Config:
    """Sizes of the model; the defaults are those of SmolLM2-135M."""

    vocab_size: int = 49_152
    d_model: int = 576
    n_layers: int = 30
    n_heads: int = 9
    n_kv_heads: int = 3
    d_ff: int = 1536
    rope_base: float = 100_000.0
    norm_eps: float = 1e-5


class RMSNorm(nn.Module):
    """Root-mean-square normalization: y = γ ⊙ x / √(mean(x²) + ε), for each vector."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.gamma, self.eps = nn.Parameter(torch.ones(config.d_model)), config.norm_eps

    def forward(self, x: Tensor) -> Tensor:  # (B, T, D)
        return self.gamma * x * (x.square().mean(-1, keepdim=True) + self.eps).rsqrt()


def rotary_angles(start: int, end: int, d_head: int, base: float) -> Tensor:
    """Angles t ωᵢ of the positions t = start … end - 1, one for each pair of features."""
    frequencies = base ** -(torch.arange(0, d_head, 2, dtype=torch.float64) / d_head)
    return torch.outer(torch.arange(start, end, dtype=torch.float64), frequencies)  # (T, K/2)


def rotate(x: Tensor, angles: Tensor) -> Tensor:
    """Rotary position embedding (RoPE): feature i turns with feature i + K/2."""
    cos, sin = angles.cos().to(x), angles.sin().to(x)  # (T, K/2)
    a, b = x.chunk(2, -1)  # (B, heads, T, K/2)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)


class KVCache:
    """KV cache of one layer: keys and values of the tokens so far, (B, G, S, K)."""

    def __init__(self) -> None:
        self.k, self.v, self.length = torch.empty(0), torch.empty(0), 0

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Take up those of the new tokens; return all."""
        if self.length:
            k, v = torch.cat((self.k, k), 2), torch.cat((self.v, v), 2)
        self.k, self.v, self.length = k, v, k.shape[2]
        return k, v


class Attention(nn.Module):
    """Causal self-attention: each token looks up those before it, and itself."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        D, self.d_head = config.d_model, config.d_model // config.n_heads
        self.W_q = nn.Linear(D, config.n_heads * self.d_head, bias=False)
        self.W_k = nn.Linear(D, config.n_kv_heads * self.d_head, bias=False)
        self.W_v = nn.Linear(D, config.n_kv_heads * self.d_head, bias=False)
        self.W_o = nn.Linear(config.n_heads * self.d_head, D, bias=False)

    def forward(self, x: Tensor, angles: Tensor, cache: KVCache | None) -> Tensor:
        q = self.W_q(x).unflatten(-1, (-1, self.d_head)).transpose(1, 2)  # (B, H, T, K)
        k = self.W_k(x).unflatten(-1, (-1, self.d_head)).transpose(1, 2)  # (B, G, T, K)
        v = self.W_v(x).unflatten(-1, (-1, self.d_head)).transpose(1, 2)  # (B, G, T, K)
        q, k = rotate(q, angles), rotate(k, angles)
        if cache is not None:
            k, v = cache.append(k, v)  # (B, G, S, K)
        T, S, group = q.shape[2], k.shape[2], q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(group, 1), v.repeat_interleave(group, 1)  # (B, H, S, K)
        scores = q @ k.mT / self.d_head**0.5  # (B, H, T, S)
        seen = torch.ones(T, S, dtype=torch.bool, device=x.device).tril(S - T)
        heads = scores.masked_fill(~seen, -torch.inf).softmax(-1) @ v  # (B, H, T, K)
        return self.W_o(heads.transpose(1, 2).flatten(2))  # (B, T, D)


class FeedForward(nn.Module):
    """SwiGLU: the gate silu(W_gate x) decides how much of each W_in x is written."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.W_gate = nn.Linear(config.d_model, config.d_ff, bias=False)
        self.W_in = nn.Linear(config.d_model, config.d_ff, bias=False)
        self.W_out = nn.Linear(config.d_ff, config.d_model, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        hidden = F.silu(self.W_gate(x)) * self.W_in(x)  # (B, T, F)
        return self.W_out(hidden)  # (B, T, D)


class Block(nn.Module):
    """One layer: attention, then the feed-forward network, add to the residual stream."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.attention_norm, self.attention = RMSNorm(config), Attention(config)
        self.feed_forward_norm, self.feed_forward = RMSNorm(config), FeedForward(config)

    def forward(self, x: Tensor, angles: Tensor, cache: KVCache | None) -> Tensor:
        x = x + self.attention(self.attention_norm(x), angles, cache)
        return x + self.feed_forward(self.feed_forward_norm(x))


class GPT(nn.Module):
    """A causal language model: behind each token, a score (logit) for every next token."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.token_embedding = nn.Embedding(config.vocab_size, config.d_model)
        self.blocks = nn.ModuleList(Block(config) for _ in range(config.n_layers))
        self.final_norm = RMSNorm(config)
        self.head = nn.Linear(config.d_model, config.vocab_size, bias=False)
        self.head.weight = self.token_embedding.weight
        for name, weight in self.named_parameters():
            if not name.endswith("gamma"):  # 2 L matrices write to the stream: smaller
                writes = name.endswith(("W_o.weight", "W_out.weight"))
                nn.init.normal_(weight, 0, 0.02 / (2 * config.n_layers if writes else 1) ** 0.5)

    def forward(self, ids: Tensor, cache: list[KVCache] | None = None) -> Tensor:
        """Logits (B, T, V) behind each of the ids (B, T), which follow those in the cache."""
        start = cache[0].length if cache else 0
        d_head = self.config.d_model // self.config.n_heads
        angles = rotary_angles(start, start + ids.shape[1], d_head, self.config.rope_base)
        x = self.token_embedding(ids)  # (B, T, D)
        for i, block in enumerate(self.blocks):
            x = block(x, angles, cache[i] if cache else None)
        return self.head(self.final_norm(x))

    def loss(self, ids: Tensor) -> Tensor:
        """Cross-entropy of each token given those before it, mean over tokens [nats]."""
        logits = self(ids[:, :-1])  # (B, T - 1, V)
        return F.cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten())

    @torch.no_grad()
    def generate(self, ids: Tensor, max_new_tokens: int, temperature: float = 1.0) -> Tensor:
        """The ids (B, T), and new ones behind them; at temperature 0 always the likeliest."""
        cache, new = [KVCache() for _ in self.blocks], ids
        for _ in range(max_new_tokens):
            logits = self(new, cache)[:, -1]  # (B, V); only what is new is computed
            if temperature == 0:
                new = logits.argmax(-1, keepdim=True)  # (B, 1)
            else:
                new = (logits / temperature).softmax(-1).multinomial(1)  # (B, 1)
            ids = torch.cat((ids, new), 1)
        return ids
