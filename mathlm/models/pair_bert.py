"""BERT with both heads of its pretraining: hidden tokens, and whether a sentence follows."""

import torch
from torch import Tensor, nn

from ..layers import Taps, tap
from .bert import INIT_STD
from .bert_config import BertConfig
from .masked_bert import MaskedBert


class SentencePairs(nn.Module):
    """BERT that fills holes and says whether the second of two sentences follows the first.

    Implements eq-pair-logits::

        h = bert([CLS] A [SEP] B [SEP]),   pair = W₂ tanh(W₁ h₁ + b₁) + b₂

    h₁ is the vector of the first token, which by convention is ``[CLS]``. Logit 1 is for "B
    follows A", logit 0 for "it does not".

    Args:
        config: Sizes and choices of the BERT; two segments or more.

    References:
        Devlin et al. (2019), arXiv:1810.04805, section 3.1.
    """

    def __init__(self, config: BertConfig) -> None:
        super().__init__()
        self.config = config
        self.masked = MaskedBert(config)
        self.pooler = nn.Linear(config.d_model, config.d_model)
        self.follows = nn.Linear(config.d_model, 2)
        self.reset_parameters()

    def forward(
        self,
        ids: Tensor,
        *,
        mask: Tensor | None = None,
        segments: Tensor | None = None,
        taps: Taps | None = None,
    ) -> tuple[Tensor, Tensor]:
        """Logits of the tokens (B, T, V) and of the pairs (B, 2); arguments as those of Bert.

        Args:
            ids: Token ids (B, T), int64, ``[CLS]`` first.
            mask: True where a token is real, (B, T); padding to the right. None = all real.
            segments: 0 for tokens of the first sentence, 1 for the second. None = all 0.
            taps: Receives those of :class:`MaskedBert`, and ``pooled``.

        Returns:
            Unnormalized log-probabilities, both.

        Raises:
            InputError, InputTypeError: As :meth:`Bert.forward`.
        """
        h = self.masked.bert(ids, mask=mask, segments=segments, taps=taps)
        pooled = tap(taps, "pooled", self.pooler(h[:, 0]).tanh())
        return self.masked.read_out(h, taps), self.follows(pooled)

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw all weights anew."""
        self.masked.reset_parameters()
        for linear in (self.pooler, self.follows):
            nn.init.normal_(linear.weight, std=INIT_STD)
            nn.init.zeros_(linear.bias)
