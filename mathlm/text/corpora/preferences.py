"""What people preferred, as JSON lines: two answers to a prompt, or one that is good or bad."""

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from ...errors import DataError, DataNotFoundError, InputTypeError
from ..chat import Message
from .instructions import json_lines, json_object, messages_of, text_of

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


PAIR_FORMS = (
    '{"prompt": "...", "chosen": "...", "rejected": "..."}, '
    '{"chosen": [messages], "rejected": [messages]} or '
    r'{"chosen": "\n\nHuman: ...\n\nAssistant: ...", "rejected": "..."}'
)
UNPAIRED_FORM = '{"prompt": "...", "completion": "...", "label": true}'
SIDES = ("chosen", "rejected")


def pair_line(line: str, where: str) -> dict[str, Any]:
    """The fields of a preference: prompt, chosen and rejected.

    Raises:
        DataError: If the line holds none; the message begins with ``where``.
    """
    content = json_object(line, where, PAIR_FORMS)
    if "label" in content and "completion" in content:
        raise DataError(
            f"{where} has one answer and a label; read_unpaired reads such lines, this is for "
            f"pairs: {PAIR_FORMS}"
        )
    if missing := [side for side in SIDES if side not in content]:
        raise DataError(
            f"{where} has the keys {list(content)} and lacks {missing}; expected {PAIR_FORMS}"
        )
    kinds = {type(content[side]) for side in SIDES}
    if kinds not in ({str}, {list}):
        found = [type(content[side]).__name__ for side in SIDES]
        raise DataError(f"{where}: chosen and rejected are {found}; both are texts, or lists")
    if kinds == {str} and content.get("prompt") is not None:
        prompt = prompt_of(content, where)
        return {"prompt": prompt} | {side: text_of(content, side, where) for side in SIDES}
    if content.get("system") is not None:
        raise DataError(f'{where} has "system" and conversations; make it their first message')
    if kinds == {str}:
        both = [transcript(content[side], f"{where}, {side}") for side in SIDES]
    else:
        both = [conversation_of(content, side, where) for side in SIDES]
    return shared(both, where)


def unpaired_line(line: str, where: str) -> dict[str, Any]:
    """The fields of an unpaired answer: prompt, completion and label.

    Raises:
        DataError: If the line holds none; the message begins with ``where``.
    """
    content = json_object(line, where, UNPAIRED_FORM)
    if not {"prompt", "completion", "label"} <= content.keys():
        raise DataError(f"{where} has the keys {list(content)}; expected {UNPAIRED_FORM}")
    if not isinstance(content["label"], bool):
        raise DataError(f'{where}: "label" is {content["label"]!r:.40}, expected true or false')
    completion = text_of(content, "completion", where)
    prompt = prompt_of(content, where)
    return {"prompt": prompt, "completion": completion, "label": content["label"]}


def prompt_of(content: dict[str, Any], where: str) -> tuple[Message, ...]:
    """The prompt, a text or a list of messages that is to be answered."""
    if isinstance(content["prompt"], list):
        if content.get("system") is not None:
            raise DataError(f'{where} has "system" and messages; make it the first of them')
        return tuple(messages_of(content["prompt"], f'{where}, "prompt"', answered=False))
    turns = (Message("user", text_of(content, "prompt", where)),)
    if content.get("system") is None:
        return turns
    return (Message("system", text_of(content, "system", where)), *turns)


def conversation_of(content: dict[str, Any], side: str, where: str) -> list[Message]:
    """A conversation that ends with an answer; behind the prompt, if that is a list."""
    prompt = content.get("prompt")
    before = prompt if isinstance(prompt, list) else []
    turns = messages_of([*before, *content[side]], f'{where}, "{side}"', answered=True)
    if isinstance(prompt, str):
        asked = next(turn.content for turn in turns if turn.role == "user")
        if asked != prompt:
            raise DataError(
                f'{where}: "prompt" is {prompt!r:.40}, but "{side}" begins with {asked!r:.40}'
            )
    return turns


def shared(both: Sequence[list[Message]], where: str) -> dict[str, Any]:
    """Prompt and answers of two conversations that differ in their last message alone."""
    chosen, rejected = both
    if chosen[:-1] != rejected[:-1]:
        turns = zip([*chosen[:-1], None], [*rejected[:-1], None], strict=False)
        first = next(i for i, (a, b) in enumerate(turns) if a != b)
        raise DataError(
            f"{where}: chosen and rejected differ in message {first}, before the last of each; "
            "they must be answers to the same prompt"
        )
    answers = {"chosen": chosen[-1].content, "rejected": rejected[-1].content}
    return {"prompt": tuple(chosen[:-1])} | answers


Prompt = tuple[Message, ...]


@dataclass(frozen=True, kw_only=True)
class Preference:
    """A preference pair: two answers to one prompt, of which one was preferred.

    Args:
        prompt: The conversation so far, which ends with the user or a tool.
        chosen: The answer that was preferred.
        rejected: The other.

    Example:
        >>> asked = ({"role": "user", "content": "2 + 3?"},)
        >>> Preference(prompt=asked, chosen="5", rejected="6").chosen
        '5'
    """

    prompt: Prompt
    chosen: str
    rejected: str


@dataclass(frozen=True, kw_only=True)
class Unpaired:
    """An unpaired preference: one answer to a prompt, found good or bad.

    Args:
        prompt: The conversation so far, which ends with the user or a tool.
        completion: The answer.
        label: Whether it is desirable.

    Example:
        >>> asked = ({"role": "user", "content": "2 + 3?"},)
        >>> Unpaired(prompt=asked, completion="6", label=False).label
        False
    """

    prompt: Prompt
    completion: str
    label: bool


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

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "pairs.jsonl"
        ...     _ = path.write_text('{"prompt": "2 + 3?", "chosen": "5", "rejected": "6"}')
        ...     [pair.chosen for pair in read(path)]
        ['5']
    """
    return [Preference(**fields) for fields in _read(path, pair_line, PAIR_FORMS)]


def read_unpaired(path: str | os.PathLike[str]) -> list[Unpaired]:
    """Unpaired preferences of a file in JSON lines: single answers, each with a judgment.

    A line is ``{"prompt": "...", "completion": "...", "label": true}``, the label true or
    false; the prompt may be a list of messages.

    Args:
        path: File, in UTF-8.

    Raises:
        InputTypeError, DataNotFoundError, DataError: As :func:`read`.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "answers.jsonl"
        ...     _ = path.write_text('{"prompt": "2 + 3?", "completion": "6", "label": false}')
        ...     [answer.label for answer in read_unpaired(path)]
        [False]
    """
    return [Unpaired(**fields) for fields in _read(path, unpaired_line, UNPAIRED_FORM)]


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


__all__ = ["read", "read_unpaired"]
