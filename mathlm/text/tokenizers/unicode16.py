"""Letters and numbers as of Unicode 16, whatever version the `regex` package knows.

Each year Unicode makes letters and numbers of code points that meant nothing before, and a
pattern that asks for a letter then cuts the same text elsewhere. A tokenizer must not change
with the version of a package, so the code points below, which later versions made letters or
numbers, are read as what they were: signs. The published patterns in tiktoken 0.14 and in the
regular expressions of tokenizers 0.23 are of Unicode 16 too.
"""

import numpy as np

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


__all__ = ["as_of_unicode_16"]
