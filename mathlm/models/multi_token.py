"""A GPT with several heads, each for a token further ahead."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..errors import ConfigError
from ..layers import Taps
from ..shapes import Float
from .gpt import GPT
from .gpt_config import GPTConfig


class MultiTokenGPT(nn.Module):
    """GPT that predicts the next H tokens at once, each from the same vector.

    Implements eq-multi-token-heads::

        h = what the GPT's head reads
        logits₁ = h W_headᵀ,   logitsᵢ = (h + silu(Wᵢ h)) W_headᵀ   for i = 2 … H

    The first head is the GPT's own: the model may be used without the rest. W_head is shared,
    and Wᵢ starts at 0, so that every head starts as the first.

    Args:
        config: Sizes and choices of the GPT.
        heads: H, at least 1.

    Raises:
        ConfigError: If there are fewer heads than one.

    Example:
        >>> from mathlm.models import GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=2, n_heads=2)
        >>> model = MultiTokenGPT(GPTConfig(**sizes), heads=3)
        >>> sum(p.numel() for p in model.parameters()) > 0
        True

    References:
        Gloeckle et al. (2024), arXiv:2404.19737, section 2; heads as in Cai et al. (2024),
        arXiv:2401.10774, section 3.1.
    """

    def __init__(self, config: GPTConfig, heads: int) -> None:
        super().__init__()
        if heads < 1:
            raise ConfigError(f"heads={heads} must be at least 1")
        self.config = config
        self.gpt = GPT(config)
        D = config.d_model
        self.further = nn.ModuleList(nn.Linear(D, D, bias=False) for _ in range(heads - 1))
        for p in self.further.parameters():
            nn.init.zeros_(p)

    def forward(
        self,
        ids: Tensor,
        *,
        mask: Tensor | None = None,
        positions: Tensor | None = None,
        taps: Taps | None = None,
    ) -> Float[Tensor, "B T H V"]:
        """Logits of the tokens 1 … H places after each position; arguments as those of GPT."""
        h = self.gpt.hidden(ids, mask, positions, taps=taps)
        heads = [h, *(h + F.silu(W(h)) for W in self.further)]
        return self.gpt.head(torch.stack(heads, 2))
