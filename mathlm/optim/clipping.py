"""The norm of a gradient, and a bound on it."""

import math
import sys
from collections.abc import Iterable

import torch
import torch.distributed as dist
from torch import Tensor, nn

from ..errors import ConfigError, NonFiniteLossError


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


def local_parts(tensors: list[Tensor]) -> list[Tensor]:
    """:func:`local` of each of ``tensors``."""
    module = sys.modules.get("torch.distributed.tensor")
    kinds = {*map(type, tensors)}  # one look at each kind, not at each tensor
    if module is None or not any(issubclass(kind, module.DTensor) for kind in kinds):
        return tensors
    return [local(t) for t in tensors]


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


def grad_norm(parameters: Iterable[nn.Parameter]) -> Tensor:
    """Euclidean norm of the gradient, all parameters taken as one vector.

    Computes::

        ‖g‖ = √(Σₚ ‖gₚ‖²)

    A parameter without a gradient counts as zero. Of a sharded gradient all parts count, on
    every rank.

    Example:
        >>> w = torch.nn.Parameter(torch.zeros(2))
        >>> w.grad = torch.tensor([3.0, 4.0])
        >>> grad_norm([w])
        tensor(5.)
    """
    gradients = [p.grad for p in parameters if p.grad is not None]
    shards = [g for g in gradients if is_sharded(g)]
    own = norm_of([g for g in gradients if not is_sharded(g)])
    if not shards:
        return own
    squares = sum_over_shards(norm_of([local(g) for g in shards]).square(), shards)
    return (squares + own.to(squares).square()).sqrt()


def norm_of(tensors: list[Tensor]) -> Tensor:
    """Euclidean norm of ``tensors`` taken as one vector."""
    norms = [torch.linalg.vector_norm(t) for t in tensors]
    return torch.linalg.vector_norm(torch.stack(norms)) if norms else torch.zeros(())


def clip_grad_norm(parameters: Iterable[nn.Parameter], max_norm: float = math.inf) -> Tensor:
    """Shorten the gradient in place to ``max_norm``; keep its direction.

    Implements eq-clip-norm::

        g ← g min(1, max_norm / ‖g‖)

    A gradient that is short enough is left as it is, bit for bit.

    Args:
        parameters: Parameters whose gradients are clipped.
        max_norm: Largest norm allowed; infinity only measures.

    Returns:
        ‖g‖ before clipping.

    Raises:
        ConfigError: Unless ``max_norm`` is positive.
        NonFiniteLossError: If ‖g‖ is NaN or infinite; the gradients are left as they are.

    Example:
        >>> w = torch.nn.Parameter(torch.zeros(2))
        >>> w.grad = torch.tensor([3.0, 4.0])
        >>> clip_grad_norm([w], max_norm=1.0), w.grad
        (tensor(5.), tensor([0.6000, 0.8000]))
    """
    if not max_norm > 0:
        raise ConfigError(f"max_norm={max_norm} must be positive")
    parameters = list(parameters)
    norm = grad_norm(parameters)
    if not norm.isfinite():
        raise NonFiniteLossError(
            f"the norm of the gradient is {norm.item()}, {name_bad(parameters)}"
        )
    if norm > max_norm:
        for p in parameters:
            if p.grad is not None:
                local(p.grad).mul_(max_norm / norm)
    return norm


def name_bad(parameters: list[nn.Parameter]) -> str:
    """How many gradients hold NaN or infinity, and the shape of the first."""
    gradients = [p.grad for p in parameters if p.grad is not None]
    bad_entries = torch.stack([(~local(g).isfinite()).sum() for g in gradients])
    counts = sum_over_shards(bad_entries, gradients).tolist()
    bad = [g for g, count in zip(gradients, counts, strict=True) if count]
    if not bad:
        return "though every entry is finite: the sum of squares overflows"
    return (
        f"from {len(bad)} of {len(parameters)} parameters, first of shape {tuple(bad[0].shape)}"
    )
