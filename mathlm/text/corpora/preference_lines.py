"""One line of a file of preferences, in the forms that are usual."""

from collections.abc import Sequence
from typing import Any

from ...errors import DataError
from ..chat import Message
from .instruction_lines import json_object, messages_of, text_of
from .transcripts import transcript

PAIR_FORMS = (
    '{"prompt": "...", "chosen": "...", "rejected": "..."}, '
    '{"chosen": [messages], "rejected": [messages]} or '
    r'{"chosen": "\n\nHuman: ...\n\nAssistant: ...", "rejected": "..."}'
)
JUDGED_FORM = '{"prompt": "...", "completion": "...", "label": true}'
SIDES = ("chosen", "rejected")


def pair_line(line: str, where: str) -> dict[str, Any]:
    """The fields of a preference: prompt, chosen and rejected.

    Raises:
        DataError: If the line holds none; the message begins with ``where``.
    """
    content = json_object(line, where, PAIR_FORMS)
    if "label" in content and "completion" in content:
        raise DataError(
            f"{where} has one answer and a label; read_judged reads such lines, this is for "
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


def judged_line(line: str, where: str) -> dict[str, Any]:
    """The fields of a judged answer: prompt, completion and label.

    Raises:
        DataError: If the line holds none; the message begins with ``where``.
    """
    content = json_object(line, where, JUDGED_FORM)
    if not {"prompt", "completion", "label"} <= content.keys():
        raise DataError(f"{where} has the keys {list(content)}; expected {JUDGED_FORM}")
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
