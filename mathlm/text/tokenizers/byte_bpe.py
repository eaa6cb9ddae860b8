"""Byte-level byte-pair encoding: trained, applied, read and saved."""

import os
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from ...errors import InputError, InputTypeError
from . import bpe, files
from .batches import BatchEncoder, require_one_text
from .bpe import WordCache, apply_merges, count_words, ids_of, learn_merges
from .pretokenize import require_allowed, require_names, require_pattern, split_special, utf8
from .stream import DecodeStream, not_text, require_errors

Pair = tuple[int, int]


class ByteBPE(BatchEncoder):
    """A tokenizer whose tokens are strings of bytes, so that no text is unknown.

    Text is cut into words by a pattern, a word becomes its UTF-8 bytes, and pairs of
    neighboring tokens merge in the order in which training learned them. Objects do not
    change; two with the same content are equal.

    Args:
        tokens: Bytes of each id; for a special token its name in UTF-8.
        merges: Pairs of ids, in order of rank.
        special: Id of each special token.
        pattern: Name of the pattern that cuts text into words, a key of ``PATTERNS``.

    Raises:
        InputError: If two tokens have the same bytes, a merge uses a token that no earlier
            merge made, or a special token is empty, repeated or out of range.
        InputTypeError: If an argument is of another kind, or an id no integer.

    Example:
        >>> bpe = ByteBPE.train(["low low low"], vocab_size=258)  # merges l + o, then lo + w
        >>> bpe.encode("slow"), bpe.tokens("slow")
        ([115, 257], [b's', b'low'])
        >>> bpe.decode([115, 257])
        'slow'
        >>> bpe(["low", "slow"], padding="left").ids
        array([[  0, 257],
               [115, 257]])

    References:
        Sennrich et al. (2016), arXiv:1508.07909; Radford et al. (2019), section 2.2.
    """

    def __init__(
        self,
        tokens: Sequence[bytes],
        merges: Sequence[Pair],
        special: Mapping[str, int] | None = None,
        pattern: str = "gpt4",
    ) -> None:
        self._definition = bpe.define(tokens, merges, special or {}, pattern)
        ids = bpe.ordinary_ids(self._definition)
        self._rules = bpe.merge_rules(self._definition, ids)
        self._byte_ids = [ids.get(bytes([byte])) for byte in range(256)]
        self._special_ids = set(self._definition.special.values())
        self._words = WordCache(self._encode_word)

    @classmethod
    def train(
        cls,
        texts: Iterable[str],
        vocab_size: int,
        special: Sequence[str] = (),
        pattern: str = "gpt4",
        ties: bpe.Ties = "least",
    ) -> "ByteBPE":
        """Learn merges from texts.

        The most frequent pair of neighboring tokens merges first; :func:`learn_merges` states
        the rule for ties. Training stops early when no pair is left that occurs twice, so
        ``vocab_size`` of the result may be smaller than what was asked for. Special names in
        the texts are text like any other.

        Args:
            texts: Documents, in any order; the result does not depend on it.
            vocab_size: Number of tokens: 256 bytes, the merges, and the special tokens.
            special: Names of special tokens; they get the last ids.
            pattern: Name of the pattern that cuts text into words.
            ties: Which of the most frequent pairs merges first.

        Raises:
            InputError: If the vocabulary cannot hold the bytes and the special tokens, there is
                no text, ``ties`` is unknown, or a special token is empty or repeated.
            InputTypeError: If ``texts`` are no documents, or ``vocab_size`` is no integer.
        """
        require_names(special)
        require_pattern(pattern)
        bpe.require_documents(texts)
        n_merges = _number_of_merges(vocab_size, len(special))
        merges = learn_merges(count_words(texts, pattern), n_merges, ties)
        return cls.from_merges(merges, special, pattern)

    @classmethod
    def from_merges(
        cls, merges: Sequence[Pair], special: Sequence[str] = (), pattern: str = "gpt4"
    ) -> "ByteBPE":
        """Ids 0..255 are the bytes, 256 + i is merge i, and special tokens come last.

        Raises:
            InputError: If a merge uses an id that is not made before it.
            InputTypeError: If a merge is no pair of integers.
        """
        return cls(*bpe.from_merges(merges, special, pattern))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "ByteBPE":
        """What :meth:`save` wrote.

        Raises:
            DataNotFoundError: If there is no such file.
            HashMismatchError: If the file has changed since it was written.
            DataError: If it is no such file, or one of another version.
        """
        return files.build(cls, files.read(path), path)

    @classmethod
    def from_gpt2(cls, folder: str | os.PathLike[str]) -> "ByteBPE":
        """GPT-2's tokenizer, from ``vocab.bpe`` and ``encoder.json``.

        ``merges.txt`` and ``vocab.json``, their names elsewhere, are read too, and words are
        cut as Hugging Face's ``tokenizer.json`` says, where the folder has one.

        Raises:
            DataNotFoundError: If the folder does not have them.
            DataError: If they are malformed or contradict each other, or words are cut in
                another way than those of :func:`pre_tokenize`.
        """
        return files.build(cls, files.read_gpt2(folder), folder)

    @classmethod
    def from_gguf(cls, path: str | os.PathLike[str]) -> "ByteBPE":
        """The byte-level BPE tokenizer in a GGUF file.

        Raises:
            DataNotFoundError: If there is no such file, or the gguf package is not installed.
            DataError: If the file is malformed, or its tokenizer is of another kind.
        """
        return files.build(cls, files.read_gguf(path), path)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a JSON file; a reader never sees half of it.

        A link is followed, and a file that is replaced keeps its permissions.

        It holds the tokens and merges in GPT-2's printable alphabet, the special tokens, the
        pattern, and the SHA-256 of all that.

        Raises:
            DataError: If the file cannot be written; what was there before is still there.
        """
        files.write(path, self._definition)

    @property
    def vocab_size(self) -> int:
        """Number of tokens, special ones included."""
        return len(self._definition.tokens)

    @property
    def merges(self) -> list[Pair]:
        """Pairs of ids that merge, in order of rank."""
        return list(self._definition.merges)

    @property
    def special(self) -> dict[str, int]:
        """Id of each special token."""
        return dict(self._definition.special)

    @property
    def pattern(self) -> str:
        """Name of the pattern that cuts text into words."""
        return self._definition.pattern

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the content, the same in every process."""
        return files.sha256(self._definition)

    def encode(self, text: str, allowed_special: Iterable[str] | str = ()) -> list[int]:
        """Ids of a text.

        Without ``allowed_special`` no text becomes a special id, whatever it spells.

        Args:
            text: Any text.
            allowed_special: Names that become special ids where the text has them, or "all".
                Where several begin at one position, the longest wins.

        Raises:
            InputError: If the text has a lone surrogate, a name is no special token, or the
                vocabulary lacks a byte of the text (SmolLM2's lacks 21; a trained one none).

        Example:
            >>> bpe = ByteBPE.train(["low low low"], vocab_size=259, special=["<|end|>"])
            >>> bpe.encode("low<|end|>", allowed_special="all")
            [257, 258]
        """
        require_one_text(text)
        utf8(text)
        allowed = require_allowed(allowed_special, self._definition.special)
        ids: list[int] = []
        for i, part in enumerate(split_special(text, allowed)):
            if i % 2:
                ids.append(self._definition.special[part])
            else:
                ids.extend(ids_of(part, self.pattern, self._words))
        return ids

    def encode_bytes(self, data: bytes | bytearray) -> list[int]:
        """Ids of any bytes; those of a text are ``encode`` of the text.

        Raises:
            InputError: If the vocabulary lacks a byte.
            InputTypeError: If ``data`` is not bytes.
        """
        if not isinstance(data, bytes | bytearray):
            raise InputTypeError(f"data must be bytes, got {type(data).__name__}")
        text = data.decode("utf-8", "surrogateescape")
        return list(ids_of(text, self.pattern, self._words))

    def tokens(self, text: str, allowed_special: Iterable[str] | str = ()) -> list[bytes]:
        """Bytes of each token of a text."""
        return [self._definition.tokens[i] for i in self.encode(text, allowed_special)]

    def token_bytes(self, token: int) -> bytes:
        """Bytes of one token; those of a special token are its name.

        Raises:
            InputError: If there is no such id.
        """
        return self._definition.tokens[self._require_id(token, 0)]

    def decode_bytes(self, ids: Iterable[Any], skip_special: bool = False) -> bytes:
        """Bytes of ids, one after another.

        Args:
            ids: Ids of tokens; integers of NumPy count, booleans do not.
            skip_special: Leave special tokens out.

        Raises:
            InputError: If an id is unknown; the message has its position.
            InputTypeError: If ``ids`` is no list of ids but one id, text, or without an order.
        """
        _require_list(ids)
        known = [self._require_id(token, position) for position, token in enumerate(ids)]
        if skip_special:
            known = [token for token in known if token not in self._special_ids]
        tokens = self._definition.tokens
        return b"".join([tokens[token] for token in known])

    def decode(
        self, ids: Iterable[Any], errors: str = "replace", skip_special: bool = False
    ) -> str:
        """Text of ids.

        Args:
            ids: Ids of tokens.
            errors: What to do with bytes that are not UTF-8: "replace" writes U+FFFD, "strict"
                raises, "ignore" drops them.
            skip_special: Leave special tokens out; otherwise their names are shown.

        Raises:
            InputError: If an id is unknown, or with "strict" if the bytes are not UTF-8.
        """
        require_errors(errors)
        data = self.decode_bytes(ids, skip_special)
        try:
            return data.decode("utf-8", errors)
        except UnicodeDecodeError as error:
            raise not_text(error) from error

    def stream(self, errors: str = "replace", skip_special: bool = False) -> DecodeStream:
        """A decoder that takes one id at a time and returns what text is certain."""
        return DecodeStream(lambda ids: self.decode_bytes(ids, skip_special), errors)

    def __len__(self) -> int:
        return self.vocab_size

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ByteBPE) and self._definition == other._definition

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __reduce__(self) -> tuple[type["ByteBPE"], tuple[Any, ...]]:
        return type(self), tuple(self._definition)

    def __repr__(self) -> str:
        d = self._definition
        return f"ByteBPE({len(d.tokens)} tokens, {len(d.merges)} merges, {d.pattern!r})"

    def _encode_word(self, word: str) -> list[int]:
        ids = []
        for byte in word.encode("utf-8", "surrogateescape"):
            token = self._byte_ids[byte]
            if token is None:
                raise InputError(
                    f"byte 0x{byte:02X} of the word {word[:40]!r} has no token in this "
                    f"vocabulary of {self.vocab_size}: remove it, or train a vocabulary, "
                    "which has all 256"
                )
            ids.append(token)
        return apply_merges(ids, self._rules)

    def _require_id(self, token: Any, position: int) -> int:
        """``token`` as an int, if there is such an id."""
        if type(token) is int and 0 <= token < len(self._definition.tokens):
            return token
        index = bpe.whole_number(token)
        if index is not None and 0 <= index < self.vocab_size:
            return index
        raise InputError(
            f"id {token!r} at position {position} is no token; "
            f"ids are integers in 0..{self.vocab_size - 1}"
        )


def _number_of_merges(vocab_size: int, n_special: int) -> int:
    """How many merges a vocabulary has room for."""
    size = bpe.whole_number(vocab_size)
    if size is None:
        raise InputTypeError(f"vocab_size={vocab_size!r} must be an integer")
    if size < 256 + n_special:
        raise InputError(
            f"vocab_size={size} must be at least {256 + n_special}: "
            f"256 bytes and {n_special} special tokens"
        )
    return size - 256 - n_special


def _require_list(ids: Any) -> None:
    """Raise unless ``ids`` has ids in one order, in one dimension."""
    unordered = isinstance(ids, set | frozenset | Mapping)
    text = isinstance(ids, str | bytes | bytearray | memoryview)
    if text or unordered or not isinstance(ids, Iterable):
        raise InputTypeError(f"ids must be a list of integers, got {type(ids).__name__}")
    shape = tuple(getattr(ids, "shape", (None,)))
    if len(shape) != 1:
        raise InputTypeError(f"ids has shape {shape}, expected one dimension")


__all__ = ["ByteBPE"]
