"""Preferences as batches to train a reward on and to judge it by.

Used by recipes.reward.
"""

import argparse
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..align import EncodedPairs, PairBatches, encode_pairs
from ..chat.model import ChatModel
from ..errors import ConfigError, InputError
from ..text import Preference, instructions, preferences

log = logging.getLogger(__name__)
LONGEST = 512  # tokens of a conversation, unless the options say more


@dataclass(frozen=True)
class Pairs:
    """Batches to train on and to judge by, and what they were made of."""

    training: PairBatches
    held_out: PairBatches | None
    encoded: EncodedPairs


def pairs(args: argparse.Namespace, chat_model: ChatModel) -> Pairs:
    """What the options name, as batches."""
    context = min(chat_model.context, LONGEST) if args.context is None else args.context
    if context > chat_model.context:
        raise ConfigError(f"--context {context}: the model reads {chat_model.context} tokens")
    given = preferences.read(args.data)
    encoded = encode_pairs(given, chat_model.format, chat_model.tokenizer, context)
    learned, judged = split(encoded, given, args.held_out, args.seed)
    log.info(
        "%d pairs to train on, %d held out", len(learned), 0 if judged is None else len(judged)
    )
    sizes = {"batch_size": args.batch_size, "seed": args.seed}
    held_out = None if judged is None else PairBatches(judged, **sizes)
    return Pairs(PairBatches(learned, **sizes), held_out, encoded)


def split(
    encoded: EncodedPairs, given: Sequence[Preference], share: float, seed: int
) -> tuple[EncodedPairs, EncodedPairs | None]:
    """Pairs to train on and to judge by, with no prompt on both sides."""
    if share == 0:
        return encoded, None
    prompts = [list(given[i].prompt) for i in encoded.index]
    try:
        judged = instructions.split_by_prompt(prompts, share, seed)[1]
    except InputError as error:
        raise ConfigError(f"{error}; --held-out 0 trains on all of them") from error
    out = {id(prompt) for prompt in judged}
    sides: list[list[int]] = [[], []]
    for i, prompt in enumerate(prompts):
        sides[id(prompt) in out].append(i)
    return some(encoded, sides[0]), some(encoded, sides[1])


def some(encoded: EncodedPairs, numbers: list[int]) -> EncodedPairs:
    """Those of the pairs with these numbers."""
    return replace(
        encoded,
        chosen=[encoded.chosen[i] for i in numbers],
        rejected=[encoded.rejected[i] for i in numbers],
        index=[encoded.index[i] for i in numbers],
    )
