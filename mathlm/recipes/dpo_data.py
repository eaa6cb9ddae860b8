"""Preferences, or judged answers, as batches to train on and to judge by.

Used by recipes.dpo.
"""

import argparse
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from ..align import PairBatches, Reference, UnpairedBatches, encode_unpaired
from ..chat.model import Chatting
from ..errors import ConfigError, InputError
from ..text import Message, instructions, preferences
from .dpo_losses import FREE
from .reward_data import LONGEST, pairs

log = logging.getLogger(__name__)
Batches = PairBatches | UnpairedBatches


@dataclass(frozen=True, eq=False)
class Preferred:
    """Batches to train on and to judge by, what was left out, and prompts to answer."""

    training: Batches
    held_out: Batches | None
    dropped: dict[str, int]
    prompts: list[Tensor]

    def with_reference(self, reference: Reference, loss: str) -> "Preferred":
        """The same, compared with a reference; training without one asks for none."""
        held_out = None if self.held_out is None else self.held_out.with_reference(reference)
        free = loss in FREE
        training = self.training if free else self.training.with_reference(reference)
        return replace(self, training=training, held_out=held_out)


def preferred(args: argparse.Namespace, chatting: Chatting) -> Preferred:
    """What the options name, as batches."""
    training: Batches
    held_out: Batches | None
    if args.loss == "kto":
        training, held_out, dropped = judged(args, chatting)
        texts: Sequence[Any] = preferences.read_unpaired(args.data)
    else:
        found = pairs(args, chatting)
        training, held_out, dropped = found.training, found.held_out, found.encoded.dropped
        texts = preferences.read(args.data)
    seen = (training if held_out is None else held_out).encoded.index
    asked = list(dict.fromkeys(tuple(texts[i].prompt) for i in seen))
    return Preferred(training, held_out, dropped, prompt_ids(args, chatting, asked))


def judged(
    args: argparse.Namespace, chatting: Chatting
) -> tuple[UnpairedBatches, UnpairedBatches | None, dict[str, int]]:
    """Judged answers as batches, with no prompt on both sides."""
    context = min(chatting.context, LONGEST) if args.context is None else args.context
    if context > chatting.context:
        raise ConfigError(f"--context {context}: the model reads {chatting.context} tokens")
    given = preferences.read_unpaired(args.data)
    whole = encode_unpaired(given, chatting.format, chatting.tokenizer, context)
    sizes = {"batch_size": args.batch_size, "seed": args.seed}
    if args.held_out == 0:
        return UnpairedBatches(whole, **sizes), None, whole.dropped
    asked = [list(given[i].prompt) for i in whole.index]
    try:
        out = instructions.split_by_prompt(asked, args.held_out, args.seed)[1]
    except InputError as error:
        raise ConfigError(f"{error}; --held-out 0 trains on all of them") from error
    held = {id(prompt) for prompt in out}
    sides = []
    for side in (False, True):
        rows = [i for i, prompt in enumerate(asked) if (id(prompt) in held) == side]
        names = ("chats", "labels", "index")
        some: dict[str, Any] = {name: [getattr(whole, name)[i] for i in rows] for name in names}
        sides.append(UnpairedBatches(replace(whole, **some), **sizes))
    log.info("%d answers to train on, %d held out", sides[0].rows, sides[1].rows)
    return sides[0], sides[1], whole.dropped


def prompt_ids(
    args: argparse.Namespace, chatting: Chatting, asked: list[tuple[Message, ...]]
) -> list[Tensor]:
    """Ids of the first prompts that leave room for an answer."""
    found: list[Tensor] = []
    for prompt in asked:
        ids = chatting.format.encode(prompt, chatting.tokenizer, answer=True).ids
        if len(found) < args.samples and len(ids) + args.max_new_tokens <= chatting.context:
            found.append(torch.from_numpy(ids))
    if len(found) < min(args.samples, len(asked)):
        log.info(
            "%d of %d prompts leave room for %d tokens",
            len(found),
            len(asked),
            args.max_new_tokens,
        )
    return found
