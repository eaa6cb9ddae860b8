"""Recurrent cells: one step each. Weights are laid out as torch's, see each equation."""

import torch
from torch import Tensor
from torch.nn.functional import linear

from ..shapes import Float


def rnn_cell(
    x: Float[Tensor, "*batch D"],
    h: Float[Tensor, "*batch H"],
    W_ih: Float[Tensor, "H D"],
    W_hh: Float[Tensor, "H H"],
    b_ih: Float[Tensor, " H"] | None = None,
    b_hh: Float[Tensor, " H"] | None = None,
) -> Float[Tensor, "*batch H"]:
    """One step of a plain recurrent network.

    Implements eq-rnn-cell::

        h' = tanh(x W_ihᵀ + b_ih + h W_hhᵀ + b_hh)

    Example:
        >>> x, h, one = torch.tensor([2.0]).log(), torch.zeros(1), torch.ones(1, 1)
        >>> rnn_cell(x, h, one, one)  # tanh(ln 2) = 3/5
        tensor([0.6000])

    References:
        Elman (1990), Finding structure in time.
    """
    return torch.tanh(linear(x, W_ih, b_ih) + linear(h, W_hh, b_hh))


def lstm_cell(
    x: Float[Tensor, "*batch D"],
    state: tuple[Float[Tensor, "*batch H"], Float[Tensor, "*batch H"]],
    W_ih: Float[Tensor, "G D"],
    W_hh: Float[Tensor, "G H"],
    b_ih: Float[Tensor, " G"] | None = None,
    b_hh: Float[Tensor, " G"] | None = None,
) -> tuple[Float[Tensor, "*batch H"], Float[Tensor, "*batch H"]]:
    """One step of a long short-term memory, from (h, c) to (h', c').

    Implements eq-lstm-cell::

        (a_i, a_f, a_g, a_o) = x W_ihᵀ + b_ih + h W_hhᵀ + b_hh
        i = σ(a_i),   f = σ(a_f),   g = tanh(a_g),   o = σ(a_o)
        c' = f ⊙ c + i ⊙ g,   h' = o ⊙ tanh(c')

    Example:
        >>> zero, state = torch.zeros(4, 1), (torch.zeros(1), 2 * torch.tensor([2.0]).log())
        >>> h, c = lstm_cell(torch.ones(1), state, zero, zero)  # all gates are σ(0) = 1/2
        >>> h, c.exp()  # tanh(ln 2) / 2, and c = ln 2
        (tensor([0.3000]), tensor([2.]))

    References:
        Hochreiter and Schmidhuber (1997); forget gate: Gers, Schmidhuber and Cummins (2000).
    """
    h, c = state
    a_i, a_f, a_g, a_o = (linear(x, W_ih, b_ih) + linear(h, W_hh, b_hh)).chunk(4, -1)
    i, f, g, o = a_i.sigmoid(), a_f.sigmoid(), a_g.tanh(), a_o.sigmoid()
    c = f * c + i * g
    return o * c.tanh(), c


def gru_cell(
    x: Float[Tensor, "*batch D"],
    h: Float[Tensor, "*batch H"],
    W_ih: Float[Tensor, "G D"],
    W_hh: Float[Tensor, "G H"],
    b_ih: Float[Tensor, " G"] | None = None,
    b_hh: Float[Tensor, " G"] | None = None,
) -> Float[Tensor, "*batch H"]:
    """One step of a gated recurrent unit, with the reset after the product, as in cuDNN.

    Implements eq-gru-cell::

        (a_r, a_z, a_n) = x W_ihᵀ + b_ih,   (u_r, u_z, u_n) = h W_hhᵀ + b_hh
        r = σ(a_r + u_r),   z = σ(a_z + u_z),   n = tanh(a_n + r ⊙ u_n)
        h' = (1 - z) ⊙ n + z ⊙ h

    Cho et al. reset before the product, n = tanh(a_n + (r ⊙ h) W_nᵀ): another function.

    Example:
        >>> zero = torch.zeros(3, 1)  # both gates are σ(0) = 1/2, what could be new is tanh(0)
        >>> gru_cell(torch.ones(1), torch.tensor([8.0]), zero, zero)
        tensor([4.])

    References:
        Cho et al. (2014), arXiv:1406.1078, section 2.3.
    """
    a_r, a_z, a_n = linear(x, W_ih, b_ih).chunk(3, -1)
    u_r, u_z, u_n = linear(h, W_hh, b_hh).chunk(3, -1)
    r, z = (a_r + u_r).sigmoid(), (a_z + u_z).sigmoid()
    n = torch.tanh(a_n + r * u_n)
    return (1 - z) * n + z * h
