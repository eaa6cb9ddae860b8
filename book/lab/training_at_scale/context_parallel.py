"""Attention over a sequence that is cut over ranks: keys and values go around a ring."""

import math
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from mathlm.train.distributed import rank, ranks

from .one_step import apart
from .traffic import Traffic


def shifted(x: Tensor, step: int) -> Tensor:
    """What the rank ``step`` places before this one holds; all ranks call it together."""
    x, received = x.contiguous(), torch.empty_like(x)
    sending = dist.isend(x, (rank() + step) % ranks())
    dist.recv(received, (rank() - step) % ranks())
    if sending is not None:
        sending.wait()
    return received


class RingShift(torch.autograd.Function):
    """y on a rank is x of the rank before it; so dx is dy of the rank after it."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        """Send to the next rank."""
        return shifted(x, 1)

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> Tensor:  # type: ignore[override]
        """Send back to the rank before."""
        return shifted(dy, -1)


def ring_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Causal attention of this rank's queries over the keys and values of all ranks.

    Implements eq-scale-context::

        ℓ' = log(e^ℓ + Σ_j e^{s_j}),   y' = e^{ℓ - ℓ'} y + Σ_j e^{s_j - ℓ'} v_j

    one piece of keys and values after the other, as they come around the ring. Rank r holds
    the r-th part of the sequence.

    Args:
        q: This rank's queries, (T / n, K).
        k: This rank's keys, (T / n, K).
        v: This rank's values, (T / n, K).

    Returns:
        This rank's outputs, (T / n, K).

    References:
        Liu et al. (2023), arXiv:2310.01889.
    """
    n, r, length = ranks(), rank(), len(q)
    causal = torch.ones(length, length, dtype=torch.bool, device=q.device).tril()
    piece, unused = torch.stack([k, v]), q.new_zeros(())
    y, total = torch.zeros_like(q), q.new_full((length, 1), -math.inf)
    for step in range(n):
        if step:
            piece = RingShift.apply(piece)
        if step > r:  # a later part of the sequence: masked whole
            unused = unused + 0.0 * piece.sum()  # so that its gradient goes on around the ring
            continue
        scores = q @ piece[0].mT / math.sqrt(q.shape[-1])
        scores = scores if step else scores.masked_fill(~causal, -math.inf)
        new = torch.logaddexp(total, scores.logsumexp(-1, keepdim=True))
        y = torch.exp(total - new) * y + torch.exp(scores - new) @ piece[1]
        total = new
    return y + unused


def context_parallel(length: int = 128, width: int = 32) -> dict[str, Any]:
    """Two ranks with half of a sequence each, against one process that has all of it."""
    draws = torch.Generator().manual_seed(3)
    q, k, v, dy = torch.randn(4, length, width, generator=draws, dtype=torch.float64)
    whole = [x.clone().requires_grad_() for x in (q, k, v)]
    y_one = torch.nn.functional.scaled_dot_product_attention(
        *(x[None, None] for x in whole), is_causal=True
    )[0, 0]
    y_one.backward(dy)
    own = [x.chunk(ranks())[rank()].clone().requires_grad_() for x in (q, k, v)]
    traffic = Traffic()
    with traffic.counting():
        y = ring_attention(*own)
        y.backward(dy.chunk(ranks())[rank()])
    part = [x.grad.chunk(ranks())[rank()] for x in whole if x.grad is not None]
    gaps = [apart(a.grad, b) for a, b in zip(own, part, strict=True) if a.grad is not None]
    return {
        "output": apart(y, y_one.chunk(ranks())[rank()]),
        "gradient": max(gaps),
        "bytes": traffic.sent,
        "theory": 2 * (ranks() - 1) * torch.stack(own[:2]).nbytes,
    }
