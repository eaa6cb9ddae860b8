"""Ablation of attention heads: outputs and losses of a model without some of them."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from numbers import Integral
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from ..errors import InputError, InputTypeError
from ..models import GPT
from ..shapes import Float
from .causal_tracing import attend_terms, require_layers
from .recording import Watched, record, require_ids, run

HEADS = re.compile(r"blocks\.(\d+)\.attention\.heads")
Heads = Sequence[tuple[int, int]] | Tensor


def without_heads(
    model: nn.Module,
    ids: Tensor,
    heads: Heads,
    *,
    means: Tensor | None = None,
    mask: Tensor | None = None,
) -> Tensor:
    """Zero or mean ablation: output of a model whose heads say nothing, or always the same.

    Computes::

        headₕ ← 0,   or with means  headₕ ← means[layer, h],   at every position

    before W_o mixes the heads. Zeroing a head is the same as zeroing the columns of W_o that
    read it. A mean keeps what the layers above are used to hear from the head on average, and
    takes away what it says of the text at hand.

    Args:
        model: As in :func:`mathlm.interpret.record`, with a configuration that has ``n_layers``
            and ``n_heads``.
        ids: Token ids (B, T).
        heads: Pairs (layer, head) counted from 0; or bool, True = taken away, (L, H), or
            (B, L, H) for another choice in each row.
        means: What the heads say instead, (L, H, K), such as from :func:`head_means`; None =
            nothing.
        mask: Of the model; None = every token is real.

    Returns:
        What the model returns: logits (B, T, V) of a GPT.

    Raises:
        InputError: If there is no such head, shapes do not fit, or the model has a gated
            prefix, whose heads say more than what is taken away.
        InputTypeError: If ``heads`` is a tensor of another dtype than bool, or the model takes
            no taps.

    Example:
        >>> from mathlm.models import GPT, GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=2, n_heads=2)
        >>> model, ids = GPT(GPTConfig(**sizes)), torch.tensor([[72, 105]])
        >>> torch.allclose(without_heads(model, ids, []), model(ids), atol=1e-5)
        True
    """
    require_ids(ids)
    gone = as_table(model, heads, len(ids))
    require_means(means, gone)
    return run(model, ids, mask, Watched(silencer(gone, means)))


def silencer(gone: Tensor, means: Tensor | None = None) -> Callable[[str, Tensor], Tensor]:
    """What a model goes on with at each tap if some heads, (B or 1, L, H), are silent."""

    def silence(name: str, value: Tensor) -> Tensor:
        if name.endswith("prefix_heads"):
            raise InputError(
                "the model has a gated prefix, from which its heads speak too: "
                "remove_adapters(model) takes it away"
            )
        if (found := HEADS.fullmatch(name)) is None:
            return value
        layer = int(found[1])
        if means is not None and means.shape[-1] != value.shape[-1]:
            K = value.shape[-1]
            raise InputError(f"means {tuple(means.shape)} must end with the head width {K}")
        instead = value.new_zeros(()) if means is None else means[layer, :, None].to(value)
        return torch.where(gone[:, layer, :, None, None].to(value.device), instead, value)

    return silence


def head_means(
    model: nn.Module, ids: Tensor, mask: Tensor | None = None
) -> Float[Tensor, "L H K"]:
    """Means for mean ablation: what each head says on average over the real tokens of a text.

    Args:
        model: As in :func:`mathlm.interpret.record`.
        ids: Token ids (B, T).
        mask: True where a token is real, (B, T); None = everywhere.

    Returns:
        Means of the tap ``heads`` over rows and positions.

    Raises:
        InputError, InputTypeError: As :func:`mathlm.interpret.record`.

    Example:
        >>> from mathlm.models import GPT, GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=3, n_heads=2)
        >>> head_means(GPT(GPTConfig(**sizes)), torch.tensor([[72, 105]])).shape
        torch.Size([3, 2, 8])
    """
    require_ids(ids)
    if mask is not None and (not isinstance(mask, Tensor) or mask.shape != ids.shape):
        found = tuple(mask.shape) if isinstance(mask, Tensor) else type(mask).__name__
        raise InputError(f"mask must say of each token whether it is real, {found} cannot")
    if mask is not None and not mask.any():
        raise InputError(f"no token of the {tuple(ids.shape)} ids is real: there is no mean")
    layers: list[Tensor] = []

    def watch(name: str, value: Tensor) -> Tensor:
        if HEADS.fullmatch(name):
            rows = value.transpose(1, 2)  # (B, T, H, K)
            layers.append((rows.flatten(0, 1) if mask is None else rows[mask]).mean(0))
        return value

    run(model, ids, mask, Watched(watch))
    return torch.stack(layers)


def as_table(model: nn.Module, heads: Heads, batch: int) -> Tensor:
    """Which heads go, (B or 1, L, H)."""
    config: Any = getattr(model, "config", None)
    if not hasattr(config, "n_layers") or not hasattr(config, "n_heads"):
        raise InputTypeError(f"{type(model).__name__} has no configuration with heads")
    L, H = config.n_layers, config.n_heads
    if isinstance(heads, Tensor):
        return require_table(heads, batch, L, H)
    if not isinstance(heads, Iterable):
        found = type(heads).__name__
        raise InputTypeError(f"heads must be pairs (layer, head) or a table, got {found}")
    table = torch.zeros(1, L, H, dtype=torch.bool)
    for pair in heads:
        layer, head = require_pair(pair)
        if not (0 <= layer < L and 0 <= head < H):
            raise InputError(
                f"there is no head ({layer}, {head}): layers are 0 to {L - 1}, "
                f"heads 0 to {H - 1}"
            )
        table[0, layer, head] = True
    return table


def require_pair(pair: Any) -> tuple[int, int]:
    """Refuse what is not a pair of whole numbers."""
    if not isinstance(pair, tuple | list) or len(pair) != 2:
        raise InputError(f"heads holds {pair!r}; give pairs (layer, head)")
    if not all(isinstance(i, Integral) for i in pair):
        raise InputError(f"heads holds {pair!r}; layer and head are whole numbers")
    return pair[0], pair[1]


def require_table(heads: Tensor, batch: int, L: int, H: int) -> Tensor:
    """Refuse a table of heads that is not bool, or of another shape."""
    if heads.dtype != torch.bool:
        found = str(heads.dtype).removeprefix("torch.")
        raise InputTypeError(f"heads must be bool, True = taken away, got {found}")
    table = heads.unsqueeze(0) if heads.ndim == 2 else heads
    if table.ndim != 3 or table.shape[0] not in (1, batch) or table.shape[1:] != (L, H):
        raise InputError(
            f"heads {tuple(heads.shape)} must be ({L}, {H}), or ({batch}, {L}, {H})"
        )
    return table


def require_means(means: Tensor | None, gone: Tensor) -> None:
    """Refuse means that are not one vector for each head."""
    if means is not None and not isinstance(means, Tensor):
        raise InputTypeError(f"means must be a tensor (L, H, K), got {type(means).__name__}")
    if means is not None and (means.ndim != 3 or means.shape[:2] != gone.shape[1:]):
        L, H = gone.shape[1:]
        raise InputError(f"means {tuple(means.shape)} must be ({L}, {H}, d_head)")
    if means is not None and not means.isfinite().all():
        bad = int((~means.isfinite()).sum())
        raise InputError(f"means holds {bad} NaN or infinite numbers; every one must be finite")


POSITIONS = ("rope", "learned", "sinusoidal", "none")


@torch.no_grad()
def losses_without_heads(
    model: GPT, ids: Tensor, heads: Heads = (), means: Tensor | None = None
) -> Float[Tensor, "B targets"]:
    """Ablation loss: of each token of a text but the first, in a model without some heads.

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

    Example:
        >>> from mathlm.models import GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=2, n_heads=2)
        >>> model, ids = GPT(GPTConfig(**sizes)), torch.tensor([[72, 105, 33]])
        >>> logp = model(ids[:, :-1]).log_softmax(-1).gather(-1, ids[:, 1:, None])[..., 0]
        >>> torch.allclose(losses_without_heads(model, ids), -logp, atol=1e-5)  # all heads
        True
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
    """Ablation loss by head: of each token, with each head of some layers taken away alone.

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

    Example:
        >>> from mathlm.models import GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=3, n_heads=2)
        >>> model, ids = GPT(GPTConfig(**sizes)), torch.tensor([[72, 105, 33]])
        >>> found = losses_by_head(model, ids, layers=[1])
        >>> found.shape, torch.allclose(found[0, 1], losses_without_heads(model, ids, [(1, 1)]))
        (torch.Size([1, 2, 1, 2]), True)
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
