"""What an encoder-decoder is built of: embedded tokens, a stack that reads, one that writes."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy import ndarray
from numpy.random import Generator

from ...errors import InputError, InputTypeError
from ...shapes import Bool
from ..arrays import Numbers, require_gradient_shape
from ..training.initialization import xavier_uniform
from .block import post_norm_block, post_norm_block_backward
from .decoder_block import decoder_block, decoder_block_backward
from .dropout_factors import Factors
from .embedding import embedding, embedding_backward
from .position import sinusoidal_table
from .transformer_config import TransformerConfig
from .weights import Gradients, Weights, part_of, prefixed


def positioned_embedding(
    ids: Numbers, table: ndarray, real: Bool[ndarray, "B T"]
) -> tuple[ndarray, tuple]:
    """Rows of a table, grown to the size of the sinusoids that are added to them.

    Implements eq-transformer-input::

        x_t = √D E[ids_t] + P[position of t]   where t is real, else 0

    Positions count the real tokens of a row from 0, so that padding on either side moves
    nothing. A row of E starts with length 1, so √D of it and of P are alike: √D and √(D/2).

    Args:
        ids: Token ids (B, T).
        table: E (V, D).
        real: True where a token is real.

    Returns:
        x (B, T, D), and the cache that :func:`positioned_embedding_backward` needs.

    Raises:
        InputTypeError: If the ids are not integers.
        InputError: If one is outside the table.

    Example:
        >>> ids, real = np.array([[1, 0]]), np.array([[True, False]])
        >>> x, cache = positioned_embedding(ids, np.ones((2, 4)), real)
        >>> x.tolist()  # √4 · 1 and sin 0, cos 0; padding is 0
        [[[2.0, 3.0, 2.0, 3.0], [0.0, 0.0, 0.0, 0.0]]]

    References:
        Vaswani et al. (2017), arXiv:1706.03762, sections 3.4 and 3.5.
    """
    rows, cache = embedding(ids, table)
    T, D = rows.shape[-2:]
    positions = np.maximum(real.cumsum(-1) - 1, 0)
    x = math.sqrt(D) * rows + sinusoidal_table(T, D)[positions]
    return x * real[..., None], (real, cache)


def positioned_embedding_backward(dy: ndarray, cache: tuple) -> ndarray:
    """Gradient of the table of :func:`positioned_embedding`.

    Implements eq-backward-embedding::

        dE[v] = √D Σ dy_t   over the real t with ids_t = v

    Args:
        dy: Gradient of the loss in x, of its shape.
        cache: Second value of :func:`positioned_embedding`.

    Returns:
        dtable (V, D).

    Raises:
        InputError: If dy has not the shape of x.

    Example:
        >>> ids, real = np.array([[1, 0]]), np.array([[True, False]])
        >>> x, cache = positioned_embedding(ids, np.ones((2, 4)), real)
        >>> positioned_embedding_backward(np.ones((1, 2, 4)), cache).tolist()  # √4, once
        [[0.0, 0.0, 0.0, 0.0], [2.0, 2.0, 2.0, 2.0]]
    """
    real, embedding_cache = cache
    require_gradient_shape(dy, (*real.shape, *np.shape(dy)[-1:]))
    return embedding_backward(math.sqrt(dy.shape[-1]) * dy * real[..., None], embedding_cache)


def encoder(
    x: ndarray,
    weights: Weights,
    config: TransformerConfig,
    mask: Bool[ndarray, "..."] | None = None,
    dropout: Factors | None = None,
) -> tuple[ndarray, list]:
    """The stack that reads the source: every position sees every real one.

    Implements eq-transformer-encoder::

        x ← post_norm_block_i(x),   i = 0 ... L - 1;   memory = x

    Args:
        x: Embedded source (B, S, D).
        weights: Those of :func:`post_norm_block`, after the number of the block: ``0.``,
            ``1.`` ...
        config: Number of heads, activation, ε.
        mask: True where a position may attend; broadcasts to (B, H, S, S).
        dropout: Factors of each block, after its number.

    Returns:
        The memory (B, S, D), and the cache that :func:`encoder_backward` needs.

    Example:
        >>> from mathlm.reference import Transformer, TransformerConfig
        >>> sizes = dict(vocab_size=10, context=8, d_model=4, n_layers=2, n_heads=2)
        >>> config = TransformerConfig(**sizes)
        >>> model = Transformer(config, np.random.default_rng(0))
        >>> inside = [name for name in model.weights if name.startswith("encoder.")]
        >>> weights = {name.removeprefix("encoder."): model.weights[name] for name in inside}
        >>> memory, cache = encoder(np.zeros((1, 3, 4)), weights, config)
        >>> memory.shape
        (1, 3, 4)

    References:
        Vaswani et al. (2017), arXiv:1706.03762, section 3.1.
    """
    caches = []
    for i in range(config.n_layers):
        maps, factors = part_of(weights, f"{i}."), part_of(dropout or {}, f"{i}.")
        rest = ("layer", config.activation, float(config.norm_eps), factors)
        x, cache = post_norm_block(x, maps, config.n_heads, mask, *rest)
        caches.append(cache)
    return x, caches


def encoder_backward(dmemory: ndarray, caches: list) -> tuple[ndarray, Gradients]:
    """Pull the gradient of the loss back through :func:`encoder`, last block first.

    Implements eq-backward-memory::

        dx ← post_norm_block_i'(x)ᵀ dx,   i = L - 1 ... 0

    Args:
        dmemory: Gradient of the loss in the memory: the sum of what all blocks of the decoder
            send back.
        caches: Second value of :func:`encoder`.

    Returns:
        dx, and the gradients of the weights by name.

    Example:
        >>> from mathlm.reference import Transformer, TransformerConfig
        >>> sizes = dict(vocab_size=10, context=8, d_model=4, n_layers=2, n_heads=2)
        >>> config = TransformerConfig(**sizes)
        >>> model = Transformer(config, np.random.default_rng(0))
        >>> inside = [name for name in model.weights if name.startswith("encoder.")]
        >>> weights = {name.removeprefix("encoder."): model.weights[name] for name in inside}
        >>> memory, cache = encoder(np.ones((1, 3, 4)), weights, config)
        >>> dx, gradients = encoder_backward(np.ones((1, 3, 4)), cache)
        >>> dx.shape, sorted(gradients) == sorted(weights)
        ((1, 3, 4), True)
    """
    dx, gradients = dmemory, Gradients()
    for i, cache in _last_first(caches):
        dx, dweights = post_norm_block_backward(dx, cache)
        gradients |= prefixed(dweights, f"{i}.")
    return dx, gradients


def decoder(
    x: ndarray,
    memory: ndarray,
    weights: Weights,
    config: TransformerConfig,
    mask: Bool[ndarray, "..."] | None = None,
    memory_mask: Bool[ndarray, "..."] | None = None,
    dropout: Factors | None = None,
) -> tuple[ndarray, list]:
    """The stack that writes the target: each of its blocks reads the same memory.

    Implements eq-transformer-decoder::

        x ← decoder_block_i(x, memory),   i = 0 ... L - 1

    Args:
        x: Embedded target so far (B, T, D).
        memory: What the encoder gives (B, S, D).
        weights: Those of :func:`decoder_block`, after the number of the block.
        config: Number of heads, activation, ε.
        mask: True where a target position may attend to another; causal where the target is to
            be predicted.
        memory_mask: True where a target position may attend to the memory.
        dropout: Factors of each block, after its number.

    Returns:
        The last stream (B, T, D), and the cache that :func:`decoder_backward` needs.

    Example:
        >>> from mathlm.reference import Transformer, TransformerConfig
        >>> sizes = dict(vocab_size=10, context=8, d_model=4, n_layers=2, n_heads=2)
        >>> config = TransformerConfig(**sizes)
        >>> model = Transformer(config, np.random.default_rng(0))
        >>> inside = [name for name in model.weights if name.startswith("decoder.")]
        >>> weights = {name.removeprefix("decoder."): model.weights[name] for name in inside}
        >>> y, cache = decoder(np.ones((1, 3, 4)), np.ones((1, 5, 4)), weights, config)
        >>> y.shape  # of the target, whatever the length of the memory
        (1, 3, 4)

    References:
        Vaswani et al. (2017), arXiv:1706.03762, section 3.1.
    """
    caches = []
    for i in range(config.decoder_layers):
        maps, factors = part_of(weights, f"{i}."), part_of(dropout or {}, f"{i}.")
        rest = (memory_mask, config.activation, config.norm_eps, factors)
        x, cache = decoder_block(x, memory, maps, config.n_heads, mask, *rest)
        caches.append(cache)
    return x, caches


def decoder_backward(dy: ndarray, caches: list) -> tuple[ndarray, ndarray, Gradients]:
    """Pull the gradient of the loss back through :func:`decoder`, last block first.

    Implements eq-backward-memory::

        dx ← the part of decoder_block_i' for the stream,   i = L - 1 ... 0
        dmemory = Σ_i the part for the memory: every block has read it

    Args:
        dy: Gradient of the loss in the last stream.
        caches: Second value of :func:`decoder`.

    Returns:
        dx, dmemory, and the gradients of the weights by name.

    Example:
        >>> from mathlm.reference import Transformer, TransformerConfig
        >>> sizes = dict(vocab_size=10, context=8, d_model=4, n_layers=2, n_heads=2)
        >>> config = TransformerConfig(**sizes)
        >>> model = Transformer(config, np.random.default_rng(0))
        >>> inside = [name for name in model.weights if name.startswith("decoder.")]
        >>> weights = {name.removeprefix("decoder."): model.weights[name] for name in inside}
        >>> y, cache = decoder(np.ones((1, 3, 4)), np.ones((1, 5, 4)), weights, config)
        >>> dx, dmemory, gradients = decoder_backward(np.ones((1, 3, 4)), cache)
        >>> dx.shape, dmemory.shape, sorted(gradients) == sorted(weights)
        ((1, 3, 4), (1, 5, 4), True)
    """
    dx, gradients, dmemory = dy, Gradients(), np.zeros(())
    for i, cache in _last_first(caches):
        dx, dm, dweights = decoder_block_backward(dx, cache)
        dmemory = dmemory + dm
        gradients |= prefixed(dweights, f"{i}.")
    return dx, dmemory, gradients


def _last_first(caches: list) -> Iterable[tuple[int, Any]]:
    return reversed(list(enumerate(caches)))


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
