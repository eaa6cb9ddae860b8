"""How far apart the vectors of a sequence still are."""

import torch
from torch import Tensor

from mathlm.errors import InputError
from mathlm.shapes import Float


def token_spread(x: Float[Tensor, "*batch T D"]) -> Float[Tensor, "*batch"]:
    """Share of a sequence that its tokens do not have in common; 0 = all vectors are alike.

    Computes::

        spread = ‖X - 1 x̄ᵀ‖_F / ‖X‖_F,   x̄ = 1/T Σ_t x_t

    No other vector in the place of x̄ gives a smaller numerator: 1 x̄ᵀ is the nearest matrix of
    equal rows. For vectors drawn independently with mean 0 the spread is about √(1 - 1/T).
    X is divided by its largest entry first, so that no square overflows or vanishes.

    Args:
        x: One vector for each token.

    Returns:
        A number from 0 to 1 for each sequence.

    Raises:
        InputError: If a sequence is empty, not finite, or all zeros, which has no shares.

    References:
        Dong, Cordonnier and Loukas (2021), arXiv:2103.03404, who measure the numerator in
        another norm.
    """
    if x.ndim < 2 or 0 in x.shape[-2:]:
        raise InputError(
            f"x has shape {tuple(x.shape)}: there are no tokens to compare, (..., T, D)"
        )
    largest = x.detach().abs().amax((-2, -1), keepdim=True)
    bad = ~((largest > 0) & largest.isfinite())
    if bad.any():
        where = bad.nonzero()[0].tolist()
        raise InputError(
            f"the largest entry of sequence {where[:-2]} is {float(largest[tuple(where)])}: "
            "the spread is a share of its size, which must be finite and not 0"
        )
    x = x / largest
    apart = x - x.mean(-2, keepdim=True)
    norm = torch.linalg.matrix_norm
    return norm(apart) / norm(x)
