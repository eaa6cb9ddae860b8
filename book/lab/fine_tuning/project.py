"""Grader of the project of this page: conversations packed into rows, and their mean loss."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from lab.grading import Case, FaultError, Report, grade_by

Chat = tuple[list[int], list[bool]]
Packer = Callable[[list[Chat], int], Any]
Mean = Callable[[ndarray, ndarray], float]
CONTEXT, IGNORED = 12, -100
CHATS: tuple[Chat, ...] = (
    ([1, 11, 12, 2, 13, 3], [False, False, False, False, True, True]),
    ([1, 21, 2, 22, 23, 3], [False, False, False, True, True, True]),
    ([1, 31, 2, 32, 3, 1, 33, 2, 34, 3], [False] * 3 + [True] * 2 + [False] * 3 + [True] * 2),
    ([1, 41, 2, 3], [False, False, False, True]),
)


def grade(pack: Packer, mean_loss: Mean) -> Report:
    """Test the rows and the mean loss of a reader.

    Args:
        pack: ``pack(chats, context)`` returns three integer arrays (rows, context): ids,
            targets and documents. A conversation is a pair of ids and of the mask that says
            which of them are learned.
        mean_loss: ``mean_loss(logp, targets)`` is the mean over the targets that are not -100,
            for log-probabilities (rows, context, vocabulary).

    Returns:
        A report: print it, or read ``passed`` and ``faults``.
    """
    return grade_by(TESTS, pack, mean_loss)


def packed(pack: Packer, chats: Sequence[Chat], context: int = CONTEXT) -> tuple:
    """The three arrays, once their form is right."""
    found = pack([(list(ids), list(mask)) for ids, mask in chats], context)
    if not isinstance(found, tuple) or len(found) != 3:
        raise FaultError("return three arrays: ids, targets and documents.")
    arrays = tuple(np.asarray(x) for x in found)
    for name, x in zip(("ids", "targets", "documents"), arrays, strict=True):
        if x.ndim != 2 or x.shape[1] != context or x.shape != arrays[0].shape:
            raise FaultError(f"{name} has shape {x.shape}; it must have (rows, {context}).")
    return arrays


def _one(pack: Packer, _: Mean) -> str | None:
    (ids, mask), n = CHATS[0], len(CHATS[0][0])
    found, targets, documents = packed(pack, CHATS[:1])
    if len(found) != 1 or found[0, :n].tolist() != ids:
        return "the row does not begin with the tokens of the conversation."
    if len(set(documents[0, :n])) != 1 or (documents[0, n:] != -1).any():
        return "documents: one number for the conversation, and -1 where nothing stands."
    if found[0, n:].any():
        return "ids: 0 where nothing stands."
    return _asked(targets[0], ids, mask)


def _asked(targets: ndarray, ids: list[int], mask: list[bool]) -> str | None:
    """What is wrong with the targets of a conversation that begins at place 0."""
    asked = [t for t in range(len(targets)) if targets[t] != IGNORED]
    right = [t - 1 for t in range(1, len(ids)) if mask[t]]
    if asked == [t + 1 for t in right]:
        return "a target stands at its own token: position t is to predict token t + 1."
    if asked == right[:-1]:
        return "the token that ends the answer is no target: the model would never stop."
    if any(t >= len(ids) - 1 for t in asked):
        return "there are targets where the conversation is over: mask padding with -100."
    if set(right) < set(asked):
        return "tokens of the request are targets: learn only where the mask says so."
    if asked != right or any(targets[t] != ids[t + 1] for t in right):
        return "the targets are not the learned tokens, each at the position before it."
    return None


def _turns(pack: Packer, _: Mean) -> str | None:
    targets = packed(pack, CHATS[2:3])[1]
    said = _asked(targets[0], *CHATS[2])
    return said and f"with two answers: {said}"


def _rows(pack: Packer, _: Mean) -> str | None:
    ids, targets, documents = packed(pack, CHATS)
    found = []
    for row, (numbers, asked) in enumerate(zip(documents, targets, strict=True)):
        for number in dict.fromkeys(int(n) for n in numbers if n >= 0):
            at = np.flatnonzero(numbers == number)
            if (np.diff(at) != 1).any():
                return "the tokens of a conversation do not stand together."
            found.append((ids[row, at].tolist(), asked[at]))
    if len(found) != len(CHATS):
        return (
            f"{len(found)} conversations are told apart by documents, not {len(CHATS)}: each "
            "needs a number of its own in its row."
        )
    for text, learned in CHATS:
        if not (here := [x for x in found if x[0] == text]):
            return "a conversation is cut or missing: each stands whole in one row."
        if here[0][1][-1] != IGNORED:
            return "the last token of a conversation predicts the first of the next."
        if said := _asked(here[0][1], text, learned):
            return f"in a row of several: {said}"
    return None


def _full(pack: Packer, _: Mean) -> str | None:
    rows = len(packed(pack, CHATS)[0])
    if rows > 3:
        return f"{rows} rows for 26 tokens in rows of 12: conversations that fit share a row."
    if len(packed(pack, CHATS[:2])[0]) > 1:
        return "two conversations of 6 tokens fill a row of 12, and got two rows."
    return None


def _long(pack: Packer, _: Mean) -> str | None:
    long = ([1, *range(50, 70), 2, 60, 3], [False] * 22 + [True] * 2)
    ids = packed(pack, [CHATS[0], long])[0]
    if np.isin(ids, range(50, 70)).any():
        return "a conversation longer than the context is cut: leave it out."
    if not np.isin(packed(pack, CHATS[:1], len(CHATS[0][0]))[0], CHATS[0][0]).any():
        return "a conversation exactly as long as the context is left out, and it fits."
    return None


def _mean(_: Packer, mean_loss: Mean) -> str | None:
    logp = np.log(np.array([[[0.5, 0.25, 0.25]] * 4, [[0.1, 0.8, 0.1]] * 4]))
    targets = np.array([[0, 1, 1, IGNORED], [IGNORED, IGNORED, 2, IGNORED]])
    nll = -np.array([np.log(0.5), np.log(0.25), np.log(0.25), np.log(0.1)])
    found = float(mean_loss(logp, targets))
    known = {
        "": nll.mean(),
        "you divide by all positions, padding among them.": nll.sum() / 8,
        "this is the mean over answers of their means; take all tokens together.": (
            nll[:3].mean() + nll[3]
        )
        / 2,
        "this is the sum: divide by the number of targets.": nll.sum(),
        "the sign is wrong: a loss is minus a log-probability.": -nll.mean(),
    }
    for said, value in known.items():
        if abs(found - value) < 1e-9:
            return said or None
    return f"the mean is {found:.4f}; by hand it is {nll.mean():.4f}."


TESTS = (
    Case("one conversation", _one),
    Case("two answers", _turns, ("one conversation",)),
    Case("several in a row", _rows, ("one conversation",)),
    Case("rows are filled", _full, ("several in a row",)),
    Case("longer than the context", _long, ("one conversation",)),
    Case("mean loss", _mean),
)
