"""One model on several ranks: gradients summed by us, by DDP, or sharded by FSDP."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Literal, cast

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from ..errors import ConfigError
from .distributed import answering, is_distributed, rank, ranks, share_from_first, sum_gradients
from .objectives import Batch

Kind = Literal["sum", "ddp", "fsdp"]
KINDS: tuple[Kind, ...] = ("sum", "ddp", "fsdp")


class Applied(nn.Module):
    """A model whose ``forward`` applies a function to it.

    DDP and FSDP act when the forward pass of the outermost module begins and ends. With the
    objective inside that pass, whatever it does with the model is seen by them: parameters used
    directly, methods other than ``forward``, several passes.
    """

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, function: Callable[..., Any], *args: Any) -> Any:
        """``function(model, *args)``."""
        return function(self.model, *args)


class Sharded(Applied):
    """A model of which every rank holds a part, gathered block by block by FSDP."""


class Replicated(DistributedDataParallel):
    """A copy of the model on every rank, whose gradients DDP sums while backward runs."""


def distribute(
    model: nn.Module, kind: Kind = "sum", device: torch.device | str = "cpu"
) -> nn.Module:
    """Prepare ``model`` for several ranks; call it before the optimizer is built.

    All ranks start from the values of rank 0. With one process the model is only moved. The
    kinds compute the same sums of gradients; a parameter that no rank uses has none, but for
    ``fsdp``, where it is zero.

    Args:
        model: Model of this rank, on any device.
        kind: ``sum``: a copy on each rank, the gradients summed after the last micro-batch.
            ``ddp``: the same, but torch's DistributedDataParallel sums while backward runs.
            ``fsdp``: each rank holds a part of every parameter, gradient and optimizer state;
            torch's ``fully_shard`` gathers block after block when it is needed.
        device: Where this rank computes.

    Returns:
        The model itself for ``sum``, else a module around it: :func:`unwrap` gives the model,
        :func:`apply` computes with it.

    Raises:
        ConfigError: If the kind is not known.

    Example:
        >>> model = torch.nn.Linear(2, 1)
        >>> distribute(model) is model  # one process: nothing to share
        True
    """
    if kind not in KINDS:
        raise ConfigError(f"parallel={kind!r} is not known; it is one of {', '.join(KINDS)}")
    model = model.to(device)
    if kind == "sum" or not is_distributed():
        return model
    share_from_first(iter(model.state_dict().values()), "when the model was shared out")
    return replicate(model) if kind == "ddp" else shard(model, torch.device(device))


def replicate(model: nn.Module) -> Replicated:
    """Wrap ``model`` so that DDP sums its gradients; a sum, where DDP itself takes the mean."""
    inner = Applied(model)
    inner.unused = nn.Parameter(torch.empty(0))  # torch warns if it looks and finds none
    whole = Replicated(inner, init_sync=False, find_unused_parameters=True)
    del inner.unused
    whole.broadcast_buffers = False  # as an argument, torch renamed it
    whole.register_comm_hook(None, sum_bucket)
    return whole


def sum_bucket(state: None, bucket: dist.GradBucket) -> torch.futures.Future[Tensor]:
    """Begin the sum of one bucket of gradients over all ranks."""
    work = dist.all_reduce(bucket.buffer(), async_op=True)
    return work.get_future().then(lambda done: done.value()[0])


def shard(model: nn.Module, device: torch.device) -> nn.Module:
    """Wrap ``model`` and shard each of its blocks, then what is left, over all ranks."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh(device.type, (ranks(),))
    whole = Sharded(model)
    for module in [*blocks(model), whole]:
        group = fully_shard(module, mesh=mesh)
        group.set_gradient_divide_factor(1.0)  # the sum, where FSDP itself takes the mean
        group.set_force_sum_reduction_for_comms(True)  # gloo cannot divide in float32
        if hasattr(group, "set_reduce_scatter_unused_params"):
            group.set_reduce_scatter_unused_params(True, recurse=False)
        else:
            reduce_unused(group)
    return whole


def reduce_unused(group: object) -> None:
    """What ``set_reduce_scatter_unused_params(True)`` does, for torch before 2.13.

    There each rank reduces the gradients that it has. A rank that did not use a parameter would
    send less than the others wait for, which aborts gloo and lets NCCL wait; so the gradient of
    that parameter becomes zero first.
    """
    own = cast(Any, group)._get_fsdp_state()._fsdp_param_group
    if own is None:  # a module without parameters
        return
    reduce = own.post_backward

    def post_backward(*unused: Any) -> None:
        gathered = [p for p in own.fsdp_params if hasattr(p, "_unsharded_param")]
        for part in gathered if own.reduce_grads else []:
            weight = part.unsharded_param
            if part.unsharded_accumulated_grad is None and weight.requires_grad:
                weight.grad = torch.zeros_like(weight) if weight.grad is None else weight.grad
        reduce(*unused)

    own.post_backward = post_backward


def blocks(model: nn.Module) -> list[nn.Module]:
    """The members of the outermost ModuleLists in ``model``: the layers of a deep network."""
    found: list[nn.Module] = []
    for module in model.children():
        found += list(module) if isinstance(module, nn.ModuleList) else blocks(module)
    return found


def unwrap(model: nn.Module) -> nn.Module:
    """The model that :func:`distribute` was given, from what it returned; or ``model``.

    Example:
        >>> model = torch.nn.Linear(2, 1)
        >>> unwrap(distribute(model)) is model
        True
    """
    inner = model.module if isinstance(model, Replicated) else model
    return inner.model if isinstance(inner, Applied) else inner


def kind_of(model: nn.Module) -> Kind:
    """How ``model`` was distributed."""
    if isinstance(model, Replicated):
        return "ddp"
    return "fsdp" if isinstance(model, Sharded) else "sum"


def check_kind(model: nn.Module, kind: Kind) -> None:
    """Refuse a model that was not distributed as ``kind`` says; one process needs nothing.

    Raises:
        ConfigError: If it was not.
    """
    if is_distributed() and kind_of(model) != kind:
        raise ConfigError(
            f"parallel={kind!r} but the model is distributed as {kind_of(model)!r}: call "
            f"model = distribute(model, {kind!r}, device) before the optimizer is built"
        )


def apply(model: nn.Module, function: Callable[..., Any], *args: Any) -> Any:
    """``function(unwrap(model), *args)``, gathered and summed as the model needs it."""
    if kind_of(model) == "sum":
        return function(model, *args)
    return model(function, *args)


def reshard(model: nn.Module) -> None:
    """After passes without backward: let go of what FSDP gathered; each rank keeps its part."""
    if kind_of(model) == "fsdp":
        for module in model.modules():
            if hasattr(module, "reshard"):
                cast(Any, module).reshard()


@contextmanager
def gradient_sync(model: nn.Module, last: bool, where: str = "") -> Iterator[None]:
    """Gradient accumulation on several ranks: around the passes of one micro-batch.

    Gradients of the ranks are summed in the last one of a step only.

    Raises:
        RankError: If a rank does not answer; ``where`` says when.
    """
    kind = kind_of(model)
    if kind == "fsdp":
        cast(Any, model).set_requires_gradient_sync(last)
    with answering(where, only_network=True):
        if kind == "ddp" and not last:
            with cast(Replicated, model).no_sync():
                yield
        else:
            yield


def reduce_gradients(model: nn.Module, parameters: list[nn.Parameter], where: str = "") -> None:
    """After the last micro-batch: leave in each gradient its sum over ranks.

    DDP and FSDP did so while backward ran.
    """
    if kind_of(model) == "sum":
        sum_gradients(parameters, where)


def passes(model: nn.Module, parts: list[Batch]) -> list[tuple[Batch, float]]:
    """This rank's share of the micro-batches of a step, each with its weight.

    DDP and FSDP need equally many passes on every rank. A rank that has too few takes one that
    another rank counts, with the weight 0.

    Args:
        model: What :func:`distribute` returned.
        parts: All micro-batches of the step, the same on every rank; at least one.
    """
    own = [(part, 1.0) for part in parts[rank() :: ranks()]]
    missing = -(-len(parts) // ranks()) - len(own)
    return own if kind_of(model) == "sum" else own + [(parts[0], 0.0)] * missing


def dealt(batches: Iterator[Batch] | Any) -> Iterator[tuple[int, Batch, bool]]:
    """Deal batches to the ranks in turn: number, batch, and whether this rank counts it.

    Every rank gets equally many, which FSDP needs; each batch is counted by one rank.
    """
    number, mine = -1, None
    for number, batch in enumerate(batches):
        if number % ranks() == rank():
            mine = number, batch
        if number % ranks() == ranks() - 1 and mine is not None:
            yield *mine, True
            mine = None
    if number >= 0 and (number + 1) % ranks():
        yield (*mine, True) if mine is not None else (number, batch, False)
