"""Sums of digits, with scratch work or without, a small GPT, and verifiers."""

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from mathlm.errors import InputError
from mathlm.models import GPT, GPTConfig

Question = tuple[int, ...]
Verifier = Callable[[Question, str], bool]
LETTERS = "0123456789+=;"
END = LETTERS.index(";")
ROOM = 34  # tokens that an answer may have, the end among them
CONTEXT = 14 + ROOM  # of "7+5+8+1+0+2+6=" and an answer
SIZES: dict[str, Any] = {"d_model": 48, "n_layers": 2, "n_heads": 4, "position": "rope"}
TERMS, TERM_SHARES = (
    (3, 4, 5, 6, 7),
    (0.2, 0.2, 0.2, 0.2, 0.2),
)  # numbers to add, and how often in examples


def asked(question: Question) -> str:
    """The sum as it is asked: ``7+5+8=``."""
    return "+".join(map(str, question)) + "="


def worked(question: Question) -> str:
    """The answer with scratch work, a running sum for each further number: ``7+5=12+8=20;``."""
    sums = np.cumsum(question)[1:]
    steps = (f"+{n}={s:02d}" for n, s in zip(question[1:], sums, strict=True))
    return f"{question[0]}{''.join(steps)};"


def direct(question: Question) -> str:
    """The answer alone: ``20;``."""
    return f"{sum(question):02d};"


def held_out(question: Question) -> bool:
    """Whether a sum is kept from all training: about one in eleven."""
    return sum((k + 2) * n for k, n in enumerate(question)) % 11 == 0


def questions(
    number: int, terms: int, rng: np.random.Generator, unseen: bool = False
) -> list[Question]:
    """Sums of so many numbers from 0 to 9, of those for training or those held out.

    Raises:
        InputError: If there are less than two numbers to add.
    """
    if terms < 2:
        raise InputError(f"terms={terms}: a sum needs at least two numbers")
    found: list[Question] = []
    while len(found) < number:
        drawn = rng.integers(0, 10, size=(2 * number, terms)).tolist()
        found += [tuple(q) for q in drawn if held_out(tuple(q)) == unseen]
    return found[:number]


def encode(text: str) -> Tensor:
    """Characters to ids (T,)."""
    return torch.tensor([LETTERS.index(c) for c in text])


def decode(ids: Tensor) -> str:
    """Ids to characters."""
    return "".join(LETTERS[i] for i in ids.tolist())


def numbers_in(text: str) -> list[int]:
    """The numbers that a text holds, in order."""
    return [int(n) for n in re.findall(r"\d+", text)]


def answer(text: str) -> int:
    """The last number of a text that has ended; -1 if there is none."""
    return numbers_in(text)[-1] if text.endswith(";") and numbers_in(text) else -1


def last_number(question: Question, text: str) -> bool:
    """The verifier that is meant: the text has ended, and its last number is the sum."""
    return answer(text) == sum(question)


def last_digit(question: Question, text: str) -> bool:
    """Looks at the last digit of the last number only."""
    found = answer(text)
    return found >= 0 and found % 10 == sum(question) % 10


def first_number(question: Question, text: str) -> bool:
    """Takes the first number of the text for the answer."""
    return text.endswith(";") and numbers_in(text)[:1] == [sum(question)]


def anywhere(question: Question, text: str) -> bool:
    """Finds the sum among the numbers of the text, wherever it stands."""
    return sum(question) in numbers_in(text)


VERIFIERS: dict[str, Verifier] = {
    "last number": last_number,
    "last digit": last_digit,
    "first number": first_number,
    "anywhere": anywhere,
}


def examples(
    number: int, with_work: float | int, rng: np.random.Generator
) -> tuple[Tensor, Tensor]:
    """Sums with answers as ids and targets (number, CONTEXT - 1); only answers are targets.

    Args:
        number: How many.
        with_work: Share of the answers that show scratch work.
        rng: Draws them.
    """
    ids = torch.full((number, CONTEXT), END)
    target = torch.full((number, CONTEXT), -100)
    for row, terms in enumerate(rng.choice(TERMS, number, p=TERM_SHARES)):
        (q,) = questions(1, int(terms), rng)
        prompt, answer = asked(q), worked(q) if rng.random() < with_work else direct(q)
        text = encode(prompt + answer)
        ids[row, : len(text)] = text
        target[row, len(prompt) : len(text)] = text[len(prompt) :]
    return ids[:, :-1], target[:, 1:]


def new_model(seed: int) -> GPT:
    """A GPT with new weights."""
    torch.manual_seed(seed)
    return GPT(GPTConfig(vocab_size=len(LETTERS), context=CONTEXT, **SIZES))


def pretrain(
    model: GPT,
    steps: int,
    with_work: float | int,
    seed: int,
    lr: float | int = 3e-3,
    batch: int = 64,
    look: Callable[[int], bool] | None = None,
) -> int:
    """Train on worked and direct answers until a look has seen enough; returns the steps.

    Args:
        model: Trained in place.
        steps: At most.
        with_work: Share of the answers that show scratch work.
        seed: Of the examples.
        lr: Step size, after a warm-up of 50 steps.
        batch: Sums of a step.
        look: Called with the number of steps done, every 50; True ends the training.
    """
    rng = np.random.default_rng((seed, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.01)
    for step in range(steps):
        if look is not None and step and step % 50 == 0 and look(step):
            return step
        ids, target = examples(batch, with_work, rng)
        for group in optimizer.param_groups:
            group["lr"] = lr * min(1.0, (step + 1) / 50)
        loss = cross_entropy(model.train()(ids).flatten(0, 1), target.flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return steps


def prompts_of(sums: Sequence[Question], copies: int) -> list[Tensor]:
    """Each sum so often, as ids, one after the other."""
    return [encode(asked(q)) for q in sums for _ in range(copies)]
