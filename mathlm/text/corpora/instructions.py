"""Conversations to train on: from installed data packages, and from a user's JSON lines.

What a model answers is held out by its prompt: an answer to a question that was trained on
says little about other questions.
"""

import json
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import InputError, InputTypeError
from ..chat import Message
from .dialog_yaml import dialogs
from .installed import data_folder, require_hash
from .instruction_lines import read

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
    """Names that :func:`load` knows, installed or not."""
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


__all__ = [
    "Conversation",
    "available",
    "load",
    "read",
    "split_by_prompt",
]
