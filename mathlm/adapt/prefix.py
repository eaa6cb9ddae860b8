"""Trained keys and values before the text, in every layer of a model."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ..errors import ConfigError
from ..functional import rotate_half_split
from ..generate.decoding import evaluating
from ..layers import RotaryPosition
from ..layers.prefix import Prefix
from ..models import GPT
from ..models.virtual import Prefixes, Prompt
from .additions import (
    own_dtype,
    put_virtual,
    require_gpt,
    require_length,
    require_no_virtual,
    require_places,
    starting_tokens,
)
from .targets import require_flag


def add_prefix(
    model: GPT,
    length: int,
    *,
    gated: bool = True,
    tokens: Tensor | Sequence[int] | None = None,
    seed: int | None = None,
) -> GPT:
    """Put m trained keys and values before the text, in every layer.

    Computes, in every head::

        gated:   y = softmax(q Kᵀ / √d_k) V + g softmax(q K_Pᵀ / √d_k) V_P
        joined:  y = softmax(q [K_P; K]ᵀ / √d_k) [V_P; V]

    2 m L G K numbers are trained, and L H gates more if gated. All start as the keys and values
    that the model has for real tokens.

    Gated, g starts at 0: the outputs are those that the model had, bit for bit. Such a prefix
    has no place in the text: with rotary positions its keys and the queries that it is asked by
    are not turned, and the context stays as it is.

    Joined, the prefix is a piece of a key/value cache: keys turned to the positions 0 … m - 1,
    the text m places later, the context m tokens shorter. The outputs start as those of the
    model that has read the tokens before the text. Documents packed in a row, and texts with
    padding in front, each have it directly before them.

    Args:
        model: Changed in place.
        length: m.
        gated: Which of the two.
        tokens: Ids that it starts from, (m,); None = drawn from the vocabulary.
        seed: Of the draw; None = from torch's generator.

    Returns:
        The same model.

    Raises:
        ConfigError: If m is below 1, or joined keys leave no place for text or would be lost
            behind a window.
        InputError: If the model has a prefix or a prompt, or the tokens are not m ids of its
            vocabulary.
        InputTypeError: If the model is no GPT, or an argument is of another kind.

    Example:
        >>> from mathlm.models import GPT, GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=1, n_heads=2)
        >>> model, ids = GPT(GPTConfig(**sizes)), torch.tensor([[72, 105]])
        >>> before = model(ids)
        >>> torch.allclose(add_prefix(model, length=4)(ids), before, atol=1e-5)  # gates at 0
        True

    References:
        Li and Liang (2021), arXiv:2101.00190, section 4.
        Zhang et al. (2023), arXiv:2303.16199, section 3.2.
    """
    require_gpt(model)
    require_no_virtual(model)
    require_length(length)
    require_flag("gated", gated)
    if not gated:
        require_places(model, length, "prefix")
    require_readable(model, length)
    ids = starting_tokens(model, length, tokens, seed)
    start, dtype = keys_and_values(model, ids, turned=not gated), own_dtype(model)
    n_heads = model.config.n_heads if gated else None
    layers = [Prefix(k.to(dtype), v.to(dtype), n_heads) for k, v in start]
    model.requires_grad_(False)
    put_virtual(model, Prefixes(layers))
    return model


def require_readable(model: GPT, length: int) -> None:
    """Refuse more tokens than the model reads at once, and a model without blocks."""
    if length > model.config.context:
        raise ConfigError(
            f"length={length} is more than the context of {model.config.context}: a prefix "
            "starts as what the model has for tokens, and it reads no more of them at once"
        )
    if not len(model.blocks):
        raise ConfigError("the model has no blocks, and a prefix stands in those: add_prompt")


@torch.no_grad()
def keys_and_values(model: GPT, ids: Tensor, turned: bool) -> list[tuple[Tensor, Tensor]]:
    """Those of the first tokens of a text in every layer, (G, m, K), without dropout."""
    with evaluating(model):
        layers = model.read_vectors(model.token_embedding(ids))
    start = [(kv.k[0], kv.v[0]) for kv in layers]
    if turned or not isinstance(model.position, RotaryPosition):
        return start
    cos, sin = model.position(torch.arange(len(ids), device=ids.device))  # (1, m, K/2)
    square = torch.cat((cos, cos), -1).square() + torch.cat((sin, sin), -1).square()
    return [(rotate_half_split(k, cos, -sin) / square.to(k.dtype), v) for k, v in start]


def add_prompt(
    model: GPT,
    length: int | None = None,
    *,
    tokens: Tensor | Sequence[int] | None = None,
    seed: int | None = None,
) -> GPT:
    """Put m trained vectors where the embeddings of tokens before the text would stand.

    Implements eq-small-prompt::

        x = [P; E[ids]],   logits = those of the text

    m D numbers are trained, P alone. It starts as the embeddings of real tokens: the outputs
    are those of the model that has read these tokens before the text. The text stands m places
    later, and the context is m tokens shorter. Documents packed in a row, and texts with
    padding in front, each have the vectors directly before them.

    Args:
        model: Changed in place.
        length: m; None = as many as there are tokens.
        tokens: Ids that P starts from, (m,); None = drawn from the vocabulary.
        seed: Of the draw; None = from torch's generator.

    Returns:
        The same model.

    Raises:
        ConfigError: If m is below 1, leaves no place for text, or a window would lose sight
            of it.
        InputError: If the model has a prefix or a prompt, the tokens are not m ids of its
            vocabulary, or neither m nor tokens are given.
        InputTypeError: If the model is no GPT, or an argument is of another kind.

    Example:
        >>> from mathlm.adapt import count_trainable
        >>> from mathlm.models import GPT, GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=1, n_heads=2)
        >>> count_trainable(add_prompt(GPT(GPTConfig(**sizes)), length=4))[0]  # 4 · 16
        64

    References:
        Lester et al. (2021), arXiv:2104.08691, sections 2 and 3.2.
    """
    require_gpt(model)
    require_no_virtual(model)
    if length is not None:
        require_length(length)
        require_places(model, length, "prompt")
    ids = starting_tokens(model, length, tokens, seed)
    require_places(model, len(ids), "prompt")
    with torch.no_grad():
        vectors = model.token_embedding(ids).to(own_dtype(model))
    model.requires_grad_(False)
    put_virtual(model, Prompt(vectors))
    return model
