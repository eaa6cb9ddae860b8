"""Pairs of answers that a model wrote itself, one of which the rule prefers."""

import json
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import Tensor

from mathlm.align import completions_of, roll_out
from mathlm.chat.model import ChatModel
from mathlm.text import Message
from mathlm.text.corpora.preferences import Preference

from .brevity import brevity, first, whole

TEMPERATURE = 0.7
AT_ONCE = 128  # answers written together


def prompt_ids(chat_model: ChatModel, prompts: Sequence[str]) -> list[Tensor]:
    """Each prompt as the model sees it, up to where its answer begins."""
    ids = (
        chat_model.format.encode(
            [Message("user", prompt)], chat_model.tokenizer, answer=True
        ).ids
        for prompt in prompts
    )
    return [torch.from_numpy(x) for x in ids]


def end_of(chat_model: ChatModel) -> int:
    """The token that ends an answer."""
    return chat_model.tokenizer.special[chat_model.format.end]


def text_of(chat_model: ChatModel, ids: Tensor) -> str:
    """An answer as text, without its end."""
    end = end_of(chat_model)
    return chat_model.tokenizer.decode([i for i in ids.tolist() if i != end])


def sample(
    chat_model: ChatModel, prompts: Sequence[str], new_tokens: int, seed: int
) -> list[str]:
    """One answer to each prompt."""
    found: list[str] = []
    for start in range(0, len(prompts), AT_ONCE):
        batch = roll_out(
            chat_model.model,
            prompt_ids(chat_model, prompts[start : start + AT_ONCE]),
            new_tokens,
            temperature=TEMPERATURE,
            seed=seed,
            stop=(end_of(chat_model),),
            first_row=start,
        )
        found += [text_of(chat_model, y) for y in completions_of(batch)]
    return found


def cut_pairs(
    prompts: Sequence[str], answers: Sequence[str], per_prompt: int = 1
) -> list[Preference]:
    """An answer that ends after its first sentence against the same answer that goes on.

    Args:
        prompts: One for each answer.
        answers: Texts; those with fewer than two whole sentences make no pair.
        per_prompt: Most pairs of a prompt.
    """
    made: list[Preference] = []
    for prompt, answer in zip(prompts, answers, strict=True):
        asked = (Message("user", prompt),)
        chosen, rejected = first(answer), whole(answer)
        before = sum(pair.prompt == asked for pair in made)
        if chosen and chosen != rejected and before < per_prompt:
            made.append(Preference(prompt=asked, chosen=chosen, rejected=rejected))
    return made


def shorter_preferred(prompts: Sequence[str], answers: Sequence[str]) -> list[Preference]:
    """Two answers to each prompt, of which the one with fewer words is preferred.

    Args:
        prompts: Of the answers.
        answers: The first to all prompts, then the second to all.

    Returns:
        A pair for each prompt whose answers have different numbers of words and are not empty.
    """
    made = []
    firsts, seconds = answers[: len(prompts)], answers[len(prompts) :]
    for prompt, *both in zip(prompts, firsts, seconds, strict=True):
        long, short = sorted((x.strip() for x in both), key=brevity)
        if short and brevity(short) > brevity(long):
            asked = (Message("user", prompt),)
            made.append(Preference(prompt=asked, chosen=short, rejected=long))
    return made


def write(pairs: Sequence[Preference], path: Path) -> None:
    """Pairs as JSON lines, which mathlm dpo reads."""
    lines = (
        {"prompt": pair.prompt[-1].content, "chosen": pair.chosen, "rejected": pair.rejected}
        for pair in pairs
    )
    text = "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)
    path.write_text(text, encoding="utf-8")
