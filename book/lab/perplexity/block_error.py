"""How uncertain a mean loss is, from blocks of neighboring tokens."""

import numpy as np
from numpy import ndarray

from mathlm.errors import InputError
from mathlm.shapes import Float


def block_error(losses: Float[ndarray, " N"], length: int) -> float:
    """Standard error of the mean of losses that depend on their neighbors.

    Implements eq-perplexity-error::

        se = √( Σ_m (ℓ̄_m - ℓ̄)² / (M (M - 1)) ),   ℓ̄_m the mean of block m of M

    Blocks must be longer than the losses depend on each other; tokens after the last full
    block are left out. Of the differences of two models on one text it is the error of their
    comparison.

    Args:
        losses: One for each token, in the order of the text.
        length: Tokens of a block.

    Returns:
        The standard error, in the unit of the losses.

    Raises:
        InputError: If there are fewer than two blocks.

    Example:
        >>> round(block_error(np.array([1.0, 1.0, 3.0, 3.0]), 2), 3)
        1.0
    """
    blocks = len(losses) // max(1, length)
    if length < 1 or blocks < 2:
        raise InputError(f"{len(losses)} losses make fewer than two blocks of {length}")
    means = np.asarray(losses)[: blocks * length].reshape(blocks, length).mean(1)
    return float(means.std(ddof=1) / np.sqrt(blocks))


__all__ = ["block_error"]
