"""Recurrent layers over whole sequences, stacked; batch first."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from .. import functional as F
from ..errors import ConfigError, InputError, InputTypeError
from ..shapes import Float
from .cache import require_past, require_rows

Array = Float[Tensor, "..."]
State = tuple[Tensor, ...]  # (h, c) of an LSTM, (h,) of the others, each (L, B, H)


class RNN(nn.RNN):
    """Plain recurrent layers, each reading the states of the one below.

    Computes::

        hₜ = tanh(xₜ W_ihᵀ + b_ih + hₜ₋₁ W_hhᵀ + b_hh),   yₜ = hₜ of the last layer

    Parameters have the names, shapes and first draw of ``torch.nn.RNN``, so that the state
    of either loads into the other.

    Args:
        d_in: Width of the inputs, D.
        d_hidden: Width of the states, H.
        n_layers: Layers, L.
        bias: Whether there are b_ih and b_hh.
        dropout: Probability of dropping an entry between two layers, in training.
        fused: Whether one compiled kernel of torch runs all steps; otherwise they run one by
            one, as they always do with a mask. The result is the same up to rounding. On CUDA
            the kernel gives gradients in training mode only, and no second derivatives.

    Raises:
        ConfigError: If a size is not positive, or dropout is out of range or has no place.

    Example:
        >>> y, state = RNN(d_in=4, d_hidden=8)(torch.randn(2, 5, 4))
        >>> y.shape
        torch.Size([2, 5, 8])
    """

    def __init__(
        self,
        d_in: int,
        d_hidden: int,
        n_layers: int = 1,
        bias: bool = True,
        dropout: float = 0.0,
        fused: bool = True,
    ) -> None:
        require_layers(d_in, d_hidden, n_layers, dropout)
        super().__init__(d_in, d_hidden, n_layers, bias=bias, batch_first=True, dropout=dropout)
        self.fused = fused

    def forward(  # type: ignore[override]
        self, x: Array, state: Array | None = None, mask: Tensor | None = None
    ) -> tuple[Float[Tensor, "B T H"], Float[Tensor, "L B H"]]:
        """Outputs of the last layer and the final states of all; see :func:`read_steps`."""
        parts = require_sequence(self, x, () if state is None else (state,), mask)
        if self.fused and mask is None:
            return super().forward(x, parts[0])
        y, (h,) = read_steps(self, _single(F.rnn_cell), x, parts, mask)
        return y, h


class GRU(nn.GRU):
    """Layers of gated recurrent units, each reading the states of the one below.

    Computes::

        hₜ = gru_cell(xₜ, hₜ₋₁),   yₜ = hₜ of the last layer

    The equation is at :func:`mathlm.functional.gru_cell`. Parameters have the names, shapes and
    first draw of ``torch.nn.GRU``.

    Args:
        d_in: Width of the inputs, D.
        d_hidden: Width of the states, H.
        n_layers: Layers, L.
        bias: Whether there are b_ih and b_hh.
        dropout: Probability of dropping an entry between two layers, in training.
        fused: Whether one compiled kernel of torch runs all steps, as in :class:`RNN`.

    Raises:
        ConfigError: If a size is not positive, or dropout is out of range or has no place.

    Example:
        >>> y, state = GRU(d_in=4, d_hidden=8)(torch.randn(2, 5, 4))
        >>> y.shape
        torch.Size([2, 5, 8])
    """

    def __init__(
        self,
        d_in: int,
        d_hidden: int,
        n_layers: int = 1,
        bias: bool = True,
        dropout: float = 0.0,
        fused: bool = True,
    ) -> None:
        require_layers(d_in, d_hidden, n_layers, dropout)
        super().__init__(d_in, d_hidden, n_layers, bias=bias, batch_first=True, dropout=dropout)
        self.fused = fused

    def forward(  # type: ignore[override]
        self, x: Array, state: Array | None = None, mask: Tensor | None = None
    ) -> tuple[Float[Tensor, "B T H"], Float[Tensor, "L B H"]]:
        """Outputs of the last layer and the final states of all; see :func:`read_steps`."""
        parts = require_sequence(self, x, () if state is None else (state,), mask)
        if self.fused and mask is None:
            return super().forward(x, parts[0])
        y, (h,) = read_steps(self, _single(F.gru_cell), x, parts, mask)
        return y, h


class LSTM(nn.LSTM):
    """Layers of long short-term memory, each reading the states of the one below.

    Computes::

        (hₜ, cₜ) = lstm_cell(xₜ, (hₜ₋₁, cₜ₋₁)),   yₜ = hₜ of the last layer

    The equation is at :func:`mathlm.functional.lstm_cell`. Parameters have the names, shapes
    and first draw of ``torch.nn.LSTM``.

    Args:
        d_in: Width of the inputs, D.
        d_hidden: Width of the states, H.
        n_layers: Layers, L.
        bias: Whether there are b_ih and b_hh.
        dropout: Probability of dropping an entry between two layers, in training.
        fused: Whether one compiled kernel of torch runs all steps, as in :class:`RNN`.
        forget_bias: What is added to a_f at the start, b_ih + b_hh = forget_bias: 1 or more
            opens the gate. None = both are drawn like the other weights.

    Raises:
        ConfigError: If a size is not positive, dropout is out of range or has no place, or
            there is a ``forget_bias`` without a bias or one that is not finite.

    Example:
        >>> y, state = LSTM(d_in=4, d_hidden=8)(torch.randn(2, 5, 4))
        >>> y.shape
        torch.Size([2, 5, 8])

    References:
        Forget bias: Jozefowicz, Zaremba and Sutskever (2015), section 4.
    """

    def __init__(
        self,
        d_in: int,
        d_hidden: int,
        n_layers: int = 1,
        bias: bool = True,
        dropout: float = 0.0,
        fused: bool = True,
        forget_bias: float | int | None = None,
    ) -> None:
        require_layers(d_in, d_hidden, n_layers, dropout)
        if forget_bias is not None and not bias:
            raise ConfigError(f"forget_bias={forget_bias} needs bias=True: it is a part of it")
        if forget_bias is not None and not math.isfinite(forget_bias):
            raise ConfigError(f"forget_bias={forget_bias} must be finite")
        self.forget_bias = forget_bias
        super().__init__(d_in, d_hidden, n_layers, bias=bias, batch_first=True, dropout=dropout)
        self.fused = fused

    def forward(  # type: ignore[override]
        self, x: Array, state: State | None = None, mask: Tensor | None = None
    ) -> tuple[Float[Tensor, "B T H"], tuple[Float[Tensor, "L B H"], Float[Tensor, "L B H"]]]:
        """Outputs of the last layer and the final (h, c) of all; see :func:`read_steps`."""
        parts = require_sequence(self, x, () if state is None else tuple(state), mask)
        if self.fused and mask is None:
            return super().forward(x, parts)  # type: ignore[arg-type]
        y, (h, c) = read_steps(self, F.lstm_cell, x, parts, mask)
        return y, (h, c)

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        super().reset_parameters()
        if self.forget_bias is not None:
            H = self.hidden_size
            for i in range(self.num_layers):
                getattr(self, f"bias_ih_l{i}")[H : 2 * H] = self.forget_bias
                getattr(self, f"bias_hh_l{i}")[H : 2 * H] = 0.0


class StateCache:
    """What a recurrent network remembers of the text: one state, however long the text is.

    Give it to a model with the prompt, then with each new token: the model reads only the new
    tokens, and its logits are those of the whole text.

    Args:
        batch: B, rows.

    Attributes:
        state: Of all layers, as the layers return it; None = nothing was read.
        length: Steps that were read [tokens].

    Example:
        >>> from mathlm.models import Recurrent
        >>> model, ids = Recurrent(vocab_size=256, d_model=16), torch.tensor([list(b"To be")])
        >>> cache = StateCache(batch=1)
        >>> with torch.no_grad():
        ...     first, rest = model(ids[:, :2], cache=cache), model(ids[:, 2:], cache=cache)
        >>> torch.allclose(rest, model(ids)[:, 2:], atol=1e-5), cache.length
        (True, 5)
    """

    def __init__(self, batch: int) -> None:
        self.batch, self.length = batch, 0
        self.state: Any = None

    def remember(self, state: Any, steps: int) -> None:
        """Take up the state after ``steps`` more steps.

        Raises:
            InputError: If it needs a gradient, which a cache would lose.
        """
        if any(
            part.requires_grad for part in (state if isinstance(state, tuple) else (state,))
        ):
            raise InputError(
                "a state cache holds no gradients: run under torch.no_grad(), or hand the "
                "state on yourself"
            )
        self.state, self.length = state, self.length + steps

    def rewind(self, length: int) -> None:
        """Forget all tokens behind the first ``length``: possible only for all or for none.

        Raises:
            InputError: If some would remain: one state does not tell what it was before.
        """
        require_past(length, self.length)
        if 0 < length < self.length:
            raise InputError(
                f"a recurrent state cannot go back from {self.length} tokens to {length}: it "
                "keeps no earlier one; read the text again"
            )
        if length == 0:
            self.state, self.length = None, 0

    def select(self, rows: Tensor) -> None:
        """Keep these rows, in this order; one may be named several times.

        Raises:
            InputError: If there is no such row.
        """
        require_rows(rows, self.batch)
        self.batch = len(rows)
        if isinstance(self.state, tuple):
            self.state = tuple(part[:, rows] for part in self.state)
        elif self.state is not None:
            self.state = self.state[:, rows]


Layers = RNN | LSTM | GRU


def read_steps(
    layers: Layers, cell: Callable[..., State], x: Tensor, state: State, mask: Tensor | None
) -> tuple[Float[Tensor, "B T H"], State]:
    """Read sequences step by step, layer upon layer.

    A padded step leaves the state as it is, and its output is 0; what stands in x there does
    not matter, NaN included.

    Args:
        layers: Owner of the weights.
        cell: One step: x, state and weights to the new state.
        x: Inputs (B, T, D).
        state: Initial states of all layers, (L, B, H) each.
        mask: True where a step is real, (B, T); None = everywhere.

    Returns:
        Outputs of the last layer, and the final states of all.
    """
    y = x.transpose(0, 1)  # (T, B, D)
    real = None if mask is None else mask.T.unsqueeze(-1)  # (T, B, 1)
    final = []
    for i in range(layers.num_layers):
        if i > 0:
            y = nn.functional.dropout(y, layers.dropout, layers.training)
        weights = layers.all_weights[i]
        y, last = read_layer(cell, y, tuple(part[i] for part in state), weights, real)
        final.append(last)
    return y.transpose(0, 1), tuple(torch.stack(part) for part in zip(*final, strict=True))


def read_layer(
    cell: Callable[..., State],
    x: Float[Tensor, "T B D"],
    state: State,
    weights: Sequence[Tensor],
    real: Tensor | None,
) -> tuple[Float[Tensor, "T B H"], State]:
    """The loop over time of one layer."""
    outputs = []
    x = x if real is None else x.masked_fill(~real, 0.0)
    for t in range(len(x)):
        new = cell(x[t], state, *weights)
        if real is not None:
            new = tuple(torch.where(real[t], a, b) for a, b in zip(new, state, strict=True))
        state = new
        outputs.append(state[0])
    y = torch.stack(outputs)
    return (y if real is None else y.masked_fill(~real, 0.0)), state


def require_layers(d_in: int, d_hidden: int, n_layers: int, dropout: float) -> None:
    """Refuse sizes that are not positive, and dropout that has no place."""
    for name, size in (("d_in", d_in), ("d_hidden", d_hidden), ("n_layers", n_layers)):
        if not isinstance(size, int) or size < 1:
            raise ConfigError(f"{name}={size} must be an integer of at least 1")
    if not 0.0 <= dropout < 1.0:
        raise ConfigError(f"dropout={dropout} is outside 0 <= dropout < 1")
    if dropout > 0.0 and n_layers == 1:
        raise ConfigError(
            f"dropout={dropout} acts between layers, and n_layers=1 has no between"
        )


def require_sequence(layers: Layers, x: Tensor, state: State, mask: Tensor | None) -> State:
    """Refuse what does not fit; returns the initial state, zeros if there is none."""
    D, H, L = layers.input_size, layers.hidden_size, layers.num_layers
    if x.ndim != 3 or x.shape[2] != D or x.numel() == 0:
        raise InputError(
            f"x has shape {tuple(x.shape)}, expected (B, T, {D}) with at least one sequence "
            "and one step"
        )
    if not x.is_floating_point():
        raise InputTypeError(f"x has dtype {x.dtype}, expected real numbers such as float32")
    if mask is not None:
        require_mask(mask, (x.shape[0], x.shape[1]))
    names, shape = ("h", "c") if isinstance(layers, LSTM) else ("h",), (L, len(x), H)
    state = state or tuple(x.new_zeros(shape) for _ in names)
    if len(state) != len(names):
        raise InputError(f"state has {len(state)} parts, expected ({', '.join(names)})")
    for name, part in zip(names, state, strict=True):
        if tuple(part.shape) != shape:
            raise InputError(
                f"{name} of the state has shape {tuple(part.shape)}, but x of shape "
                f"{tuple(x.shape)} needs (layers, batch, width) = {shape}"
            )
    return state


def require_mask(mask: Tensor, shape: tuple[int, int]) -> None:
    """Refuse a padding mask that is not boolean or has not one entry a step."""
    if mask.dtype != torch.bool:
        raise InputTypeError(f"mask has dtype {mask.dtype}; give booleans, True where real")
    if tuple(mask.shape) != shape:
        raise InputError(f"mask has shape {tuple(mask.shape)}, expected (B, T) = {shape}")


def _single(cell: Callable[..., Tensor]) -> Callable[..., State]:
    """A cell with one state as a cell with a tuple of them."""
    return lambda x, state, *weights: (cell(x, state[0], *weights),)
