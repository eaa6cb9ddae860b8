"""A masked diffusion language model: the body of a GPT that sees both ways, and no time."""

import torch
from torch import Tensor, nn

from ..shapes import Bool, Float
from .gpt import GPT
from .gpt_config import GPTConfig


class MaskedDiffusion(nn.Module):
    """Language model that says of each place which token stands there, given the visible ones.

    Computes::

        logits = gpt(z), all tokens seeing each other;   logit of [MASK] = -∞

    The model is not told the level of masking: it can count the masks, and the exact answer
    depends on the visible tokens alone.

    Args:
        config: Sizes and choices of the body. The last id of the vocabulary is ``[MASK]``.

    Example:
        >>> from mathlm.models import GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=2, n_heads=2)
        >>> MaskedDiffusion(GPTConfig(**sizes))(torch.tensor([[72, 105]])).shape
        torch.Size([1, 2, 256])

    References:
        Sahoo et al. (2024), arXiv:2406.07524.
    """

    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.config = config
        self.gpt = GPT(config)

    @property
    def mask_id(self) -> int:
        """Id of ``[MASK]``."""
        return self.config.vocab_size - 1

    def forward(
        self, ids: Tensor, *, mask: Bool[Tensor, "B T"] | None = None
    ) -> Float[Tensor, "B T V"]:
        """Logits of the token that belongs at each place.

        Args:
            ids: Token ids (B, T), int64, some of them ``[MASK]``.
            mask: True where a token is real, (B, T); padding to the right. None = all real.

        Returns:
            Unnormalized log-probabilities; -∞ for ``[MASK]``, which no text holds.

        Raises:
            InputError, InputTypeError: As :meth:`mathlm.models.GPT.forward`.
        """
        every = torch.full((len(ids),), ids.shape[1], device=ids.device)
        lengths = every if mask is None else mask.sum(1)
        logits = self.gpt(ids, mask=mask, prefix=lengths)
        last = torch.arange(logits.shape[-1], device=ids.device) == self.mask_id
        return logits.masked_fill(last, -torch.inf)
