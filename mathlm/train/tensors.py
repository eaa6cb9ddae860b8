"""Tensors of a model and an optimizer, to safetensors and back; nothing is unpickled."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor, nn

from ..errors import CheckpointCorruptError, CheckpointMismatchError

HEADER_LIMIT = 100_000_000  # bytes
PICKLES = (b"PK\x03\x04", b"\x80", b"\x93NUMPY")  # torch.save, pickle, numpy.save


def unique_tensors(model: nn.Module) -> dict[str, Tensor]:
    """The state of ``model``, with a tensor that has several names under the first of them."""
    tensors: dict[str, Tensor] = {}
    seen = set()
    for name, tensor in model.state_dict().items():
        place = (tensor.data_ptr(), tensor.shape, tensor.stride())
        if tensor.numel() == 0 or place not in seen:
            tensors[name] = tensor
        seen.add(place)
    return tensors


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> tuple[dict[str, Tensor], dict]:
    """The state of ``optimizer``: tensors under names such as ``3.m``, and the rest as JSON."""
    state = optimizer.state_dict()
    named = {f"{i}.{k}": v for i, entry in state["state"].items() for k, v in entry.items()}
    tensors = {name: value for name, value in named.items() if isinstance(value, Tensor)}
    numbers = {name: value for name, value in named.items() if name not in tensors}
    return tensors, {"numbers": numbers, "groups": state["param_groups"]}


def to_bytes(tensors: Mapping[str, Tensor]) -> bytes:
    """``tensors`` as the content of a safetensors file."""
    return save({name: alone(tensor.detach().cpu()) for name, tensor in tensors.items()})


def alone(tensor: Tensor) -> Tensor:
    """``tensor`` in memory of its own, in row order."""
    shared = tensor.untyped_storage().nbytes() != tensor.nbytes
    return tensor.clone() if shared else tensor.contiguous()


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Tensors of a safetensors file, checked before memory is taken for them.

    Raises:
        CheckpointCorruptError: If the header is not valid.
        CheckpointMismatchError: If the file is a pickle.
    """
    refuse_pickle(path)
    size = path.stat().st_size
    with open(path, "rb") as file:
        header = int.from_bytes(file.read(8), "little")
    if not 2 <= header <= min(size - 8, HEADER_LIMIT):
        raise CheckpointCorruptError(
            f"{path} has an invalid header: {header:,} bytes in a file of {size:,}"
        )
    try:
        return {name: tensor.clone() for name, tensor in load_file(path).items()}
    except (SafetensorError, ValueError, KeyError) as error:
        raise CheckpointCorruptError(f"{path} has an invalid header: {error}") from error


def refuse_pickle(path: Path) -> None:
    """Refuse files that other programs would unpickle, which can run any code."""
    with open(path, "rb") as file:
        start = file.read(9)
    if start.startswith(PICKLES) and start[8:] != b"{":
        raise CheckpointMismatchError(
            f"{path} contains objects that are not tensors; mathlm does not unpickle: convert "
            "it to safetensors where it was made"
        )


def load_weights(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Copy ``tensors``, known to fit, into the model."""
    with torch.no_grad():
        for name, tensor in unique_tensors(model).items():
            tensor.copy_(tensors[name])


def load_optimizer(
    optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor], rest: Mapping[str, Any]
) -> None:
    """Give ``optimizer`` the state that :func:`optimizer_tensors` returned, known to fit."""
    state: dict[int, dict] = {}
    for name, value in {**tensors, **rest["numbers"]}.items():
        i, key = name.split(".", 1)
        state.setdefault(int(i), {})[key] = value
    groups = [
        {k: tuple(v) if isinstance(v, list) and k != "params" else v for k, v in group.items()}
        for group in rest["groups"]
    ]
    optimizer.load_state_dict({"state": state, "param_groups": groups})


def check_weights_fit(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Refuse tensors that are not those of ``model``, all differences at once."""
    expected = unique_tensors(model)
    missing = [name for name in expected if name not in tensors]
    extra = [name for name in tensors if name not in expected]
    both = [(name, tensors[name], expected[name]) for name in expected if name in tensors]
    shapes = [
        f"{name} {plain(found.shape)} ≠ {plain(own.shape)}"
        for name, found, own in both
        if found.shape != own.shape
    ]
    dtypes = [
        f"{name} {plain(found.dtype)} ≠ {plain(own.dtype)}"
        for name, found, own in both
        if found.dtype != own.dtype
    ]
    refuse("model", missing=missing, unexpected=extra, shape=shapes, dtype=dtypes)


def check_optimizer_fits(
    optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor], rest: Mapping[str, Any]
) -> None:
    """Refuse a state that was not made by such an optimizer over such parameters."""
    found = [len(group["params"]) for group in rest["groups"]]
    own = [len(group["params"]) for group in optimizer.param_groups]
    if found != own:
        raise CheckpointMismatchError(
            f"state does not fit the optimizer: groups of {found} parameters, expected {own}"
        )
    params = [p for group in optimizer.param_groups for p in group["params"]]
    numbered = [(name, t, int(name.split(".")[0])) for name, t in tensors.items()]
    extra = [name for name, _, i in numbered if i >= len(params)]
    shapes = [
        f"{name} {plain(t.shape)} ≠ {plain(params[i].shape)}"
        for name, t, i in numbered
        if i < len(params) and t.ndim and t.shape != params[i].shape
    ]
    refuse("optimizer", unexpected=extra, shape=shapes)


def refuse(what: str, **differences: list[str]) -> None:
    """Raise one error that lists all ``differences``, if there are any."""
    parts = [listed(kind, names) for kind, names in differences.items() if names]
    if parts:
        raise CheckpointMismatchError(f"state does not fit the {what}: {'; '.join(parts)}")


def listed(kind: str, names: list[str]) -> str:
    """The first ten ``names``, and how many more there are."""
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    text = ", ".join(names[:10]) + more
    return (
        f"{kind} {len(names)} ({text})"
        if kind in {"missing", "unexpected"}
        else f"{kind} {text}"
    )


def plain(value: torch.Size | torch.dtype) -> str:
    """A shape as ``(64,32)``, a dtype as ``float32``."""
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    return f"({','.join(map(str, value))})"
