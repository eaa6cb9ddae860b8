"""Conversations as batches to train on and to judge by, and old text among them.

    python -m mathlm.recipes.sft_data --data my.jsonl --model smollm2

Prints what tuning with these options would read.
"""

import argparse
import logging
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ..adapt import Replay
from ..align import ChatBatches, Encoded, encode_chats
from ..chat.folder import load
from ..chat.model import ChatModel
from ..errors import ConfigError, InputError, MathLMError
from ..text import corpus, instructions
from ..train.objectives import Batch
from .pretrain_data import TokenizedWindows, encoded
from .sft_options import parse

log = logging.getLogger(__name__)
LONGEST = 512  # tokens of a conversation, unless the options say more


@dataclass(frozen=True)
class Conversations:
    """Batches to train on and to judge by, and how many steps a pass over them takes."""

    training: Callable[[int], Batch]
    held_out: ChatBatches | None
    steps_per_epoch: int
    encoded: Encoded


def conversations(args: argparse.Namespace, chat_model: ChatModel) -> Conversations:
    """What the options name, as batches."""
    context = min(chat_model.context, LONGEST) if args.context is None else args.context
    if context > chat_model.context:
        raise ConfigError(f"--context {context}: the model reads {chat_model.context} tokens")
    given = read(args.data)
    chats = encode_chats(given, chat_model.format, chat_model.tokenizer, context)
    learned, judged = split(args, given, chats)
    sizes = {"batch_size": args.batch_size, "packed": args.packed, "seed": args.seed}
    batches = ChatBatches(learned, **sizes)
    log.info(
        "%d conversations to train on (%d tokens, %d of them learned), %d held out",
        len(learned),
        learned.tokens,
        learned.targets,
        0 if judged is None else len(judged),
    )
    held_out = None if judged is None else ChatBatches(judged, **sizes)
    training = batches if args.replay is None else replayed(args, chat_model, batches)
    return Conversations(training, held_out, batches.steps_per_epoch, chats)


def read(name: str) -> list[instructions.Conversation]:
    """The conversations of a set or of a file."""
    known = name in instructions.available() and not Path(name).exists()
    return instructions.load(name) if known else instructions.read(name)


def split(
    args: argparse.Namespace, given: list[instructions.Conversation], chats: Encoded
) -> tuple[Encoded, Encoded | None]:
    """Conversations to train on and to judge by, with no prompt on both sides."""
    if args.held_out == 0:
        return chats, None
    texts = [given[i] for i in chats.index]
    try:
        judged = instructions.split_by_prompt(texts, args.held_out, args.seed)[1]
    except InputError as error:
        raise ConfigError(f"{error}; --held-out 0 trains on all of them") from error
    out = {id(text) for text in judged}
    sides: list[list[int]] = [[], []]
    for i, text in enumerate(texts):
        sides[id(text) in out].append(i)
    learned, kept = (
        replace(
            chats, chats=[chats.chats[i] for i in side], index=[chats.index[i] for i in side]
        )
        for side in sides
    )
    return learned, kept


def replayed(args: argparse.Namespace, chat_model: ChatModel, batches: ChatBatches) -> Replay:
    """The batches with rows of old text, as long as the longest conversation."""
    name, tokenizer = args.replay, chat_model.tokenizer
    known = name in corpus.available() and not Path(name).exists()
    text = [corpus.split(name)[0]] if known else Path(name)
    longest = max(map(len, batches.encoded.chats))
    old = TokenizedWindows(
        encoded(text, tokenizer)[0],
        tokenizer,
        context=batches.context if args.packed else longest,
        batch_size=args.batch_size,
        seed=args.seed,
    )
    return Replay(batches, old, args.replay_share, args.seed)


def main(argv: Sequence[str] | None = None) -> Conversations:
    """Read and say what there is."""
    args = parse(argv)
    form = args.template or args.format
    return conversations(args, load(args.model, tokenizer=args.tokenizer, form=form))


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        main()
    except MathLMError as error:
        sys.exit(f"error: {error}")
