"""Reference solution of the project of this page: a sparse autoencoder and its training."""

import torch
from torch import Tensor


def my_code(
    x: Tensor, W_e: Tensor, c: Tensor, W_d: Tensor, b: Tensor, k: int
) -> tuple[Tensor, Tensor]:
    """The k largest features (N, M), and the output (N, D)."""
    f = ((x - b) @ W_e.T + c).relu()
    f = f * (f >= f.topk(k).values[:, -1:])
    return f, f @ W_d + b


def my_training(x: Tensor, M: int, k: int, steps: int = 800) -> Tensor:
    """Directions (M, D) of length 1, learned from vectors (N, D)."""
    start = torch.nn.functional.normalize(torch.randn(M, x.shape[1], device=x.device), dim=1)
    W_e, W_d = start.clone().requires_grad_(), start.clone().requires_grad_()
    c = torch.zeros(M, device=x.device, requires_grad=True)
    b = x.mean(0).clone().requires_grad_()
    optimizer = torch.optim.Adam([W_e, W_d, c, b], lr=1e-2)
    for _ in range(steps):
        batch = x[torch.randint(len(x), (512,), device=x.device)]
        unit = torch.nn.functional.normalize(W_d, dim=1)
        _, out = my_code(batch, W_e, c, unit, b, k)
        loss = (out - batch).square().sum(1).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return torch.nn.functional.normalize(W_d, dim=1).detach()
