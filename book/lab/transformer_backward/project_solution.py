"""Reference solution of the project: a decoder block and a small decoder, backward."""

from typing import Any

import numpy as np
from numpy import ndarray

Gradients = dict[str, ndarray]


def block_backward(
    dy: ndarray, w: Gradients, cache: dict[str, Any]
) -> tuple[ndarray, ndarray, Gradients]:
    """Gradients in the stream, the memory and all weights of :func:`open_block.block`."""
    g = Gradients()
    dR = _norm(dy, w, cache, "feed_forward_norm", g)
    dh = _linear(dR, cache["h"], w, "feed_forward.W_out", g)
    dC = dR + _linear(dh * (cache["h"] > 0), cache["c"], w, "feed_forward.W_in", g)
    dR = _norm(dC, w, cache, "cross_attention_norm", g)
    du, dmemory = _attention(dR, cache["u"], cache["memory"], w, cache, "cross_attention", g)
    dR = _norm(dR + du, w, cache, "attention_norm", g)
    from_q, from_kv = _attention(dR, cache["y"], cache["y"], w, cache, "attention", g)
    return dR + from_q + from_kv, dmemory, g


def decoder_backward(dz: ndarray, cache: dict[str, Any]) -> tuple[ndarray, ndarray]:
    """Gradients in the table, which is used twice, and in the memory, used by every block."""
    E = cache["table"]
    dtable = np.einsum("btv,btd->vd", dz, cache["last"])
    dy, dmemory = dz @ E, np.zeros(())
    for w, kept in zip(reversed(cache["blocks"]), reversed(cache["caches"]), strict=True):
        dy, dm, _ = block_backward(dy, w, kept)
        dmemory = dmemory + dm
    np.add.at(dtable, cache["ids"], np.sqrt(E.shape[1]) * dy)
    return dtable, dmemory


def _linear(dy: ndarray, x: ndarray, w: Gradients, name: str, g: Gradients) -> ndarray:
    g[f"{name}.weight"] = np.einsum("bto,bti->oi", dy, x)
    g[f"{name}.bias"] = dy.sum((0, 1))
    return dy @ w[f"{name}.weight"]


def _norm(dy: ndarray, w: Gradients, cache: dict[str, Any], name: str, g: Gradients) -> ndarray:
    rhat, sigma = cache[name]
    g[f"{name}.gamma"], g[f"{name}.beta"] = (dy * rhat).sum((0, 1)), dy.sum((0, 1))
    d = dy * w[f"{name}.gamma"]
    along = (d * rhat).mean(-1, keepdims=True)
    return (d - d.mean(-1, keepdims=True) - rhat * along) / sigma


def _attention(
    dy: ndarray, x: ndarray, m: ndarray, w: Gradients, cache: Any, name: str, g: Gradients
) -> tuple[ndarray, ndarray]:
    """What goes to the source of the queries, and to that of keys and values."""
    q, k, v, a, o = (cache[name][n] for n in "qkvao")
    n_heads, root = q.shape[1], np.sqrt(q.shape[-1])
    do = _linear(dy, o, w, f"{name}.W_o", g)
    do = do.reshape(*do.shape[:2], n_heads, -1).swapaxes(1, 2)
    da = do @ v.mT
    ds = a * (da - (a * da).sum(-1, keepdims=True)) / root
    parts = {"q": (ds @ k, x), "k": (ds.mT @ q, m), "v": (a.mT @ do, m)}
    back = {
        n: _linear(d.swapaxes(1, 2).reshape(z.shape), z, w, f"{name}.W_{n}", g)
        for n, (d, z) in parts.items()
    }
    return back["q"], back["k"] + back["v"]
