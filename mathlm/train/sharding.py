"""The state of a model whose parts lie on several ranks: gathered to save, cut to load."""

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor, nn

from ..models.files.weights import unique_tensors
from ..optim.shards import is_sharded, local, part_like, whole
from .distributed import answering, rank
from .parallel import bare


def own_state(model: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers by name, a tied one under its first; shards as they are."""
    model = bare(model)
    if not any(is_sharded(p) for p in model.parameters()):
        return unique_tensors(model)
    first: dict[int, tuple[str, Tensor]] = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        first.setdefault(id(tensor), (name, tensor))
    return {name: tensor.detach() for name, tensor in first.values()}


def gathered(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """``tensors`` in full on rank 0; on the others nothing, though they must ask as well.

    One tensor at a time is put together, so that no rank but the first holds them all.
    """
    with answering("while a checkpoint was put together", only_network=True):
        return {name: full for name, full in full_tensors(tensors) if rank() == 0}


def full_tensors(tensors: Mapping[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
    """Each tensor in full; a shard leaves the device, where only parts may fit."""
    for name, tensor in tensors.items():
        yield name, whole(tensor).cpu() if is_sharded(tensor) else tensor


def copy_full(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Copy ``tensors``, in full and known to fit, into the model or this rank's part of it."""
    state = own_state(model)
    with torch.no_grad():
        for name, tensor in tensors.items():
            local(state[name]).copy_(local(part_like(tensor, state[name])))
