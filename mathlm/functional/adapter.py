"""A small network between a layer and the stream that it writes to."""

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor

from ..shapes import Float


def bottleneck(
    x: Float[Tensor, "*batch D"],
    W_down: Float[Tensor, "w D"],
    b_down: Float[Tensor, " w"],
    W_up: Float[Tensor, "D w"],
    b_up: Float[Tensor, " D"],
    activation: Callable[[Tensor], Tensor],
) -> Float[Tensor, "*batch D"]:
    """A vector, and what a narrow network makes of it.

    Implements eq-small-bottleneck::

        y = x + W_up f(W_down x + b_down) + b_up

    Args:
        x: Vectors.
        W_down: Reads w numbers from a vector.
        b_down: Added to them.
        W_up: Writes them back.
        b_up: Added to what is written.
        activation: f, number by number.

    Returns:
        One vector for each input; x itself where W_up and b_up are 0.

    References:
        Houlsby et al. (2019), arXiv:1902.00751, section 2.1.
    """
    return x + F.linear(activation(F.linear(x, W_down, b_down)), W_up, b_up)
