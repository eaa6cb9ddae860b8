"""What one step of generation tells."""

from dataclasses import dataclass

import torch
from torch import Tensor

from ..errors import InputError
from ..shapes import Float, Int
from .stopping import Finish


@dataclass(frozen=True, eq=False)
class Step:
    """One more token of each row, and what it was drawn from.

    Args:
        tokens: The new tokens, (B,).
        logits: What the model said of them, (B, V).
        drawn_from: Probabilities that they were drawn with, (B, V); None = the likeliest was
            taken.
        live: Whether each row drew its token; the others had stopped and were filled.
        finish: Why each row has ended, if it has: "stop" for a stop sequence or a complete
            constrained text, "length" for ``max_new_tokens``; None = it goes on.
    """

    tokens: Int[Tensor, " B"]
    logits: Float[Tensor, "B V"]
    drawn_from: Float[Tensor, "B V"] | None
    live: tuple[bool, ...]
    finish: tuple[Finish | None, ...]

    @property
    def model_log_probabilities(self) -> Float[Tensor, "B V"]:
        """Of every token under the model itself, at temperature 1 [nats]."""
        return _full(self.logits).log_softmax(-1)

    @property
    def probabilities(self) -> Float[Tensor, "B V"]:
        """With which the tokens were drawn, after penalties, temperature and truncation."""
        if self.drawn_from is not None:
            return self.drawn_from
        certain = torch.zeros_like(_full(self.logits))
        return certain.scatter(-1, self.tokens.unsqueeze(-1), 1.0)

    @property
    def log_probabilities(self) -> Float[Tensor, " B"]:
        """Of the drawn tokens under the model itself [nats]; 0 in rows that had stopped.

        Their sum over all steps is what :func:`score` gives for the new text.
        """
        return self._of_tokens(self.model_log_probabilities)

    @property
    def drawn_log_probabilities(self) -> Float[Tensor, " B"]:
        """Of the drawn tokens under what they were drawn from [nats]; 0 in stopped rows."""
        if self.drawn_from is None:
            return torch.zeros_like(self.log_probabilities)
        return self._of_tokens(self.drawn_from.log())

    def alternatives(self, count: int) -> tuple[Int[Tensor, "B N"], Float[Tensor, "B N"]]:
        """The likeliest tokens under the model, and their probabilities.

        Raises:
            InputError: If the count is not between 1 and the size of the vocabulary.
        """
        if not 1 <= count <= self.logits.shape[-1]:
            raise InputError(f"count={count} is outside 1..{self.logits.shape[-1]}")
        best = self.model_log_probabilities.exp().topk(count)
        return best.indices, best.values

    def _of_tokens(self, logp: Float[Tensor, "B V"]) -> Float[Tensor, " B"]:
        """Entries of the drawn tokens."""
        found = logp.gather(-1, self.tokens.unsqueeze(-1)).squeeze(-1)
        return found.masked_fill(~torch.tensor(self.live, device=found.device), 0.0)


def _full(logits: Tensor) -> Tensor:
    return logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
