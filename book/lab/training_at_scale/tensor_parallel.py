"""One block cut over several ranks: each computes some of its heads and hidden units."""

import copy
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from mathlm.errors import ConfigError
from mathlm.layers import Block
from mathlm.train.distributed import is_distributed, rank, ranks


class CopyToRanks(torch.autograd.Function):
    """y = x on every rank; so dx is the sum over ranks of dy."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        """Nothing to do: every rank has x."""
        return x.view_as(x)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> Tensor:  # type: ignore[override]
        """Sum over ranks."""
        return summed(dy)


class SumOverRanks(torch.autograd.Function):
    """y = Σ x over ranks, on every rank; so dx is dy."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        """Sum over ranks."""
        return summed(x)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> Tensor:  # type: ignore[override]
        """Nothing to do: every rank has dy."""
        return dy


def summed(x: Tensor) -> Tensor:
    """A copy of ``x``, summed over ranks."""
    x = x.contiguous().clone()
    if is_distributed():
        dist.all_reduce(x)
    return x


class Share(nn.Module):
    """One rank's share of half a block, and the sum of all shares.

    Implements eq-scale-tensor::

        y = Σᵣ B⁽ʳ⁾ f(A⁽ʳ⁾ x) + b   with A cut by rows, B by columns, over ranks r

    f acts on heads or hidden units one by one, so that the ranks need one another only in the
    sum. There is one all-reduce forward and one backward.
    """

    def __init__(self, part: nn.Module, bias: nn.Parameter | None) -> None:
        super().__init__()
        self.part, self.bias = part, bias

    def forward(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """All of y, on every rank."""
        y = SumOverRanks.apply(self.part(CopyToRanks.apply(x), *args, **kwargs))
        return y if self.bias is None else y + self.bias


def cut_block(block: Block) -> Block:
    """This rank's share of ``block``, to be used like the whole.

    Its output, and the gradients of its input, of the normalizations and of the biases of the
    last maps, are those of the whole block on every rank. W_q, W_k, W_v, W_in and W_gate are
    cut by rows, whole heads together; W_o and W_out by columns.

    Args:
        block: The same on every rank; it stays as it is.

    Raises:
        ConfigError: If its heads or hidden units do not divide by the number of ranks.

    References:
        Shoeybi et al. (2019), arXiv:1909.08053, section 3.
    """
    attention, network = block.attention, block.feed_forward
    heads = attention.W_k.out_features // attention.d_head
    for name, value in (("key/value heads", heads), ("hidden", network.W_in.out_features)):
        if value % ranks():
            raise ConfigError(f"{value} {name} do not divide by {ranks()} ranks")
    share = copy.deepcopy(block)
    cut_rows(share.attention, "W_q", "W_k", "W_v")
    cut_rows(share.feed_forward, "W_in", "W_gate")
    share.attention = cut_columns(share.attention, "W_o")  # type: ignore[assignment]
    share.feed_forward = cut_columns(share.feed_forward, "W_out")  # type: ignore[assignment]
    return share


def cut_rows(part: nn.Module, *names: str) -> None:
    """Leave of these maps the outputs that belong to this rank."""
    for name in names:
        whole = getattr(part, name)
        if whole is not None:
            bias = None if whole.bias is None else own_chunk(whole.bias, 0)
            setattr(part, name, linear(own_chunk(whole.weight, 0), bias))


def cut_columns(part: nn.Module, name: str) -> Share:
    """Leave of this map the inputs that belong to this rank; its bias is added to the sum."""
    whole = getattr(part, name)
    setattr(part, name, linear(own_chunk(whole.weight, 1), None))
    return Share(part, whole.bias)


def own_chunk(tensor: Tensor, dim: int) -> Tensor:
    """This rank's n-th of ``tensor`` along one axis, a copy."""
    return tensor.detach().chunk(ranks(), dim)[rank()].clone()


def linear(weight: Tensor, bias: Tensor | None) -> nn.Linear:
    """A linear map with the given weights."""
    rows, columns = weight.shape
    layer = nn.Linear(columns, rows, bias is not None, weight.device, weight.dtype)
    layer.weight = nn.Parameter(weight)
    if bias is not None:
        layer.bias = nn.Parameter(bias)
    return layer
