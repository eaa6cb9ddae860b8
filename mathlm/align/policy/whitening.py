"""Numbers brought to mean 0 and spread 1."""

from torch import Tensor

from ...errors import InputError
from ...shapes import Bool, Float
from ..masks import counted, require_alike, require_finite

WHITEN_EPS = 1e-4  # as for groups: below it a spread is taken for noise


def whiten(
    x: Float[Tensor, "*batch"], mask: Bool[Tensor, "*batch"] | None = None
) -> Float[Tensor, "*batch"]:
    """Numbers less their mean, divided by their spread, over all that count.

    Computes::

        (x - mean x) / (std x + 1e-4),   std with 1/n

    Equal numbers give exactly 0.

    Args:
        x: Such as the advantages of all tokens of a batch.
        mask: True where a number counts; None = everywhere.

    Returns:
        Mean 0 and spread 1 (but for the 1e-4) over what counts; exactly 0 elsewhere.

    Raises:
        InputError: If less than two numbers count, one is NaN or infinite, or shapes differ.
        InputTypeError: If the mask is not boolean.
    """
    require_alike(x=x, mask=mask)
    chosen = x.flatten() if mask is None else x[mask]
    if len(chosen) < 2:
        raise InputError(f"{len(chosen)} number counts: a spread needs at least two")
    require_finite(chosen, "number", "entry")
    mean = chosen[0] + (chosen - chosen[0]).mean()  # exact if all are equal
    std = (chosen - mean).square().mean().sqrt()
    return counted(x - mean, mask) / (std + WHITEN_EPS)
