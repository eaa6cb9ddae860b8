"""Vocabularies of whole words and of single characters, with marks for padding and ends."""

import operator
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, SupportsIndex

from ...errors import DataError, InputError, InputTypeError


@dataclass(frozen=True)
class Words:
    """The words of some texts, each with a number; hyphens and spaces separate them.

    Three marks come first: padding 0, begin 1 and end 2. The words follow in the order of their
    characters, so that the numbers do not depend on the order of the texts.

    Args:
        symbols: Symbol number i is ``symbols[i]``, the marks among them; see :meth:`build`.

    Raises:
        InputError: If the marks do not come first, or a symbol is there twice.

    Example:
        >>> words = Words.build(["vingt et un", "vingt-deux"])
        >>> words.encode("vingt-et-un")
        [6, 4, 5]
    """

    symbols: tuple[str, ...]

    PAD: ClassVar[int] = 0
    BOS: ClassVar[int] = 1
    EOS: ClassVar[int] = 2
    MARKS: ClassVar[tuple[str, ...]] = ("<pad>", "<bos>", "<eos>")
    BETWEEN: ClassVar[str] = " "

    def __post_init__(self) -> None:
        if self.symbols[:3] != self.MARKS:
            found = self.symbols[:3]
            raise InputError(f"symbols start with {found}, expected {self.MARKS}; call build")
        if len(self.index) < len(self.symbols):
            twice = next(s for i, s in enumerate(self.symbols) if self.index[s] != i)
            raise InputError(f"the symbol {twice!r} is there more than once")

    @classmethod
    def build(cls, texts: Iterable[str]) -> "Words":
        """The symbols that occur in ``texts``.

        Raises:
            InputTypeError: If ``texts`` is one string, or a text is no str.
            DataError: If the texts hold no symbol.
        """
        if isinstance(texts, str | bytes):
            raise InputTypeError("texts is one string, expected several texts in a list")
        found = {symbol for text in texts for symbol in cls.split(text)}
        if not found:
            raise DataError(f"the texts hold no symbol for a vocabulary of {cls.__name__}")
        return cls((*cls.MARKS, *sorted(found - {*cls.MARKS})))

    @staticmethod
    def split(text: str) -> list[str]:
        """The symbols of a text, one after another."""
        return _require_text(text).replace("-", " ").split()

    def __len__(self) -> int:
        return len(self.symbols)

    @cached_property
    def index(self) -> dict[str, int]:
        """From a symbol to its number."""
        return {symbol: i for i, symbol in enumerate(self.symbols)}

    def encode(self, text: str) -> list[int]:
        """Numbers of the symbols of a text, without marks at its ends.

        Raises:
            InputError: If a symbol is unknown; names the first one and where it stands.
            InputTypeError: If ``text`` is no str.
        """
        found, index = self.split(text), self.index
        for i, symbol in enumerate(found):
            if symbol not in index:
                raise InputError(
                    f"symbol {i} of {text!r:.60} is {symbol!r}, not one of the "
                    f"{len(self) - len(self.MARKS)} of this vocabulary"
                )
        return [index[symbol] for symbol in found]

    def decode(self, ids: Iterable[SupportsIndex]) -> str:
        """The text of some numbers: from behind a begin mark up to the first end mark.

        Padding behind the text is left out. Any other mark is shown, as ``<pad>`` and the like,
        so that a translation that holds one is never mistaken for one that does not.

        Raises:
            InputError: If a number is not in the vocabulary.
            InputTypeError: If one is no integer.
        """
        numbers = [self._require_id(i, value) for i, value in enumerate(ids)]
        if numbers[:1] == [self.BOS]:
            del numbers[0]
        if self.EOS in numbers:
            del numbers[numbers.index(self.EOS) :]
        while numbers and numbers[-1] == self.PAD:
            numbers.pop()
        return self.BETWEEN.join(self.symbols[n] for n in numbers)

    def _require_id(self, i: int, value: SupportsIndex) -> int:
        try:
            n = operator.index(value)
        except TypeError:
            raise InputTypeError(f"number {i} is {value!r:.60}, expected an integer") from None
        if not 0 <= n < len(self):
            raise InputError(f"number {i} is {n}, outside 0..{len(self) - 1}")
        return n


class Characters(Words):
    """The characters of some texts, each with a number; blanks and hyphens are characters too.

    Marks and methods are those of :class:`Words`.

    Args:
        symbols: As in :class:`Words`.

    Raises:
        InputError: As :class:`Words`.

    Example:
        >>> Characters.build(["cent un"]).encode("un cent")
        [8, 6, 3, 4, 5, 6, 7]
    """

    BETWEEN: ClassVar[str] = ""

    @staticmethod
    def split(text: str) -> list[str]:
        """The characters of a text."""
        return list(_require_text(text))


def _require_text(text: str) -> str:
    """A text, which is a str."""
    if not isinstance(text, str):
        raise InputTypeError(f"text is {text!r:.60}, expected a str")
    return text


__all__ = ["Characters", "Words"]
