"""The forward pass of an encoder-decoder with every stage kept, so that a page can go back."""

from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from mathlm.reference import Transformer, decoder_block, post_norm_block
from mathlm.reference.network.stacks import positioned_embedding, table_names
from mathlm.reference.network.weights import part_of


class Stages(NamedTuple):
    """What a forward pass computes, in its order; masks are True where a query may attend."""

    inputs: ndarray  # what the decoder reads (B, T)
    labels: ndarray  # what it is to predict (B, T)
    real: ndarray  # which labels count (B, T)
    see_source: ndarray  # (B, 1, 1, S)
    see_target: ndarray  # (B, 1, T, T)
    memory: ndarray  # M (B, S, D)
    entered: list[ndarray]  # the stream before each block of the decoder, (B, T, D)
    last: ndarray  # Y of the last block (B, T, D)
    logits: ndarray  # Z (B, T, V)
    encoder: list[Any]  # cache of each block
    decoder: list[Any]


def open_forward(
    model: Transformer, source: ndarray, target: ndarray, seen: ndarray, real: ndarray
) -> Stages:
    """Run a model block by block.

    Args:
        model: Encoder and decoder.
        source: Ids (B, S).
        target: Ids of whole targets (B, T + 1).
        seen: True where a source token is real.
        real: True where a target token is real, the padding on the right.
    """
    inputs, labels, heads = target[:, :-1], target[:, 1:], model.config.n_heads
    see_source = seen[:, None, None, :]
    see_target = np.tri(inputs.shape[1], dtype=bool) & real[:, None, None, :-1]
    tables = {use: model.weights[name] for use, name in table_names(model.config).items()}
    x, encoder = positioned_embedding(source, tables["source_embedding"], seen)[0], []
    for i in range(model.config.n_layers):
        w = part_of(model.weights, f"encoder.{i}.")
        x, cache = post_norm_block(x, w, heads, see_source)
        encoder.append(cache)
    y, decoder = positioned_embedding(inputs, tables["target_embedding"], real[:, :-1])[0], []
    entered = []
    for i in range(model.config.decoder_layers):
        entered.append(y)
        w = part_of(model.weights, f"decoder.{i}.")
        y, cache = decoder_block(y, x, w, heads, see_target, see_source)
        decoder.append(cache)
    logits, counted = y @ tables["head"].T, real[:, 1:]
    masks = (counted, see_source, see_target)
    return Stages(inputs, labels, *masks, x, entered, y, logits, encoder, decoder)


__all__ = ["Stages", "open_forward"]
