"""Lists of lists of strings, in the part of YAML that collections of dialogs are written in."""

import re
from collections.abc import Iterator

from ...errors import DataError

START, NEXT, DEEPER = "- - ", "  - ", "    "


def dialogs(text: str) -> Iterator[list[str]]:
    """The turns of each dialog below the line ``conversations:``.

    A dialog begins with ``- - `` and its further turns with two blanks and ``- ``; lines with
    four blanks go on. A turn may be in quotes, plain, or a block of lines behind ``|``. An item
    that is no list of turns is no dialog, and is passed over.

    Raises:
        DataError: If the line ``conversations:`` is missing.
    """
    _, found, body = text.partition("\nconversations:\n")
    if not found:
        raise DataError("there is no line 'conversations:'; such a file is no list of dialogs")
    for item in re.split(r"^(?=- )", body, flags=re.MULTILINE):
        if item.startswith(START):
            turns = re.split(r"^  - ", item[len(START) :], flags=re.MULTILINE)
            yield [scalar(turn) for turn in turns]


def scalar(source: str) -> str:
    r"""A string of YAML: plain, in quotes or a literal block.

    Example:
        >>> scalar("'it''s\n    here'\n")
        "it's here"
    """
    first, *rest = [re.sub(r"^ {4}", "", line) for line in source.split("\n")]
    if first.strip() == "|":
        return "\n".join(rest).rstrip("\n") + "\n"
    folded = " ".join(line.strip(" ") for line in (first, *rest)).strip(" ")
    if folded[:1] == "'" and folded[-1:] == "'":
        return folded[1:-1].replace("''", "'")
    if folded[:1] == '"' and folded[-1:] == '"':
        return re.sub(r'\\(["\\])', r"\1", folded[1:-1])
    return folded
