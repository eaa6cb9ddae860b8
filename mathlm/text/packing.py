"""Documents of unequal length side by side in rows of one length, without touching.

References:
    Raffel et al. (2020), arXiv:1910.10683, section 3.1.2 (packing).
    Ding et al. (2024), arXiv:2404.10830 (best fit in place of concatenation).
"""

from bisect import bisect_left, insort
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy import ndarray

from ..errors import DataError, InputError, InputTypeError
from ..shapes import Int

IGNORED = -100
Piece = tuple[int, int, int]  # document, first token, end


class Packed(NamedTuple):
    """Rows of documents; what :func:`pack` returns.

    Args:
        ids: Token ids; the padding id where no document is.
        targets: The token that follows in the same document, -100 where there is none.
        documents: Number of the document that each token is of, -1 at padding.
    """

    ids: Int[ndarray, "B T"]
    targets: Int[ndarray, "B T"]
    documents: Int[ndarray, "B T"]

    @property
    def waste(self) -> float:
        """Share of the positions that are padding."""
        return float((self.documents < 0).mean())


def pack(
    documents: Sequence[Any],
    context: int,
    *,
    method: Literal["greedy", "best_fit"] = "greedy",
    long: Literal["refuse", "split"] = "refuse",
    pad_id: int = 0,
) -> Packed:
    """Put documents into rows of ``context`` tokens, each document in one piece.

    Computes::

        target_t = id_{t+1} if document_{t+1} = document_t, else -100

    "greedy" keeps the order: a document goes behind the one before it, or begins a new row.
    "best_fit" takes the longest first and puts each into the fullest row that has room, the
    earliest among equals; it wastes less and mixes the order.

    No target crosses a border between documents. That no *attention* crosses it is the task of
    a mask made of ``documents``.

    Args:
        documents: Token ids of each document, one or more.
        context: Row length T [tokens].
        method: How rows are filled.
        long: What to do with a document of more than T tokens: "refuse" raises; "split" cuts
            it into pieces of T tokens and a rest. The last target of a piece is the first
            token of the next one: each token but the first of a document is a target once.
            A rest of one token, which has nothing to predict, is left out.
        pad_id: Id at positions without a document.

    Returns:
        ``ids, targets, documents``, each int64 of shape (B, T), with the share of padding as
        ``.waste``.

    Raises:
        InputError: If there are no documents, one is empty, has more than T tokens and
            ``long`` is "refuse", or holds a negative id; or if an option is not known.
        InputTypeError: If ids are not integers.
        DataError: If no document has a token to predict.

    Example:
        >>> pack([[5, 6, 7], [8, 9]], context=6).targets.tolist()
        [[6, 7, -100, 9, -100, -100]]
    """
    _require_options(context, method, long, pad_id)
    texts = [_as_ids(number, document) for number, document in enumerate(documents)]
    if not texts:
        raise InputError("no documents: nothing to pack")
    if max(map(len, texts)) < 2:
        raise DataError(f"the {len(texts)} documents have one token each: nothing to predict")
    rows = METHODS[method](_pieces(texts, context, long), context)
    return _fill(rows, texts, context, pad_id)


def number_documents(ids: Int[ndarray, "*batch T"], end_id: int) -> Int[ndarray, "*batch T"]:
    """Which document of its row each token is of, when every document ends with one token.

    Computes::

        document_t = number of ends before position t of the row

    For windows cut from one long stream of tokens: the end of a document belongs to it.

    Args:
        ids: Token ids, one window a row.
        end_id: Id that ends a document.

    Example:
        >>> number_documents(np.array([7, 8, 0, 9, 0]), end_id=0).tolist()
        [0, 0, 0, 1, 1]
    """
    ends = ids == end_id
    return ends.cumsum(-1) - ends


def _pieces(texts: list[ndarray], context: int, long: str) -> list[Piece]:
    """The parts of the documents, none longer than a row."""
    for number, text in enumerate(texts):
        if len(text) > context and long == "refuse":
            raise InputError(
                f"document {number} has {len(text)} tokens, a row {context}: raise the context "
                'or write long="split"'
            )
    return [
        (number, start, min(start + context, len(text)))
        for number, text in enumerate(texts)
        for start in range(0, max(len(text) - 1, 1), context)
    ]


def _greedy(pieces: list[Piece], context: int) -> list[list[Piece]]:
    """Each piece behind the one before it, or at the start of a new row."""
    rows: list[list[Piece]] = []
    free = 0
    for piece in pieces:
        length = piece[2] - piece[1]
        if length > free:
            rows.append([])
            free = context
        rows[-1].append(piece)
        free -= length
    return rows


def _best_fit(pieces: list[Piece], context: int) -> list[list[Piece]]:
    """The longest first, each where the least room is left."""
    rows: list[list[Piece]] = []
    room: list[tuple[int, int]] = []  # (free positions, row), sorted
    for piece in sorted(pieces, key=lambda piece: piece[1] - piece[2]):
        length = piece[2] - piece[1]
        place = bisect_left(room, (length, 0))
        free, row = room.pop(place) if place < len(room) else (context, len(rows))
        if row == len(rows):
            rows.append([])
        rows[row].append(piece)
        if free > length:
            insort(room, (free - length, row))
    return rows


METHODS = {"greedy": _greedy, "best_fit": _best_fit}


def _fill(rows: list[list[Piece]], texts: list[ndarray], context: int, pad_id: int) -> Packed:
    """Rows of pieces as three arrays."""
    shape = (len(rows), context)
    packed = Packed(*(np.full(shape, fill, np.int64) for fill in (pad_id, IGNORED, -1)))
    for row, pieces in enumerate(rows):
        at = 0
        for number, start, end in pieces:
            following = texts[number][start + 1 : end + 1]
            packed.ids[row, at : at + end - start] = texts[number][start:end]
            packed.targets[row, at : at + len(following)] = following
            packed.documents[row, at : at + end - start] = number
            at += end - start
    return packed


def _as_ids(number: int, document: Any) -> Int[ndarray, " N"]:
    """A document as an array of ids."""
    ids = np.asarray(document)
    if ids.ndim != 1 or not ids.size:
        raise InputError(
            f"document {number} has shape {ids.shape}; give one token or more in a row"
        )
    if ids.dtype.kind not in "iu":
        raise InputTypeError(f"document {number} has dtype {ids.dtype}, expected integers")
    if int(ids.min()) < 0:
        at = int(np.argmax(ids < 0))
        raise InputError(f"document {number} has id {ids[at]} at {at}; ids are 0 or more")
    return ids.astype(np.int64)


def _require_options(context: int, method: str, long: str, pad_id: int) -> None:
    if context < 1:
        raise InputError(f"context={context} must be at least 1 token")
    if method not in METHODS:
        raise InputError(f"method={method!r} must be one of {sorted(METHODS)}")
    if long not in ("refuse", "split"):
        raise InputError(f"long={long!r} must be 'refuse' or 'split'")
    if pad_id < 0:
        raise InputError(f"pad_id={pad_id} must not be negative: models look ids up")
