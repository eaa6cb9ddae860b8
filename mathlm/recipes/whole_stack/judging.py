"""The three models of the whole stack side by side, on text and requests of no stage."""

import logging
import math
from typing import Any

import numpy as np
import torch

from ...align import ChatBatches, encode_chats
from ...chat.folder import load
from ...chat.model import ChatModel
from ...errors import InputError
from ...models import GPT
from ...train import TokenizedWindows
from ...train.objectives import next_token
from .answers import answers, halves, repeated
from .pipeline import Result, Run
from .report import MODELS
from .stages import held_out_conversations, scored_tokens, speakers

log = logging.getLogger(__name__)
SEED = 2_000_003  # of the answers that are judged
LIKE = 15  # bytes by which answers of like length may differ


@torch.no_grad()
def mean_loss(model: GPT, batches: Any) -> float:
    """Mean loss over every target [nats/token]."""
    device, total, count = next(model.parameters()).device, 0.0, 0
    for batch in batches:
        loss, number = next_token(model, {k: x.to(device) for k, x in batch.items()})
        total, count = total + float(loss), count + number
    return total / count


def bits_per_byte(run: Run, chat_model: ChatModel) -> float:
    """Cost of the held-out plays [bits/byte]."""
    ids = np.asarray(scored_tokens(run, chat_model.tokenizer), dtype=np.int64)
    sizes = {"context": run.scale.context, "batch_size": 16, "seed": 0}
    windows = TokenizedWindows(ids, chat_model.tokenizer, **sizes)
    return mean_loss(chat_model.model, windows) / (windows.bytes_per_target * math.log(2))


def answer_loss(run: Run, chat_model: ChatModel) -> float:
    """Cost of the speeches that were really given to held-out requests [nats/token]."""
    chats = held_out_conversations(run, run.scale.judged)
    encoded = encode_chats(chats, chat_model.format, chat_model.tokenizer, run.scale.context)
    return mean_loss(chat_model.model, ChatBatches(encoded, 16))


def measured(run: Run, chat_model: ChatModel, said: list[tuple[str, bool]]) -> dict[str, float]:
    """What one model costs and how its answers are."""
    return {
        "bits_per_byte": bits_per_byte(run, chat_model),
        "answer_loss": answer_loss(run, chat_model),
        **said_measures(said),
    }


def said_measures(said: list[tuple[str, bool]]) -> dict[str, float]:
    """How answers are: whether they end, how long they are, and what the two rules say."""
    texts = [text for text, _ in said]
    words = [text.lower().split() for text in texts]
    rules = dict(zip(("preferring rule", "judging rule"), halves(), strict=True))
    return {
        "ended": float(np.mean([ended for _, ended in said])),
        "bytes": float(np.mean([len(text.encode()) for text in texts])),
        "distinct words": len({w for row in words for w in row}) / max(1, sum(map(len, words))),
        **{
            name: float(np.mean([rule.score(t) for t in texts])) for name, rule in rules.items()
        },
    }


def of_like_length(ours: list[str], theirs: list[str]) -> tuple[list[str], list[str]]:
    """The pairs whose lengths differ by at most ``LIKE`` bytes."""
    pairs = zip(ours, theirs, strict=True)
    kept = [(a, b) for a, b in pairs if abs(len(a.encode()) - len(b.encode())) <= LIKE]
    return [a for a, _ in kept], [b for _, b in kept]


def win_rate(rule: Any, ours: list[str], theirs: list[str]) -> dict[str, float]:
    """Share of the pairs in which the rule prefers ours, a tie being half; standard error.

    Implements eq-stack-win::

        w = 1/n Σ ([r(a) > r(b)] + ½ [r(a) = r(b)])   over the pairs (a, b)
    """
    if len(ours) < 2:
        raise InputError(f"{len(ours)} pairs are too few for a win rate: judge more answers")
    pairs = zip(ours, theirs, strict=True)
    wins = np.array([(np.sign(rule.score(a) - rule.score(b)) + 1) / 2 for a, b in pairs])
    error = float(wins.std(ddof=1) / math.sqrt(len(wins)))
    ties = float((wins == 0.5).mean())
    return {"rate": float(wins.mean()), "error": error, "ties": ties, "pairs": len(wins)}


def judge(run: Run) -> Result:
    """Held-out plays, requests by speakers that no pair had, and a rule that taught nothing."""
    prompts = repeated(speakers(run)[1], run.scale.judged)
    said, models = {}, {}
    for name in MODELS:
        chat_model = load(run.place(name), device=run.device)
        said[name] = answers(chat_model, prompts, run.scale.answer, SEED + run.seed)
        models[name] = measured(run, chat_model, said[name])
    texts = {name: [text for text, _ in rows] for name, rows in said.items()}
    rules = dict(zip(("preferring rule", "judging rule"), halves(), strict=True))
    sides = texts["preferred"], texts["tuned"]
    wins = {name: win_rate(rule, *sides) for name, rule in rules.items()}
    like = of_like_length(*sides)
    if len(like[0]) > 1:
        wins |= {f"{name}, like lengths": win_rate(rule, *like) for name, rule in rules.items()}
    else:
        log.info("%d pairs of like length: too few for a win rate", len(like[0]))
    shown = [
        {"prompt": prompts[i]} | {name: texts[name][i] for name in MODELS}
        for i in range(min(6, len(prompts)))
    ]
    return {"models": models, "wins": wins, "speakers": len(set(prompts)), "sample": shown}
