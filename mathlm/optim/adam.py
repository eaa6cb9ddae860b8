"""Adam, and the order of its lines that puts ε elsewhere."""

from collections.abc import Callable, Iterable
from typing import cast

from torch import Tensor, nn
from torch.optim.adam import adam as adam_kernel
from torch.optim.adamw import adamw as adamw_kernel

from .update import (
    Update,
    check_decay,
    check_not_negative,
    check_positive,
    decayed,
    gradients,
    values,
)


class TwoMoments(Update):
    """An optimizer that keeps running means of the gradient and of its square."""

    def slots(self, group: dict) -> tuple[str, ...]:
        """Both moments."""
        return ("m", "v")

    def call_kernel(self, kernel: Callable, params: list[nn.Parameter], group: dict) -> None:
        """Move all ``params`` in one pass over the memory."""
        b1, b2 = group["betas"]
        kernel(
            values(params),
            gradients(params),
            self.tensors(params, "m"),
            self.tensors(params, "v"),
            [],
            self.tensors(params, "step"),
            fused=True,
            amsgrad=False,
            beta1=b1,
            beta2=b2,
            lr=group["lr"],
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            maximize=False,
        )


class Adam(TwoMoments):
    """Mean gradient over root mean square gradient, entry by entry.

    Implements eq-adam::

        g ← g + λθ
        m ← β₁m + (1-β₁)g        m̂ = m / (1-β₁ᵗ)
        v ← β₂v + (1-β₂)g²       v̂ = v / (1-β₂ᵗ)
        θ ← θ - η m̂ / (√v̂ + ε)

    The decay goes through both moments, as the gradient of the penalty λ‖θ‖² / 2 does: an entry
    whose gradients are large decays less. :class:`AdamW` decays all entries alike.

    The state of a parameter is ``m``, ``v`` and ``step``, which is t. A parameter without a
    gradient is left alone and its t does not advance.

    Args:
        params: Parameters θ, updated in place, or groups of them with options of their own.
        lr: Step size η.
        betas: Decay rates (β₁, β₂) of the two moments [1/step].
        eps: ε > 0, in the units of the gradient, added after the bias correction.
        weight_decay: λ of the penalty.
        fused: Whether one compiled kernel of torch computes these lines, in one pass over the
            memory; otherwise they run one by one. The result is the same up to rounding.

    Raises:
        ConfigError: If a number is outside its range.
        InputTypeError: If a parameter is complex, or a gradient sparse.
        NonFiniteLossError: If a gradient holds NaN or infinity; nothing is updated.

    Example:
        >>> w = torch.nn.Parameter(torch.tensor([1.0]))
        >>> w.grad = torch.tensor([5.0])
        >>> Adam([w], lr=0.01).step()  # the first step has the length of the step size
        >>> w.data
        tensor([0.9900])

    References:
        Kingma and Ba (2015), arXiv:1412.6980, algorithm 1.
    """

    def __init__(
        self,
        params: Iterable[nn.Parameter] | Iterable[dict],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        fused: bool = True,
    ) -> None:
        super().__init__(
            params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, fused=fused
        )

    def check_group(self, group: dict) -> None:
        """Refuse numbers outside their range."""
        check_numbers(group)

    def update(self, p: nn.Parameter, group: dict) -> None:
        """Move one parameter: the lines of the equation."""
        g, (b1, b2), state = decayed(p, group["weight_decay"]), group["betas"], self.state[p]
        t = state["step"].add_(1).item()
        m = state["m"].lerp_(g, 1 - b1)
        v = state["v"].lerp_(g.square(), 1 - b2)
        m_hat = m / (1 - b1**t)
        v_hat = v / (1 - b2**t)
        p -= group["lr"] * m_hat / (v_hat.sqrt() + group["eps"])

    def fused_update(self, params: list[nn.Parameter], group: dict) -> None:
        """Move all ``params`` in one pass over the memory."""
        self.call_kernel(adam_kernel, params, group)


class AdamEpsilonHat(TwoMoments):
    """Adam with ε added before the bias correction.

    Computes::

        g ← g + λθ
        m ← β₁m + (1-β₁)g
        v ← β₂v + (1-β₂)g²
        θ ← θ - η (√(1-β₂ᵗ) / (1-β₁ᵗ)) m / (√v + ε̂)

    The paper's cheaper order, which TensorFlow took over: :class:`Adam` with
    ε = ε̂ / √(1-β₂ᵗ). It is here to repeat results that were made so; torch has no kernel
    for it.

    Args:
        params: Parameters θ, updated in place, or groups of them with options of their own.
        lr: Step size η.
        betas: Decay rates (β₁, β₂) of the two moments [1/step].
        eps: ε̂ > 0, in the units of the gradient.
        weight_decay: λ of the penalty.

    Raises:
        ConfigError: If a number is outside its range.
        InputTypeError: If a parameter is complex, or a gradient sparse.
        NonFiniteLossError: If a gradient holds NaN or infinity; nothing is updated.

    Example:
        >>> x = torch.nn.Parameter(torch.tensor([1.0]))
        >>> x.grad = torch.tensor([3.0])
        >>> AdamEpsilonHat([x], lr=0.1).step()  # the first step is η, whatever the gradient
        >>> x.data
        tensor([0.9000])

    References:
        Kingma and Ba (2015), arXiv:1412.6980, end of section 2.
    """

    def __init__(
        self,
        params: Iterable[nn.Parameter] | Iterable[dict],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(
            params, lr=lr, betas=betas, eps=eps, weight_decay=weight_decay, fused=False
        )

    def check_group(self, group: dict) -> None:
        """Refuse numbers outside their range."""
        check_numbers(group)

    def update(self, p: nn.Parameter, group: dict) -> None:
        """Move one parameter: the lines of the equation."""
        g, (b1, b2), state = decayed(p, group["weight_decay"]), group["betas"], self.state[p]
        t = state["step"].add_(1).item()
        m = state["m"].lerp_(g, 1 - b1)
        v = state["v"].lerp_(g.square(), 1 - b2)
        rate = group["lr"] * (1 - b2**t) ** 0.5 / (1 - b1**t)
        p -= rate * m / (v.sqrt() + group["eps"])


def check_numbers(group: dict) -> None:
    """Refuse numbers outside their range."""
    check_decay("betas", group["betas"])
    check_not_negative(group, "lr", "weight_decay")
    check_positive(group, "eps")


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

    Example:
        >>> w = torch.nn.Parameter(torch.tensor([1.0]))
        >>> w.grad = torch.tensor([5.0])
        >>> AdamW([w], lr=0.1, weight_decay=0.5).step()  # 1 - 0.1 · 0.5 - 0.1
        >>> w.data
        tensor([0.8500])

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
