"""What people preferred, as JSON lines: two answers to a prompt, or one that is good or bad."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from ...errors import DataError, DataNotFoundError, InputTypeError
from .instruction_lines import json_lines
from .judgements import Judged, Preference
from .preference_lines import JUDGED_FORM, PAIR_FORMS, judged_line, pair_line

Line = TypeVar("Line")


def read(path: str | os.PathLike[str]) -> list[Preference]:
    r"""Preferences of a file in JSON lines, one object a line, each in one of these forms.

    - ``{"prompt": "...", "chosen": "...", "rejected": "..."}``; the prompt may be a list of
      messages, and an answer a list of one message of the assistant;
    - ``{"chosen": [messages], "rejected": [messages]}``: two conversations that are equal up to
      the last message of each, which is the assistant's; a "prompt" beside them must be what
      the user said first;
    - ``{"chosen": "\n\nHuman: ...\n\nAssistant: ...", "rejected": "..."}``: two transcripts
      that are equal up to the last answer of each.

    Other keys are not read. Empty lines are passed over. Answers may be empty or alike here;
    whether a pair can be learned from is decided where it is encoded.

    Args:
        path: File, in UTF-8.

    Raises:
        InputTypeError: If ``path`` is no path.
        DataNotFoundError: If there is no such file.
        DataError: If the file is no UTF-8, holds no preference, or a line is not JSON or has
            none of the forms. The message has the number of the line.
    """
    return [Preference(**fields) for fields in _read(path, pair_line, PAIR_FORMS)]


def read_judged(path: str | os.PathLike[str]) -> list[Judged]:
    """Single answers of a file in JSON lines, each with a judgement.

    A line is ``{"prompt": "...", "completion": "...", "label": true}``, the label true or
    false; the prompt may be a list of messages.

    Args:
        path: File, in UTF-8.

    Raises:
        InputTypeError, DataNotFoundError, DataError: As :func:`read`.
    """
    return [Judged(**fields) for fields in _read(path, judged_line, JUDGED_FORM)]


def _read(
    path: str | os.PathLike[str], line_of: Callable[[str, str], Line], forms: str
) -> list[Line]:
    """The lines of a file, each checked on its own."""
    if not isinstance(path, str | os.PathLike):
        raise InputTypeError(f"path={path!r} must be a str or a path")
    file = Path(path)
    if not file.is_file():
        kind = "a folder, not a file" if file.is_dir() else "not there"
        raise DataNotFoundError(f"{file} is {kind}; give a file with one JSON object a line")
    found = [line_of(line, where) for where, line in json_lines(file)]
    if not found:
        raise DataError(f"{file} holds no preference; expected lines such as {forms}")
    return found


__all__ = ["read", "read_judged"]
