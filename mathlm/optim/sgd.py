"""Gradient descent, with and without momentum."""

from collections.abc import Iterable

from torch import Tensor, nn
from torch.optim.sgd import sgd as sgd_kernel

from ..errors import ConfigError
from .update import Update, check_decay, check_not_negative, decayed, gradients, values


class SGD(Update):
    """Gradient descent, with and without momentum.

    Implements eq-momentum::

        g ← g + λθ
        m ← βm + g             or, averaged,  m ← βm + (1-β)g
        θ ← θ - ηm             or, Nesterov,  θ ← θ - η (g + βm)

    With β = 0 this is θ ← θ - ηg. The averaged form takes steps 1 - β times as long. It is not
    torch's ``dampening=β``, which leaves the factor out of the first step.

    The state of a parameter is ``m``, if β > 0, and ``step``. A parameter without a gradient is
    left alone, and its m does not decay.

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
        g, b, state = decayed(p, group["weight_decay"]), group["momentum"], self.state[p]
        state["step"].add_(1)
        if not b:
            p -= group["lr"] * g
            return
        m = state["m"].mul_(b).add_(g, alpha=1 - b if group["averaged"] else 1)
        p -= group["lr"] * (g + b * m if group["nesterov"] else m)

    def fused_update(self, params: list[nn.Parameter], group: dict) -> None:
        """Move all ``params`` in one pass over the memory."""
        b = group["momentum"]
        self.advance(params)
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
