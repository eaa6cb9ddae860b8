"""Gradient descent, with and without momentum."""

from collections.abc import Iterable

from torch import Tensor, nn
from torch.optim.rmsprop import rmsprop as rmsprop_kernel
from torch.optim.sgd import sgd as sgd_kernel

from ..errors import ConfigError
from .update import (
    Update,
    check_decay,
    check_not_negative,
    check_positive,
    decayed,
    gradients,
    values,
)


class SGD(Update):
    """Gradient descent, with and without momentum.

    Implements eq-momentum::

        g ← g + λθ
        m ← βm + g             or, averaged,  m ← βm + (1-β)g
        θ ← θ - ηm             or, Nesterov,  θ ← θ - η (g + βm)

    With β = 0 this is θ ← θ - ηg. The averaged form takes steps 1 - β times as long. It is not
    torch's ``dampening=β``, which leaves the factor out of the first step.

    The state of a parameter is ``m``, if β > 0. A parameter without a gradient is left alone,
    and its m does not decay.

    Args:
        params: Parameters θ, updated in place, or groups of them with options of their own.
        lr: Step size η.
        momentum: Decay rate β in [0, 1) [1/step].
        averaged: Whether m is the running mean of the gradients, not their decaying sum.
        nesterov: Whether the step looks ahead; θ is then the look-ahead point, as in torch.
        weight_decay: λ of the penalty λ‖θ‖² / 2.
        fused: Whether one compiled kernel of torch computes these lines, in one pass over the
            memory; otherwise they run one by one. The result is the same up to rounding.

    Raises:
        ConfigError: If a number is outside its range, or ``nesterov`` comes without momentum or
            with ``averaged``.
        InputTypeError: If a parameter is complex, or a gradient sparse.
        NonFiniteLossError: If a gradient holds NaN or infinity; nothing is updated.

    Example:
        >>> w = torch.nn.Parameter(torch.tensor([1.0]))
        >>> w.grad = torch.tensor([2.0])
        >>> SGD([w], lr=0.25).step()
        >>> w.data
        tensor([0.5000])

    References:
        Sutskever et al. (2013), On the importance of initialization and momentum, ICML.
    """

    def __init__(
        self,
        params: Iterable[nn.Parameter] | Iterable[dict],
        lr: float,
        momentum: float = 0.0,
        averaged: bool = False,
        nesterov: bool = False,
        weight_decay: float = 0.0,
        fused: bool = True,
    ) -> None:
        super().__init__(
            params,
            lr=lr,
            momentum=momentum,
            averaged=averaged,
            nesterov=nesterov,
            weight_decay=weight_decay,
            fused=fused,
        )

    clocked = False  # the equation has no time

    def slots(self, group: dict) -> tuple[str, ...]:
        """The momentum, if there is one."""
        return ("m",) if group["momentum"] else ()

    def check_group(self, group: dict) -> None:
        """Refuse numbers outside their range and forms that do not go together."""
        check_decay("momentum", group["momentum"])
        check_not_negative(group, "lr", "weight_decay")
        if group["nesterov"] and (group["averaged"] or not group["momentum"]):
            raise ConfigError(
                "nesterov=True needs momentum > 0 and averaged=False, got "
                f"momentum={group['momentum']}, averaged={group['averaged']}"
            )

    def update(self, p: nn.Parameter, group: dict) -> None:
        """Move one parameter: the lines of the equation."""
        g, b = decayed(p, group["weight_decay"]), group["momentum"]
        if not b:
            p -= group["lr"] * g
            return
        m = self.state[p]["m"].mul_(b).add_(g, alpha=1 - b if group["averaged"] else 1)
        p -= group["lr"] * (g + b * m if group["nesterov"] else m)

    def fused_update(self, params: list[nn.Parameter], group: dict) -> None:
        """Move all ``params`` in one pass over the memory."""
        b = group["momentum"]
        sgd_kernel(
            values(params),
            gradients(params),
            list[Tensor | None](self.tensors(params, "m") if b else [None] * len(params)),
            fused=True,
            weight_decay=group["weight_decay"],
            momentum=b,
            lr=group["lr"],
            dampening=b if group["averaged"] else 0.0,
            nesterov=group["nesterov"],
            maximize=False,
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

    Example:
        >>> w = torch.nn.Parameter(torch.tensor([1.0]))
        >>> w.grad = torch.tensor([5.0])
        >>> RMSProp([w], lr=0.01, decay=0.75).step()  # 1 - 0.01 / √(1 - 0.75)
        >>> w.data
        tensor([0.9800])

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
