"""Checkpoints of a model of which a part is frozen: that part stays out, its hash is kept."""

import hashlib
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import CheckpointMismatchError
from ..models.files.weights import alone
from ..optim.shards import is_sharded
from .parallel import bare
from .sharding import own_state


def trained_state(model: nn.Module) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The state of a model in two parts: what a checkpoint must hold, and what is frozen.

    Frozen are parameters without ``requires_grad``, if others have it. Of a sharded model, and
    of one that is not trained at all, everything is held.
    """
    state, parameters = own_state(model), dict(bare(model).named_parameters())
    trained = any(p.requires_grad for p in parameters.values())
    if not trained or any(is_sharded(p) for p in parameters.values()):
        return state, {}
    frozen = {n for n, p in parameters.items() if not p.requires_grad} & state.keys()
    held = {name: t for name, t in state.items() if name not in frozen}
    return held, {name: state[name] for name in frozen}


def expected_state(
    model: nn.Module, weights: Mapping[str, Tensor], frozen: str | None
) -> dict[str, Tensor]:
    """The part of a model's state that a checkpoint with these weights is to fill.

    Args:
        model: The model that is loaded into.
        weights: What the checkpoint holds.
        frozen: Hash of what it does not hold; None = it holds everything.

    Raises:
        CheckpointMismatchError: If the model has other values than the frozen ones were.
    """
    state = own_state(model)
    if frozen is None:
        return state
    rest = {name: t for name, t in state.items() if name not in weights}
    if tensors_sha256(rest) != frozen:
        raise CheckpointMismatchError(
            f"the checkpoint holds the {len(weights)} tensors that were trained; the other "
            f"{len(rest)} of this model are not those that were frozen then: begin with the "
            "same model, prepared in the same way"
        )
    return {name: t for name, t in state.items() if name in weights}


def tensors_sha256(tensors: Mapping[str, Tensor]) -> str:
    """Hash of names, shapes, dtypes and bytes, whatever the order."""
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
        values: Any = alone(tensor.detach().cpu()).flatten().view(torch.uint8).numpy()
        digest.update(memoryview(values))
    return digest.hexdigest()
