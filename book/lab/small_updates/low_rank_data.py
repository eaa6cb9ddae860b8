"""What the GPT of the plays is tuned on in the study of low ranks: answers, and definitions."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from mathlm.align import ChatBatches, encode_chats
from mathlm.models import GPT, GPTConfig
from mathlm.recipes.pretrain import SIZES
from mathlm.text import Bytes, ChatFormat, corpus, instructions
from mathlm.train import TokenWindows
from mathlm.train.objectives import Batch

PLAYS = Path("book/results/shakespeare-gpt")
CONTEXT = 256


@dataclass(frozen=True)
class Text:
    """What a model is tuned and judged on.

    Args:
        training: Step to the batch of that step.
        held_out: Batches to judge by.
    """

    training: Callable[[int], Batch]
    held_out: Sequence[Batch]

    def to(self, device: torch.device | str) -> "Text":
        """The same text with its batches on a device."""

        def there(batch: Batch) -> Batch:
            return {name: x.to(device) for name, x in batch.items()}

        return Text(lambda step: there(self.training(step)), list(map(there, self.held_out)))


def chatterbot(rows: int, held_rows: int, seed: int = 0) -> Text:
    """Questions and answers, with the loss on the answers; prompts are held out."""
    parts = instructions.split_by_prompt(instructions.load("chatterbot"))
    form = ChatFormat.named()
    tokenizer = Bytes(form.special)
    training, held_out = (encode_chats(part, form, tokenizer, CONTEXT) for part in parts)
    judged = list(ChatBatches(held_out, 4))[: max(1, held_rows // 4)]
    return Text(ChatBatches(training, rows, seed=seed), judged)


def plain(name: str, rows: int, held_rows: int, seed: int = 0) -> Text:
    """A corpus in windows of bytes, with the loss on every byte."""
    training, held_out = (np.frombuffer(part.encode(), np.uint8) for part in corpus.split(name))
    sizes = {"context": CONTEXT, "vocab_size": 256}
    windows = TokenWindows(training, batch_size=rows, seed=seed, **sizes)
    judged = TokenWindows(held_out[: held_rows * CONTEXT + 1], batch_size=4, **sizes)
    return Text(windows, list(judged))


def text(name: str, rows: int, held_rows: int, seed: int = 0) -> Text:
    """One of the two kinds of text by name."""
    if name == "chatterbot":
        return chatterbot(rows, held_rows, seed)
    return plain(name, rows, held_rows, seed)


def start_of_pretraining() -> GPT:
    """The GPT of the plays as it was before its first step: its seed and sizes say it all."""
    torch.manual_seed(0)
    with_defaults = {"vocab_size": 256, "context": CONTEXT} | SIZES["small"]
    shape = GPTConfig(
        norm="rms", activation="swiglu", position="rope", bias=False, **with_defaults
    )
    return GPT(shape)
