"""The most probable tokens of logits, as text with probabilities."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import torch
from torch import Tensor

from ..errors import InputError, InputTypeError
from ..generate.sampling import require_logits
from ..generate.streaming import TextTokenizer
from ..shapes import Float, Int


@dataclass(frozen=True, eq=False)
class TopTokens:
    """Tokens in the order of their probability; printed, it is a table.

    One position is printed one token a line, several positions one a line, and the positions of
    several depths as a grid of the likeliest token of each.

    Args:
        ids: Of the tokens, the likeliest first.
        probabilities: Of the tokens.
        pairs: Text and probability of each token, in lists that are nested like the ids.
    """

    ids: Int[Tensor, "*rows k"]
    probabilities: Float[Tensor, "*rows k"]
    pairs: list[Any]

    def __repr__(self) -> str:
        if self.ids.ndim == 1:
            rows = [[shown, p] for shown, p in map(_words, self.pairs)]
        elif self.ids.ndim == 2:
            rows = [_cells(i, row) for i, row in enumerate(self.pairs)]
        else:
            rows = [_cells(i, [p[0] for p in row]) for i, row in enumerate(self.pairs)]
        return _table(rows)


@torch.no_grad()
def top_tokens(
    logits: Float[Tensor, "*rows V"], tokenizer: TextTokenizer, k: int = 5
) -> TopTokens:
    """The k most probable tokens at each position, with their probabilities.

    Computes::

        p = softmax(z),   the k largest p[i] of each row and the text of each i

    Args:
        logits: z of one position (V,), of several (T, V), or of a logit lens of one text,
            (depths, T, V): ``logit_lens(model, ids)[:, 0]``.
        tokenizer: Whose ids these are.
        k: How many.

    Returns:
        Their ids, probabilities and texts.

    Raises:
        InputError: If the shape is another, there are not k tokens, a logit is NaN or +∞, or
            the tokenizer does not know an id.
        InputTypeError: If logits are no floating-point tensor, or k is no integer.

    Example:
        >>> from mathlm.text import Bytes
        >>> logits = torch.full((256,), -torch.inf)
        >>> logits[[65, 66]] = torch.tensor([3.0, 1.0]).log()
        >>> top_tokens(logits, Bytes(), k=2)
        'A'  0.750
        'B'  0.250
    """
    if not isinstance(logits, Tensor):
        raise InputTypeError(f"logits is a {type(logits).__name__}, expected a tensor (..., V)")
    if not 1 <= logits.ndim <= 3 or not logits.numel():
        raise InputError(
            f"logits have shape {tuple(logits.shape)}, expected (V,), (T, V) or "
            "(depths, T, V): take one text of a batch, such as logits[0] or lens[:, 0]"
        )
    if not isinstance(k, Integral) or isinstance(k, bool):
        raise InputTypeError(f"k={k!r} must be an integer")
    if not 1 <= k <= logits.shape[-1]:
        raise InputError(f"k={k} must be in 1..{logits.shape[-1]}, the tokens that there are")
    require_logits(logits)
    exact = logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
    best = exact.softmax(-1).topk(int(k))
    texts = {i: tokenizer.decode([i]) for i in best.indices.unique().tolist()}
    pairs = _paired(best.indices.tolist(), best.values.tolist(), texts)
    return TopTokens(best.indices, best.values, pairs)


def _paired(ids: list[Any], p: list[Any], texts: dict[int, str]) -> list[Any]:
    """Text and probability in place of each id."""
    both = zip(ids, p, strict=True)
    if isinstance(ids[0], int):
        return [(texts[i], value) for i, value in both]
    return [_paired(*rows, texts) for rows in both]


def _words(pair: tuple[str, float]) -> tuple[str, str]:
    """A token and its probability as they are printed."""
    text, p = pair
    return repr(text), f"{p:.3f}"


def _cells(number: int, row: list[tuple[str, float]]) -> list[str]:
    """One line of a table: its number and its tokens."""
    return [str(number), *(" ".join(_words(pair)) for pair in row)]


def _table(rows: list[list[str]]) -> str:
    """Cells in columns that are as wide as they need."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(n) for cell, n in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
