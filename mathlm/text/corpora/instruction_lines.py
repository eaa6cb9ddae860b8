"""A user's conversations in JSON lines: three usual forms, each line checked on its own."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from ...errors import DataError, DataNotFoundError, InputTypeError
from ..chat import FOLLOWS, ROLES, Message
from ..tokenizers.pretokenize import utf8

FORMS = (
    '{"messages": [{"role": "user", "content": "..."}, {"role": "assistant", ...}]}, '
    '{"prompt": "...", "response": "..."} or '
    '{"instruction": "...", "input": "...", "output": "..."}'
)
ANSWERS = {"prompt": ("response", "completion"), "instruction": ("output",)}


def read(path: str | os.PathLike[str]) -> list[list[Message]]:
    """Conversations of a file in JSON lines, one object a line, each in one of three forms.

    - ``{"messages": [{"role": "user", "content": "..."}, ...]}``, of any number of turns;
    - ``{"prompt": "...", "response": "..."}``; "completion" is another name for "response";
    - ``{"instruction": "...", "input": "...", "output": "..."}``; the input, if there is one
      and it is not empty, stands behind the instruction and an empty line.

    The last two may have "system", a text before the conversation. Other keys, such as an id
    or a source, are not read. Empty lines are passed over; lines may end as on Windows, and the
    file may begin with a mark of the byte order. An answer may be empty here; whether one can
    be learned from is decided where it is encoded.

    Args:
        path: File, in UTF-8.

    Raises:
        InputTypeError: If ``path`` is no path.
        DataNotFoundError: If there is no such file.
        DataError: If the file is no UTF-8, holds no conversation, or a line is not JSON, has
            none of the forms or two of them, or turns that do not follow one another. The
            message has the number of the line and the key.
    """
    if not isinstance(path, str | os.PathLike):
        raise InputTypeError(f"path={path!r} must be a str or a path")
    file = Path(path)
    if not file.is_file():
        kind = "a folder, not a file" if file.is_dir() else "not there"
        raise DataNotFoundError(f"{file} is {kind}; give a file with one JSON object a line")
    found = [conversation(line, where) for where, line in json_lines(file)]
    if not found:
        raise DataError(f"{file} holds no conversation; expected lines such as {FORMS}")
    return found


def json_lines(file: Path) -> Iterator[tuple[str, str]]:
    """The lines that are not empty, each with its place for a message."""
    try:
        with file.open(encoding="utf-8-sig", newline="\n") as source:
            for number, line in enumerate(source, start=1):
                if line.strip():
                    yield f"line {number} of {file}", line
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{file} cannot be read as UTF-8 text: {error}") from error


def conversation(line: str, where: str) -> list[Message]:
    """The conversation in one line.

    Raises:
        DataError: If it holds none; the message begins with ``where``.
    """
    content = json_object(line, where, FORMS)
    forms = [name for name in ("messages", "prompt", "instruction") if name in content]
    if len(forms) != 1:
        has = f"has {forms} at once" if forms else f"has the keys {list(content)}"
        raise DataError(f"{where} {has}; expected one of {FORMS}")
    if forms == ["messages"]:
        return _messages(content, where)
    return _pair(content, forms[0], where)


def json_object(line: str, where: str, forms: str) -> dict[str, Any]:
    """The object in one line.

    Raises:
        DataError: If there is none, or one with a key twice; the message begins with ``where``.
    """
    try:
        content = json.loads(line, object_pairs_hook=_without_repeats)
    except json.JSONDecodeError as error:
        raise _no_json(where, f"{error.msg} at character {error.pos}") from error
    except (ValueError, RecursionError) as error:
        raise _no_json(where, error) from error
    if not isinstance(content, dict):
        raise DataError(
            f"{where} is a {type(content).__name__}, expected an object; write one a line: "
            f"{forms}"
        )
    return content


def _no_json(where: str, why: object) -> DataError:
    return DataError(f"{where} is not JSON: {why}; write one object a line")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object, if it has no key twice: JSON would keep the last and say nothing."""
    names = [name for name, _ in pairs]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"an object has the keys {repeated} twice")
    return dict(pairs)


def _pair(content: dict[str, Any], form: str, where: str) -> list[Message]:
    """A conversation of one prompt and one answer, and perhaps a system message."""
    answers = [name for name in ANSWERS[form] if name in content]
    if len(answers) != 1:
        expected = " or ".join(f'"{name}"' for name in ANSWERS[form])
        found = f"both {answers}" if answers else f"the keys {list(content)}"
        raise DataError(f'{where} has {found}; "{form}" needs one answer under {expected}')
    asked = text_of(content, form, where)
    if form == "instruction" and content.get("input") is not None:
        asked = "\n\n".join(filter(None, [asked, text_of(content, "input", where)]))
    turns = [Message("user", asked), Message("assistant", text_of(content, answers[0], where))]
    if content.get("system") is not None:
        turns.insert(0, Message("system", text_of(content, "system", where)))
    return turns


def _messages(content: dict[str, Any], where: str) -> list[Message]:
    """A conversation of any number of turns, in an order that a format can write."""
    if "system" in content:
        raise DataError(
            f'{where} has "messages" and "system"; make it the first message, of role "system"'
        )
    messages = content["messages"]
    if not isinstance(messages, list) or not messages:
        raise DataError(
            f'{where}: "messages" is {messages!r:.40}, expected a list of one or more'
        )
    return messages_of(messages, where)


def messages_of(messages: list[Any], where: str, *, answered: bool = True) -> list[Message]:
    """Turns in an order that a format can write, up to an answer or up to what is answered.

    Raises:
        DataError: If they are none; the message begins with ``where``.
    """
    turns = [_message(message, f"{where}, message {i}") for i, message in enumerate(messages)]
    before = None
    for i, turn in enumerate(turns):
        if turn.role not in FOLLOWS[before]:
            place = f"after {before!r}" if before else "at the beginning"
            raise DataError(
                f"{where}, message {i} has role {turn.role!r} {place}; expected one of "
                f"{FOLLOWS[before]}"
            )
        before = turn.role
    if answered and before != "assistant":
        raise DataError(
            f"{where} ends with a message of {before!r}; the last one must be the assistant's "
            "answer, from which a model learns"
        )
    if not answered and before not in ("user", "tool"):
        raise DataError(
            f"{where} ends with a message of {before!r}; the last one must be of a user or a "
            "tool, which is answered"
        )
    return turns


def _message(message: Any, where: str) -> Message:
    """One turn."""
    if not isinstance(message, dict) or set(message) != {"role", "content"}:
        has = list(message) if isinstance(message, dict) else type(message).__name__
        raise DataError(f"{where} has {has}; expected the keys role and content alone")
    if message["role"] not in ROLES:
        raise DataError(f"{where} has role {message['role']!r}; the roles are {ROLES}")
    return Message(message["role"], text_of(message, "content", where))


def text_of(content: dict[str, Any], key: str, where: str) -> str:
    """The text under a key."""
    value = content[key]
    if not isinstance(value, str):
        raise DataError(f'{where}: "{key}" is {value!r:.40}, expected a string in quotes')
    try:
        utf8(value)
    except ValueError as error:
        raise DataError(f'{where}: "{key}" is no text: {error}') from error
    return value


__all__ = ["conversation", "read"]
