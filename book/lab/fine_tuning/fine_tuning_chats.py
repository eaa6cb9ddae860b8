"""The conversations and windows that the fine-tuning studies read."""

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from mathlm.align import ChatBatches, Encoded, encode_chats
from mathlm.text import ByteBPE, Bytes, ChatFormat, instructions
from mathlm.text.corpora.instructions import Conversation
from mathlm.train import TokenWindows
from mathlm.train.objectives import Batch

CONTEXT = 240  # sixteen places are left for what some methods put before the text
HELD_OUT = 0.2  # of the questions; half of them choose, half report


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How much is read.

    Args:
        rows: Rows of conversations in a step.
        context: Tokens in a row.
        held_out: Rows of held-out conversations at most, for each of two purposes.
        old: Windows of old text.
        own: Texts that the base writes.
        length: Their tokens.
        tokens: Tokens that a prompt or a prefix begins with.
    """

    rows: int = 2
    context: int = CONTEXT
    held_out: int = 24
    old: int = 24
    own: int = 24
    length: int = 128
    tokens: int = 16


def conversations(
    tokenizer: Bytes | ByteBPE, format: ChatFormat, context: int
) -> tuple[Encoded, Encoded, Encoded]:
    """Conversations to learn from, to choose step sizes by, and to report."""
    train, choice, report = (encode_chats(part, format, tokenizer, context) for part in parts())
    return train, choice, report


def parts() -> tuple[list[Conversation], list[Conversation], list[Conversation]]:
    """The conversations to learn from, to choose by and to report; no question in two."""
    train, held_out = instructions.split_by_prompt(instructions.load("chatterbot"), HELD_OUT)
    return train, *instructions.split_by_prompt(held_out, 0.5)


def questions(number: int = 4) -> tuple[str, ...]:
    """Some of the reported questions of one turn, at equal distances."""
    asked = [c[0].content for c in parts()[2] if len(c) == 2]
    return tuple(asked[i] for i in range(0, len(asked), -(-len(asked) // number)))


def used(format: ChatFormat) -> list[str]:
    """The special tokens of a format that stand in a conversation of two."""
    begins = [format.markers[role] for role in ("user", "assistant")]
    return list(dict.fromkeys([*([format.bos] if format.bos else []), *begins, format.end]))


def held_out_rows(encoded: Encoded, number: int) -> list[Batch]:
    """So many rows of held-out conversations, long and short ones, eight together."""
    batches = ChatBatches(encoded, 8)
    number = min(number, batches.rows)
    index = np.linspace(0, batches.rows - 1, number).astype(int)
    return [batches.batch(part) for part in np.array_split(index, -(-number // 8))]


def spread(ids: ndarray, number: int, context: int, vocabulary: int) -> list[Batch]:
    """Windows at equal distances in a text, at most eight together."""
    windows = TokenWindows(ids, context=context, batch_size=1, vocab_size=vocabulary)
    index = np.linspace(0, windows.windows - 2, number).astype(int)
    return [windows.batch(part) for part in np.array_split(index, -(-number // 8))]
