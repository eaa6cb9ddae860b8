"""How strongly each position of the output depends on each position of the input."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from ..errors import InputError, InputTypeError
from ..shapes import Float


def influence(f: Callable[[Tensor], Tensor], x: Float[Tensor, "S D"]) -> Float[Tensor, "T S"]:
    """Norm of each block of the Jacobian of a map from one sequence to another.

    Computes::

        influence[t, s] = |∂y_t / ∂x_s|_F,   y = f(x)

    It is exactly 0 where y_t does not depend on x_s: a causal map has a lower triangular
    matrix. One row is computed at a time, from (D', S, D) numbers.

    Args:
        f: Map of (S, D) to (T, D'); wrap one that wants a batch: ``lambda x: f(x[None])[0]``.
        x: The point at which to differentiate.

    Returns:
        One number for each position t of y and s of x, without a graph.

    Raises:
        InputError: If x or f(x) has not two axes, is empty, or holds NaN or infinity.
        InputTypeError: If x is not floating-point, or f(x) is no tensor.

    Example:
        >>> influence(lambda x: x.cumsum(0), torch.ones(3, 1))  # causal
        tensor([[1., 0., 0.],
                [1., 1., 0.],
                [1., 1., 1.]])
    """
    if not x.is_floating_point():
        raise InputTypeError(f"x has dtype {x.dtype}; a Jacobian needs floating-point numbers")
    _require_sequence(x, "x")
    with sdpa_kernel(SDPBackend.MATH):  # the others have no rule for many vectors at once
        y, pull_back = torch.func.vjp(f, x.detach())
    if not isinstance(y, Tensor):
        raise InputTypeError(f"f(x) is a {type(y).__name__}; it must return one tensor")
    _require_sequence(y, "f(x)")
    return torch.stack([_row(pull_back, y, t) for t in range(len(y))]).detach()


def _row(pull_back: Callable, y: Tensor, t: int) -> Tensor:
    """Norms of ∂y_t / ∂x_s for all s."""
    directions = torch.zeros(y.shape[1], *y.shape, dtype=y.dtype, device=y.device)
    directions[:, t] = torch.eye(y.shape[1], dtype=y.dtype, device=y.device)
    (blocks,) = torch.vmap(pull_back)(directions)  # (D', S, D)
    return torch.linalg.vector_norm(blocks, dim=(0, 2))


def _require_sequence(z: Tensor, name: str) -> None:
    if z.ndim != 2 or z.numel() == 0:
        raise InputError(
            f"{name} has shape {tuple(z.shape)}, expected (positions, features), neither 0"
        )
    if not z.isfinite().all():
        count = int((~z.isfinite()).sum())
        raise InputError(f"{name} holds {count} NaN or infinite entries; all must be finite")
