"""Answers of a model of the whole stack, and two rules that say which one is gladder.

The rated words of the lexicon are cut in two halves, by the first four letters, so that no word
and hardly a relative of it stands in both: one half prefers, the other judges.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from zlib import crc32

import torch

from ...chat.folder import load
from ...chat.model import ChatModel
from ...generate import generate_ragged
from ...text import Message, sentiment
from ...text.corpora.sentiment import Lexicon
from .pipeline import Result, Run, write_lines
from .stages import speakers

AT_ONCE = 128  # answers that are written together


@cache
def halves() -> tuple[Lexicon, Lexicon]:
    """The lexicon that prefers, and the one that judges."""
    whole = sentiment.load()
    side = {word: crc32(word[:4].encode()) % 2 for word in whole.valences}
    first = {word: valence for word, valence in whole.valences.items() if side[word] == 0}
    second = {word: valence for word, valence in whole.valences.items() if side[word] == 1}
    return replace(whole, valences=first), replace(whole, valences=second)


def repeated(prompts: Sequence[str], number: int) -> list[str]:
    """So many prompts, taken by turns."""
    return [prompts[i % len(prompts)] for i in range(number)]


def answers(
    chat_model: ChatModel,
    prompts: Sequence[str],
    longest: int,
    seed: int,
    temperature: float = 1.0,
) -> list[tuple[str, bool]]:
    """An answer to each prompt, and whether it came to its end."""
    form, tokenizer = chat_model.format, chat_model.tokenizer
    end, device = tokenizer.special[form.end], next(chat_model.model.parameters()).device
    chats = [form.encode([Message("user", p)], tokenizer, answer=True) for p in prompts]
    asked, found = [torch.from_numpy(chat.ids).to(device) for chat in chats], []
    for i in range(0, len(asked), AT_ONCE):
        part = asked[i : i + AT_ONCE]
        written = generate_ragged(
            chat_model.model, part, longest, temperature, seed=seed + i, stop=[end]
        )
        for before, ids in zip(part, written, strict=True):
            said = ids[len(before) :].tolist()
            ended = end in said
            found.append((tokenizer.decode(said[: said.index(end)] if ended else said), ended))
    return found


def preferred_pairs(
    chat_model: ChatModel, prompts: Sequence[str], longest: int, seed: int
) -> tuple[list[dict[str, str]], dict[str, int]]:
    """Two answers to each prompt, the gladder one first; how many pairs were of no use."""
    rule, rows = halves()[0], []
    first = answers(chat_model, prompts, longest, seed)
    second = answers(chat_model, prompts, longest, seed + 1_000_003)
    dropped = {"not ended": 0, "alike": 0}
    for prompt, (a, a_ended), (b, b_ended) in zip(prompts, first, second, strict=True):
        scores = rule.score(a), rule.score(b)
        if not (a_ended and b_ended and a.strip() and b.strip()):
            dropped["not ended"] += 1
        elif scores[0] == scores[1]:
            dropped["alike"] += 1
        else:
            chosen, rejected = (a, b) if scores[0] > scores[1] else (b, a)
            rows.append({"prompt": prompt, "chosen": chosen, "rejected": rejected})
    return rows, dropped


def compare(run: Run) -> Result:
    """Pairs of answers of the tuned model, judged by one half of the lexicon."""
    learned, _ = speakers(run)
    prompts = repeated(learned, run.scale.draws)
    chat_model = load(run.place("tuned"), device=run.device)
    rows, dropped = preferred_pairs(chat_model, prompts, run.scale.answer, run.seed)
    write_lines(run.place("pairs.jsonl"), rows)
    return {"pairs": len(rows), "dropped": dropped, "sample": rows[:3]}
