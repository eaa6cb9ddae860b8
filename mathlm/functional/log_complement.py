"""The logarithm of what is left of a probability."""

import math

import torch
from torch import Tensor

from ..errors import InputError
from ..shapes import Float


def log1mexp(x: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
    """Log of one minus a probability, from the log of the probability.

    Computes::

        log(1 - eˣ) = log(-expm1(x))    if x > -log 2
                      log1p(-exp(x))    otherwise

    Both are the same number; each is accurate where the other loses digits.

    Args:
        x: Log-probability, below 0 [nats].

    Returns:
        log(1 - eˣ) [nats].

    Raises:
        InputError: If an entry is 0 or above, where the logarithm is -∞ or none, or NaN.

    References:
        Mächler (2012), Accurately computing log(1 - exp(-|a|)), the Rmpfr package, eq. (7).
    """
    if not (x < 0).all():
        wrong = x[~(x < 0)].flatten()[0].item()
        raise InputError(f"log1mexp needs x < 0, got {wrong}: log(1 - exp(x)) is not finite")
    near = torch.log(-torch.expm1(x))
    far = torch.log1p(-torch.exp(x.clamp(max=-math.log(2))))  # its gradient at 0 is infinite
    return torch.where(x > -math.log(2), near, far)


__all__ = ["log1mexp"]
