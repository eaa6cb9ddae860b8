"""Raw text made plain: rules that each do one thing and say how often they did it.

References:
    Raffel et al. (2020), arXiv:1910.10683, section 2.2 (lines that are no prose).
    Speer (2019), doi:10.5281/zenodo.2591652 (ftfy: text decoded by the wrong table).
"""

import html
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from ...errors import InputTypeError

Rule = Callable[[str], tuple[str, int]]

TAGS = (
    "a abbr article aside b blockquote body br button center code dd div dl dt em figure font "
    "footer form h1 h2 h3 h4 h5 h6 head header hr html i iframe img input label li link main "
    "meta nav noscript ol option p pre script section select small span strong style sub sup "
    "table tbody td th thead title tr u ul"
)
HIDDEN = re.compile(
    r"<!--.*?-->|<(script|style)\b[^<>]*>.*?</\1\s*>", re.DOTALL | re.IGNORECASE
)
TAG = re.compile(rf"</?(?:{'|'.join(TAGS.split())})(?:\s[^<>]*)?/?>", re.IGNORECASE)
ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
LINE_ENDS = re.compile("\r\n|[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
INVISIBLE = re.compile(  # controls, surrogates, soft hyphen, spaces of no width, order marks
    "[\0-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\ud800-\udfff\xad\u200b\u2060\ufeff\ufffe\uffff]"
)
BOILERPLATE = re.compile(
    r"javascript|(?:use|uses|accept|accept all|our) cookies|cookie (?:policy|settings)"
    r"|privacy policy|terms of (?:use|service)|all rights reserved|©"
    r"|^(?:sign up|log ?in|subscribe|click here|read more|share|skip to|menu)\b[^,;:.]*$",
    re.IGNORECASE,
)
LONGEST_BOILERPLATE = 12  # words; a longer line that has such a phrase is prose about it


class Cleaned(NamedTuple):
    """A text after cleaning.

    Args:
        text: What is left.
        counts: How often each rule did something, in the unit that its docstring names.
    """

    text: str
    counts: dict[str, int]


def clean(text: str, *, lines: Iterable[str] = ()) -> Cleaned:
    """Apply every rule of :data:`CLEANING_RULES` in its order.

    Control characters, markup, mojibake, Unicode's form NFC, lines that are no prose,
    white space. A clean text stays as it is; nothing is counted that was not changed.

    Args:
        text: Any text.
        lines: Lines to drop first, such as :func:`common_lines` finds.

    Returns:
        The text, and the count of each rule.

    Raises:
        InputTypeError: If the text is not a str.

    Example:
        >>> clean("<p>It\u00e2\u20ac\u2122s&nbsp;late.</p>").text
        'It’s late.'
    """
    if not isinstance(text, str):
        raise InputTypeError(f"a text must be a str, got {type(text).__name__}")
    counts: dict[str, int] = {}
    text, counts["common_lines"] = drop_lines(text, lines)
    for name, rule in CLEANING_RULES.items():
        text, counts[name] = rule(text)
    return Cleaned(text, counts)


def strip_markup(text: str) -> tuple[str, int]:
    """Tags and scripts of HTML removed, entities written out; counts [tags and entities].

    Only known tags count as tags: "a < b" and "<eos>" are text.
    """
    text, hidden = HIDDEN.subn("", text)
    text, tags = TAG.subn("", text)
    entities = sum(_written_out(found) != found for found in ENTITY.findall(text))
    plain = ENTITY.sub(lambda match: _written_out(match.group()), text)
    return plain, hidden + tags + entities


def repair_mojibake(text: str) -> tuple[str, int]:
    """UTF-8 that was read as Windows-1252 read again; counts [characters repaired].

    What looks like the bytes of one character of UTF-8 becomes that character: "Ã©" becomes
    "é". A text that means "Ã©" is changed too; outside of texts about encodings there is
    hardly one.
    """
    plain = MOJIBAKE.sub(lambda match: _read_again(match.group()), text)
    found = MOJIBAKE.findall(text)
    return plain, sum(_read_again(wrong) != wrong for wrong in found)


def drop_control(text: str) -> tuple[str, int]:
    r"""Characters that show nothing removed; counts [characters].

    Control characters but line feed and tab, halves of characters (surrogates), soft hyphens,
    spaces of no width and marks of the byte order. Ends of lines become ``\n``. Those that are
    bytes of mojibake stay: :func:`repair_mojibake` reads them.
    """
    before = LINE_ENDS.sub("\n", text)
    after = MOJIBAKE_OR_INVISIBLE.sub(lambda match: _visible(match.group()), before)
    return after, len(before) - len(after)


def compose(text: str) -> tuple[str, int]:
    """Unicode's form NFC, in which an accent and its letter are one; counts [lines changed]."""
    if unicodedata.is_normalized("NFC", text):
        return text, 0
    before = text.split("\n")
    after = [unicodedata.normalize("NFC", line) for line in before]
    return "\n".join(after), sum(a != b for a, b in zip(after, before, strict=True))


def tidy_space(text: str) -> tuple[str, int]:
    r"""One kind of space, one empty line at most, none at the ends; counts [characters].

    Spaces that begin a line stay, as verse and code need them. Counted is by how much the text
    became shorter, and the spaces of other kinds.
    """
    plain = re.sub(r"[^\S\n ]", " ", text)
    other = sum(a != b for a, b in zip(text, plain, strict=True))
    short = re.sub(r"(?<=\S) {2,}", " ", plain)
    short = re.sub(r" +$", "", short, flags=re.MULTILINE)
    short = re.sub(r"\n{3,}", "\n\n", short).lstrip("\n")
    short = re.sub(r"\n{2,}\Z", "\n", short)
    return short, other + len(text) - len(short)


def drop_boilerplate(text: str) -> tuple[str, int]:
    """Short lines with phrases of menus and notices removed; counts [lines]."""
    lines = text.split("\n")
    kept = [line for line in lines if not _is_boilerplate(line)]
    return "\n".join(kept), len(lines) - len(kept)


def prose_lines(text: str, least: int = 5) -> tuple[str, int]:
    r"""Lines that do not end like a sentence, or are short, removed, as for C4; counts [lines].

    Not among :data:`CLEANING_RULES`: verse, lists and tables lose most of their lines.

    Args:
        text: Any text.
        least: Words that a line must have.

    Example:
        >>> prose_lines("Home | About\nIt was a dark and stormy night.")
        ('It was a dark and stormy night.', 1)
    """
    before = text.split("\n")
    kept = [line for line in before if _is_prose(line, least)]
    return "\n".join(kept), len(before) - len(kept)


CLEANING_RULES: Mapping[str, Rule] = {
    "control": drop_control,
    "markup": strip_markup,
    "mojibake": repair_mojibake,
    "unicode": compose,
    "boilerplate": drop_boilerplate,
    "space": tidy_space,
}


def common_lines(documents: Iterable[str], least: int) -> set[str]:
    r"""Lines that stand in many documents, as menus and footers do.

    Args:
        documents: The texts.
        least: In how many different documents a line must stand, 2 or more.

    Returns:
        The lines, without white space at their ends.

    Example:
        >>> common_lines(["Menu\nOne.", "Menu\nTwo."], least=2)
        {'Menu'}
    """
    counts: dict[str, int] = {}
    for text in documents:
        for line in {line.strip() for line in text.split("\n")} - {""}:
            counts[line] = counts.get(line, 0) + 1
    return {line for line, count in counts.items() if count >= least}


def drop_lines(text: str, lines: Iterable[str]) -> tuple[str, int]:
    """Given lines removed; counts [lines]."""
    unwanted = {line.strip() for line in lines}
    before = text.split("\n")
    kept = [line for line in before if line.strip() not in unwanted]
    return "\n".join(kept), len(before) - len(kept)


def _written_out(entity: str) -> str:
    """What an entity stands for, nothing if it cannot be seen, itself if it is none."""
    return INVISIBLE.sub("", html.unescape(entity))


def _is_boilerplate(line: str) -> bool:
    return len(line.split()) <= LONGEST_BOILERPLATE and bool(BOILERPLATE.search(line))


def _is_prose(line: str, least: int) -> bool:
    ends = line.rstrip().endswith((".", "!", "?", '"', "”"))
    return ends and len(line.split()) >= least


def _as_1252(byte: int) -> str:
    """The character that Windows-1252 shows for a byte; five bytes have none and stay."""
    return bytes([byte]).decode("cp1252", "ignore") or chr(byte)


def _mojibake() -> re.Pattern[str]:
    """What the bytes of one character of UTF-8 look like in Windows-1252."""
    shown = {lead: f"[{re.escape(''.join(map(_as_1252, lead)))}]" for lead in LEADS}
    after = f"[{re.escape(''.join(map(_as_1252, range(0x80, 0xC0))))}]"
    return re.compile("|".join(f"{shown[lead]}{after}{{{n}}}" for lead, n in LEADS.items()))


LEADS = {range(0xC2, 0xE0): 1, range(0xE0, 0xF0): 2, range(0xF0, 0xF5): 3}  # bytes to follow
BYTE_OF = {_as_1252(byte): byte for byte in range(256)}
MOJIBAKE = _mojibake()
MOJIBAKE_OR_INVISIBLE = re.compile(f"{MOJIBAKE.pattern}|{INVISIBLE.pattern}")


def _read_again(wrong: str) -> str:
    """The character whose bytes these are, if they are one."""
    try:
        return bytes(BYTE_OF[char] for char in wrong).decode()
    except UnicodeDecodeError:
        return wrong


def _visible(found: str) -> str:
    """Nothing of a sign alone; of several what can be seen, all if they are read as that."""
    if len(found) == 1:
        return ""
    right = _read_again(found)
    return found if right != found and not INVISIBLE.search(right) else INVISIBLE.sub("", found)
