"""Activation patching: a run of a model in which some values are those of another run."""

import difflib
import operator
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import InputError, InputTypeError
from .recording import Watched, run

HEADED = ("q", "k", "v", "weights", "heads")


@dataclass(frozen=True, kw_only=True)
class At:
    """A value of another run, of which only some positions or heads are taken.

    Args:
        value: The whole value of the tap, as :func:`record` gives it.
        positions: Of the tokens, counted from 0, or from -1 backwards; of weights those of the
            queries. None = all.
        heads: Counted from 0, of the taps of attention that have heads (``q``, ``k``, ``v``,
            ``weights``, ``heads``). None = all.

    Example:
        >>> from mathlm.interpret import record
        >>> from mathlm.models import GPT, GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=1, n_heads=2)
        >>> ids, others = torch.tensor([[72, 105]]), torch.tensor([[72, 33]])
        >>> model = GPT(GPTConfig(**sizes))
        >>> last = At(value=record(model, others)["embedding"], positions=[-1])
        >>> torch.allclose(patch(model, ids, {"embedding": last}), model(others))
        True
    """

    value: Tensor
    positions: Sequence[int] | None = None
    heads: Sequence[int] | None = None


def patch(
    model: nn.Module,
    ids: Tensor,
    values: Mapping[str, Tensor | At],
    mask: Tensor | None = None,
) -> Tensor:
    """Activation patching: output of a model that goes on with values of another run.

    What comes behind a patched value is computed anew from it, as far as it is not patched too.
    With the values of :func:`record` for the same ids, or with none, the output is that of the
    recorded run bit for bit; with all values of another run it is the output of that run.

    Args:
        model: As in :func:`record`.
        ids: Token ids (B, T) that the model reads.
        values: By the name of a tap, the value to go on with: a tensor of the shape of the tap,
            or with one row for all rows; or :class:`At`, a part of it.
        mask: Of the model; None = every token is real.

    Returns:
        What the model returns: logits (B, T, V) of a GPT.

    Raises:
        InputError: If the model has no tap of a name, or a value has another length or shape,
            is not finite, or is on another device.
        InputTypeError: If a value is no tensor or of another dtype, positions or heads are no
            whole numbers, values have no names, or as :func:`record`.

    Example:
        >>> from mathlm.interpret import record
        >>> from mathlm.models import GPT, GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=2, n_heads=2)
        >>> ids, others = torch.tensor([[72]]), torch.tensor([[73]])
        >>> model = GPT(GPTConfig(**sizes))
        >>> taps = record(model, others)
        >>> logits = patch(model, ids, {"embedding": taps["embedding"]})
        >>> torch.equal(logits, model(others))  # everything comes from what was patched in
        True

    References:
        Vig et al. (2020), arXiv:2004.12265, section 3.
        Meng et al. (2022), arXiv:2202.05262, section 2.
    """
    if not isinstance(values, Mapping):
        found = type(values).__name__
        raise InputTypeError(f"values must be a dict from names of taps to values, got {found}")
    seen: list[str] = []

    def replace(name: str, value: Tensor) -> Tensor:
        seen.append(name)
        return value if name not in values else replaced(name, value, values[name])

    output = run(model, ids, mask, Watched(replace))
    require_known(values, seen)
    return output


def replaced(name: str, value: Tensor, other: Tensor | At) -> Tensor:
    """A value of a tap with another one in its place, or in a part of it."""
    part = other if isinstance(other, At) else At(value=other)
    require_fitting(name, part.value, value)
    if part.heads is not None and name.rpartition(".")[2] not in HEADED:
        raise InputError(
            f"values[{name!r}] has heads={list(part.heads)}, but the tap has none: heads are "
            f"in {', '.join(HEADED)} of an attention"
        )
    T, here = value.shape[-2], torch.ones(value.shape[-2], 1, dtype=torch.bool)
    if part.positions is not None:
        here = chosen(name, "position", part.positions, T)[:, None]
    if part.heads is not None:
        here = chosen(name, "head", part.heads, value.shape[1])[:, None, None] & here
    return torch.where(here.to(value.device), part.value, value)


def chosen(name: str, kind: str, indices: Sequence[int], size: int) -> Tensor:
    """Which of ``size`` positions or heads were asked for, as bool."""
    if isinstance(indices, int):
        raise InputTypeError(f"{name!r} asks for {kind} {indices}: give a list of {kind}s")
    picked = whole_numbers(name, kind, indices)
    wrong = [i for i in picked if not -size <= i < size]
    if wrong or not picked:
        found = f"{kind} {wrong[0]}" if wrong else f"no {kind}"
        raise InputError(f"{name!r} asks for {found}: there are {size}, 0 to {size - 1}")
    table = torch.zeros(size, dtype=torch.bool)
    table[picked] = True
    return table


def whole_numbers(name: str, kind: str, indices: Sequence[int]) -> list[int]:
    """Indices as numbers; what could be meant in another way is refused, as True for 1."""
    listed = indices.tolist() if hasattr(indices, "tolist") else indices
    found: list[Any] = [*listed] if isinstance(listed, Iterable) else [None]
    try:
        if not any(isinstance(i, bool) for i in found):
            return [operator.index(i) for i in found]
    except TypeError:
        pass
    raise InputTypeError(
        f"{name!r} asks for {kind}s {listed!r:.60}: give a list of whole numbers from 0"
    )


def require_fitting(name: str, value: Tensor, own: Tensor) -> None:
    """Refuse a value that cannot stand in the place of the tap's own."""
    if not isinstance(value, Tensor) or value.dtype != own.dtype:
        found = value.dtype if isinstance(value, Tensor) else type(value).__name__
        raise InputTypeError(f"values[{name!r}] is {found}, the model computes in {own.dtype}")
    if value.device != own.device:
        raise InputError(
            f"values[{name!r}] is on {value.device}, the model on {own.device}: move it there"
        )
    length = own.shape[-2]
    if value.ndim == own.ndim and value.shape[-2] != length:
        raise InputError(
            f"values[{name!r}] is of a run of {value.shape[-2]} tokens, these ids have "
            f"{length}: a value takes the place of the one at the same position, so both "
            "prompts must have as many tokens"
        )
    if value.shape not in (own.shape, (1, *own.shape[1:])):
        raise InputError(
            f"values[{name!r}] {tuple(value.shape)} must be {tuple(own.shape)}, as the tap is"
        )
    if not value.isfinite().all():
        bad = int((~value.isfinite()).sum())
        raise InputError(f"values[{name!r}] holds {bad} NaN or infinite numbers")


def require_known(names: Mapping[str, Tensor | At], seen: Sequence[str]) -> None:
    """Refuse names that no tap of the model has, with those that look most like them."""
    for name in names:
        if name not in seen:
            near = difflib.get_close_matches(name, seen, n=3, cutoff=0.5)
            hint = f"near it are {', '.join(near)}" if near else f"it has {', '.join(seen)}"
            raise InputError(f"the model has no tap {name!r}; {hint}")
