"""Prompts of a policy: what a user asks, or text to be continued.

    python -m mathlm.recipes.policy_prompts --prompts my.jsonl --model smollm2

Prints how many prompts there are, and the first as a model sees it.
"""

import argparse
import logging
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..chat.folder import load
from ..chat.model import ChatModel
from ..errors import DataError, DataNotFoundError, MathLMError
from ..text.corpora.instructions import json_lines, json_object
from ..text.tokenizers.named import Tokenizer
from .policy_options import parse

FORMS = (
    '{"prompt": "..."}, {"prompt": [messages]} or {"messages": [...]}, the user speaking last'
)


@dataclass(frozen=True, eq=False)
class Prompts:
    """Prompts as ids, how they were asked, and what ends an answer.

    Args:
        ids: Ids (tokens,) of each.
        texts: What was asked, by its ids: a string, or a list of messages.
        tokenizer: Of the completions.
        stop: Ids, or sequences of ids, that end a completion.
    """

    ids: list[Tensor]
    texts: dict[tuple[int, ...], Any]
    tokenizer: Tokenizer
    stop: tuple[Any, ...]

    def decode(self, ids: Tensor) -> Any:
        """A prompt as it was asked; any other ids as text."""
        known = self.texts.get(tuple(ids.tolist()))
        return self.tokenizer.decode(ids.tolist()) if known is None else known


def read(path: str | Path) -> list[Any]:
    """The prompts of a file in JSON lines; other keys of a line are not read.

    Raises:
        DataNotFoundError: If there is no such file.
        DataError: If a line holds no prompt; the message has its number.
    """
    file = Path(path)
    if not file.is_file():
        raise DataNotFoundError(f"{file} is no file: give one with lines such as {FORMS}")
    found = []
    for where, line in json_lines(file):
        content = json_object(line, where, FORMS)
        prompt = content.get("prompt", content.get("messages"))
        if not (prompt and isinstance(prompt, str | list)):
            raise DataError(f"{where} has no prompt; expected {FORMS}")
        found.append(prompt)
    if not found:
        raise DataError(f"{file} holds no prompt; expected lines such as {FORMS}")
    return found


def prompts(args: argparse.Namespace, chat_model: ChatModel) -> Prompts:
    """What the options name, as a model sees it.

    Raises:
        DataError: If a prompt that is to be continued is a list of messages, or a conversation
            does not end with the user.
    """
    tokenizer, ids = chat_model.tokenizer, list[Tensor]()
    given = read(args.prompts)
    for number, prompt in enumerate(given):
        if args.plain and not isinstance(prompt, str):
            raise DataError(f"prompt {number} is a list of messages: leave --plain out")
        ids.append(torch.tensor(encoded(prompt, chat_model, args.plain, number)))
    ends = [tokenizer.encode(text.replace("\\n", "\n")) for text in args.stop]
    own = [] if args.plain else [tokenizer.special[chat_model.format.end]]
    texts = {tuple(x.tolist()): asked for x, asked in zip(ids, given, strict=True)}
    return Prompts(ids, texts, tokenizer, (*own, *map(tuple, ends)))


def encoded(prompt: Any, chat_model: ChatModel, plain: bool, number: int) -> list[int]:
    """Ids of a prompt."""
    if plain:
        return list(chat_model.tokenizer.encode(prompt))
    turns = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    try:
        return chat_model.format.encode(turns, chat_model.tokenizer, answer=True).ids.tolist()
    except MathLMError as error:
        raise DataError(f"prompt {number}: {error}") from error


def main(argv: Sequence[str] | None = None) -> Prompts:
    """Read and say what there is."""
    args = parse(argv)
    chat_model = load(args.model, tokenizer=args.tokenizer, form=args.template or args.format)
    found = prompts(args, chat_model)
    logging.info("%d prompts; the first: %r", len(found.ids), found.ids[0].tolist())
    return found


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        main()
    except MathLMError as error:
        sys.exit(f"error: {error}")
