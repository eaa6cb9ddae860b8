"""Gradient descent with a step size for each entry."""

from collections.abc import Iterable

from torch import nn
from torch.optim.rmsprop import rmsprop as rmsprop_kernel

from .update import (
    Update,
    check_decay,
    check_not_negative,
    check_positive,
    decayed,
    gradients,
    values,
)


class RMSProp(Update):
    """The gradient over its root mean square, entry by entry.

    Implements eq-rmsprop::

        g ← g + λθ
        v ← βv + (1-β)g²
        θ ← θ - η g / (√v + ε)

    Since v begins at 0 and is not corrected for it, the first step is η / √(1-β) long.

    The state of a parameter is ``v`` and ``step``. A parameter without a gradient is left
    alone, and its v does not decay.

    Args:
        params: Parameters θ, updated in place, or groups of them with options of their own.
        lr: Step size η.
        decay: Decay rate β in [0, 1) of the mean square [1/step].
        eps: ε > 0, in the units of the gradient, outside the root.
        weight_decay: λ of the penalty λ‖θ‖² / 2.
        fused: Whether torch computes each line for all parameters at once, which saves time on
            a GPU; otherwise parameter after parameter. The result is the same up to rounding.

    Raises:
        ConfigError: If a number is outside its range.
        InputTypeError: If a parameter is complex, or a gradient sparse.
        NonFiniteLossError: If a gradient holds NaN or infinity; nothing is updated.

    References:
        Tieleman and Hinton (2012), Neural Networks for Machine Learning, lecture 6.5.
    """

    def __init__(
        self,
        params: Iterable[nn.Parameter] | Iterable[dict],
        lr: float = 1e-2,
        decay: float = 0.99,
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        fused: bool = True,
    ) -> None:
        super().__init__(
            params, lr=lr, decay=decay, eps=eps, weight_decay=weight_decay, fused=fused
        )

    def slots(self, group: dict) -> tuple[str, ...]:
        """The mean square."""
        return ("v",)

    def check_group(self, group: dict) -> None:
        """Refuse numbers outside their range."""
        check_decay("decay", group["decay"])
        check_not_negative(group, "lr", "weight_decay")
        check_positive(group, "eps")

    def update(self, p: nn.Parameter, group: dict) -> None:
        """Move one parameter: the lines of the equation."""
        g, b, state = decayed(p, group["weight_decay"]), group["decay"], self.state[p]
        state["step"].add_(1)
        v = state["v"].mul_(b).addcmul_(g, g, value=1 - b)
        p.addcdiv_(g, v.sqrt().add_(group["eps"]), value=-group["lr"])

    def fused_update(self, params: list[nn.Parameter], group: dict) -> None:
        """Move all ``params``, line by line."""
        rmsprop_kernel(
            values(params),
            gradients(params),
            self.tensors(params, "v"),
            [],
            [],
            self.tensors(params, "step"),
            foreach=True,
            lr=group["lr"],
            alpha=group["decay"],
            eps=group["eps"],
            weight_decay=group["weight_decay"],
            momentum=0.0,
            centered=False,
        )
