"""Training a part of a model: the rest stays as it is."""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import TypeVar

from torch import nn

from ..errors import InputError, InputTypeError
from ..layers.quantization import QuantizedLinear
from .targets import require_model

Model = TypeVar("Model", bound=nn.Module)


def freeze(model: Model, but: object = ()) -> Model:
    """Freeze all parameters of a model but the named ones, which are trained.

    Computes::

        requires_grad(θ) = a name in ``but`` is a run of parts of the name of θ

    "blocks.3" is a block, "final_norm" a layer, "blocks.3.attention.W_q" one map, "bias" every
    bias and "gamma" every scale of a norm. A tied head is a second name of the token embedding
    and is trained under the first one.

    Args:
        model: Changed in place; ``model.requires_grad_(True)`` trains all of it again.
        but: Names of parameters, of modules, or of parts of them.

    Returns:
        The model.

    Raises:
        InputTypeError: If ``but`` is one string, or holds something else than strings.
        InputError: If a name matches nothing, a second name of a tied parameter only, or a
            parameter that is of integers. Nothing has changed then.

    Example:
        >>> layer = freeze(nn.Linear(2, 3), but=["bias"])
        >>> [name for name, p in layer.named_parameters() if p.requires_grad]
        ['bias']
    """
    names = _names(but)
    parameters = dict(model.named_parameters())
    trained = {name: [n for n in parameters if named_by(name, n)] for name in names}
    for name, found in trained.items():
        if not found:
            raise InputError(_no_match(model, name))
    kept = {n for found in trained.values() for n in found}
    for n in sorted(kept):
        if not parameters[n].is_floating_point():
            raise InputError(f"{n} holds {parameters[n].dtype}, which cannot be trained")
    for n, parameter in parameters.items():
        parameter.requires_grad_(n in kept)
    return model


def named_by(name: str, parameter: str) -> bool:
    """Whether the parts of ``name`` stand one after another in the name of a parameter."""
    return f".{name}." in f".{parameter}."


def _names(but: object) -> list[str]:
    if isinstance(but, str) or not isinstance(but, Iterable):
        raise InputTypeError(f"but={but!r} is no list of names: write but=[{but!r}]")
    names = list(but)
    for name in names:
        if not isinstance(name, str):
            raise InputTypeError(f"but holds {name!r}; give names, such as 'blocks.3'")
    return names


def _no_match(model: nn.Module, name: str) -> str:
    """Why a name trains nothing, and what comes near."""
    every = dict(model.named_parameters(remove_duplicate=False))
    first = {id(p): n for n, p in model.named_parameters()}
    tied = [(n, first[id(p)]) for n, p in every.items() if named_by(name, n)]
    if tied:
        second, own = tied[0]
        return f"{second} is the same tensor as {own}: name that one, in place of {name!r}"
    parts = {".".join(n.split(".")[i:j]) for n in every for i, j in _runs(len(n.split(".")))}
    near = get_close_matches(name, sorted(parts - {""}), n=4, cutoff=0.5)
    known = near or list(dict.fromkeys(n.split(".")[0] for n in first.values()))
    return f"but={name!r} matches no parameter; near it: {', '.join(known) or 'nothing'}"


def _runs(length: int) -> list[tuple[int, int]]:
    return [(i, j) for i in range(length) for j in range(i + 1, length + 1)]


def trainable(model: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters that have gradients, by name; what is shared under its first name.

    Example:
        >>> list(trainable(torch.nn.Linear(3, 2)))
        ['weight', 'bias']
    """
    require_model(model)
    return {name: p for name, p in model.named_parameters() if p.requires_grad}


def count_trainable(model: nn.Module) -> tuple[int, int]:
    """How many numbers of a model are trained, and how many there are.

    Parameters that are shared count once, weights that are codes once each. Low-rank updates
    of rank r train Σ r (I + O) numbers over the maps that have them.

    Args:
        model: Any.

    Returns:
        Numbers that have gradients, and all numbers, adapters included.

    Example:
        >>> count_trainable(torch.nn.Linear(3, 2))  # 3 · 2 weights and 2 biases
        (8, 8)
    """
    require_model(model)
    trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    everything = sum(p.numel() for p in model.parameters())
    for module in model.modules():
        if isinstance(module, QuantizedLinear):
            everything += module.in_features * module.out_features
            everything += 0 if module.bias is None else module.bias.numel()
    return trained, everything
