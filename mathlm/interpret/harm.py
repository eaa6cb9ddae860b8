"""What a language model loses without some of its heads, token by token."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from ..errors import InputError, InputTypeError
from ..models import GPT
from ..shapes import Float
from .ablation import Heads, without_heads
from .recording import Watched, record
from .resuming import attend_terms
from .tracing import require_layers

POSITIONS = ("rope", "learned", "sinusoidal", "none")


@torch.no_grad()
def losses_without_heads(
    model: GPT, ids: Tensor, heads: Heads = (), means: Tensor | None = None
) -> Float[Tensor, "B targets"]:
    """Loss of each token of a text but the first, in a model without some heads.

    Computes::

        - ln p(x_t | x_0 … x_{t-1}),   t = 1 … T - 1

    Args:
        model: A GPT.
        ids: The text x, (B, T), T ≥ 2.
        heads: As in :func:`without_heads`, but the same for all rows; none = the whole model.
        means: As in :func:`without_heads`.

    Returns:
        Losses of the T - 1 targets [nats]; nothing is averaged.

    Raises:
        InputError: If T is 1, or as :func:`without_heads`.
        InputTypeError: If the model is no GPT, or as :func:`without_heads`.
    """
    parts = require_text(model, ids).split(max(1, 256 // ids.shape[1]))  # logits are large
    heads = heads if isinstance(heads, Tensor) else [*heads]  # needed again for every part
    return torch.cat([
        token_losses(without_heads(model, part[:, :-1], heads, means=means), part)
        for part in parts
    ])  # fmt: skip


@torch.no_grad()
def losses_by_head(
    model: GPT, ids: Tensor, layers: Sequence[int]
) -> Float[Tensor, "layers H B targets"]:
    """Loss of each token, with each head of some layers taken away alone.

    What :func:`losses_without_heads` is for each of them, but the layers below a head are
    computed once, and all heads of a layer together.

    Args:
        model: A GPT whose positions are not added to the scores.
        ids: The text, (B, T), T ≥ 2.
        layers: Counted from 0.

    Returns:
        Losses of the T - 1 targets [nats]; nothing is averaged.

    Raises:
        InputError: If T is 1, there is no such layer, positions are of another kind, or the
            model is steered.
        InputTypeError: If the model is no GPT.
    """
    require_text(model, ids)
    if model.config.position not in POSITIONS:
        known = ", ".join(POSITIONS)
        raise InputError(f"position={model.config.position!r} is not one of {known}")
    picked = require_layers(model, layers)
    return torch.stack([by_head_of_row(model, row, picked) for row in ids.unsqueeze(1)], 2)


def by_head_of_row(
    model: GPT, ids: Tensor, layers: Sequence[int]
) -> Float[Tensor, "layers H targets"]:
    """:func:`losses_by_head` of one row of text."""
    attend = attend_terms(model, ids.shape[1] - 1)
    streams = record(model, ids[:, :-1])
    H, T = model.config.n_heads, ids.shape[1] - 1
    losses = streams["embedding"].new_empty(len(layers), H, T)  # before all the large logits
    for i, layer in enumerate(layers):
        for head, logits in enumerate(resumed(model, streams, layer, attend)):
            losses[i, head] = token_losses(logits, ids)
    return losses


def resumed(
    model: GPT, streams: Mapping[str, Tensor], layer: int, attend: Mapping[str, Any]
) -> Iterator[Float[Tensor, "1 T V"]]:
    """Logits without each head of a layer in turn, from the stream in front of that layer."""
    H = model.config.n_heads
    x = streams[f"blocks.{layer}.resid_pre"].expand(H, -1, -1)
    own = torch.eye(H, dtype=torch.bool, device=x.device)[:, :, None, None]  # row h, head h

    def silence(name: str, value: Tensor) -> Tensor:
        return value.masked_fill(own, 0.0) if name == "attention.heads" else value

    x = model.blocks[layer](x, taps=Watched(silence), **attend)
    for block in model.blocks[layer + 1 :]:
        x = block(x, **attend)
    return (model.head(row) for row in model.final_norm(x).unsqueeze(1))


def token_losses(
    logits: Float[Tensor, "B targets V"], ids: Tensor
) -> Float[Tensor, "B targets"]:
    """Loss of each token behind the first."""
    losses = cross_entropy(logits.flatten(0, 1), ids[:, 1:].flatten(), reduction="none")
    return losses.view(len(ids), -1)


def require_text(model: GPT, ids: Tensor) -> Tensor:
    """Refuse ids that hold no token to be predicted, and models that predict none."""
    if not isinstance(model, GPT):
        raise InputTypeError(f"{type(model).__name__} is not a GPT: it predicts no next token")
    if not isinstance(ids, Tensor):
        raise InputTypeError(f"ids must be a tensor (B, T), got {type(ids).__name__}")
    if ids.ndim != 2 or ids.shape[0] < 1 or ids.shape[1] < 2:
        raise InputError(
            f"ids {tuple(ids.shape)} must be (B, T) with a row at least and T of at least 2"
        )
    return ids
