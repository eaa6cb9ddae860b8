"""Bottleneck adapters in every block of a model."""

from collections.abc import Sequence
from typing import Any

from ..errors import ConfigError, InputError, InputTypeError
from ..layers.adapter import AdaptedBlock, Bottleneck
from ..layers.block import Block
from ..models import GPT
from .additions import PLACES, adapters_of, own_dtype, require_gpt
from .targets import drawn_by


def add_adapters(
    model: GPT,
    width: int,
    *,
    activation: str = "relu",
    places: Sequence[str] = PLACES,
    seed: int | None = None,
) -> GPT:
    """Put a bottleneck behind attention and the feed-forward network of every block.

    Computes, behind each of them::

        y = x + W_up f(W_down x + b_down) + b_up,   W_down uniform in ±1/√D,   the others 0

    The model's outputs are those that it had, bit for bit, until W_up or b_up is trained. The
    trainable numbers are 2 D w + w + D for each place of each block, and they alone have
    gradients.

    Args:
        model: Changed in place.
        width: w.
        activation: f: relu, gelu, gelu_tanh or silu.
        places: "attention", "feed_forward" or both.
        seed: Of W_down; None = from torch's generator.

    Returns:
        The same model.

    Raises:
        ConfigError: If the width is below 1, or f or a place is not known.
        InputError: If the model has such adapters, or its blocks are not plain.
        InputTypeError: If the model is no GPT, or the width no whole number.

    Example:
        >>> from mathlm.adapt import count_trainable
        >>> from mathlm.models import GPT, GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=1, n_heads=2)
        >>> model = add_adapters(GPT(GPTConfig(**sizes)), width=4)
        >>> count_trainable(model)[0]  # 2 · (2 · 16 · 4 + 4 + 16)
        296

    References:
        Houlsby et al. (2019), arXiv:1902.00751, section 2.1.
    """
    require_gpt(model)
    _require_new(model)
    _require_places(places)
    if isinstance(width, bool) or not isinstance(width, int):
        raise InputTypeError(f"width={width!r} must be a whole number")
    generator, D = drawn_by(seed), model.config.d_model
    dtype, device = own_dtype(model), next(model.parameters()).device
    networks = [
        {f"{place}_adapter": Bottleneck(D, width, activation, generator) for place in places}
        for _ in model.blocks
    ]
    model.requires_grad_(False)
    for i, own in enumerate(networks):
        for network in own.values():
            network.to(device, dtype)
        block: Any = model.blocks[i]
        model.blocks[i] = AdaptedBlock(block, **own)
    return model


def _require_new(model: GPT) -> None:
    there = adapters_of(model)
    if there is not None:
        raise InputError(
            f"the model has bottleneck adapters of width {there.options['width']} already: "
            "call remove_adapters(model) first"
        )
    for i, block in enumerate(model.blocks):
        if type(block) is not Block:
            raise InputError(f"block {i} is a {type(block).__name__}, not a plain Block")


def _require_places(places: Any) -> None:
    known = isinstance(places, Sequence) and not isinstance(places, str)
    known = known and bool(places) and all(place in PLACES for place in places)
    if not known or len(set(places)) < len(places):
        raise ConfigError(f"places={places!r} must be one or both of {PLACES}, each once")
