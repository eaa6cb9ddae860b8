r"""Text into pieces: the cuts that no merge may cross.

A pattern is tried at each position, its alternatives from left to right, each as long as it
can be. What counts as a letter (``\p{L}``), a number (``\p{N}``) or white space (``\s``) is
what Unicode 16 says; what later versions made letters or numbers is a sign.

References:
    Radford et al. (2019), Language models are unsupervised multitask learners, section 2.2.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import cache
from itertools import accumulate, pairwise

import numpy as np
import regex

from ...errors import InputError, InputTypeError

# Hexadecimal, first-last; between the ends of a range there is no letter, number or white
# space of Unicode 16.
LATER_RANGES = """
558-558 58b-58c 88f-88f c5c-c5c cdc-cdc 208f-208f 209d-209f a7ce-a7cf a7d2-a7d2 a7d4-a7d4
a7dd-a7f1 ab6c-ab6d 107bb-107bf 10940-10959 10ec5-10eee 11b0a-11b0a 11db0-11df1 1246f-1247f
12550-12686 16ea0-16ed3 16ff2-16ff6 187f8-187ff 18cd6-18cda 18d09-191d2 1b123-1b128 1b168-1b168
1d6a6-1d6a6 1df1f-1df24 1df2b-1dfff 1e6c0-1e6ff 2b73a-2b73f 2b81e-2b81e 2cea2-2cead 323b0-3ffff
"""
SIGN = 0xE000  # a code point for private use: no letter, number or white space in any version


def _is_later() -> np.ndarray:
    """Whether each code point is in one of the ranges."""
    later = np.zeros(0x110000, bool)
    for ends in LATER_RANGES.split():
        first, last = (int(end, 16) for end in ends.split("-"))
        later[first : last + 1] = True
    return later


IS_LATER = _is_later()


def as_of_unicode_16(text: str) -> str:
    """The text with a sign in place of each letter and number that came after Unicode 16.

    Its length stays. A text without them comes back itself.
    """
    if text.isascii():
        return text
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")
    later = IS_LATER[codes]
    if not later.any():
        return text
    seen = np.where(later, SIGN, codes).astype("<u4")
    return seen.tobytes().decode("utf-32-le", "surrogatepass")


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


CLASS = re.compile(
    r"\[[^\]]*\]|\\p\{[LN]\}"
)  # of a pattern: one in brackets, or a lone property


@cache
def compiled_for_ascii(pattern: str) -> re.Pattern[str]:
    """The pattern of that name for texts of ASCII alone, where the standard library is faster.

    Of ASCII the letters are A to Z and a to z, the numbers 0 to 9.
    """

    def ascii_class(match: re.Match[str]) -> str:
        signs = match[0].replace(r"\p{L}", "A-Za-z").replace(r"\p{N}", "0-9")
        return signs if match[0].startswith("[") else f"[{signs}]"

    return re.compile(CLASS.sub(ascii_class, PATTERNS[pattern]), re.ASCII)


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
    if text.isascii():
        return compiled_for_ascii(pattern).findall(text)
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


def require_names(special: Sequence[str]) -> None:
    """Raise unless ``special`` are distinct names of one character or more.

    Raises:
        InputTypeError: If it is no sequence but a string or a set, or holds what is no string.
        InputError: If a name is empty, repeated or has a lone surrogate.
    """
    if isinstance(special, str) or not isinstance(special, Sequence):
        raise InputTypeError(f"special={special!r} must be a list of names; their order counts")
    for position, name in enumerate(special):
        utf8(name)
        if not name:
            raise InputError(f"special[{position}] is empty; every position of a text has it")
        if name in special[:position]:
            first = special.index(name)
            raise InputError(f"special {name!r} is at {first} and again at {position}")


def require_allowed(allowed: Iterable[str] | str, special: Iterable[str]) -> set[str]:
    """The names that ``allowed`` stands for: those it holds, or every one for "all".

    Raises:
        InputTypeError: If it is a string other than "all", or holds what is no string.
        InputError: If it holds a name that is no special token.
    """
    if isinstance(allowed, str):
        if allowed == "all":
            return set(special)
        raise InputTypeError(f"allowed_special={allowed!r} must be 'all' or a set of names")
    if not isinstance(allowed, Iterable):
        raise InputTypeError(f"allowed_special={allowed!r} must be 'all' or a set of names")
    names = list(allowed)  # once: a generator has no second reading
    if other := [name for name in names if not isinstance(name, str)]:
        raise InputTypeError(f"allowed_special holds {other[0]!r}; a name is a str")
    if unknown := set(names) - set(special):
        raise InputError(
            f"allowed_special has {sorted(unknown)}; the special tokens are {sorted(special)}"
        )
    return set(names)


def split_special(text: str, names: Collection[str]) -> list[str]:
    """Text cut at special names: even items are text, odd items are names.

    Names are found from the left. Where several begin at one position, the longest wins.

    Example:
        >>> split_special("a<x>b", ["<x>"])
        ['a', '<x>', 'b']
    """
    if not names:
        return [text]
    longest_first = sorted(names, key=lambda name: (-len(name), name))
    return re.split("(" + "|".join(map(re.escape, longest_first)) + ")", text)
