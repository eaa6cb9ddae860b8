"""What two processes compute together, each number next to that of one process alone."""

from typing import Any, cast

import torch
from torch import Tensor, nn

from mathlm.layers import Block
from mathlm.train.distributed import all_sum, rank

from .one_step import (
    CONTEXT,
    ROWS,
    WIDTH,
    apart,
    batch,
    gpt,
    gradient,
    layers,
    loss,
)
from .pipeline import bubble_fraction, pipeline_step
from .rings import all_reduce
from .tensor_parallel import cut_block
from .traffic import Traffic, ring_bytes


def data_parallel() -> dict[str, Any]:
    """Each rank takes half of the rows; a ring sums the gradients."""
    ids, targets = batch()
    one, own = nn.Sequential(*layers()), nn.Sequential(*layers())
    whole = loss(one(ids), targets)
    whole.backward()
    half = loss(own(ids.chunk(2)[rank()]), targets.chunk(2)[rank()])
    half.backward()
    values, traffic = gradient(own), Traffic()
    with traffic.counting():
        summed = all_reduce(values)
    found: dict[str, Any] = {"loss": all_sum(half.detach()).item(), "loss_one": whole.item()}
    found |= {"difference": apart(summed, gradient(one)), "bytes": traffic.sent}
    return found | {"theory": ring_bytes("all_reduce", values.nbytes, 2)}


def tensor_parallel() -> dict[str, Any]:
    """Each rank holds half of the heads and hidden units of one block."""
    block, traffic = cast(Block, gpt().blocks[0]), Traffic()
    draws = torch.Generator().manual_seed(2)
    x, dy = torch.randn(2, ROWS, CONTEXT, WIDTH, generator=draws, dtype=torch.float64)
    inputs = [x.clone().requires_grad_() for _ in range(2)]
    share, y_one = cut_block(block), block(inputs[0])
    y_one.backward(dy)
    with traffic.counting():
        y = share(inputs[1])
        y.backward(dy)
    rows = cast(Tensor, block.feed_forward.W_in.weight.grad).chunk(2)[rank()]
    cut = cast(Any, share.feed_forward).part.W_in.weight.grad
    return {
        "output": apart(y, y_one),
        "input_gradient": apart(cast(Tensor, inputs[1].grad), cast(Tensor, inputs[0].grad)),
        "weight_gradient": apart(cut, rows),
        "parameters": sum(p.numel() for p in block.parameters()),
        "parameters_of_a_rank": sum(p.numel() for p in share.parameters()),
        "bytes": traffic.sent,
        "theory": 4 * ring_bytes("all_reduce", x.nbytes, 2),
    }


def pipeline(micro_batches: int = 4) -> dict[str, Any]:
    """Each rank holds two of the four layers; micro-batches pass through both."""
    (ids, targets), parts, traffic = batch(), layers(), Traffic()
    one = nn.Sequential(*layers())
    whole = loss(one(ids), targets)
    whole.backward()
    stage = nn.Sequential(*parts[2 * rank() : 2 * rank() + 2])
    losses = [lambda y, t=t: loss(y, t) for t in targets.chunk(micro_batches)]
    like = torch.empty(ROWS // micro_batches, CONTEXT, WIDTH, dtype=torch.float64)
    with traffic.counting():
        value = pipeline_step(stage, ids.chunk(micro_batches), losses, like)
    expected = gradient(one[2 * rank() : 2 * rank() + 2])
    return {
        "loss": all_sum(torch.tensor(value, dtype=torch.float64)).item(),
        "loss_one": whole.item(),
        "difference": apart(gradient(stage), expected),
        "bytes": traffic.sent,
        "theory": micro_batches * like.nbytes,
        "bubble": bubble_fraction(2, micro_batches),
    }
