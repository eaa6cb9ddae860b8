r"""Conversations written as one text, with "\n\nHuman: " and "\n\nAssistant: " before turns."""

import re

from ...errors import DataError
from ..chat import Message

SPEAKERS = {"Human": "user", "Assistant": "assistant"}
MARK = re.compile(r"(?:\A|\n\n)(Human|Assistant):")


def transcript(text: str, where: str) -> list[Message]:
    r"""Turns of a transcript; blanks at both ends of a turn are removed.

    Raises:
        DataError: If it does not begin with a speaker, does not end with the assistant, or one
            speaker has two turns in a row; the message begins with ``where``.
    """
    before, *rest = MARK.split(text)
    turns = [
        Message(SPEAKERS[name], said.strip())
        for name, said in zip(rest[::2], rest[1::2], strict=True)
    ]
    roles = [turn.role for turn in turns]
    if before.strip() or roles != ["user", "assistant"] * (len(roles) // 2) or not roles:
        raise DataError(
            f"{where} begins {text!r:.40} and has the turns {roles}; expected a transcript "
            r'"\n\nHuman: ...\n\nAssistant: ...", by turns, that ends with the assistant'
        )
    return turns
