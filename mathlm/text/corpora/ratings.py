"""Conversations with the ratings that people gave them, and pairs of a better and a worse one.

The chitchat data set has 7,168 conversations of two people; 5,988 of them were rated from 1 to
10 for being witty, interesting and upbeat. More than half of the ratings are a 5.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ...errors import DataError, InputError
from ..chat import Message
from .installed import data_file
from .instructions import DIALOGS

NAMES = ("interesting", "upbeat", "witty")
LOWEST, HIGHEST = 1, 10


@dataclass(frozen=True)
class Rated:
    """A conversation and what people thought of it.

    Args:
        topic: What the two were asked to talk about; may be "".
        turns: What was said, by turns; what one says in several messages is one turn of several
            lines.
        ratings: From 1 to 10, for interesting, upbeat and witty, in this order.
    """

    topic: str
    turns: tuple[str, ...]
    ratings: tuple[int, int, int]

    @property
    def total(self) -> int:
        """Sum of the three ratings, from 3 to 30."""
        return sum(self.ratings)

    @property
    def words(self) -> int:
        """Words of all turns."""
        return sum(len(turn.split()) for turn in self.turns)

    @property
    def text(self) -> str:
        """The turns, each behind a dash and a blank, a line break between them."""
        return "\n".join(f"- {turn}" for turn in self.turns)

    @property
    def messages(self) -> list[Message]:
        """The turns as those of a user and an assistant."""
        roles = ("user", "assistant")
        return [Message(roles[i % 2], turn) for i, turn in enumerate(self.turns)]


def load() -> list[Rated]:
    """The rated conversations of the chitchat data set, in the order of its file.

    Blanks at both ends of a message are removed; a turn of nothing but blanks stays, as "".
    What people thought of one conversation is independent of the others: there is no common
    prompt.

    Raises:
        DataNotFoundError: If the package is not installed; the message has the command.
        HashMismatchError: If the installed file is not the one the book was written with.
        DataError: If a rating is not one of 1 … 10.
    """
    return list(_rated())


@cache
def _rated() -> tuple[Rated, ...]:
    source = DIALOGS["chitchat"]
    place = {"sha256": source.sha256, "install": source.install}
    path = data_file(source.package, source.pattern, **place)
    dialogs = json.loads(path.read_text(encoding="utf-8")).values()
    return tuple(read_dialog(dialog) for dialog in dialogs if dialog.get("ratings"))


def read_dialog(dialog: dict) -> Rated:
    """One rated conversation of the file.

    Raises:
        DataError: If a rating is missing or out of range.
    """
    given = dialog["ratings"]
    ratings = tuple(given.get(name) for name in NAMES)
    if any(type(r) is not int or not LOWEST <= r <= HIGHEST for r in ratings):
        raise DataError(f"ratings {given} must be {LOWEST} to {HIGHEST} for each of {NAMES}")
    turns = ("\n".join(said["text"].strip() for said in turn) for turn in dialog["messages"])
    return Rated(dialog.get("prompt", ""), tuple(turns), ratings)  # type: ignore[arg-type]


def rated_pairs(
    rated: Sequence[Rated], number: int, seed: int = 0, least: int = 1
) -> NDArray[np.int64]:
    """Pairs of conversations of which the first was rated higher in total.

    Each pair is drawn alike from all pairs with different totals, so that no one
    conversation is preferred for its place; a conversation may be in several pairs.

    Args:
        rated: The conversations.
        number: How many pairs.
        seed: Which pairs.
        least: Smallest difference of the totals.

    Returns:
        (number, 2) indices into ``rated``: higher, lower.

    Raises:
        InputError: If no two totals differ by so much, or a number is out of range.

    Example:
        >>> rated = [Rated("", ("Hi",), (total, 1, 1)) for total in (3, 9)]
        >>> rated_pairs(rated, number=2).tolist()  # the second was rated higher
        [[1, 0], [1, 0]]
    """
    if number < 1 or seed < 0 or least < 1:
        raise InputError(
            f"number={number} and least={least} must be positive, seed={seed} not negative"
        )
    totals = np.array([conversation.total for conversation in rated], dtype=np.int64)
    if len(totals) == 0 or totals.max() - totals.min() < least:
        raise InputError(
            f"no two of the {len(totals)} conversations have totals that differ by {least}"
        )
    rng, found, have = np.random.default_rng(seed), [], 0
    while have < number:
        drawn = rng.integers(len(totals), size=(2 * number + 64, 2))
        fits = drawn[totals[drawn[:, 0]] - totals[drawn[:, 1]] >= least]
        found.append(fits)
        have += len(fits)
    return np.concatenate(found)[:number]


def split_rated(
    rated: Sequence[Rated], held_out: float | int = 0.2, seed: int = 0
) -> tuple[list[Rated], list[Rated]]:
    """Conversations as (training, held out), so that no pair has one of each side.

    Args:
        rated: The conversations.
        held_out: Share that is held out, above 0 and below 1.
        seed: Which.

    Returns:
        Both parts, in their order.

    Raises:
        InputError: If the share is out of range, or a part would be empty.

    Example:
        >>> rated = [Rated("", ("Hi",), (rating, 1, 1)) for rating in range(1, 11)]
        >>> training, held_out = split_rated(rated, held_out=0.2)
        >>> len(training), len(held_out)
        (8, 2)
    """
    number = round(held_out * len(rated))
    if not 0 < number < len(rated):
        raise InputError(
            f"held_out={held_out} of {len(rated)} conversations leaves one side empty"
        )
    order = np.random.default_rng(seed).permutation(len(rated))
    out = set(order[:number].tolist())
    sides: tuple[list[Rated], list[Rated]] = ([], [])
    for i, conversation in enumerate(rated):
        sides[i in out].append(conversation)
    return sides


__all__ = ["Rated", "load", "rated_pairs", "split_rated"]
