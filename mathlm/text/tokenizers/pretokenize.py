r"""Text into pieces: the cuts that no merge may cross.

A pattern is tried at each position, its alternatives from left to right, each as long as it
can be. What counts as a letter (``\p{L}``), a number (``\p{N}``) or white space (``\s``) is
what Unicode 16 says; what later versions made letters or numbers is a sign.

References:
    Radford et al. (2019), Language models are unsupervised multitask learners, section 2.2.
"""

from collections.abc import Iterator
from functools import cache
from itertools import accumulate, pairwise

import regex

from ...errors import InputError, InputTypeError
from .unicode16 import as_of_unicode_16

PATTERNS = {
    "gpt2": (r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"),
    "gpt4": (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}"
        r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s+\Z|\s*[\r\n]+|\s+(?!\S)|\s+"
    ),
    # White space before a digit ends where a text would end: the digits are cut off first.
    "smollm2": (
        r"\p{N}|'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?[^\s\p{L}\p{N}]+|\s+(?![^\s\p{N}])|\s+"
    ),
}
BLOCK = 1 << 16  # characters
# A space after what is no white space begins a piece in every pattern, and no piece before it
# depends on what follows.
CUT = regex.compile(r"(?<=\S) ")


def require_pattern(pattern: str) -> None:
    """Raise unless a pattern is called ``pattern``.

    Raises:
        InputError: If none is.
        InputTypeError: If it is not a str.
    """
    if not isinstance(pattern, str):
        raise InputTypeError(f"pattern={pattern!r} must be one of the names {sorted(PATTERNS)}")
    if pattern not in PATTERNS:
        raise InputError(f"no pattern is called {pattern!r}; there are {sorted(PATTERNS)}")


@cache
def compiled(pattern: str) -> regex.Pattern[str]:
    """The compiled pattern of that name."""
    return regex.compile(PATTERNS[pattern])


def utf8(text: str) -> bytes:
    """The bytes of a text.

    Raises:
        InputError: If the text holds a surrogate, which is half a character and has no bytes.
        InputTypeError: If it is not a str.
    """
    if not isinstance(text, str):
        raise InputTypeError(f"a text must be a str, got {type(text).__name__}")
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise InputError(
            f"position {error.start} of the text holds {text[error.start]!r}, a lone surrogate "
            "without bytes; decode the source with errors='replace'"
        ) from None


def pre_tokenize(text: str, pattern: str = "gpt2") -> list[str]:
    r"""Cut a text into the pieces that are tokenized one by one.

    ========  ============  ================================================================
    pattern   published as  what is a piece
    ========  ============  ================================================================
    gpt2      GPT-2         a contraction; letters, digits or other signs with a space before
    gpt4      cl100k_base   the same, but contractions in capitals too, any sign before
                            letters, at most three digits and no space before them, line ends
                            with the signs before them; white space at the end of a text whole
    smollm2   SmolLM2       each digit alone, and between the digits what gpt2 says
    ========  ============  ================================================================

    Of white space before a word, the last space goes with the word and the rest is a piece.

    Args:
        text: Any text.
        pattern: Name in :data:`~mathlm.text.PATTERNS`.

    Returns:
        The pieces; joined they are the text.

    Raises:
        InputError: If no pattern has that name.
        InputTypeError: If the text or the name is not a str.

    Example:
        >>> pre_tokenize("We'll pay 1984.")
        ['We', "'ll", ' pay', ' 1984', '.']
    """
    if not isinstance(text, str):
        raise InputTypeError(f"a text must be a str, got {type(text).__name__}")
    require_pattern(pattern)
    seen = as_of_unicode_16(text)
    pieces: list[str] = compiled(pattern).findall(seen)
    if seen is text:
        return pieces
    ends = accumulate(map(len, pieces), initial=0)
    return [text[start:end] for start, end in pairwise(ends)]


def blocks(text: str, size: int = BLOCK) -> Iterator[str]:
    """Parts of a long text whose pieces are the pieces of the text.

    Args:
        text: A text.
        size: A part ends at the first safe cut after so many characters, 1 or more.

    Raises:
        InputError: If ``size`` is below 1.
    """
    if size < 1:
        raise InputError(f"size={size} must be at least 1")
    start = 0
    while start < len(text):
        cut = CUT.search(text, start + size)
        end = cut.start() if cut else len(text)
        yield text[start:end]
        start = end
