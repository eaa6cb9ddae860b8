"""The other way to a chat: a pretrained model, tuned on requests and then on preferences.

The model is SmolLM2-135M-Instruct as it is installed. Both updates are low-rank and lie beside
the matrices of its last blocks, so two cores are enough. The rule of the preferences is one
half of the lexicon, as in the way from scratch; the other half judges.
"""

import logging
import math
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ... import adapt
from ...align import ChatBatches, encode_chats
from ...chat.folder import load, write
from ...chat.model import ChatModel
from ...errors import InputError
from ...generate import generate_ragged, token_log_probabilities
from ...models import save_pretrained
from ...text import Message, corpus, instructions
from .. import dpo, sft
from ..dpo import DPOConfig
from ..options import BaseModel, Machine, Optimization, Output
from ..sft import SFTConfig
from ..tuning import Adaptation, Passes
from .answers import AT_ONCE, answers, halves, repeated
from .judging import SEED, mean_loss, of_like_length, said_measures, win_rate
from .pipeline import Result, Run, clear_half_written, write_lines
from .report import MODELS
from .topics import prompts
from .training import history

log = logging.getLogger(__name__)
MAPS = tuple(f"attention.W_{x}" for x in "qkvo") + tuple(
    f"feed_forward.W_{x}" for x in ("in", "gate", "out")
)
TEMPERATURE = 0.8  # of the answers that make pairs, and of those that are judged
DRAWS = 4  # answers to a prompt, of which the best and the worst make a pair
SHOWN = 10  # prompts whose answers are kept whole
LONGEST = 160  # bytes of a question and its answer in the requests
Pair = dict[str, str]


@dataclass(frozen=True, kw_only=True)
class TuningScale:
    """How large the stages from a pretrained model are.

    Args:
        base: Name or folder of the pretrained model.
        requests: Requests to learn from, half of them words to explain, half small talk.
        held_out: Requests of each kind that judge.
        blocks: Last blocks of the model that get an update.
        rank: Of the updates.
        context: Longest conversation [tokens].
        rows: Conversations, or pairs, in a step.
        looks: Evaluations of a training; there it is saved too.
        tuning_steps: Of tuning on requests.
        tuning_lr: Its largest step size.
        answer: Tokens of an answer at most.
        asked: Prompts whose answers make pairs.
        preference_steps: Of tuning on pairs.
        preference_lr: Its largest step size.
        judged: Answers that each model is judged by.
        letters: Of the held-out plays that are scored.
    """

    base: str = "smollm2"
    requests: int
    held_out: int
    blocks: int
    rank: int
    context: int
    rows: int
    looks: int
    tuning_steps: int
    tuning_lr: float
    answer: int
    asked: int
    preference_steps: int
    preference_lr: float
    judged: int
    letters: int


TABLE: dict[str, tuple[Any, Any, Any]] = {  # tiny, cpu, gpu
    "requests": (96, 400, 8000),
    "held_out": (10, 40, 500),
    "blocks": (8, 8, 30),
    "rank": (4, 4, 16),
    "context": (96, 128, 256),
    "rows": (4, 8, 32),
    "looks": (2, 3, 10),
    "tuning_steps": (24, 45, 500),
    "tuning_lr": (1e-3, 1e-3, 3e-4),
    "answer": (28, 36, 96),
    "asked": (32, 120, 225),
    "preference_steps": (14, 30, 100),
    "preference_lr": (6e-4, 6e-4, 2e-4),
    "judged": (25, 75, 300),
    "letters": (400, 1200, 20_000),
}
TUNING_SCALES: dict[str, TuningScale] = {
    name: TuningScale(**{key: row[i] for key, row in TABLE.items()})
    for i, name in enumerate(("tiny", "cpu", "gpu"))
}
TunedRun = Run[TuningScale]


def explained() -> list[Pair]:
    """Questions for what a word means, each with its first meaning as a sentence."""
    entries = (
        text.split("\n")[0].partition(" : ")[::2] for text in corpus.documents("glosses")
    )
    return [
        {"prompt": f"What does {w} mean?", "response": f"{w.capitalize()} means {gloss}."}
        for w, gloss in entries
        if w.isalpha() and w.islower() and len(w) + len(gloss) < LONGEST
    ]


def small_talk() -> list[Pair]:
    """Short questions and answers of the installed set."""
    return [
        {"prompt": turns[0].content, "response": turns[1].content}
        for turns in instructions.load("chatterbot")
        if len(turns) == 2 and sum(len(turn.content) for turn in turns) < LONGEST
    ]


def conversation(row: Pair) -> list[Message]:
    """A request and its answer as messages."""
    return [Message("user", row["prompt"]), Message("assistant", row["response"])]


def requests(run: TunedRun) -> Result:
    """Words to explain and small talk; no prompt of those that judge is learned."""
    rng, scale = np.random.default_rng(run.seed), run.scale
    learned, judging = list[Pair](), list[Pair]()
    for rows in (explained(), small_talk()):
        parts = instructions.split_by_prompt([conversation(r) for r in rows], 0.1, run.seed)
        wanted = scale.requests // 2, scale.held_out
        for kept, part, number in zip((learned, judging), parts, wanted, strict=True):
            drawn = [part[i] for i in rng.permutation(len(part))[:number]]
            kept += [{"prompt": a.content, "response": b.content} for a, b in drawn]
    write_lines(
        run.place("instructions.jsonl"), [learned[i] for i in rng.permutation(len(learned))]
    )
    write_lines(run.place("held_out.jsonl"), judging)
    counts = {"learned": len(learned), "held out": len(judging)}
    return {"rows": counts, "sample": [learned[0], learned[-1]]}


def adaptation(run: TunedRun, number_of_blocks: int) -> Adaptation:
    """Low-rank updates of every matrix of the last blocks."""
    first = max(0, number_of_blocks - run.scale.blocks)
    targets = tuple(f"blocks.{i}.{m}" for i in range(first, number_of_blocks) for m in MAPS)
    rank = run.scale.rank
    return Adaptation(
        lora_rank=rank, lora_alpha=2.0 * rank, lora_targets=targets, special_tokens="keep"
    )


def shared(run: TunedRun, name: str, base: str, steps: int, lr: float) -> dict[str, Any]:
    """Options that both kinds of tuning have."""
    every, scale = max(1, steps // run.scale.looks), run.scale
    chat_model = load(base, device="cpu")
    return {
        "base": BaseModel(model=base),
        "adaptation": adaptation(run, len(chat_model.model.blocks)),
        "passes": Passes(steps=steps, batch_size=scale.rows, eval_every=every),
        "optimization": Optimization(lr=lr, seed=run.seed),
        "output": Output(
            out=run.place(name),
            record=run.place("records", f"{name}.json"),
            log_every=every,
            save_every=every,
        ),
        "context": scale.context,
        "machine": Machine(device=run.device),
    }


def tuned(run: TunedRun) -> Result:
    """The pretrained model, tuned to answer requests in a sentence, and to end."""
    clear_half_written(run.place("tuned"))
    scale = run.scale
    options = shared(run, "tuned", scale.base, scale.tuning_steps, scale.tuning_lr)
    found = sft.run(SFTConfig(data=str(run.place("instructions.jsonl")), **options))
    write_whole(run)
    return found | {"history": history(run.place("records", "tuned.json"))}


def write_whole(run: TunedRun) -> None:
    """The tuned model without an adapter beside it, from which the next update begins."""
    folder = run.place("tuned-whole")
    shutil.rmtree(folder, ignore_errors=True)
    chat_model = load(run.place("tuned"), device="cpu")
    save_pretrained(adapt.merge_lora(chat_model.model, keep=False), folder)
    write(folder, chat_model, kind="model", base=run.scale.base, quantize=None, marks=False)


def best_and_worst(
    asked: Sequence[str], said: Sequence[tuple[str, bool]], rule: Any
) -> tuple[list[Pair], dict[str, int]]:
    """Of the answers to each prompt that ended, the one with the highest score and the lowest.

    Args:
        asked: A prompt for each answer.
        said: Answers, and whether each came to its end.
        rule: With a method ``score``.

    Returns:
        Pairs, and how many prompts made none: fewer than two answers ended, or all are alike.
    """
    rows, dropped = list[Pair](), {"not ended": 0, "alike": 0}
    for prompt in dict.fromkeys(asked):
        own = [
            text
            for p, (text, ended) in zip(asked, said, strict=True)
            if p == prompt and ended and text.strip()
        ]
        if len(own) < 2:
            dropped["not ended"] += 1
            continue
        chosen, rejected = max(own, key=rule.score), min(own, key=rule.score)
        if rule.score(chosen) == rule.score(rejected):
            dropped["alike"] += 1
        else:
            rows.append({"prompt": prompt, "chosen": chosen, "rejected": rejected})
    return rows, dropped


def compare(run: TunedRun) -> Result:
    """Pairs of the tuned model's own answers, judged by one half of the lexicon."""
    learned = prompts(judging=False)
    order = np.random.default_rng(run.seed).permutation(len(learned))
    asked = repeated([learned[i] for i in order[: run.scale.asked]], DRAWS * run.scale.asked)
    chat_model = load(run.place("tuned-whole"), device=run.device)
    said = answers(chat_model, asked, run.scale.answer, run.seed, TEMPERATURE)
    rows, dropped = best_and_worst(asked, said, halves()[0])
    if len(rows) < 2:
        raise InputError(
            f"{len(said)} answers made {len(rows)} pairs ({dropped}), and two are needed: "
            "take a larger scale, so that the model learns to end its answers"
        )
    write_lines(run.place("pairs.jsonl"), rows)
    return {"pairs": len(rows), "dropped": dropped, "sample": rows[:3], "answers": len(said)}


def preferred(run: TunedRun) -> Result:
    """The tuned model, tuned by DPO on which of its own answers was preferred."""
    clear_half_written(run.place("preferred"))
    scale = run.scale
    base = str(run.place("tuned-whole"))
    options = shared(run, "preferred", base, scale.preference_steps, scale.preference_lr)
    config = DPOConfig(data=str(run.place("pairs.jsonl")), samples=0, **options)
    return dpo.run(config) | {"history": history(run.place("records", "preferred.json"))}


@torch.no_grad()
def likeliest(chat_model: ChatModel, asked: Sequence[str], longest: int) -> list[str]:
    """The answer of the likeliest token again and again, to each prompt."""
    form, tokenizer = chat_model.format, chat_model.tokenizer
    end, device = tokenizer.special[form.end], next(chat_model.model.parameters()).device
    found = list[str]()
    for i in range(0, len(asked), AT_ONCE):
        part = [
            torch.from_numpy(form.encode([Message("user", p)], tokenizer, answer=True).ids).to(
                device
            )
            for p in asked[i : i + AT_ONCE]
        ]
        written = generate_ragged(chat_model.model, part, longest, temperature=0, stop=[end])
        said = [ids[len(p) :].tolist() for p, ids in zip(part, written, strict=True)]
        found += [tokenizer.decode([t for t in ids if t != end]) for ids in said]
    return found


@torch.no_grad()
def costs(run: TunedRun, chat_model: ChatModel) -> dict[str, float]:
    """Of held-out plays [bits/byte] and of held-out answers to requests [nats/token]."""
    model, tokenizer = chat_model.model, chat_model.tokenizer
    text = corpus.split("shakespeare")[1][: run.scale.letters]
    ids = torch.tensor([tokenizer.encode(text)], device=next(model.parameters()).device)
    parts = ids.split(run.scale.context, dim=1)
    nats = -sum(float(token_log_probabilities(model, x).sum()) for x in parts if x.shape[1] > 1)
    counted = sum(len(tokenizer.decode(x[0, 1:].tolist()).encode()) for x in parts)
    chats = instructions.read(run.place("held_out.jsonl"))
    encoded = encode_chats(chats, chat_model.format, tokenizer, run.scale.context)
    return {
        "bits_per_byte": nats / math.log(2) / counted,
        "answer_loss": mean_loss(model, ChatBatches(encoded, 8)),
    }


def judge(run: TunedRun) -> Result:
    """Topics of no pair, requests that were not learned, and a rule that taught nothing."""
    every = prompts(judging=True)
    asked = repeated(every, run.scale.judged)
    shown = every[:: max(1, len(every) // SHOWN)][:SHOWN]
    places: dict[str, Any] = {"base": run.scale.base, "tuned": run.place("tuned-whole")}
    places["preferred"] = run.place("preferred")
    texts, models, likely = {}, {}, {}
    for name in MODELS:
        chat_model = load(places[name], device=run.device)
        said = answers(chat_model, asked, run.scale.answer, SEED + run.seed, TEMPERATURE)
        texts[name] = [text for text, _ in said]
        models[name] = costs(run, chat_model) | said_measures(said)
        likely[name] = likeliest(chat_model, shown, run.scale.answer)
    rules = dict(zip(("preferring rule", "judging rule"), halves(), strict=True))
    sides = texts["preferred"], texts["tuned"]
    wins = {name: win_rate(rule, *sides) for name, rule in rules.items()}
    like = of_like_length(*sides)
    if len(like[0]) > 1:
        wins |= {f"{name}, like lengths": win_rate(rule, *like) for name, rule in rules.items()}
    sample = [
        {"prompt": prompt} | {name: likely[name][i] for name in MODELS}
        for i, prompt in enumerate(shown)
    ]
    asked_topics = {"prompts": len(set(asked))}
    return {"models": models, "wins": wins, "sample": sample} | asked_topics


FROM_SMOLLM2 = {
    "instructions": requests,
    "tuned": tuned,
    "pairs": compare,
    "preferred": preferred,
    "judged": judge,
}
