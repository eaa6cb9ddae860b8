"""Trained vectors before the embeddings of every text."""

from collections.abc import Sequence

import torch
from torch import Tensor

from ..models import GPT
from ..models.virtual import Prompt
from .additions import (
    own_dtype,
    put_ahead,
    require_gpt,
    require_length,
    require_no_virtual,
    require_places,
    starting_tokens,
)


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
    put_ahead(model, Prompt(vectors))
    return model
