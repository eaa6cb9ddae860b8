"""The multilayer perceptron and its configuration."""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import torch
from torch import Tensor, nn

from ..errors import ConfigError, InputError, InputTypeError
from ..layers import Taps, tap
from ..layers.feedforward import ACTIVATIONS
from ..shapes import Float

Activation = Literal["relu", "sigmoid", "tanh", "gelu", "gelu_tanh", "silu", "identity"]
FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {
    **ACTIVATIONS,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "identity": lambda x: x,
}
HALVING = ("relu", "gelu", "gelu_tanh", "silu")  # these pass about half of the variance


@dataclass(frozen=True, kw_only=True)
class MLPConfig:
    """Sizes and choices of a multilayer perceptron.

    Args:
        d_in: Width of the input.
        d_hidden: Widths of the hidden layers, first one first; () for none, a linear model.
        d_out: Width of the output.
        activation: After every hidden layer; the last layer has none.
        bias: Whether the linear maps have one.
        dropout: Probability of dropping a hidden entry, in training.

    Raises:
        ConfigError: If a choice is not known or a size is not a positive integer.

    Example:
        >>> MLPConfig(d_in=4, d_hidden=(8, 8), d_out=3).activation
        'relu'
    """

    d_in: int
    d_hidden: tuple[int, ...]
    d_out: int
    activation: Activation = "relu"
    bias: bool = True
    dropout: float = 0.0

    def __post_init__(self) -> None:
        if not isinstance(self.d_hidden, tuple):
            raise ConfigError(
                f"d_hidden={self.d_hidden!r} must be a tuple of widths, such as (64, 64)"
            )
        hidden = {f"d_hidden[{i}]": width for i, width in enumerate(self.d_hidden)}
        for name, value in {"d_in": self.d_in, **hidden, "d_out": self.d_out}.items():
            if not isinstance(value, int) or isinstance(value, bool):
                raise ConfigError(f"{name}={value!r} must be an integer")
            if value < 1:
                raise ConfigError(f"{name}={value} must be at least 1")
        self._require_choices()

    @property
    def widths(self) -> tuple[int, ...]:
        """Width of every level, from the input to the output."""
        return (self.d_in, *self.d_hidden, self.d_out)

    def _require_choices(self) -> None:
        choices = {"activation": get_args(Activation), "bias": (True, False)}
        for name, known in choices.items():
            if getattr(self, name) not in known:
                listed = ", ".join(map(repr, known))
                raise ConfigError(f"{name}={getattr(self, name)!r} is not one of {listed}")
        if not 0.0 <= self.dropout < 1.0:
            raise ConfigError(f"dropout={self.dropout} is outside 0 <= dropout < 1")


class MLP(nn.Module):
    """Linear maps with an activation after each but the last.

    Computes::

        h₀ = x,   h_ℓ = f(h_{ℓ-1} W_ℓᵀ + b_ℓ),   y = h_{L-1} W_Lᵀ + b_L

    The state holds ``layers.i.weight`` (out, in) and ``layers.i.bias`` (out), with i from 0 to
    the number of hidden layers. Weights start normal with variance 2 / inputs where relu, gelu,
    gelu_tanh or silu follows, else 1 / inputs; biases start at 0.

    Args:
        config: Sizes and choices.

    Example:
        >>> model = MLP(MLPConfig(d_in=4, d_hidden=(8, 8), d_out=3))
        >>> model(torch.zeros(5, 4)).shape
        torch.Size([5, 3])
    """

    def __init__(self, config: MLPConfig) -> None:
        super().__init__()
        self.config = config
        self.layers = nn.ModuleList(
            nn.Linear(n_in, n_out, bias=config.bias)
            for n_in, n_out in itertools.pairwise(config.widths)
        )
        self.dropout = nn.Dropout(config.dropout)
        self.reset_parameters()

    def forward(
        self, x: Float[Tensor, "..."], *, taps: Taps | None = None
    ) -> Float[Tensor, "..."]:
        """Output (..., d_out) for each row of x (..., d_in); taps ``hidden.i``.

        Args:
            x: Input vectors, in the dtype of the weights.
            taps: Receives each hidden layer after its activation.

        Returns:
            What the last linear map gives, such as logits.

        Raises:
            InputError: If x is empty or has not rows of ``d_in`` entries.
            InputTypeError: If x has another dtype than the weights.
        """
        self._require_rows(x)
        activation = FUNCTIONS[self.config.activation]
        for i, layer in enumerate(self.layers[:-1]):
            x = self.dropout(tap(taps, f"hidden.{i}", activation(layer(x))))
        return self.layers[-1](x)

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        gain = 2.0 if self.config.activation in HALVING else 1.0
        for name, p in self.named_parameters():
            if name.endswith("bias"):
                nn.init.zeros_(p)
            else:
                followed = p is not self.layers[-1].weight
                nn.init.normal_(p, std=math.sqrt((gain if followed else 1.0) / p.shape[1]))

    def _require_rows(self, x: Tensor) -> None:
        weight = self.layers[0].weight
        if x.ndim == 0 or x.shape[-1] != self.config.d_in:
            raise InputError(
                f"x has shape {tuple(x.shape)}, expected (..., {self.config.d_in}): rows of "
                "d_in entries"
            )
        if x.numel() == 0:
            raise InputError(f"x is empty, of shape {tuple(x.shape)}: give at least one row")
        if x.dtype != weight.dtype and not torch.is_autocast_enabled(x.device.type):
            found = str(x.dtype).removeprefix("torch.")
            expected = str(weight.dtype).removeprefix("torch.")
            raise InputTypeError(f"x has dtype {found}, but the weights are {expected}")
