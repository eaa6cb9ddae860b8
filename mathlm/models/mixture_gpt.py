"""A GPT whose feed-forward networks are mixtures of experts."""

import math
from dataclasses import dataclass

from torch import Tensor, nn

from ..errors import ConfigError
from ..layers import MixtureOfExperts, Taps
from ..layers.moe import Router, require_groups, require_router
from ..shapes import Float
from .gpt import GPT, INIT_STD
from .gpt_config import GPTConfig


@dataclass(frozen=True, kw_only=True)
class MixtureConfig:
    """Sizes and choices of a :class:`MixtureGPT`.

    Args:
        gpt: All but the experts; its ``d_ff`` is the width of one expert, its activation
            swiglu, and it has no biases.
        n_experts: E in each block.
        top_k: Experts for each token, k.
        n_shared: Experts that every token uses.
        router: How scores become gates; see :class:`mathlm.layers.MixtureOfExperts`.
        scale: Sum of a token's gates; sigmoid only.
        n_groups: Groups of experts; sigmoid only.
        top_groups: Groups that a token may use.
        capacity_factor: Room of an expert over its mean load; None = room for all.

    Raises:
        ConfigError: If a choice is not known or sizes do not fit.

    Example:
        >>> from mathlm.models import GPTConfig
        >>> sizes = dict(vocab_size=256, context=64, d_model=32, n_layers=2, n_heads=4)
        >>> small = GPTConfig(**sizes, norm="rms", activation="swiglu", bias=False)
        >>> MixtureConfig(gpt=small, n_experts=4, top_k=2).router
        'top_k_softmax'
    """

    gpt: GPTConfig
    n_experts: int
    top_k: int
    n_shared: int = 0
    router: Router = "top_k_softmax"
    scale: float = 1.0
    n_groups: int = 1
    top_groups: int = 1
    capacity_factor: float | None = None

    def __post_init__(self) -> None:
        require_router(
            self.n_experts,
            self.top_k,
            self.n_shared,
            self.router,
            self.scale,
            self.capacity_factor,
        )
        groups = self.n_groups, self.top_groups
        require_groups(self.n_experts, self.top_k, self.router, *groups)
        if self.gpt.activation != "swiglu" or self.gpt.bias is True:
            raise ConfigError(
                f"experts are swiglu networks without biases: activation="
                f"{self.gpt.activation!r} must be 'swiglu' and bias={self.gpt.bias} not True"
            )


class MixtureGPT(nn.Module):
    """GPT in which every feed-forward network is a :class:`mathlm.layers.MixtureOfExperts`.

    Computes::

        x ← x + attention(norm(x)),   x ← x + mixture(norm(x))   in each block

    Weights start as those of :class:`GPT`.

    Args:
        config: Sizes and choices.

    Example:
        >>> from mathlm.models import GPTConfig
        >>> sizes = dict(vocab_size=256, context=64, d_model=32, n_layers=2, n_heads=4)
        >>> small = GPTConfig(**sizes, norm="rms", activation="swiglu", bias=False)
        >>> model = MixtureGPT(MixtureConfig(gpt=small, n_experts=4, top_k=2))
        >>> model(torch.tensor([[72, 105]])).shape
        torch.Size([1, 2, 256])

    References:
        Jiang et al. (2024), arXiv:2401.04088.
    """

    def __init__(self, config: MixtureConfig) -> None:
        super().__init__()
        self.config = config
        self.gpt = GPT(config.gpt)
        for block in self.gpt.blocks:
            block.feed_forward = make_mixture(config)

    def forward(
        self,
        ids: Tensor,
        *,
        mask: Tensor | None = None,
        positions: Tensor | None = None,
        taps: Taps | None = None,
    ) -> Float[Tensor, "B T V"]:
        """Logits of the token after each position; arguments as those of GPT."""
        return self.gpt(ids, mask=mask, positions=positions, taps=taps)

    def mixtures(self) -> list[MixtureOfExperts]:
        """The layers with experts, from the first block to the last."""
        return [m for m in self.modules() if isinstance(m, MixtureOfExperts)]

    def step_biases(self, rate: float) -> None:
        """Move the biases of all layers against the load since the last step."""
        for layer in self.mixtures():
            layer.step_bias(rate)


def make_mixture(config: MixtureConfig) -> MixtureOfExperts:
    """One layer of the sizes and choices of a configuration."""
    layer = MixtureOfExperts(
        config.gpt.d_model,
        config.gpt.ff_width,
        config.n_experts,
        config.top_k,
        n_shared=config.n_shared,
        router=config.router,
        scale=config.scale,
        n_groups=config.n_groups,
        top_groups=config.top_groups,
        capacity_factor=config.capacity_factor,
    )
    layer.reset_parameters(INIT_STD, INIT_STD / math.sqrt(2 * config.gpt.n_layers))
    return layer
