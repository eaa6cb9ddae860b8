"""Tensors of which each rank holds a part, as ``fully_shard`` makes them."""

import sys
from collections.abc import Iterable

import torch.distributed as dist
from torch import Tensor


def is_sharded(tensor: Tensor) -> bool:
    """Whether other ranks hold parts of ``tensor``.

    The module of torch that knows takes a second to import: unless somebody else did, there is
    no such tensor.
    """
    module = sys.modules.get("torch.distributed.tensor")
    return module is not None and isinstance(tensor, module.DTensor)


def local(tensor: Tensor) -> Tensor:
    """The part of ``tensor`` that this rank holds, in place; all of it if it is not sharded."""
    return tensor.to_local() if is_sharded(tensor) else tensor  # type: ignore[attr-defined]


def whole(tensor: Tensor) -> Tensor:
    """All of ``tensor``; every rank that holds a part must ask, in the same order."""
    return tensor.full_tensor() if is_sharded(tensor) else tensor  # type: ignore[attr-defined]


def part_like(tensor: Tensor, like: Tensor) -> Tensor:
    """``tensor``, known in full to every rank, sharded as ``like`` is; needs no traffic."""
    if not is_sharded(like):
        return tensor
    from torch.distributed.tensor import distribute_tensor

    mesh, placements = like.device_mesh, like.placements  # type: ignore[attr-defined]
    tensor = tensor.to(like.device)
    return distribute_tensor(tensor, mesh, placements, src_data_rank=None)


def keep_part(part: Tensor, tensor: Tensor) -> None:
    """Copy into ``part`` what this rank holds of ``tensor``, if the two are not the same."""
    if is_sharded(part):
        local(part).copy_(local(part_like(tensor, part)))


def sum_over_shards(values: Tensor, tensors: Iterable[Tensor]) -> Tensor:
    """Sum ``values`` in place over the ranks that hold parts of ``tensors``."""
    meshes = {t.device_mesh for t in tensors if is_sharded(t)}  # type: ignore[attr-defined]
    for mesh in meshes:
        dist.all_reduce(values, group=mesh.get_group())
    return values
