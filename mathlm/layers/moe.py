"""Mixture of experts: a feed-forward layer of which each token uses a part."""

from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor, nn

from .. import functional as F
from ..errors import ConfigError
from ..shapes import Float
from .feedforward import FeedForward
from .taps import Taps, tap

Router = Literal["top_k_softmax", "softmax_top_k", "sigmoid"]
ROUTERS = ("top_k_softmax", "softmax_top_k", "sigmoid")


class MixtureOfExperts(nn.Module):
    """SwiGLU experts, a router that sends each token to k of them, and experts that all share.

    Implements eq-moe-mixture::

        z = W_router x,   y = shared(x) + Σ_{e in C} g_e f_e(x)
        f_e(x) = W_out⁽ᵉ⁾ (silu(W_gate⁽ᵉ⁾ x) ⊙ W_in⁽ᵉ⁾ x)

    C and g are those of the router: :func:`mathlm.functional.top_k_softmax` (Mixtral),
    ``softmax_top_k`` (Switch) or ``sigmoid_top_k`` (DeepSeek-V3). In training
    the layer counts its load; :meth:`step_bias` turns the count into a step of the bias.

    Args:
        d_model: Width of the model, D.
        d_ff: Width of each expert, F.
        n_experts: E.
        top_k: Experts for each token, k.
        n_shared: Experts of that width that every token uses, stored as one network.
        router: How scores become gates.
        scale: Sum of a token's gates; sigmoid only.
        n_groups: Groups of experts; sigmoid only. See :func:`mathlm.functional.expert_groups`.
        top_groups: Groups that a token may use.
        capacity_factor: Room of an expert over its mean load; None = room for all.

    Raises:
        ConfigError: If a size does not fit, or one chosen expert would leave the router
            without a gradient.

    Example:
        >>> experts = MixtureOfExperts(d_model=8, d_ff=16, n_experts=4, top_k=2)
        >>> experts(torch.randn(1, 5, 8)).shape, int(experts.load.sum())  # two choices a token
        (torch.Size([1, 5, 8]), 10)

    References:
        Shazeer et al. (2017), arXiv:1701.06538; DeepSeek-AI (2024), arXiv:2412.19437.
    """

    bias: Tensor
    load: Tensor

    def __init__(
        self,
        d_model: int,
        d_ff: int,
        n_experts: int,
        top_k: int,
        *,
        n_shared: int = 0,
        router: Router = "top_k_softmax",
        scale: float = 1.0,
        n_groups: int = 1,
        top_groups: int = 1,
        capacity_factor: float | None = None,
    ) -> None:
        super().__init__()
        require_router(n_experts, top_k, n_shared, router, scale, capacity_factor)
        require_groups(n_experts, top_k, router, n_groups, top_groups)
        if min(d_model, d_ff) < 1:
            raise ConfigError(f"d_model={d_model} and d_ff={d_ff} must be at least 1")
        self.top_k, self.router, self.scale = top_k, router, scale
        self.n_groups, self.top_groups = n_groups, top_groups
        self.capacity_factor = capacity_factor
        self.W_router = nn.Linear(d_model, n_experts, bias=False)
        self.W_in = nn.Parameter(torch.empty(n_experts, d_ff, d_model))
        self.W_gate = nn.Parameter(torch.empty(n_experts, d_ff, d_model))
        self.W_out = nn.Parameter(torch.empty(n_experts, d_model, d_ff))
        self.shared = (
            FeedForward(d_model, n_shared * d_ff, "swiglu", bias=False) if n_shared else None
        )
        self.register_buffer("bias", torch.zeros(n_experts))
        self.register_buffer("load", torch.zeros(n_experts), persistent=False)
        self.reset_parameters(d_model**-0.5, d_ff**-0.5)

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Any:
        """Move everything, but round neither counts nor their bias to 16 bits.

        In bfloat16 a count would stop at 256, and a bias where a step is half of its spacing.
        """
        before = {"bias": self.bias, "load": self.load}
        super()._apply(fn, recurse)
        for name, buffer in before.items():
            if self._buffers[name].dtype.itemsize < 4:  # type: ignore[union-attr]
                self._buffers[name] = buffer.float().to(self._buffers[name].device)  # type: ignore[union-attr]
        return self

    @torch.no_grad()
    def reset_parameters(self, std: float, std_out: float) -> None:
        """Draw all weights anew; ``std_out`` is that of the maps that write to the stream."""
        for name, parameter in self.named_parameters():
            nn.init.normal_(parameter, std=std_out if "W_out" in name else std)

    def route(self, logits: Float[Tensor, "N E"]) -> tuple[Tensor, Tensor]:
        """Gates and numbers of the experts of each token, (N, k) each."""
        if self.router == "sigmoid":
            groups = {"n_groups": self.n_groups, "top_groups": self.top_groups}
            return F.sigmoid_top_k(logits, self.top_k, self.bias, self.scale, **groups)
        choose = F.top_k_softmax if self.router == "top_k_softmax" else F.softmax_top_k
        return choose(logits, self.top_k)

    def forward(
        self, x: Float[Tensor, "*batch D"], taps: Taps | None = None
    ) -> Float[Tensor, "*batch D"]:
        """Send each vector through its experts; taps ``router_logits`` and ``experts``."""
        rows, E = x.flatten(0, -2), len(self.W_in)
        logits = tap(taps, "router_logits", self.W_router(rows))
        gates, chosen = self.route(logits)
        chosen = tap(taps, "experts", chosen)
        if self.training:
            self.load += F.expert_load(chosen, E)
        keep = None
        if self.capacity_factor is not None:
            room = F.expert_capacity(len(rows), E, self.top_k, self.capacity_factor)
            keep = F.within_capacity(chosen, E, room)
        y = F.mix_experts(rows, gates, chosen, self.W_in, self.W_gate, self.W_out, keep)
        return (y if self.shared is None else y + self.shared(rows)).view_as(x)

    @torch.no_grad()
    def step_bias(self, rate: float) -> None:
        """Move the bias against the load counted since the last step, and count anew."""
        self.bias.copy_(F.balance_bias(self.bias, self.load, rate))
        self.load.zero_()


def require_router(
    n_experts: int,
    top_k: int,
    n_shared: int,
    router: str,
    scale: float,
    capacity_factor: float | None,
) -> None:
    """Refuse choices that do not make a router that can learn."""
    if router not in ROUTERS:
        raise ConfigError(f"router={router!r} is not one of {', '.join(ROUTERS)}")
    if not 1 <= top_k <= n_experts:
        raise ConfigError(f"top_k={top_k} must be 1 to n_experts={n_experts}")
    if n_shared < 0:
        raise ConfigError(f"n_shared={n_shared} must be at least 0")
    if top_k == 1 < n_experts and router != "softmax_top_k":
        raise ConfigError(
            f"router={router!r} divides the gates of a token by their sum: with top_k=1 the "
            "gate is constant and the router gets no gradient; use router='softmax_top_k'"
        )
    if not 0 < scale < float("inf") or (scale != 1.0 and router != "sigmoid"):
        raise ConfigError(f"scale={scale} must be positive, and 1 unless router='sigmoid'")
    if capacity_factor is not None and not 0 < capacity_factor < float("inf"):
        raise ConfigError(f"capacity_factor={capacity_factor} must be positive, or None")


def require_groups(
    n_experts: int, top_k: int, router: str, n_groups: int, top_groups: int
) -> None:
    """Refuse groups that do not divide the experts or have no room for a token's choices."""
    if not 1 <= top_groups <= n_groups:
        raise ConfigError(f"top_groups={top_groups} must be 1 to n_groups={n_groups}")
    if n_groups == 1:
        return
    if router != "sigmoid":
        raise ConfigError(f"n_groups={n_groups} must be 1 unless router='sigmoid'")
    if n_experts % n_groups or n_experts < 2 * n_groups:
        raise ConfigError(
            f"n_groups={n_groups} must divide n_experts={n_experts} into groups of 2 or more"
        )
    room = top_groups * (n_experts // n_groups)
    if top_k > room:
        raise ConfigError(
            f"top_k={top_k} must be at most the {room} experts of top_groups={top_groups}"
        )
