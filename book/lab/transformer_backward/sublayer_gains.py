"""How large each sublayer's output is against its stream, and how much gradient it returns."""

from typing import Any

import numpy as np
from numpy import ndarray

from mathlm.reference import (
    Transformer,
    feed_forward,
    feed_forward_backward,
    label_smoothed_cross_entropy,
    label_smoothed_cross_entropy_backward,
    layer_norm,
    layer_norm_backward,
    multi_head_attention,
    multi_head_attention_backward,
)
from mathlm.reference.network.stacks import positioned_embedding, table_names
from mathlm.reference.network.weights import part_of

KINDS: dict[str, tuple[str, ...]] = {"encoder": ("attention", "feed_forward")}
KINDS["decoder"] = ("attention", "cross_attention", "feed_forward")
Kept = list[dict[str, Any]]  # of each sublayer, in order


def sublayer_gains(model: Transformer, source: ndarray, target: ndarray) -> dict[str, Any]:
    """Ratios of mean squares, forward and backward, averaged over the blocks of a stack.

    Args:
        model: Post-norm with ReLU networks; both stacks have the same number of blocks.
        source: Ids (B, S), all real.
        target: Ids (B, T + 1), all real; the loss is the mean over its labels.

    Returns:
        "stack kind" -> (forward, backward): ‖sublayer(x)‖² / ‖x‖², and
        ‖sublayer*(dR)‖² / ‖dR‖², where dR is what arrives at the sum. Cross-attention has two
        entries, "decoder cross_attention" for its queries' stream, and "decoder memory", where
        the sums run over all source positions. "encoder sum" and "decoder sum" -> the factor
        by which the squared gradient of the stream changes in a block, on (geometric) average;
        "memory sum" -> squared gradient of the memory over that of the decoder's last stream.
    """
    x, encoder = _forward(model, "encoder", source, None)
    y, decoder = _forward(model, "decoder", target[:, :-1], x)
    head = model.weights[table_names(model.config)["head"]]
    loss_cache = label_smoothed_cross_entropy(y @ head.T, target[:, 1:])[1]
    dy = label_smoothed_cross_entropy_backward(1.0, loss_cache) @ head
    dx, dmemory = _backward(dy, decoder)
    first, _ = _backward(dmemory, encoder)
    found: dict[str, Any] = {}
    for stack, kept in (("encoder", encoder), ("decoder", decoder)):
        for kind in KINDS[stack]:
            pairs = [k["gains"] for k in kept if k["kind"] == kind]
            found[f"{stack} {kind}"] = tuple(np.mean(pairs, axis=0))
    memory = [k["to memory"] for k in decoder if "to memory" in k]
    found["decoder memory"] = found["decoder cross_attention"][0], float(np.mean(memory))
    blocks = model.config.n_layers
    found["encoder sum"] = float(_square(first) / _square(dmemory)) ** (1 / blocks)
    found["decoder sum"] = float(_square(dx) / _square(dy)) ** (1 / blocks)
    found["memory sum"] = float(_square(dmemory) / _square(dy))
    return found


def _square(x: ndarray) -> float:
    return float((x**2).sum())


def _forward(
    model: Transformer, stack: str, ids: ndarray, memory: ndarray | None
) -> tuple[ndarray, Kept]:
    """The last stream of a stack, and what each sublayer keeps."""
    side = {"encoder": "source", "decoder": "target"}[stack]
    table = model.weights[table_names(model.config)[f"{side}_embedding"]]
    x, kept = positioned_embedding(ids, table, np.ones(ids.shape, dtype=bool))[0], Kept()
    causal = None if stack == "encoder" else np.tri(ids.shape[1], dtype=bool)
    for i in range(model.config.n_layers):
        w = part_of(model.weights, f"{stack}.{i}.")
        for kind in KINDS[stack]:
            maps, heads = part_of(w, f"{kind}."), model.config.n_heads
            if kind == "feed_forward":
                z, cache = feed_forward(x, maps)
            elif kind == "attention":
                z, cache = multi_head_attention(x, maps, heads, causal)
            else:
                z, cache = multi_head_attention(x, maps, heads, None, memory)
            gain = _square(z) / _square(x)
            gamma, beta = w[f"{kind}_norm.gamma"], w[f"{kind}_norm.beta"]
            x, norm = layer_norm(x + z, gamma, beta, model.config.norm_eps)
            kept.append({"kind": kind, "cache": cache, "norm": norm, "forward": gain})
    return x, kept


def _backward(dy: ndarray, kept: Kept) -> tuple[ndarray, ndarray]:
    """The gradients of a stack's first stream and of its memory; each sublayer's gains."""
    dmemory: Any = np.zeros(())
    for sublayer in reversed(kept):
        dR, cache = layer_norm_backward(dy, sublayer["norm"])[0], sublayer["cache"]
        if sublayer["kind"] == "feed_forward":
            back = feed_forward_backward(dR, cache)[0]
        else:
            back, _, dm = multi_head_attention_backward(dR, cache)
            if dm is not None:
                dmemory, sublayer["to memory"] = dmemory + dm, _square(dm) / _square(dR)
        sublayer["gains"] = sublayer["forward"], _square(back) / _square(dR)
        dy = dR + back
    return dy, dmemory


__all__ = ["sublayer_gains"]
