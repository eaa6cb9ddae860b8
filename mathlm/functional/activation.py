"""Activation functions, applied entry by entry."""

import torch.nn.functional as F
from torch import Tensor

from ..shapes import Float


def relu(x: Float[Tensor, "*s"]) -> Float[Tensor, "*s"]:
    """The positive part.

    Computes::

        max(x, 0),   with derivative 0 at 0

    Example:
        >>> relu(torch.tensor([-2.0, 2.0]))
        tensor([0., 2.])
    """
    return F.relu(x)


def gelu(x: Float[Tensor, "*s"]) -> Float[Tensor, "*s"]:
    """The input times the probability that a standard normal variable is below it.

    Computes::

        x Φ(x) = x (1 + erf(x / √2)) / 2

    Example:
        >>> gelu(torch.tensor([0.0, 1.0]))  # x Φ(x)
        tensor([0.0000, 0.8413])

    References:
        Hendrycks and Gimpel (2016), arXiv:1606.08415, section 2.
    """
    return F.gelu(x)


def gelu_tanh(x: Float[Tensor, "*s"]) -> Float[Tensor, "*s"]:
    """The approximation of :func:`gelu` that GPT-2 was trained with; off by less than 5e-4.

    Computes::

        x (1 + tanh(√(2/π) (x + 0.044715 x³))) / 2

    Example:
        >>> gelu_tanh(torch.tensor([1.0])).round(decimals=3)  # Φ(1) = 0.841
        tensor([0.8410])
    """
    return F.gelu(x, approximate="tanh")


def silu(x: Float[Tensor, "*s"]) -> Float[Tensor, "*s"]:
    """The input times its logistic sigmoid.

    Computes::

        x σ(x) = x / (1 + exp(-x))

    Example:
        >>> x = torch.tensor([3.0]).log()
        >>> silu(x) / x  # σ(ln 3)
        tensor([0.7500])
    """
    return F.silu(x)


def swiglu(gate: Float[Tensor, "*s"], up: Float[Tensor, "*s"]) -> Float[Tensor, "*s"]:
    """One projection of the input, gated by the :func:`silu` of another.

    Computes::

        silu(gate) ⊙ up

    Example:
        >>> gate, up = torch.tensor([3.0]).log(), torch.tensor([2.0])
        >>> swiglu(gate, up) / gate  # σ(ln 3) · 2
        tensor([1.5000])

    References:
        Shazeer (2020), arXiv:2002.05202, eq. (6).
    """
    return F.silu(gate) * up


def geglu_tanh(gate: Float[Tensor, "*s"], up: Float[Tensor, "*s"]) -> Float[Tensor, "*s"]:
    """One projection of the input, gated by the :func:`gelu_tanh` of another.

    Computes::

        gelu_tanh(gate) ⊙ up

    Example:
        >>> geglu_tanh(torch.tensor([0.0, 10.0]), torch.tensor([3.0, 3.0]))  # gelu(10) is 10
        tensor([ 0., 30.])

    References:
        Shazeer (2020), arXiv:2002.05202, eq. (6).
    """
    return gelu_tanh(gate) * up
