"""Adam with decoupled weight decay."""

import math
from collections.abc import Iterable
from typing import cast

import torch
from torch import Tensor, nn
from torch.optim.adamw import adamw as adamw_kernel

from ..errors import ConfigError, InputTypeError, NonFiniteLossError


class AdamW(torch.optim.Optimizer):
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
        defaults = {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay}
        super().__init__(params, defaults | {"fused": fused})

    def add_param_group(self, param_group: dict) -> None:
        """Add a group of parameters with options of its own."""
        super().add_param_group(param_group)
        check_group(self.param_groups[-1])

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]
        """Update every parameter that has a gradient."""
        for group in self.param_groups:
            params = [p for p in group["params"] if p.grad is not None]
            self._prepare(params)
            if group["fused"] and params:
                self._fused_update(params, group)
            else:
                for p in params:
                    self._update(p, group)

    def _prepare(self, params: list[nn.Parameter]) -> None:
        for p in params:
            if cast(Tensor, p.grad).is_sparse:
                raise InputTypeError(
                    f"AdamW needs dense gradients, got a sparse one for a parameter of shape "
                    f"{tuple(p.shape)}; build the embedding with sparse=False"
                )
        check_finite([cast(Tensor, p.grad) for p in params])
        for p in params:
            if not self.state[p]:
                t = torch.zeros((), dtype=torch.float32, device=p.device)
                self.state[p] = {"step": t, "m": torch.zeros_like(p), "v": torch.zeros_like(p)}

    def _update(self, p: nn.Parameter, group: dict) -> None:
        g, (b1, b2), state = cast(Tensor, p.grad), group["betas"], self.state[p]
        t = state["step"].add_(1).item()
        m = state["m"].lerp_(g, 1 - b1)
        v = state["v"].lerp_(g.square(), 1 - b2)
        m_hat = m / (1 - b1**t)
        v_hat = v / (1 - b2**t)
        p -= group["lr"] * (m_hat / (v_hat.sqrt() + group["eps"]) + group["weight_decay"] * p)

    def _fused_update(self, params: list[nn.Parameter], group: dict) -> None:
        b1, b2 = group["betas"]
        adamw_kernel(
            list[Tensor](params),
            [cast(Tensor, p.grad) for p in params],
            [self.state[p]["m"] for p in params],
            [self.state[p]["v"] for p in params],
            [],
            [self.state[p]["step"] for p in params],
            fused=True,
            amsgrad=False,
            beta1=b1,
            beta2=b2,
            lr=group["lr"],
            weight_decay=group["weight_decay"],
            eps=group["eps"],
            maximize=False,
        )


def check_group(group: dict) -> None:
    """Refuse numbers outside their range and complex parameters."""
    b1, b2 = group["betas"]
    if not (0 <= b1 < 1 and 0 <= b2 < 1):
        raise ConfigError(f"betas={(b1, b2)} must lie in [0, 1)")
    for name, value in {n: group[n] for n in ("lr", "eps", "weight_decay")}.items():
        if not 0 <= value < math.inf:
            raise ConfigError(f"{name}={value} must be finite and not negative")
    for p in group["params"]:
        if not p.is_floating_point():
            raise InputTypeError(
                f"AdamW needs real floating-point parameters, got {p.dtype} "
                f"of shape {tuple(p.shape)}"
            )


def check_finite(gradients: list[Tensor]) -> None:
    """Refuse NaN and infinity, and name the first gradient that holds them.

    A finite sum has finite terms, and is much cheaper than looking at each; only a sum that is
    not finite, which may also be an overflow, is worth the look.
    """
    if not gradients:
        return
    sums = torch.stack([g.sum().to(gradients[0].device) for g in gradients])
    for i in (~sums.isfinite()).nonzero().flatten().tolist():
        g = gradients[i]
        bad = int((~g.isfinite()).sum())
        if bad:
            raise NonFiniteLossError(
                f"{bad} of {g.numel()} entries of the gradient of a parameter of shape "
                f"{tuple(g.shape)} are not finite; no parameter was updated"
            )
