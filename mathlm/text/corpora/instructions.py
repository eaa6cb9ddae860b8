"""Conversations to train on: from installed data packages, and from a user's JSON lines.

What a model answers is held out by its prompt: an answer to a question that was trained on
says little about other questions.
"""

import json
import os
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import DataError, DataNotFoundError, InputError, InputTypeError
from ..chat import FOLLOWS, ROLES, Message
from ..tokenizers.pretokenize import utf8
from .installed import data_folder, require_hash

FORMS = (
    '{"messages": [{"role": "user", "content": "..."}, {"role": "assistant", ...}]}, '
    '{"conversations": [{"from": "human", "value": "..."}, {"from": "gpt", ...}]}, '
    '{"prompt": "...", "response": "..."} or '
    '{"instruction": "...", "input": "...", "output": "..."}'
)
SHARED_ROLES = {
    **dict.fromkeys(("human", "user"), "user"),
    **dict.fromkeys(("gpt", "chatgpt", "bard", "assistant"), "assistant"),
    **dict.fromkeys(("tool", "observation"), "tool"),
    "system": "system",
}
ANSWERS = {"prompt": ("response", "completion"), "instruction": ("output",)}


def read(path: str | os.PathLike[str]) -> list[list[Message]]:
    """Conversations of a file in JSON lines, one object a line, each in one of four forms.

    - ``{"messages": [{"role": "user", "content": "..."}, ...]}``, of any number of turns;
    - ``{"conversations": [{"from": "human", "value": "..."}, ...]}``, as ShareGPT's: from human
      or user, gpt, chatgpt, bard or assistant, system, and tool or observation;
    - ``{"prompt": "...", "response": "..."}``; "completion" is another name for "response";
    - ``{"instruction": "...", "input": "...", "output": "..."}``; the input, if there is one
      and it is not empty, stands behind the instruction and an empty line.

    The last three may have "system", a text before the conversation. Other keys, such as an id
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

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "chats.jsonl"
        ...     _ = path.write_text('{"prompt": "2 + 3?", "response": "5"}')
        ...     [(message.role, message.content) for message in read(path)[0]]
        [('user', '2 + 3?'), ('assistant', '5')]
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
    known = ("messages", "conversations", "prompt", "instruction")
    forms = [name for name in known if name in content]
    if len(forms) != 1:
        has = f"has {forms} at once" if forms else f"has the keys {list(content)}"
        raise DataError(f"{where} {has}; expected one of {FORMS}")
    if forms == ["messages"]:
        return _messages(content, where)
    if forms == ["conversations"]:
        return _shared(content, where)
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


def _shared(content: dict[str, Any], where: str) -> list[Message]:
    """A conversation in the form of ShareGPT."""
    turns = content["conversations"]
    if not isinstance(turns, list) or not turns:
        raise DataError(
            f'{where}: "conversations" is {turns!r:.40}, expected a list of one or more'
        )
    messages = [_renamed(turn, f"{where}, turn {i}") for i, turn in enumerate(turns)]
    if content.get("system") is not None:
        messages.insert(0, {"role": "system", "content": content["system"]})
    return messages_of(messages, where)


def _renamed(turn: Any, where: str) -> dict[str, Any]:
    """A turn of ShareGPT as a message."""
    if not isinstance(turn, dict) or not {"from", "value"} <= set(turn):
        has = list(turn) if isinstance(turn, dict) else type(turn).__name__
        raise DataError(f"{where} has {has}; expected the keys from and value")
    if not isinstance(turn["from"], str) or turn["from"] not in SHARED_ROLES:
        raise DataError(f"{where} is from {turn['from']!r}; known are {[*SHARED_ROLES]}")
    return {"role": SHARED_ROLES[turn["from"]], "content": turn["value"]}


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


def dialogs(text: str) -> list[list[str]]:
    """The turns of each dialog in a YAML file of the ChatterBot corpus.

    Every scalar is text, so that a turn "Yes" or "1963" is no truth value and no number. An
    item of ``conversations:`` that is no list of turns is no dialog, and is passed over.

    Raises:
        DataNotFoundError: If PyYAML is not installed.
        DataError: If the text is not YAML, or has no list ``conversations:``.
    """
    try:
        import yaml
    except ImportError as error:
        raise DataNotFoundError("dialogs in YAML need PyYAML: pip install pyyaml") from error
    try:  # the loader of text alone, in C where PyYAML was built with it
        content = yaml.load(text, getattr(yaml, "CBaseLoader", yaml.BaseLoader))
    except yaml.YAMLError as error:
        raise DataError(f"a file of dialogs is not YAML: {error}") from error
    items = content.get("conversations") if isinstance(content, dict) else None
    if not isinstance(items, list):
        raise DataError("a file of dialogs has no list under 'conversations:'")
    return [turns for turns in items if isinstance(turns, list)]


Conversation = list[Message]


@dataclass(frozen=True, kw_only=True)
class Dialogs:
    """Where a set of conversations comes from.

    Args:
        package: Name of the installed package that holds the files.
        install: Command that installs it.
        pattern: Which files of the package are its conversations.
        sha256: Hash of those files, one after another in the order of their paths.
        read: From a file to its conversations, each a list of turns.
        licence: Licence of the text.
    """

    package: str
    install: str
    pattern: str
    sha256: str
    read: Callable[[Path], Iterator[list[str]]]
    licence: str


SEVERAL_ANSWERS = ("computers", "emotion")  # files whose further lines answer the first one


def _chatterbot(path: Path) -> Iterator[list[str]]:
    """Dialogs of one subject; where a prompt has several answers, one dialog for each."""
    for turns in dialogs(path.read_text(encoding="utf-8")):
        if path.stem in SEVERAL_ANSWERS:
            yield from ([turns[0], answer] for answer in turns[1:])
        else:
            yield turns


def _chitchat(path: Path) -> Iterator[list[str]]:
    """Dialogs of two people; what one says in several messages is one turn of several lines."""
    for dialog in json.loads(path.read_text(encoding="utf-8")).values():
        yield ["\n".join(said["text"].strip() for said in turn) for turn in dialog["messages"]]


DIALOGS = {
    "chatterbot": Dialogs(
        package="chatterbot_corpus",
        install="pip install --no-deps chatterbot-corpus==1.3.3",
        pattern="data/english/*.yml",
        sha256="905a1d222567d5d83f9c7eb99789fac9dc1e6546291f06a367590022dacbf67c",
        read=_chatterbot,
        licence="BSD",
    ),
    "chitchat": Dialogs(
        package="chitchat_dataset",
        install="pip install --no-deps chitchat-dataset==0.9.0",
        pattern="dataset.json",
        sha256="d2a5d0bf6acf354fef51f3af39cbece2220d3b8f6086b658c3d335105798312a",
        read=_chitchat,
        licence="MIT",
    ),
}


def available() -> list[str]:
    """Names that :func:`load` knows, installed or not.

    Example:
        >>> available()
        ['chatterbot', 'chitchat']
    """
    return sorted(DIALOGS)


def load(name: str) -> list[Conversation]:
    """The conversations of a set, in a fixed order, each once.

    The turns are the user's and the assistant's by turns. Blanks at both ends of a turn are
    removed. A conversation ends before a turn in which nothing was said, and a last question
    without an answer is left out; one of which nothing remains is left out whole.

    "chatterbot" has short questions and answers on subjects from art to computers, in English;
    "chitchat" has long conversations of two people, the first of whom takes the user's part.

    Args:
        name: One of :func:`available`.

    Raises:
        InputError: If there is no set of that name.
        DataNotFoundError: If its package is not installed; the message has the command.
        HashMismatchError: If the installed files are not the ones the book was written with.
    """
    return [list(conversation) for conversation in _conversations(name)]


@cache
def _conversations(name: str) -> tuple[tuple[Message, ...], ...]:
    if name not in DIALOGS:
        raise InputError(f"no set is called {name!r}; there are {', '.join(available())}")
    source = DIALOGS[name]
    folder = data_folder(source.package, install=source.install)
    paths = sorted(folder.glob(source.pattern), key=lambda path: path.as_posix())
    require_hash(paths or [folder], source.sha256, install=source.install)
    found = (by_turns(turns) for path in paths for turns in source.read(path))
    return tuple(dict.fromkeys(turns for turns in found if turns))


def by_turns(turns: Sequence[str]) -> tuple[Message, ...]:
    """Turns as messages of a user and an assistant, up to the last answer."""
    said = [turn.strip() for turn in turns]
    end = next((i for i, turn in enumerate(said) if not turn), len(said))
    roles = ("user", "assistant")
    return tuple(Message(roles[i % 2], turn) for i, turn in enumerate(said[: end // 2 * 2]))


def split_by_prompt(
    conversations: Sequence[Sequence[Message | Mapping[str, str]]],
    held_out: float | int = 0.1,
    seed: int = 0,
) -> tuple[list[Any], list[Any]]:
    """Conversations as (training, held out), so that no prompt is on both sides.

    What stands before an answer begins with the first message of the user. Conversations whose
    first messages are equal, apart from capital letters, blanks and punctuation, stay together,
    and so no answer is asked for on both sides.

    Args:
        conversations: Each a list of messages.
        held_out: Share of the distinct prompts that is held out, above 0 and below 1; at least
            one is, and at least one is not.
        seed: Which prompts.

    Returns:
        Both parts, in the order of ``conversations``.

    Raises:
        InputError: If the share is out of range, the seed negative, a conversation is without
            a user, or there are fewer than two prompts.

    Example:
        >>> def chat(asked):
        ...     return [Message("user", asked), Message("assistant", "Hello!")]
        >>> training, held_out = split_by_prompt([chat("Hi"), chat("hi!"), chat("Who?")], 0.5)
        >>> sorted([len(training), len(held_out)])  # both greetings are on one side
        [1, 2]
    """
    if not 0 < held_out < 1:
        raise InputError(f"held_out={held_out} must be above 0 and below 1")
    if seed < 0:
        raise InputError(f"seed={seed} must not be negative")
    prompts = [_prompt(conversation, i) for i, conversation in enumerate(conversations)]
    distinct = list(dict.fromkeys(prompts))
    if len(distinct) < 2:
        raise InputError(
            f"{len(prompts)} conversations have {len(distinct)} distinct prompts; at least 2 "
            "are needed, so that one can be held out"
        )
    number = min(max(round(held_out * len(distinct)), 1), len(distinct) - 1)
    drawn = np.random.default_rng(seed).permutation(len(distinct))[:number]
    out = {distinct[i] for i in drawn}
    parts: tuple[list[Any], list[Any]] = ([], [])
    for prompt, conversation in zip(prompts, conversations, strict=True):
        parts[prompt in out].append(conversation)
    return parts


def _prompt(conversation: Sequence[Message | Mapping[str, str]], number: int) -> str:
    """The first message of the user, as far as it tells prompts apart."""
    for message in conversation:
        fields = vars(message) if isinstance(message, Message) else message
        if not isinstance(fields, Mapping) or not isinstance(fields.get("content"), str):
            raise InputTypeError(
                f"conversation {number} holds {message!r:.60}; expected messages with role and "
                "content"
            )
        if fields.get("role") == "user":
            return same_prompt(fields["content"])
    raise InputError(f"conversation {number} has no message of a user: nothing was asked")


def same_prompt(text: str) -> str:
    """The same string for texts that differ in capitals, blanks and punctuation only."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    kept = "".join(
        " " if unicodedata.category(char)[0] in "PZC" else char for char in plain
    ).split()
    return " ".join(kept) or text


__all__ = ["Conversation", "available", "load", "read", "split_by_prompt"]
