"""Bottlenecks, prefixes and prompts that a model has: what they are, and the way back."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import ConfigError, InputError, InputTypeError
from ..functional import require_token_ids
from ..layers.adapter import AdaptedBlock
from ..models import GPT
from ..models.gpt_config import require_no_variant
from ..models.virtual import Prefixes, VirtualTokens
from .targets import drawn_by, require_model

PLACES = ("attention", "feed_forward")


@dataclass(frozen=True)
class Addition:
    """Something that was added to a model beside low-rank updates.

    Args:
        kind: "adapters", "prefix" or "prompt".
        options: Sizes and choices with which :func:`mathlm.adapt.add_adapters`, add_prefix or
            add_prompt makes one of the same shape, as JSON data.
        parameters: Its numbers, by their names in the model.
    """

    kind: str
    options: dict[str, Any]
    parameters: dict[str, nn.Parameter]


def additions(model: nn.Module) -> list[Addition]:
    """The bottleneck adapters, the prefix and the prompt of a model, as far as it has them.

    Example:
        >>> from mathlm.adapt import add_adapters
        >>> from mathlm.models import GPT, GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=1, n_heads=2)
        >>> model = add_adapters(GPT(GPTConfig(**sizes)), width=4)
        >>> [addition.kind for addition in additions(model)]
        ['adapters']
    """
    require_model(model)
    found = [adapters_of(model), virtual_of(model)]
    return [addition for addition in found if addition is not None]


def adapters_of(model: nn.Module) -> Addition | None:
    """The bottleneck adapters of all blocks; None = there are none."""
    block = next((m for m in model.modules() if isinstance(m, AdaptedBlock)), None)
    if block is None:
        return None
    networks = {place: getattr(block, f"{place}_adapter") for place in PLACES}
    there = {place: network for place, network in networks.items() if network is not None}
    first = next(iter(there.values()))
    options = {"width": first.width, "activation": first.activation, "places": [*there]}
    own = tuple(f".{place}_adapter." for place in PLACES)
    named = model.named_parameters()
    return Addition("adapters", options, {n: p for n, p in named if any(x in n for x in own)})


def virtual_of(model: nn.Module) -> Addition | None:
    """The prefix or the prompt; None = there is none."""
    virtual = getattr(model, "virtual", None)
    if virtual is None:
        return None
    options = {"length": virtual.length}
    kind = "prompt"
    if isinstance(virtual, Prefixes):
        kind, options = "prefix", options | {"gated": virtual.gated}
    named = virtual.named_parameters(prefix="virtual")
    return Addition(kind, options, dict(named))


def remove_adapters(model: GPT) -> GPT:
    """Take bottleneck adapters, prefix and prompt away; what is left is the model before.

    Its weights are those that it had, bit for bit, and still frozen:
    ``model.requires_grad_(True)`` makes them trainable. Low-rank updates stay; see
    :func:`mathlm.adapt.remove_adapter`.

    Args:
        model: Changed in place.

    Returns:
        The same model.

    Raises:
        InputError: If it has none of them.
        InputTypeError: If it is no GPT.

    Example:
        >>> from mathlm.adapt import add_adapters
        >>> from mathlm.models import GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=1, n_heads=2)
        >>> model = remove_adapters(add_adapters(GPT(GPTConfig(**sizes)), width=4))
        >>> type(model.blocks[0]).__name__  # not AdaptedBlock
        'Block'
    """
    require_gpt(model)
    if not additions(model):
        raise InputError(
            "the model has no bottleneck adapters, no prefix and no prompt to remove; "
            "low-rank updates are removed by remove_adapter(model, name)"
        )
    for i, block in enumerate(model.blocks):
        if isinstance(block, AdaptedBlock):
            model.blocks[i] = block.plain()
    if model.virtual is not None:
        put_virtual(model, None)
    return model


def put_virtual(model: GPT, virtual: VirtualTokens | None) -> None:
    """Give a model virtual tokens, or None; its context is what they leave for the text."""
    before = 0 if model.virtual is None else model.virtual.shift
    after = 0 if virtual is None else virtual.shift
    model.config = replace(model.config, context=model.config.context + before - after)
    model.virtual = None if virtual is None else virtual.train(model.training)


def require_gpt(model: Any) -> None:
    """Refuse what is no GPT."""
    if not isinstance(model, GPT):
        raise InputTypeError(
            f"model is a {type(model).__name__}: bottlenecks, prefixes and prompts go into a "
            "GPT; add_lora takes any model with linear maps in its blocks"
        )


def require_no_virtual(model: GPT) -> None:
    """Refuse a model that has a prefix or a prompt."""
    require_no_variant(model.config, "a prefix or a prompt")
    there = virtual_of(model)
    if there is not None:
        raise InputError(
            f"the model has a {there.kind} of length {there.options['length']} already: call "
            "remove_adapters(model) first"
        )


def require_length(length: Any) -> None:
    """Refuse what is no number of virtual tokens."""
    if isinstance(length, bool) or not isinstance(length, int):
        raise InputTypeError(f"length={length!r} must be a whole number")
    if length < 1:
        raise ConfigError(f"length={length} must be at least 1")


def require_places(model: GPT, length: int, what: str) -> None:
    """Refuse virtual tokens that take places which the model does not have."""
    context, window = model.config.context, model.config.window
    if window is not None:
        raise ConfigError(
            f"the model sees {window} keys back, and would lose sight of a {what} of {length}: "
            "add_prefix(..., gated=True) stands beside the window"
        )
    if length >= context:
        raise ConfigError(
            f"a {what} of length {length} leaves no place for text in a context of {context}"
        )


def starting_tokens(model: GPT, length: int | None, tokens: Any, seed: int | None) -> Tensor:
    """Ids that virtual tokens start from, (m,): those given, or drawn from the vocabulary."""
    generator = drawn_by(seed)
    device = model.token_embedding.weight.device
    vocabulary = model.config.vocab_size
    if tokens is None:
        if length is None:
            raise InputError("give a length, or the tokens that the vectors start from")
        require_length(length)
        return torch.randint(vocabulary, (length,), generator=generator).to(device)
    ids = _as_ids(tokens)
    if length is not None:
        require_length(length)
        if len(ids) != length:
            raise InputError(
                f"length={length}, and {len(ids)} tokens are given: give one token for each of "
                "the vectors"
            )
    require_token_ids(ids, vocabulary)
    return ids.to(device)


def _as_ids(tokens: Any) -> Tensor:
    if isinstance(tokens, Sequence) and not isinstance(tokens, str | bytes):
        if not all(type(i) is int for i in tokens):
            raise InputTypeError("tokens must be ids, whole numbers: encode the text first")
        tokens = torch.tensor([in_range(i) for i in tokens], dtype=torch.int64)
    if not isinstance(tokens, Tensor):
        raise InputTypeError(
            f"tokens is a {type(tokens).__name__}: give ids, an int64 tensor (m,) or a list"
        )
    if tokens.ndim != 1 or len(tokens) == 0:
        raise InputError(f"tokens have shape {tuple(tokens.shape)}: give (m,), at least one")
    return tokens


def in_range(i: int) -> int:
    """An id that int64 holds; what is far outside of every vocabulary is refused here."""
    if not -(2**63) <= i < 2**63:
        raise InputError(f"token id {i} is outside of every vocabulary: give ids of this one")
    return i


def own_dtype(model: GPT) -> torch.dtype:
    """Of added numbers: that of the model, but float32 for half precision."""
    gain = next(model.final_norm.parameters())
    return torch.promote_types(gain.dtype, torch.float32)
