"""Three rules of what is learned from a chat, and a tuned model asked whether it can stop.

The GPT of the plays learns the conversations of a data package with each rule.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import torch

from mathlm.align import ChatBatches, Encoded
from mathlm.generate import generate_ragged
from mathlm.models import GPT
from mathlm.optim import warmup_cosine
from mathlm.shapes import Bool
from mathlm.text import Bytes, Chat, ChatFormat, Message
from mathlm.train import Trainer, TrainerConfig, next_token

from .fine_tuning_chats import conversations, held_out_rows, parts
from .fine_tuning_measures import answer_loss
from .fine_tuning_tasks import PLAYS

FORMAT = ChatFormat.named()
STEP_SIZE, ROWS, CONTEXT = 1e-3, 2, 256
Mask = Bool[np.ndarray, " T"]
Measure = Callable[[GPT], dict[str, float]]


def answers_and_ends(chat: Chat, end: int) -> Mask:
    """The mask of the format."""
    return chat.mask


def answers_alone(chat: Chat, end: int) -> Mask:
    """Without the marker that ends an answer."""
    return chat.mask & (chat.ids != end)


def everything(chat: Chat, end: int) -> Mask:
    """Questions and markers too."""
    return np.arange(len(chat)) > 0


RULES: dict[str, Callable[[Chat, int], Mask]] = {
    "answers and their ends": answers_and_ends,
    "answers without their ends": answers_alone,
    "everything": everything,
}


def asked(encoded: Encoded, rule: str, end: int) -> Encoded:
    """The conversations with the mask of a rule."""
    chats = [replace(chat, mask=RULES[rule](chat, end)) for chat in encoded.chats]
    return replace(encoded, chats=chats)


def tune(
    model: GPT,
    encoded: Encoded,
    steps: int,
    *,
    step_size: float | int = STEP_SIZE,
    seed: int = 0,
    at: Sequence[int] = (),
    measure: Measure | None = None,
) -> list[dict[str, Any]]:
    """Train every weight; what was measured after some of the steps."""
    model.requires_grad_(True)
    optimizer = torch.optim.AdamW(model.parameters(), step_size, (0.9, 0.95), weight_decay=0.0)
    schedule = warmup_cosine(float(step_size), steps // 10, steps, step_size / 10)
    config = TrainerConfig(steps=steps, schedule=schedule, seed=seed)
    batches = ChatBatches(encoded, ROWS, context=CONTEXT, seed=seed)
    trainer, curve = Trainer(model, next_token, batches, optimizer, config), []
    while trainer.step < steps:
        trainer.train_step()
        if measure is not None and trainer.step in at:
            curve.append({"step": trainer.step, **measure(model.eval())})
    return curve


def ended(model: GPT, questions: Sequence[str], longest: int = 150, seed: int = 0) -> float:
    """Share of drawn answers that end within so many tokens."""
    tokenizer = Bytes(FORMAT.special)
    chats = [FORMAT.encode([Message("user", q)], tokenizer, answer=True) for q in questions]
    prompts = [torch.from_numpy(chat.ids) for chat in chats]
    stop = [tokenizer.special[FORMAT.end]]
    written = generate_ragged(model, prompts, longest, seed=seed, stop=stop)
    short = [len(w) - len(p) < longest for w, p in zip(written, prompts, strict=True)]
    return sum(short) / len(short)


def compare(steps: int, questions: int, seed: int = 0) -> dict[str, dict[str, float]]:
    """Loss of held-out answers, and share of answers that end, by the rule of the tuning.

    Args:
        steps: Of each tuning.
        questions: How many are answered, and how many conversations are held out.
        seed: Of the order of the conversations and of what is written.
    """
    found, tokenizer = {}, Bytes(FORMAT.special)
    end = tokenizer.special[FORMAT.end]
    train, _, report = conversations(tokenizer, FORMAT, CONTEXT)
    rows = held_out_rows(report, questions)
    openings = [c[0].content for c in parts()[2] if len(c) == 2][:questions]
    for rule in RULES:
        model = GPT.from_pretrained(PLAYS)
        tune(model, asked(train, rule, end), steps, seed=seed)
        found[rule] = answer_loss(model.eval(), rows, end)
        found[rule] |= {"ended": ended(model, openings, seed=seed)}
    return found
