"""The state of an optimizer as tensors and JSON, and back."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from ..errors import CheckpointMismatchError
from ..models.files.weights import named, plain, refuse
from ..optim.shards import part_like


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> tuple[dict[str, Tensor], dict]:
    """The state of ``optimizer``: tensors under names such as ``3.m``, and the rest as JSON."""
    state = optimizer.state_dict()
    values = {f"{i}.{k}": v for i, entry in state["state"].items() for k, v in entry.items()}
    tensors = {name: value for name, value in values.items() if isinstance(value, Tensor)}
    numbers = {name: value for name, value in values.items() if name not in tensors}
    return tensors, {"numbers": numbers, "groups": state["param_groups"]}


def load_optimizer(
    optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor], rest: Mapping[str, Any]
) -> None:
    """Give ``optimizer`` the state that :func:`optimizer_tensors` returned, known to fit.

    The state of a sharded parameter is cut as the parameter is.
    """
    params = [p for group in optimizer.param_groups for p in group["params"]]
    state: dict[int, dict] = {}
    for name, value in {**tensors, **rest["numbers"]}.items():
        i, key = name.split(".", 1)
        cut = isinstance(value, Tensor) and value.ndim > 0
        value = part_like(value, params[int(i)]) if cut else value
        state.setdefault(int(i), {})[key] = value
    groups = [
        {k: tuple(v) if isinstance(v, list) and k != "params" else v for k, v in group.items()}
        for group in rest["groups"]
    ]
    optimizer.load_state_dict({"state": state, "param_groups": groups})


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
    extra = [named(name, t) for name, t, i in numbered if i >= len(params)]
    shapes = [
        f"{name} {plain(t.shape)} ≠ {plain(params[i].shape)}"
        for name, t, i in numbered
        if i < len(params) and t.ndim and t.shape != params[i].shape
    ]
    refuse("state does not fit the optimizer", unexpected=extra, shape=shapes)
