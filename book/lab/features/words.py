"""Tagged sentences that are prose, and one vector for each of their words."""

import re
from collections.abc import Sequence
from itertools import chain

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from mathlm.errors import InputError, InputTypeError
from mathlm.interpret.recording import record
from mathlm.models import Bert
from mathlm.shapes import Float
from mathlm.text import WordPiece, tagged

ROWS = 16  # sentences that are read at once
LEAST, MARKS = 8, frozenset(".?!\"'")  # words of a sentence; what one ends in


def prose(sentences: Sequence[tagged.Tagged]) -> list[tagged.Tagged]:
    """Those sentences that are running text, without headlines, tables and datelines.

    A sentence is kept if it has eight words or more, one of them a verb, ends in a mark such as
    a full stop, and has words in small letters beyond a headline's.

    Args:
        sentences: As of :func:`mathlm.text.tagged.load`.
    """
    return [s for s in sentences if _is_prose(s)]


def _is_prose(sentence: tagged.Tagged) -> bool:
    words = sentence.words
    has_verb = any(tagged.coarse_part(tag) == "verb" for tag in sentence.parts)
    letters = [word for word in words if word.isalpha()]
    capitals = sum(word.isupper() for word in letters)
    label = len(words) > 1 and words[1] == ":"  # as in "Result : Pakistan won by 46 runs ."
    whole = len(words) >= LEAST and words[-1] in MARKS and not label
    return has_verb and whole and capitals < len(letters) / 2


def as_text(words: Sequence[str]) -> str:
    """Words as one line, without spaces before the marks that close a clause."""
    return re.sub(r" ([.,;:?!)]|'s\b|n't\b)", r"\1", " ".join(words)).replace("( ", "(")


def word_states(
    model: Bert, tokenizer: WordPiece, sentences: Sequence[Sequence[str]]
) -> Float[Tensor, "depths N D"]:
    """States of the words of some sentences, at the embedding and behind every block.

    Each sentence is read between ``[CLS]`` and ``[SEP]`` and sees no other. The state of a word
    is the mean over its pieces.

    Args:
        model: In evaluation mode if it has dropout.
        tokenizer: Of the model.
        sentences: Words of each sentence.

    Returns:
        L + 1 states of each of the N words, in order.

    Raises:
        InputError: If there is no sentence, one has no word, or a word has no piece; or as
            :func:`mathlm.interpret.record`.
        InputTypeError: If the model is no Bert, or the tokenizer no WordPiece.
    """
    if not isinstance(model, Bert) or not isinstance(tokenizer, WordPiece):
        raise InputTypeError(
            f"model is a {type(model).__name__} and tokenizer a {type(tokenizer).__name__}: "
            "expected a Bert and its WordPiece"
        )
    if not sentences:
        raise InputError("there is no sentence: expected one or more, each a list of words")
    pieces = [pieces_of(tokenizer, words) for words in sentences]
    lengths = torch.tensor([sum(map(len, words)) for words in pieces])
    states: dict[int, Tensor] = {}
    for rows in lengths.argsort().split(ROWS):  # of nearly the same length: little padding
        chosen = [pieces[row] for row in rows]
        states |= dict(zip(rows.tolist(), states_of(model, tokenizer, chosen), strict=True))
    return torch.cat([states[row] for row in range(len(sentences))], 1)


def states_of(
    model: Bert, tokenizer: WordPiece, sentences: Sequence[list[list[int]]]
) -> list[Float[Tensor, "depths words D"]]:
    """:func:`word_states` of each of a few sentences, given as pieces of words."""
    first, last = tokenizer.encode("")
    device = model.token_embedding.weight.device
    rows = [torch.tensor([first, *chain(*pieces), last]) for pieces in sentences]
    ids = pad_sequence(rows, batch_first=True).to(device)
    real = pad_sequence([torch.ones_like(row) for row in rows], batch_first=True).bool()
    taps = record(model, ids, real.to(device))
    names = [f"blocks.{i}.resid_post" for i in range(model.config.n_layers)]
    states = torch.stack([taps[name] for name in ("embedding", *names)], 1)  # (B, L + 1, T, D)
    return [means(row[:, 1:], pieces) for row, pieces in zip(states, sentences, strict=True)]


def means(
    states: Float[Tensor, "depths T D"], pieces: list[list[int]]
) -> Float[Tensor, "depths words D"]:
    """Mean of the states over the pieces of each word."""
    lengths = torch.tensor([len(word) for word in pieces], device=states.device)
    owner = torch.arange(len(pieces), device=states.device).repeat_interleave(lengths)
    sums = states.new_zeros(len(states), len(pieces), states.shape[-1])
    return sums.index_add(1, owner, states[:, : len(owner)]) / lengths[:, None]


def pieces_of(tokenizer: WordPiece, words: Sequence[str]) -> list[list[int]]:
    """Pieces of each word of a sentence."""
    if isinstance(words, str) or not all(isinstance(word, str) for word in words):
        raise InputError(f"{words!r:.80} must be a list of words")
    pieces = [tokenizer.encode(word, special=False) for word in words]
    if not pieces or not all(pieces):
        raise InputError(f"{words!r:.80} must be a list of words of one piece or more each")
    return pieces
