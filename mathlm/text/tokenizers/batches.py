"""Several texts as one array: ids with padding, and a mask that says what is padding."""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from numpy import ndarray

from ...errors import InputError, InputTypeError
from ...shapes import Bool, Int
from .bpe import whole_number

Side = Literal["right", "left"]


class TokenBatch(NamedTuple):
    """Texts as token ids in one array, which ``ids, mask = tokenizer(texts)`` takes apart.

    Args:
        ids: One text a row, int64; all rows are as long as the longest text.
        mask: True where an id belongs to the text, False on padding.

    Example:
        >>> from mathlm.text import Bytes
        >>> ids, mask = Bytes()(["one", "fifteen"])
        >>> ids.shape, mask.sum(1)
        ((2, 7), array([3, 7]))
    """

    ids: Int[ndarray, "B T"]
    mask: Bool[ndarray, "B T"]


class BatchEncoder:
    """What tokenizers have in common: called with texts, they encode all of them."""

    @property
    def pad_id(self) -> int:
        """Id that stands on padding: of the mark for it, or 0 where a tokenizer has none."""
        return 0

    def encode(self, text: str, *args: Any, **options: Any) -> list[int]:
        """Ids of one text."""
        raise NotImplementedError

    def __call__(
        self,
        texts: str | Iterable[str],
        *,
        padding: Side = "right",
        max_length: int | None = None,
        truncate: bool = False,
        pad_id: int | None = None,
        **options: Any,
    ) -> TokenBatch:
        """Ids of several texts, padded to the longest of them, and a mask.

        A model reads ``torch.from_numpy(ids)`` with ``mask=torch.from_numpy(mask)``; padding on
        either side changes nothing at real tokens. With padding on the left, what a model
        writes follows each text without a gap.

        Args:
            texts: The texts; one str is a batch of one row.
            padding: The side of a shorter text that is filled up.
            max_length: Most tokens that a text may have; None = no limit.
            truncate: Whether a longer text is cut at its end. If not, it is an error.
            pad_id: Id that stands on padding, which no model reads; None = the tokenizer's.
            options: Those of ``encode``, such as ``allowed_special``.

        Returns:
            ids and mask; a text without tokens is a row of padding.

        Raises:
            InputError: If there is no text, ``padding`` is another word, or a text has more
                than ``max_length`` tokens and ``truncate`` is False.
            InputTypeError: If a text is not a str.

        Example:
            >>> from mathlm.text import Bytes
            >>> Bytes()(["Hi", "Hello"], padding="left").ids
            array([[  0,   0,   0,  72, 105],
                   [ 72, 101, 108, 108, 111]])
        """
        rows = [self.encode(text, **options) for text in require_texts(texts)]
        if max_length is not None:
            require_length(max_length)
            rows = [self._fit(i, row, max_length, truncate) for i, row in enumerate(rows)]
        return pad(rows, self.pad_id if pad_id is None else pad_id, padding)

    def _fit(self, i: int, row: list[int], max_length: int, truncate: bool) -> list[int]:
        """Text i within a limit."""
        if len(row) > max_length and not truncate:
            raise InputError(
                f"text {i} has {len(row)} tokens, more than max_length={max_length}; pass "
                "truncate=True to cut it, or split it"
            )
        return row if len(row) <= max_length else self._cut(row, max_length)

    def _cut(self, row: list[int], max_length: int) -> list[int]:
        """The part of a text that is too long which a tokenizer keeps."""
        return row[:max_length]


def pad(rows: Sequence[Sequence[int]], pad_id: int, side: Side = "right") -> TokenBatch:
    """Rows of ids as one array, padded to the longest, and where they are real.

    Raises:
        InputError: If there is no row, or ``side`` is another word.
        InputTypeError: If ``pad_id`` is no integer.
    """
    if side not in get_args(Side):
        raise InputError(f"padding={side!r} must be 'right' or 'left'")
    if whole_number(pad_id) is None:
        raise InputTypeError(f"pad_id={pad_id!r} must be an integer")
    if not rows:
        raise InputError("there is no text: give at least one")
    lengths = np.array([len(row) for row in rows])
    places = np.arange(lengths.max())
    mask = (places if side == "right" else places[::-1]) < lengths[:, None]
    ids = np.full(mask.shape, pad_id, np.int64)
    ids[mask] = np.fromiter(chain.from_iterable(rows), np.int64)
    return TokenBatch(ids, mask)


def require_texts(texts: Any) -> list[str]:
    """Texts as a list: one str is one text.

    Raises:
        InputTypeError: If they are no texts.
    """
    if isinstance(texts, str):
        return [texts]
    if isinstance(texts, bytes | bytearray) or not isinstance(texts, Iterable):
        raise InputTypeError(f"texts is {texts!r:.60}, expected a str or a list of them")
    found = list(texts)
    for i, text in enumerate(found):
        if not isinstance(text, str):
            raise InputTypeError(f"text {i} is {text!r:.60}, expected a str")
    return found


def require_length(max_length: int) -> None:
    """Refuse a limit that is no number of tokens."""
    size = whole_number(max_length)
    if size is None:
        raise InputTypeError(f"max_length={max_length!r} must be an integer")
    if size < 1:
        raise InputError(f"max_length={max_length} must be at least 1")


def require_one_text(text: Any) -> None:
    """Refuse a list of texts where one is expected, and say what takes a list."""
    if isinstance(text, list | tuple):
        raise InputTypeError(
            f"a text must be a str, got {type(text).__name__} of {len(text)}; "
            "tokenizer(texts) encodes several"
        )
