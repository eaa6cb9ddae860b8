"""A post-norm decoder block and a small decoder, forward, with everything kept by name."""

from typing import Any

import numpy as np
from numpy import ndarray

from mathlm.reference import softmax

Weights = dict[str, ndarray]
EPS = 1e-5


def block(
    y: ndarray,
    memory: ndarray,
    w: Weights,
    n_heads: int,
    mask: ndarray | None = None,
    memory_mask: ndarray | None = None,
) -> tuple[ndarray, dict[str, Any]]:
    """Self-attention, cross-attention and a ReLU network, each added and normalized.

    Args:
        y: The stream (B, T, D).
        memory: M (B, S, D).
        w: Weights by the names of :func:`mathlm.reference.decoder_block`, all there.
        n_heads: H.
        mask: True where a position may attend to another; broadcasts to (B, H, T, T).
        memory_mask: Likewise for the memory, (B, H, T, S).

    Returns:
        The new stream, and a cache: "n_heads", "y", "memory"; "attention" and
        "cross_attention", each with q, k, v (B, H, ., K), a (B, H, T, .), and o (B, T, D), the
        merged heads before W_o; "u", "c", the streams after the first and second norm; "h",
        the units of the network after the ReLU; and for each of "attention_norm",
        "cross_attention_norm", "feed_forward_norm" the pair (r̂, σ).
    """
    cache: dict[str, Any] = {"n_heads": n_heads, "y": y, "memory": memory}
    a, cache["attention"] = _attention(y, y, w, "attention", n_heads, mask)
    u, cache["attention_norm"] = _norm(y + a, w, "attention_norm")
    name = "cross_attention"
    c, cache[name] = _attention(u, memory, w, name, n_heads, memory_mask)
    cache["u"], (cache["c"], cache[f"{name}_norm"]) = u, _norm(u + c, w, f"{name}_norm")
    h = np.maximum(_linear(cache["c"], w, "feed_forward.W_in"), 0)
    f = _linear(h, w, "feed_forward.W_out")
    out, cache["feed_forward_norm"] = _norm(cache["c"] + f, w, "feed_forward_norm")
    return out, cache | {"h": h}


def decoder(
    ids: ndarray, memory: ndarray, table: ndarray, blocks: list[Weights], n_heads: int
) -> tuple[ndarray, dict[str, Any]]:
    """Blocks on √D times rows of a table that is the weight of the head as well.

    Args:
        ids: Tokens (B, T).
        memory: M (B, S, D), which every block attends to.
        table: E (V, D).
        blocks: Weights of each block, from the bottom.
        n_heads: H.

    Returns:
        Logits (B, T, V), and a cache: "ids", "table", "blocks" (their weights), "caches"
        (of each block) and "last", the stream that the head takes.
    """
    y, caches = np.sqrt(table.shape[1]) * table[ids], []
    for w in blocks:
        y, cache = block(y, memory, w, n_heads, np.tri(ids.shape[1], dtype=bool))
        caches.append(cache)
    cache = {"ids": ids, "table": table, "blocks": blocks, "caches": caches, "last": y}
    return y @ table.T, cache


def _linear(x: ndarray, w: Weights, name: str) -> ndarray:
    return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]


def _norm(r: ndarray, w: Weights, name: str) -> tuple[ndarray, tuple[ndarray, ndarray]]:
    sigma = np.sqrt(r.var(-1, keepdims=True) + EPS)
    rhat = (r - r.mean(-1, keepdims=True)) / sigma
    return rhat * w[f"{name}.gamma"] + w[f"{name}.beta"], (rhat, sigma)


def _attention(
    x: ndarray, m: ndarray, w: Weights, name: str, n_heads: int, mask: ndarray | None
) -> tuple[ndarray, dict[str, ndarray]]:
    q, k, v = (
        _linear(z, w, f"{name}.W_{n}").reshape(*z.shape[:2], n_heads, -1).swapaxes(1, 2)
        for z, n in zip((x, m, m), "qkv", strict=True)
    )
    scores = q @ k.mT / np.sqrt(q.shape[-1])
    a = softmax(scores if mask is None else np.where(mask, scores, -np.inf))
    o = (a @ v).swapaxes(1, 2).reshape(x.shape)
    return _linear(o, w, f"{name}.W_o"), {"q": q, "k": k, "v": v, "a": a, "o": o}


__all__ = ["block", "decoder"]
