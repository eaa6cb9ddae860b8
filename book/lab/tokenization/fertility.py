"""How many tokens a text becomes, for each word, character and byte, and next to another.

References:
    Ács (2019), Exploring BERT's vocabulary; Rust et al. (2021), arXiv:2012.15613 (fertility).
    Petrov et al. (2023), arXiv:2305.15425 (the premium that a language pays).
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mathlm.errors import InputError, InputTypeError
from mathlm.text.tokenizers.pretokenize import utf8


@dataclass(frozen=True, kw_only=True)
class Fertility:
    """Sizes of texts in four units.

    Args:
        tokens: Tokens that the tokenizer makes of them.
        words: Runs of characters between white space. Chinese, Japanese and Thai write no
            space between words: there this number says nothing.
        characters: Code points.
        bytes: Bytes in UTF-8.
    """

    tokens: int
    words: int
    characters: int
    bytes: int

    @property
    def per_word(self) -> float:
        """Tokens for each word."""
        return self.tokens / self.words

    @property
    def per_character(self) -> float:
        """Tokens for each code point."""
        return self.tokens / self.characters

    @property
    def per_byte(self) -> float:
        """Tokens for each byte: 1 if nothing is merged."""
        return self.tokens / self.bytes


def token_fertility(tokenizer: Any, texts: Iterable[str]) -> Fertility:
    """Count the tokens, words, characters and bytes of texts.

    Args:
        tokenizer: Anything whose ``encode(text)`` is a list of ids.
        texts: The texts, encoded one by one.

    Raises:
        InputError: If there is no word in the texts, or a lone surrogate.
        InputTypeError: If ``texts`` is one str, or a text is not a str.

    Example:
        >>> from mathlm.text import ByteBPE
        >>> token_fertility(ByteBPE.train(["a"], 256), ["ein Öl"]).per_word
        3.5
    """
    if isinstance(texts, str | bytes):
        kind = type(texts).__name__
        raise InputTypeError(f"texts is one {kind}, expected several; write [text]")
    texts = list(texts)
    n_bytes = sum(len(utf8(text)) for text in texts)
    words = sum(len(text.split()) for text in texts)
    if not words:
        raise InputError(f"the {len(texts)} texts hold no word: there is nothing to divide by")
    tokens = sum(len(tokenizer.encode(text)) for text in texts)
    return Fertility(tokens=tokens, words=words, characters=sum(map(len, texts)), bytes=n_bytes)


def token_premium(
    tokenizer: Any, translations: Mapping[str, str], base: str = "English"
) -> dict[str, float]:
    """How many tokens a translation takes for each token of the base language.

    Implements eq-token-premium::

        |encode(text)| / |encode(base text)|

    The texts say the same, so that nothing is divided by words or bytes, which mean something
    else in every language.

    Args:
        tokenizer: Anything whose ``encode(text)`` is a list of ids.
        translations: Language to text.
        base: The language that the others are compared with.

    Raises:
        InputError: If the base language is missing, or its text has no token.
    """
    if base not in translations:
        raise InputError(f"translations has no text in {base!r}; it has {list(translations)}")
    if not (of_base := len(tokenizer.encode(translations[base]))):
        raise InputError(f"the text in {base!r} has no token: there is nothing to divide by")
    return {name: len(tokenizer.encode(text)) / of_base for name, text in translations.items()}
