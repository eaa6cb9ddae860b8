"""What is measured of a tuned model: wins, divergence, length, repetition, other texts."""

import math
from collections import Counter
from collections.abc import Sequence
from textwrap import wrap
from typing import Any

import torch

from mathlm.align import Reference, completions_of, roll_out, target_log_probabilities
from mathlm.chat.model import ChatModel
from mathlm.generate import generate_ragged, token_log_probabilities
from mathlm.text import corpus
from mathlm.train.objectives import IGNORED

from .brevity import brevity, sentences
from .pairs import TEMPERATURE, end_of, prompt_ids, text_of

NEW_TOKENS, LETTERS = 40, 1200
OTHER = ("shakespeare", "glosses")


def compare(ours: Sequence[float], theirs: Sequence[float]) -> dict[str, int]:
    """How often one of two scores is larger."""
    both = list(zip(ours, theirs, strict=True))
    wins, losses = sum(x > y for x, y in both), sum(x < y for x, y in both)
    return {"wins": wins, "losses": losses, "ties": len(both) - wins - losses}


def repeated(text: str, n: int = 3) -> float:
    """Share of a text's groups of n words that stood in it before; 0 if it is shorter."""
    words = text.lower().split()
    groups = [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]
    return 1 - len(set(groups)) / len(groups) if groups else 0.0


def commonest_opening(texts: Sequence[str], n: int = 3) -> tuple[str, float]:
    """The n words with which most texts begin, and the share of those that do."""
    openings = Counter(" ".join(text.split()[:n]) for text in texts)
    opening, count = openings.most_common(1)[0]
    return opening, count / len(texts)


@torch.no_grad()
def sampled(
    chat_model: ChatModel,
    reference: Reference,
    prompts: Sequence[str],
    seed: int,
    new_tokens: int = NEW_TOKENS,
) -> dict[str, Any]:
    """An answer to each prompt, and the divergence from the reference per token."""
    batch = roll_out(
        chat_model.model,
        prompt_ids(chat_model, prompts),
        new_tokens,
        temperature=TEMPERATURE,
        seed=seed,
        stop=(end_of(chat_model),),
    )
    mask, ratio, counted = batch["targets"] != IGNORED, [], []
    for start in range(0, len(prompts), 16):
        part = {key: x[start : start + 16] for key, x in batch.items()}
        own = target_log_probabilities(chat_model.model, part, temperature=TEMPERATURE)
        other = reference.log_probabilities(part, temperature=TEMPERATURE)
        ratio += (own - other).sum(1).tolist()
        counted += mask[start : start + 16].sum(1).tolist()
    texts = [text_of(chat_model, y) for y in completions_of(batch)]
    return {
        "answers": texts,
        "log_ratio": [round(x, 4) for x in ratio],
        "tokens": counted,
        "finished": batch["finished"].tolist(),
    }


@torch.no_grad()
def greedy(chat_model: ChatModel, prompts: Sequence[str], new_tokens: int = 48) -> list[str]:
    """The likeliest token again and again, for each prompt."""
    ids = prompt_ids(chat_model, prompts)
    texts = generate_ragged(
        chat_model.model, ids, new_tokens, temperature=0, stop=(end_of(chat_model),)
    )
    return [text_of(chat_model, y[len(x) :]) for x, y in zip(ids, texts, strict=True)]


def side_by_side(prompt: str, before: str, after: str, width: int = 84) -> str:
    """A prompt with two answers, uncut, in lines that fit a page."""
    lines = [prompt]
    for name, text in (("base:", before), ("tuned:", after)):
        one_line = " ".join(text.split())
        lines += wrap(one_line, width, initial_indent=f"  {name:7}", subsequent_indent=" " * 9)
    return "\n".join(lines)


@torch.no_grad()
def bits_per_byte(chat_model: ChatModel, name: str, letters: int = LETTERS) -> float:
    """Bits per byte of the first letters of a corpus's held-out part."""
    text = corpus.split(name)[1][:letters]
    ids = torch.tensor([chat_model.tokenizer.encode(text)])
    nats = -token_log_probabilities(chat_model.model, ids).sum().item()
    return nats / math.log(2) / len(text.encode())


def summary(found: dict[str, Any], base: dict[str, Any]) -> dict[str, Any]:
    """The numbers of the table, from sampled answers and those of the base."""
    ours, theirs = found["answers"], base["answers"]
    opening, share = commonest_opening(ours)
    return {
        "compared": compare([brevity(x) for x in ours], [brevity(x) for x in theirs]),
        "sentences": sum(len(sentences(x)) for x in ours) / len(ours),
        "kl_per_token": sum(found["log_ratio"]) / sum(found["tokens"]),
        "tokens": sum(found["tokens"]) / len(ours),
        "finished": sum(found["finished"]) / len(ours),
        "repeated": sum(map(repeated, ours)) / len(ours),
        "opening": opening,
        "opening_share": share,
    }
