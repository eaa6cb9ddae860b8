"""The feed-forward half of a transformer block."""

from collections.abc import Callable
from typing import Literal

from torch import Tensor, nn

from .. import functional as F
from ..errors import ConfigError
from ..shapes import Float
from .taps import Taps, tap

Activation = Literal["relu", "gelu", "gelu_tanh", "silu", "swiglu", "geglu_tanh"]
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": F.gelu_tanh,
    "silu": F.silu,
}
GATES: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "swiglu": F.swiglu,
    "geglu_tanh": F.geglu_tanh,
}


def default_width(d_model: int, activation: Activation) -> int:
    """Width between the maps where none is asked for: 4 D, or 8/3 D for three maps.

    A gate is a third map; 8/3 D, rounded up to a multiple of 8, makes the three as large as the
    two of width 4 D.
    """
    return -(-d_model // 3) * 8 if activation in GATES else 4 * d_model


class FeedForward(nn.Module):
    """Two linear maps with an activation between them, at every position alike.

    Implements eq-feed-forward::

        y = W_out f(W_in x),   or with swiglu   y = W_out (silu(W_gate x) ⊙ W_in x)

    With geglu_tanh the gate is :func:`mathlm.functional.gelu_tanh` instead.

    Args:
        d_model: Width of the model, D.
        d_ff: Width between the two maps, F.
        activation: f, or "swiglu" or "geglu_tanh".
        bias: Whether the linear maps have one.

    Raises:
        ConfigError: If the activation is not known.

    Example:
        >>> FeedForward(d_model=16, d_ff=64, activation="swiglu")(torch.randn(1, 5, 16)).shape
        torch.Size([1, 5, 16])
    """

    def __init__(
        self, d_model: int, d_ff: int, activation: Activation = "gelu", bias: bool = True
    ) -> None:
        super().__init__()
        if activation not in GATES and activation not in ACTIVATIONS:
            known = ", ".join((*ACTIVATIONS, *GATES))
            raise ConfigError(f"activation={activation!r} is not one of {known}")
        self.activation = activation
        self.W_in = nn.Linear(d_model, d_ff, bias=bias)
        self.W_gate = nn.Linear(d_model, d_ff, bias=bias) if activation in GATES else None
        self.W_out = nn.Linear(d_ff, d_model, bias=bias)

    def forward(
        self, x: Float[Tensor, "*batch D"], taps: Taps | None = None
    ) -> Float[Tensor, "*batch D"]:
        """Apply the same network to each vector; taps ``hidden``."""
        if self.W_gate is None:
            hidden = ACTIVATIONS[self.activation](self.W_in(x))
        else:
            hidden = GATES[self.activation](self.W_gate(x), self.W_in(x))
        return self.W_out(tap(taps, "hidden", hidden))
