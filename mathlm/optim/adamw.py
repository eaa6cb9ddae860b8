"""Adam with decoupled weight decay."""

from collections.abc import Iterable
from typing import cast

from torch import Tensor, nn
from torch.optim.adamw import adamw as adamw_kernel

from .moments import TwoMoments
from .update import check_decay, check_not_negative


class AdamW(TwoMoments):
    """Adam with decoupled weight decay.

    Implements eq-adamw::

        m ← β₁m + (1-β₁)g        m̂ = m / (1-β₁ᵗ)
        v ← β₂v + (1-β₂)g²       v̂ = v / (1-β₂ᵗ)
        θ ← θ - η (m̂ / (√v̂ + ε) + λθ)

    The state of a parameter is ``m``, ``v`` and ``step``, which is t. A parameter without a
    gradient is left alone and its t does not advance.

    Args:
        params: Parameters θ, updated in place, or groups of them with options of their own.
        lr: Step size η.
        betas: Decay rates (β₁, β₂) of the two moments [1/step].
        eps: ε, in the units of the gradient, added after the bias correction.
        weight_decay: λ.
        fused: Whether one compiled kernel of torch computes these lines, in one pass over the
            memory; otherwise they run one by one. The result is the same up to rounding.

    Raises:
        ConfigError: If a number is outside its range.
        InputTypeError: If a parameter is complex, or a gradient sparse.
        NonFiniteLossError: If a gradient holds NaN or infinity; nothing is updated.

    References:
        Loshchilov and Hutter (2019), arXiv:1711.05101, algorithm 2.
    """

    def __init__(
        self,
        params: Iterable[nn.Parameter] | Iterable[dict],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.01,
        fused: bool = True,
    ) -> None:
        super().__init__(
            params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, fused=fused
        )

    def check_group(self, group: dict) -> None:
        """Refuse numbers outside their range."""
        check_decay("betas", group["betas"])
        check_not_negative(group, "lr", "eps", "weight_decay")

    def update(self, p: nn.Parameter, group: dict) -> None:
        """Move one parameter: the lines of the equation."""
        g, (b1, b2), state = cast(Tensor, p.grad), group["betas"], self.state[p]
        t = state["step"].add_(1).item()
        m = state["m"].lerp_(g, 1 - b1)
        v = state["v"].lerp_(g.square(), 1 - b2)
        m_hat = m / (1 - b1**t)
        v_hat = v / (1 - b2**t)
        p -= group["lr"] * (m_hat / (v_hat.sqrt() + group["eps"]) + group["weight_decay"] * p)

    def fused_update(self, params: list[nn.Parameter], group: dict) -> None:
        """Move all ``params`` in one pass over the memory."""
        self.call_kernel(adamw_kernel, params, group)
