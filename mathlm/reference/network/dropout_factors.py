"""Dropout whose random factors are drawn beforehand, so that a pass can be repeated."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy import ndarray
from numpy.random import Generator

from ...errors import InputError, InputTypeError
from ..arrays import finite_array
from .dropout import dropout
from .transformer_config import TransformerConfig

Factors = Mapping[str, ndarray]
Shape = tuple[int, ...]


def draw_dropout(
    config: TransformerConfig, shapes: tuple[Shape, Shape], rate: float | int, rng: Generator
) -> dict[str, ndarray]:
    """The factors of one pass of :class:`Transformer`: 0 for what falls out, else 1 / (1 - p).

    Implements eq-dropout::

        factor = k / (1 - p),   k ~ Bernoulli(1 - p)   independently for each entry

    The places are those of the first transformer: both sums of embedding and position, and
    what attention or a feed-forward network gives, before it is added to the stream.

    Args:
        config: Sizes of the model.
        shapes: (B, S) of the source, and (B, T) of the ids that the decoder reads: for
            ``loss`` that is one less than in a whole sentence.
        rate: p in [0, 1), the share that falls out.
        rng: Random generator.

    Returns:
        Factors by place, (B, S, D) or (B, T, D): source_embedding, target_embedding,
        encoder.i.attention, encoder.i.feed_forward, decoder.i.attention,
        decoder.i.cross_attention, decoder.i.feed_forward.

    Raises:
        ConfigError: If the rate lies outside [0, 1).

    Example:
        >>> from mathlm.reference import TransformerConfig
        >>> sizes = dict(vocab_size=10, context=8, d_model=4, n_layers=1, n_heads=2)
        >>> config = TransformerConfig(**sizes)
        >>> factors = draw_dropout(config, ((1, 3), (1, 2)), 0.5, np.random.default_rng(0))
        >>> sorted(set(factors["encoder.0.attention"].ravel().tolist()))  # 1 / (1 - p)
        [0.0, 2.0]

    References:
        Vaswani et al. (2017), arXiv:1706.03762, section 5.4.
    """
    places = dropout_places(config, shapes)
    return {place: dropout(np.ones(shape), rate, rng)[1] for place, shape in places.items()}


def dropout_places(config: TransformerConfig, shapes: tuple[Shape, Shape]) -> dict[str, Shape]:
    """Shape of the factors at each place where a pass may drop something."""
    source, target = ((*shape, config.d_model) for shape in shapes)
    places = {"source_embedding": source, "target_embedding": target}
    for i in range(config.n_layers):
        places |= {f"encoder.{i}.{half}": source for half in ("attention", "feed_forward")}
    for i in range(config.decoder_layers):
        thirds = ("attention", "cross_attention", "feed_forward")
        places |= {f"decoder.{i}.{third}": target for third in thirds}
    return places


def checked_factors(
    factors: Any, config: TransformerConfig, shapes: tuple[Shape, Shape]
) -> dict[str, ndarray]:
    """The factors in float64, once places and shapes are known to be right; {} for None.

    Raises:
        InputTypeError: If they are no mapping.
        InputError: If a place is unknown, or factors have another shape or are not finite.
    """
    if factors is None:
        return {}
    if not isinstance(factors, Mapping):
        raise InputTypeError(
            f"dropout is a {type(factors).__name__}; give factors by place (draw_dropout)"
        )
    places = dropout_places(config, shapes)
    unknown = [place for place in factors if place not in places]
    if unknown:
        raise InputError(f"dropout has the unknown places {unknown}; known are {list(places)}")
    found = {place: finite_array(f, f"dropout[{place!r}]") for place, f in factors.items()}
    for place, f in found.items():
        require_factor(f, places[place], place)
    return found


def require_factor(factor: ndarray, shape: Shape, place: str) -> None:
    """Refuse factors of another shape, which NumPy might broadcast."""
    if factor.shape != shape:
        raise InputError(
            f"dropout[{place!r}] has shape {factor.shape}, expected {shape}: one factor for "
            "each entry"
        )


def thinned(x: ndarray, factors: Factors | None, place: str) -> ndarray:
    """The product of x and the factors of this place; x itself where there are none."""
    if factors is None or place not in factors:
        return x
    require_factor(factors[place], x.shape, place)
    return x * factors[place]


__all__ = ["draw_dropout"]
