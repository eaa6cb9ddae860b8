"""Reference solution of the project: an encoder-decoder whose decoder keeps keys and values."""

from typing import Any

import numpy as np
from numpy import ndarray

Weights = dict[str, ndarray]


def linear(x: ndarray, w: Weights, name: str) -> ndarray:
    """A linear map with its bias."""
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


def norm(x: ndarray, w: Weights, name: str, eps: float | int) -> ndarray:
    """LayerNorm over each row."""
    centered = x - x.mean(-1, keepdims=True)
    scale = np.sqrt(x.var(-1, keepdims=True) + eps)
    return centered / scale * w[f"{name}.gamma"] + w[f"{name}.beta"]


def embed(table: ndarray, ids: ndarray, positions: ndarray) -> ndarray:
    """Rows of a table times √D, plus sines and cosines of the positions; ids (B, T)."""
    D = table.shape[1]
    angles = positions[..., None] / 10_000 ** (np.arange(0, D, 2) / D)
    waves = np.stack([np.sin(angles), np.cos(angles)], -1).reshape(*positions.shape, D)
    return np.sqrt(D) * table[ids] + waves


def split(x: ndarray, H: int) -> ndarray:
    """(B, T, D) to (B, H, T, K)."""
    B, T, D = x.shape
    return x.reshape(B, T, H, D // H).swapaxes(1, 2)


def attend(q: ndarray, k: ndarray, v: ndarray, mask: ndarray) -> ndarray:
    """Attention of each head, heads side by side: (B, T, D); 0 where nothing may be read."""
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    top = np.where(mask, scores, -np.inf).max(-1, keepdims=True)
    powers = np.where(mask, np.exp(np.where(mask, scores - top, 0)), 0)
    total = powers.sum(-1, keepdims=True)
    y = powers / np.where(total == 0, 1, total) @ v
    return y.swapaxes(1, 2).reshape(y.shape[0], y.shape[2], -1)


def keys_values(x: ndarray, w: Weights, name: str, H: int) -> tuple[ndarray, ndarray]:
    """Keys and values of the rows of x, by head."""
    return split(linear(x, w, f"{name}.W_k"), H), split(linear(x, w, f"{name}.W_v"), H)


def attention(
    x: ndarray, k: ndarray, v: ndarray, mask: ndarray, w: Weights, name: str
) -> ndarray:
    """Queries from x, keys and values as given."""
    q = split(linear(x, w, f"{name}.W_q"), k.shape[1])
    return linear(attend(q, k, v, mask), w, f"{name}.W_o")


def feed_forward(x: ndarray, w: Weights, name: str) -> ndarray:
    """Wider, ReLU, narrow."""
    return linear(np.maximum(linear(x, w, f"{name}.W_in"), 0), w, f"{name}.W_out")


def encode(w: Weights, config: Any, source: ndarray, real: ndarray) -> ndarray:
    """Memory (B, S, D) of ids (B, S); positions count the real tokens from 0."""
    x = embed(w["source_embedding.weight"], source, np.maximum(real.cumsum(1) - 1, 0))
    H, eps, mask = config.n_heads, config.norm_eps, real[:, None, None]
    for i in range(config.n_layers):
        block = f"encoder.{i}."
        k, v = keys_values(x, w, block + "attention", H)
        a = attention(x, k, v, mask, w, block + "attention")
        x = norm(x + a, w, block + "attention_norm", eps)
        f = feed_forward(x, w, block + "feed_forward")
        x = norm(x + f, w, block + "feed_forward_norm", eps)
    return x


def start(w: Weights, config: Any, memory: ndarray, real: ndarray) -> dict[str, Any]:
    """An empty cache: keys and values of the memory, none of the target."""
    H, layers = config.n_heads, range(config.decoder_layers)
    cross = [keys_values(memory, w, f"decoder.{i}.cross_attention", H) for i in layers]
    nothing = np.zeros((len(memory), H, 0, memory.shape[2] // H))
    return {"cross": cross, "own": [(nothing, nothing)] * len(cross), "real": real, "t": 0}


def read(w: Weights, config: Any, ids: ndarray, cache: dict) -> tuple[ndarray, dict]:
    """Logits (B, T, V) after each of the next tokens (B, T), and the cache with them."""
    t, T, own = cache["t"], ids.shape[1], []
    positions = np.broadcast_to(t + np.arange(T), ids.shape)
    x = embed(w["target_embedding.weight"], ids, positions)
    causal = np.arange(t + T) <= t + np.arange(T)[:, None]  # (T, t + T)
    for i, (old, cross) in enumerate(zip(cache["own"], cache["cross"], strict=True)):
        block, eps = f"decoder.{i}.", config.norm_eps
        new = keys_values(x, w, block + "attention", config.n_heads)
        k, v = (np.concatenate(both, 2) for both in zip(old, new, strict=True))
        own.append((k, v))
        a = attention(x, k, v, causal, w, block + "attention")
        u = norm(x + a, w, block + "attention_norm", eps)
        real = cache["real"][:, None, None]
        c = attention(u, cross[0], cross[1], real, w, block + "cross_attention")
        r = norm(u + c, w, block + "cross_attention_norm", eps)
        f = feed_forward(r, w, block + "feed_forward")
        x = norm(r + f, w, block + "feed_forward_norm", eps)
    return x @ w["head.weight"].T, {**cache, "own": own, "t": t + T}


def decode(w: Weights, config: Any, target: ndarray, memory: ndarray, real: ndarray) -> ndarray:
    """Logits (B, T, V) after each token of a known target (B, T), in one pass."""
    return read(w, config, target, start(w, config, memory, real))[0]


def step(w: Weights, config: Any, token: ndarray, cache: dict) -> tuple[ndarray, dict]:
    """Logits (B, V) after the next token (B,), and a new cache; the old one stays as it is."""
    logits, cache = read(w, config, token[:, None], cache)
    return logits[:, 0], cache
