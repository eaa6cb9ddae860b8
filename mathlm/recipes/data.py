"""Examples as batches, split by prompt: what sft, reward and dpo share."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..align import EncodedPairs, PairBatches, encode_pairs
from ..chat.model import ChatModel
from ..errors import ConfigError, InputError
from ..text import Message, instructions, preferences
from .tuning import DataConfig

log = logging.getLogger(__name__)
LONGEST = 512  # tokens of a conversation, unless the options say more


def context_of(config: DataConfig, chat_model: ChatModel) -> int:
    """Longest conversation [tokens]."""
    if config.context is None:
        return min(chat_model.context, LONGEST)
    if config.context > chat_model.context:
        raise ConfigError(
            f"--context {config.context}: the model reads {chat_model.context} tokens"
        )
    return config.context


def split(
    prompts: Sequence[Sequence[Message]], share: float, seed: int
) -> tuple[list[int], list[int]]:
    """Numbers of the rows that are learned and of those held out, no prompt on both sides.

    Raises:
        ConfigError: If there are too few prompts for a share of them.
    """
    if share == 0:
        return list(range(len(prompts))), []
    rows = [list(prompt) for prompt in prompts]  # each an object of its own
    try:
        out = {id(row) for row in instructions.split_by_prompt(rows, share, seed)[1]}
    except InputError as error:
        raise ConfigError(f"{error}; --held-out 0 trains on all of them") from error
    sides: tuple[list[int], list[int]] = ([], [])
    for i, row in enumerate(rows):
        sides[id(row) in out].append(i)
    return sides


@dataclass(frozen=True)
class Pairs:
    """Preference pairs to train on and to evaluate on, and what they were made of."""

    training: PairBatches
    held_out: PairBatches | None
    encoded: EncodedPairs


def read_pairs(config: DataConfig, chat_model: ChatModel) -> Pairs:
    """The preferences of ``--data`` as batches."""
    context, seed = context_of(config, chat_model), config.optimization.seed
    given = preferences.read(config.data)
    encoded = encode_pairs(given, chat_model.format, chat_model.tokenizer, context)
    prompts = [given[i].prompt for i in encoded.index]
    learned, out = split(prompts, config.held_out, seed)
    log.info("%d pairs to train on, %d held out", len(learned), len(out))
    sizes = {"batch_size": config.passes.batch_size, "seed": seed}
    held_out = PairBatches(some(encoded, out), **sizes) if out else None
    return Pairs(PairBatches(some(encoded, learned), **sizes), held_out, encoded)


def some(encoded: EncodedPairs, rows: list[int]) -> EncodedPairs:
    """Those of the pairs with these numbers."""
    return replace(
        encoded,
        chosen=[encoded.chosen[i] for i in rows],
        rejected=[encoded.rejected[i] for i in rows],
        index=[encoded.index[i] for i in rows],
    )
