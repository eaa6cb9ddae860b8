"""Reference solution of the project of this page: one block of GPT-2, from its weights."""

import numpy as np
from numpy import ndarray

Weights = dict[str, ndarray]


def gpt2_block(x: ndarray, weights: Weights, n_heads: int) -> ndarray:
    """The residual stream after one block of GPT-2.

    Args:
        x: The stream before it (T, D).
        weights: As named and stored in GPT-2's file, matrices as (in, out).
        n_heads: H; each head has width D / H.

    Returns:
        The stream after it (T, D).
    """
    at = lambda name: (weights[f"{name}.weight"], weights[f"{name}.bias"])  # noqa: E731
    u = x + attention(layer_norm(x, *at("ln_1")), at("attn.c_attn"), at("attn.c_proj"), n_heads)
    hidden = gelu_tanh(linear(layer_norm(u, *at("ln_2")), *at("mlp.c_fc")))
    return u + linear(hidden, *at("mlp.c_proj"))


def linear(x: ndarray, W: ndarray, b: ndarray) -> ndarray:
    """Vectors in rows, the matrix stored (in, out)."""
    return x @ W + b


def layer_norm(x: ndarray, gamma: ndarray, beta: ndarray) -> ndarray:
    """Each row with mean 0 and variance 1, then gain and bias."""
    centered = x - x.mean(-1, keepdims=True)
    variance = (centered**2).mean(-1, keepdims=True)
    return gamma * centered / np.sqrt(variance + 1e-5) + beta


def gelu_tanh(z: ndarray) -> ndarray:
    """The approximation of GELU with which GPT-2 was trained."""
    return 0.5 * z * (1 + np.tanh(np.sqrt(2 / np.pi) * (z + 0.044715 * z**3)))


def attention(
    h: ndarray,
    fused: tuple[ndarray, ndarray],
    out: tuple[ndarray, ndarray],
    n_heads: int,
) -> ndarray:
    """Causal attention with several heads; queries, keys and values come from one matrix."""
    T, D = h.shape
    q, k, v = np.split(linear(h, *fused), 3, axis=1)  # each (T, D)
    split = lambda m: m.reshape(T, n_heads, D // n_heads).transpose(1, 0, 2)  # noqa: E731
    scores = split(q) @ split(k).transpose(0, 2, 1) / np.sqrt(D // n_heads)  # (H, T, T)
    scores = np.where(np.tril(np.ones((T, T), dtype=bool)), scores, -np.inf)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    A = powers / powers.sum(-1, keepdims=True)
    y = (A @ split(v)).transpose(1, 0, 2).reshape(T, D)  # heads side by side again
    return linear(y, *out)
