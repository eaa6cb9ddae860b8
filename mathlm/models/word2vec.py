"""Skip-gram: two tables of word vectors, trained to tell neighbors from chance."""

import torch
from torch import Tensor, nn
from torch.nn.functional import embedding

from ..errors import ConfigError, InputError
from ..functional import negative_sampling_loss, require_token_ids
from ..shapes import Float


class SkipGram(nn.Module):
    """One vector for each word as a center and another as a context.

    Computes::

        x_ij = w_i·c_j

    The state holds the tables ``W`` of the centers and ``C`` of the contexts. W starts evenly
    spread over ±1/(2D), C at 0: every score is 0, so every answer undecided.

    Args:
        vocab_size: Number of words V.
        d_model: Width D of the vectors.

    Raises:
        ConfigError: If a size is not a positive integer.

    Example:
        >>> model = SkipGram(vocab_size=5, d_model=3)
        >>> model(torch.tensor([0, 1]), torch.tensor([2, 3])).tolist()  # undecided at the start
        [0.0, 0.0]
    """

    W: Float[Tensor, "V D"]
    C: Float[Tensor, "V D"]

    def __init__(self, vocab_size: int, d_model: int) -> None:
        super().__init__()
        for name, value in (("vocab_size", vocab_size), ("d_model", d_model)):
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ConfigError(f"{name}={value!r} must be a positive integer")
        self.W = nn.Parameter(torch.empty(vocab_size, d_model))
        self.C = nn.Parameter(torch.empty(vocab_size, d_model))
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw the vectors of the centers anew."""
        D = self.W.shape[1]
        nn.init.uniform_(self.W, -0.5 / D, 0.5 / D)
        nn.init.zeros_(self.C)

    def forward(self, centers: Tensor, contexts: Tensor) -> Tensor:
        """Score x of each center (...) with the context beside it (...).

        Raises:
            InputError: If a word number is outside 0 ... V - 1, or the shapes differ.
            InputTypeError: If the word numbers are not int64.
        """
        if centers.shape != contexts.shape:
            raise InputError(
                f"centers {tuple(centers.shape)} and contexts {tuple(contexts.shape)} must "
                "have one shape"
            )
        return (rows(self.W, centers) * rows(self.C, contexts)).sum(-1)

    def loss(
        self, centers: Tensor, contexts: Tensor, negatives: Tensor, k: float | int | None = None
    ) -> Tensor:
        """Cost of negative sampling for each pair.

        Args:
            centers: Word numbers of the pairs (..., P).
            contexts: Word numbers of their contexts (..., P).
            negatives: Word numbers that were drawn for these P pairs (..., N).
            k: As in :func:`mathlm.functional.negative_sampling_loss`.

        Returns:
            ℓ [nats] (..., P).

        Raises:
            InputError: If a word number is outside 0 ... V - 1, or the shapes do not fit.
            InputTypeError: If the word numbers are not int64.
        """
        w, c_positive = rows(self.W, centers), rows(self.C, contexts)
        return negative_sampling_loss(w, c_positive, rows(self.C, negatives), k)


def rows(table: Float[Tensor, "V D"], ids: Tensor) -> Float[Tensor, "..."]:
    """Rows (..., D) of a table of vectors."""
    require_token_ids(ids, len(table), "word number")
    return embedding(ids, table)


__all__ = ["SkipGram"]
