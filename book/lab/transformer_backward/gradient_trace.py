"""How much of the loss of one label arrives at every vector of an encoder-decoder.

The backward pass of :class:`mathlm.reference.Transformer`, one block at a time, with the
gradient of the streams kept on the way.
"""

import numpy as np
from numpy import ndarray

from mathlm.errors import InputError
from mathlm.reference import (
    Transformer,
    decoder_block,
    decoder_block_backward,
    label_smoothed_cross_entropy,
    label_smoothed_cross_entropy_backward,
    post_norm_block,
    post_norm_block_backward,
)
from mathlm.reference.network.stacks import positioned_embedding, table_names
from mathlm.reference.network.weights import part_of

Trace = dict[str, ndarray]


def gradient_trace(
    model: Transformer, source: ndarray, target: ndarray, label: int | None = None
) -> Trace:
    """Gradient of the loss of one label in every stream, from the head down to both tables.

    Args:
        model: With ReLU networks.
        source: Ids of one sentence (S,), without padding.
        target: Ids of its translation (T + 1,), from the first mark to the last.
        label: Which label t, 0 ... T - 1; the loss is -log p[target[t + 1]] alone. None = the
            mean over all labels.

    Returns:
        Stage and gradient: "decoder L" (what the head reads) ... "decoder 0" (target rows),
        each (T, D), then "encoder L" (the memory) ... "encoder 0" (source rows), each (S, D).

    Raises:
        InputError: If there is no such label.
    """
    if label is not None and not 0 <= label < len(target) - 1:
        raise InputError(f"label={label} must be one of 0..{len(target) - 2}")
    encoded, encoder_caches = _encode(model, source)
    y, decoder_caches = _decode(model, target[:-1], encoded)
    head = model.weights[table_names(model.config)["head"]]
    only = None if label is None else np.arange(len(target) - 1)[None] == label
    loss_cache = label_smoothed_cross_entropy(y @ head.T, target[None, 1:], 0.0, only)[1]
    dy = label_smoothed_cross_entropy_backward(1.0, loss_cache) @ head
    trace, dmemory = {f"decoder {len(decoder_caches)}": dy[0]}, np.zeros_like(encoded)
    for i, cache in reversed(list(enumerate(decoder_caches))):
        dy, dm, _ = decoder_block_backward(dy, cache)
        trace[f"decoder {i}"], dmemory = dy[0], dmemory + dm
    trace[f"encoder {len(encoder_caches)}"] = dmemory[0]
    for i, cache in reversed(list(enumerate(encoder_caches))):
        dmemory, _ = post_norm_block_backward(dmemory, cache)
        trace[f"encoder {i}"] = dmemory[0]
    return trace


def _encode(model: Transformer, ids: ndarray) -> tuple[ndarray, list]:
    x, caches = _embedded(model, "source_embedding", ids), []
    for i in range(model.config.n_layers):
        weights = part_of(model.weights, f"encoder.{i}.")
        x, cache = post_norm_block(x, weights, model.config.n_heads)
        caches.append(cache)
    return x, caches


def _decode(model: Transformer, ids: ndarray, memory: ndarray) -> tuple[ndarray, list]:
    y, caches = _embedded(model, "target_embedding", ids), []
    causal = np.tril(np.ones((len(ids), len(ids)), dtype=bool))
    for i in range(model.config.decoder_layers):
        weights = part_of(model.weights, f"decoder.{i}.")
        y, cache = decoder_block(y, memory, weights, model.config.n_heads, causal)
        caches.append(cache)
    return y, caches


def _embedded(model: Transformer, use: str, ids: ndarray) -> ndarray:
    table = model.weights[table_names(model.config)[use]]
    return positioned_embedding(ids[None], table, np.ones((1, len(ids)), dtype=bool))[0]


__all__ = ["gradient_trace"]
