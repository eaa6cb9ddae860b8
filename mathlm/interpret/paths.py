"""Path patching: one part's words, heard by one other part alone."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import InputError, InputTypeError
from ..models import GPT
from ..shapes import Float
from .causal_tracing import AT_ONCE, Metric, attend_terms, measured, require_pairs, resumed
from .lens import require_stream
from .logit_attribution import stream_contributions
from .patching import chosen
from .recording import Watched, record

INPUT = re.compile(r"blocks\.(\d+)\.(attention\.[qkv]|feed_forward_out)")
BLOCK = re.compile(r"blocks\.(\d+)\.(attention|feed_forward)")


@dataclass(frozen=True)
class Receiver:
    """Where paths end: the logits (layer L, tap ""), or a tap of a block and some heads."""

    layer: int
    tap: str
    heads: Tensor | None  # True where a head hears, (H,)

    def is_behind(self, sender: str) -> bool:
        """Whether what a part writes to the stream is read by the receiver."""
        if (found := BLOCK.match(sender)) is None:
            return True  # an embedding
        layer, below = int(found[1]), found[2] == "attention" and self.tap == "feed_forward_out"
        return layer < self.layer or (layer == self.layer and below)


@torch.no_grad()
def path_patch(
    model: nn.Module,
    ids: Tensor,
    other_ids: Tensor,
    senders: Sequence[str],
    receiver: str = "logits",
    heads: Sequence[int] | None = None,
) -> Float[Tensor, "B T V"]:
    """Output of a model in which one part hears some others as they speak in another run.

    Computes::

        input of the receiver = x + Σ_senders (w of other_ids - w of ids)

    w is what a sender writes to the stream, x the stream that the receiver reads. Everything
    between them is held as it is for ``ids``: no other head or network hears the change, so it
    goes by the direct path alone. What is behind the receiver is computed anew.

    Args:
        model: A GPT without adapters.
        ids: Prompts (B, T).
        other_ids: Prompts token by token opposite to them.
        senders: Names of :func:`stream_contributions`, such as ``blocks.3.attention.heads.1``.
        receiver: ``logits``; or ``blocks.i.attention.`` with ``q``, ``k`` or ``v``, or
            ``blocks.i.feed_forward_out``.
        heads: Of the receiver's q, k or v; None = all.

    Returns:
        Logits.

    Raises:
        InputTypeError: If the model is not a GPT, a map is no plain linear one, or senders are
            no list of names.
        InputError: If there is no such sender or receiver, a sender is given twice, the
            receiver is not behind a sender, or the prompts differ in length.

    Example:
        >>> from mathlm.models import GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=2, n_heads=2)
        >>> model, ids = GPT(GPTConfig(**sizes)), torch.tensor([[72, 105]])
        >>> same = path_patch(model, ids, ids, ["blocks.0.attention.heads.1"])
        >>> torch.allclose(same, model(ids), atol=1e-5)  # no change
        True

    References:
        Wang et al. (2022), arXiv:2211.00593, section 3.1, who compute feed-forward networks
        on the way anew; Goldowsky-Dill et al. (2023), arXiv:2304.05969.
    """
    gpt = require_stream(model)
    require_pairs(other_ids, ids)
    place = as_receiver(gpt, receiver, heads)
    own, other = stream_contributions(gpt, ids), stream_contributions(gpt, other_ids)
    require_senders(senders, own, place, receiver)
    changes = [other[name] - own[name] for name in senders]
    return heard(gpt, record(gpt, ids), torch.stack(changes).sum(0), place)


@torch.no_grad()
def path_patching(
    model: nn.Module,
    clean_ids: Tensor,
    corrupt_ids: Tensor,
    metric: Metric,
    receiver: str = "logits",
    heads: Sequence[int] | None = None,
) -> Float[Tensor, "layers H"]:
    """What a run says after its receiver heard one head as it speaks in a clean run.

    Each entry is the metric of :func:`path_patch` with one head as its sender, ``corrupt_ids``
    as the prompts and ``clean_ids`` as the others.

    Args:
        model: As in :func:`path_patch`.
        clean_ids: As in :func:`activation_patching`.
        corrupt_ids: As in :func:`activation_patching`.
        metric: As in :func:`activation_patching`.
        receiver: As in :func:`path_patch`.
        heads: As in :func:`path_patch`.

    Returns:
        The metric by layer and head of the sender, of the layers that the receiver is behind.

    Raises:
        InputError, InputTypeError: As :func:`path_patch`; if no head is in front of the
            receiver, or the metric is no finite number.

    Example:
        >>> from mathlm.models import GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=2, n_heads=2)
        >>> clean, corrupt = torch.tensor([[72, 105]]), torch.tensor([[72, 111]])
        >>> def metric(logits):  # what the last position says for one token
        ...     return logits[:, -1, 65]
        >>> path_patching(GPT(GPTConfig(**sizes)), clean, corrupt, metric).shape
        torch.Size([2, 2])
    """
    gpt = require_stream(model)
    require_pairs(clean_ids, corrupt_ids)
    place = as_receiver(gpt, receiver, heads)
    own, other = stream_contributions(gpt, corrupt_ids), stream_contributions(gpt, clean_ids)
    senders = [name for name in own if ".heads." in name and place.is_behind(name)]
    if not senders:
        raise InputError(f"no head is in front of the receiver {receiver!r}")
    taps, found = record(gpt, corrupt_ids), list[Tensor]()
    B, T = corrupt_ids.shape
    for start in range(0, len(senders), n := max(1, AT_ONCE // (B * T))):
        changes = torch.cat([other[name] - own[name] for name in senders[start : start + n]])
        found += [measured(metric, part) for part in heard(gpt, taps, changes, place).split(B)]
    return torch.stack(found).view(-1, gpt.config.n_heads)


def heard(
    model: GPT, taps: Mapping[str, Tensor], change: Float[Tensor, "rows T D"], place: Receiver
) -> Float[Tensor, "rows T V"]:
    """Logits after the receiver alone has heard a change of the stream, of B rows or more."""
    L, i = model.config.n_layers, place.layer
    own = taps[f"blocks.{L - 1}.resid_post" if i == L else f"blocks.{i}.resid_pre"]
    copies = len(change) // len(own)
    stream = own.repeat(copies, 1, 1)
    if i == L:
        return model.head(model.final_norm(stream + change))
    new = received(model, taps, change, place, copies)
    here = (
        torch.ones((), dtype=torch.bool) if place.heads is None else place.heads[:, None, None]
    )

    def hear(name: str, value: Tensor) -> Tensor:
        return torch.where(here.to(value.device), new, value) if name == place.tap else value

    return resumed(model, stream, i, Watched(hear))


def received(
    model: GPT, taps: Mapping[str, Tensor], change: Tensor, place: Receiver, copies: int
) -> Tensor:
    """What the tap of a receiver holds after its input has changed."""
    block: Any = model.blocks[place.layer]
    half = "resid_mid" if place.tap == "feed_forward_out" else "resid_pre"
    x = taps[f"blocks.{place.layer}.{half}"].repeat(copies, 1, 1) + change
    if half == "resid_mid":
        return block.feed_forward(block.feed_forward_norm(x))
    inner: dict[str, Tensor] = {}
    block.attention(block.attention_norm(x), taps=inner, **attend_terms(model, x.shape[1]))
    return inner[place.tap.removeprefix("attention.")]


def as_receiver(model: GPT, name: str, heads: Sequence[int] | None) -> Receiver:
    """The receiver of a name, if the model has it."""
    L, H = model.config.n_layers, model.config.n_heads
    found = INPUT.fullmatch(str(name))
    if name != "logits" and (found is None or int(found[1]) >= L):
        raise InputError(
            f"receiver={name!r} must be 'logits', or 'blocks.i.' with attention.q, "
            f"attention.k, attention.v or feed_forward_out, i from 0 to {L - 1}"
        )
    layer, tap = (L, "") if found is None else (int(found[1]), found[2])
    if heads is None:
        return Receiver(layer, tap, None)
    if not tap.startswith("attention"):
        raise InputError(f"receiver={name!r} has no heads, got heads={list(heads)}")
    return Receiver(layer, tap, chosen(name, "head", heads, H))


def require_senders(
    senders: Sequence[str], parts: Mapping[str, Tensor], place: Receiver, receiver: str
) -> None:
    """Refuse senders that are not there, or that the receiver cannot hear."""
    if isinstance(senders, str):
        raise InputTypeError(f"senders={senders!r} is one name: give a list of names")
    if not isinstance(senders, Sequence) or not all(isinstance(n, str) for n in senders):
        raise InputTypeError(f"senders are a {type(senders).__name__}: give a list of names")
    for name in senders:
        if name not in parts:
            near = get_close_matches(name, parts, 3) or list(parts)[:4]
            raise InputError(f"the model has no sender {name!r}; near it are {', '.join(near)}")
        if not place.is_behind(name):
            raise InputError(f"receiver={receiver!r} is not behind {name!r}: there is no path")
    if not senders or len(set(senders)) < len(senders):
        found = "a sender twice" if senders else "no sender"
        raise InputError(f"{found}: give at least one name, and each of them once")
