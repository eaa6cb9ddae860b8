"""Experts on several ranks: tokens are sent to their expert and back."""

from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

from mathlm.train.distributed import rank, ranks

from .one_step import apart
from .traffic import Traffic


def swap(outgoing: list[Tensor], incoming: list[int]) -> list[Tensor]:
    """All-to-all: the r-th of ``outgoing`` goes to rank r; returns what each rank sent here.

    Args:
        outgoing: Rows for each rank.
        incoming: How many rows come from each.
    """
    width, r = outgoing[0].shape[1:], rank()
    received = [outgoing[r].new_empty((count, *width)) for count in incoming]
    received[r] = outgoing[r].clone()
    others = [peer for peer in range(ranks()) if peer != r]
    sending = [dist.isend(outgoing[peer].contiguous(), peer) for peer in others]
    for peer in others:
        dist.recv(received[peer], peer)
    for message in sending:
        if message is not None:
            message.wait()
    return received


class AllToAll(torch.autograd.Function):
    """Rows go to other ranks; their gradients come back the same way."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, to: list[int], come: list[int]) -> Tensor:
        """``to[r]`` rows go to rank r, in order; ``come[r]`` come from it."""
        ctx.to, ctx.come = to, come
        return torch.cat(swap(list(rows.split(to)), come))

    @staticmethod
    def backward(ctx: Any, dy: Tensor) -> tuple[Tensor, None, None]:  # type: ignore[override]
        """The same, with the counts exchanged."""
        return torch.cat(swap(list(dy.split(ctx.come)), ctx.to)), None, None


def counts_from_all(to: list[int]) -> list[int]:
    """How many rows come from each rank, if ``to[r]`` go from here to rank r."""
    mine = torch.tensor(to)
    table = [torch.empty_like(mine) for _ in range(ranks())]
    dist.all_gather(table, mine)
    return [int(row[rank()]) for row in table]


def expert(x: Tensor, W_in: Tensor, W_out: Tensor) -> Tensor:
    """One feed-forward network, W_out φ(W_in x)."""
    return torch.nn.functional.gelu(x @ W_in.mT) @ W_out.mT


def mixture(x: Tensor, choice: Tensor, gate: Tensor, W_in: Tensor, W_out: Tensor) -> Tensor:
    """Each token through its expert, on one process; W_in (E, F, D), W_out (E, D, F)."""
    y = torch.zeros_like(x)
    for e in range(len(W_in)):
        rows = choice == e
        y[rows] = gate[rows, None] * expert(x[rows], W_in[e], W_out[e])
    return y


def parallel_mixture(
    x: Tensor, choice: Tensor, gate: Tensor, W_in: Tensor, W_out: Tensor, experts: int
) -> Tensor:
    """The same with experts · r / n to experts · (r + 1) / n on rank r, for its own tokens.

    Implements eq-scale-experts::

        2 k (n - 1) / n · T_r D b   bytes sent by a rank in a forward pass, if choices are even

    Two all-to-all: each token to the rank of its expert, and what the expert says back.

    Args:
        x: This rank's tokens, (T / n, D).
        choice: The expert of each, 0 to ``experts`` - 1.
        gate: Its weight.
        W_in: Of this rank's experts, (E / n, F, D).
        W_out: Of this rank's experts, (E / n, D, F).
        experts: E, of all ranks.
    """
    each = experts // ranks()
    order = choice.argsort(stable=True)  # by expert, so by rank
    to = torch.bincount(choice // each, minlength=ranks()).tolist()
    come = counts_from_all(to)
    arrived = AllToAll.apply(x[order], to, come)
    # which expert a token asks for travels with it: here as one more number
    numbers = torch.cat(swap(list(choice[order, None].split(to)), come))[:, 0]
    local, y = numbers - each * rank(), torch.zeros_like(arrived)
    for e in range(each):
        rows = local == e
        y = y.index_put((rows.nonzero()[:, 0],), expert(arrived[rows], W_in[e], W_out[e]))
    back = AllToAll.apply(y, come, to)
    return gate[:, None] * back[order.argsort()]


def expert_parallel(tokens: int = 512, experts: int = 4, width: int = 32) -> dict[str, Any]:
    """Two ranks with half of the tokens and half of the experts each, against one process."""
    draws = torch.Generator().manual_seed(4)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=draws, dtype=torch.float64)

    x, dy = draw(2, tokens, width)
    W_in, W_out = draw(experts, 2 * width, width), draw(experts, width, 2 * width)
    logits = draw(tokens, experts)
    gate, choice = logits.softmax(-1).max(-1)
    whole = [w.clone().requires_grad_() for w in (x, W_in, W_out)]
    y_one = mixture(whole[0], choice, gate, whole[1], whole[2])
    y_one.backward(dy)

    def mine(t: Tensor) -> Tensor:
        return t.detach().chunk(ranks())[rank()].clone()

    own, traffic = [mine(w).requires_grad_() for w in (x, W_in, W_out)], Traffic()
    with traffic.counting():
        y = parallel_mixture(own[0], mine(choice), mine(gate), own[1], own[2], experts)
        y.backward(mine(dy))
    pairs = [
        (a.grad, mine(b.grad)) for a, b in zip(own, whole, strict=True) if b.grad is not None
    ]
    elsewhere = mine(choice) // (experts // ranks()) != rank()
    here = torch.cat([c // (experts // ranks()) == rank() for i, c in
                      enumerate(choice.chunk(ranks())) if i != rank()])  # fmt: skip
    rows = int(elsewhere.sum()) + int(here.sum())  # sent to be computed, and sent back
    return {
        "output": apart(y, mine(y_one)),
        "gradient": max(apart(a, b) for a, b in pairs if a is not None),
        "sent_rows": int(elsewhere.sum()),
        "bytes": traffic.sent,
        "theory": 2 * rows * width * 8,
    }
