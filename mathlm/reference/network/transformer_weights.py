"""The weights of the encoder-decoder: names, shapes, first values."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy import ndarray
from numpy.random import Generator

from ...errors import InputError, InputTypeError
from ..training.initialization import xavier_uniform
from .transformer_config import TransformerConfig
from .weights import Gradients

TABLES = ("source_embedding", "target_embedding", "head")
FIRST_USE = {"none": (0, 1, 2), "target": (0, 1, 1), "all": (0, 0, 0)}  # of each table
Shapes = dict[str, tuple[int, ...]]


def table_names(config: TransformerConfig) -> dict[str, str]:
    """Name of the weight behind each of the three tables; shared ones have the first's."""
    uses = FIRST_USE[config.tie_embeddings]
    return {use: f"{TABLES[i]}.weight" for use, i in zip(TABLES, uses, strict=True)}


def weight_shapes(config: TransformerConfig) -> Shapes:
    """Shape of every weight by name, in the order of the model; a shared one once."""
    D, names = config.d_model, table_names(config)
    shapes: Shapes = {names["source_embedding"]: (config.vocab_size, D)}
    shapes |= {names["target_embedding"]: (config.target_vocab, D)}
    for i in range(config.n_layers):
        shapes |= _block(f"encoder.{i}.", ("attention",), config)
    for i in range(config.decoder_layers):
        shapes |= _block(f"decoder.{i}.", ("attention", "cross_attention"), config)
    shapes |= {names["head"]: (config.target_vocab, D)}
    return shapes


def draw_weights(config: TransformerConfig, rng: Generator) -> Gradients:
    """First weights, drawn in the order of :func:`weight_shapes`."""
    return {name: _first(name, s, rng) for name, s in weight_shapes(config).items()}


def require_weights(weights: Any, config: TransformerConfig) -> None:
    """Refuse weights that do not fit the configuration, all of them in one message.

    Raises:
        InputTypeError: If they are no mapping, or one is not a float64 array.
        InputError: If one is missing, unknown or of another shape.
    """
    if not isinstance(weights, Mapping):
        raise InputTypeError(f"weights is a {type(weights).__name__}; give arrays by name")
    shapes = weight_shapes(config)
    missing = [name for name in shapes if name not in weights]
    unknown = [name for name in weights if name not in shapes]
    known = {name: weights[name] for name in shapes if name in weights}
    kinds = {n: _kind(w) for n, w in known.items() if _kind(w) != "ndarray of float64"}
    if kinds:
        raise InputTypeError(f"weights must be float64 arrays; these are not: {kinds}")
    wrong = {n: (w.shape, shapes[n]) for n, w in known.items() if w.shape != shapes[n]}
    if missing or unknown or wrong:
        raise InputError(
            f"weights do not fit the configuration: missing {missing}, unknown {unknown}, of "
            f"another shape (found, expected) {wrong}"
        )


def _kind(weight: Any) -> str:
    kind = type(weight).__name__
    return f"{kind} of {weight.dtype}" if hasattr(weight, "dtype") else kind


def _block(prefix: str, attentions: tuple[str, ...], config: TransformerConfig) -> Shapes:
    D, F = config.d_model, config.ff_width
    shapes: Shapes = {}
    for attention in attentions:
        shapes |= _norm(f"{prefix}{attention}_norm", D, config.bias)
        for name in ("W_q", "W_k", "W_v", "W_o"):
            shapes |= _map(f"{prefix}{attention}.{name}", D, D, config.bias)
    shapes |= _norm(f"{prefix}feed_forward_norm", D, config.bias)
    inner = ("W_in", "W_gate") if config.activation == "swiglu" else ("W_in",)
    for name in inner:
        shapes |= _map(f"{prefix}feed_forward.{name}", F, D, config.bias)
    return shapes | _map(f"{prefix}feed_forward.W_out", D, F, config.bias)


def _norm(name: str, D: int, bias: bool) -> Shapes:
    return {f"{name}.{kind}": (D,) for kind in (("gamma", "beta") if bias else ("gamma",))}


def _map(name: str, n_out: int, n_in: int, bias: bool) -> Shapes:
    shapes: Shapes = {f"{name}.weight": (n_out, n_in)}
    return shapes | {f"{name}.bias": (n_out,)} if bias else shapes


def _first(name: str, shape: tuple[int, ...], rng: Generator) -> ndarray:
    kind = name.rpartition(".")[-1]
    if kind != "weight":
        return np.ones(shape) if kind == "gamma" else np.zeros(shape)
    if name.partition(".")[0].endswith("embedding"):
        return rng.normal(0.0, shape[1] ** -0.5, shape)
    return xavier_uniform(rng, *shape)
