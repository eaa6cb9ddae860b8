"""SmolLM2 learns sums from a verifier: answers before and after RLOO, for several seeds.

    cd book
    python -m lab.reasoning.smollm2_study --record results/reasoning-smollm2.json

The record has every sampled answer, so that each share can be counted again. It is written
after each seed; a seed that it has is not run again.
"""

import argparse
import json
import logging
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mathlm import adapt
from mathlm.align import (
    completions_of,
    leave_one_out_advantages,
    rloo_loss,
    roll_out,
    target_log_probabilities,
)
from mathlm.chat import folder
from mathlm.chat.model import ChatModel
from mathlm.evaluation import compare_paired, majority, pass_at_k, wilson_interval
from mathlm.generate import generate_ragged
from mathlm.models import GPT
from mathlm.optim import AdamW
from mathlm.text import Message
from mathlm.train.objectives import IGNORED
from mathlm.train.record import device_name, versions

from .smollm2_tasks import (
    BEGUN,
    Question,
    first_number,
    other_sets,
    reward,
    split,
    sum_question,
    whole_answer,
)

log = logging.getLogger(__name__)
SETTINGS: dict[str, Any] = {
    "rank": 8,
    "last_blocks": 15,
    "lr": 6e-4,
    "warmup": 4,
    "steps": 22,
    "prompts": 8,
    "group": 8,
    "new_tokens": 6,
    "temperature": 1.0,
    "held_out": 100,
    "samples": 16,
    "held_out_other": 40,
    "samples_other": 8,
}
SEEDS = (0, 1, 2)
AT_ONCE = 128  # answers written together
READERS = {"whole": whole_answer, "first": first_number}


def add_update(model: GPT, seed: int, rank: int, last_blocks: int) -> GPT:
    """A LoRA beside every matrix of the last blocks, the only numbers that are trained."""
    count = len(model.blocks)
    maps = [f"attention.W_{x}" for x in "qkvo"]
    maps += [f"feed_forward.W_{x}" for x in ("in", "gate", "out")]
    last = range(max(0, count - last_blocks), count)
    targets = [f"blocks.{i}.{m}" for i in last for m in maps]
    adapt.add_lora(model, rank, 2 * rank, targets, name="tuned", seed=seed)
    return adapt.use_adapter(model, "tuned")


class Writer:
    """Writes answers to sums and reads them.

    Args:
        chat_model: SmolLM2, or another model with a tokenizer.
        new_tokens: Of an answer, at most.
    """

    def __init__(self, chat_model: ChatModel, new_tokens: int) -> None:
        self.chat_model, self.new_tokens = chat_model, new_tokens
        self.model, self.tokenizer = chat_model.model, chat_model.tokenizer
        self.end = int(self.tokenizer.special[chat_model.format.end])
        self.stop = (int(self.tokenizer.encode("\n")[-1]), self.end)

    def ids(self, question: Question, chat: bool = False) -> Tensor:
        """What the model reads in front of its answer."""
        if not chat:
            return self._tensor(self.tokenizer.encode(question.text))
        asked, form = [Message("user", question.text)], self.chat_model.format
        front = form.encode(asked, self.tokenizer, answer=True).ids
        return torch.cat((self._tensor(front), self._tensor(self.tokenizer.encode(BEGUN))))

    def text(self, ids: Tensor) -> str:
        """An answer as text; a line break at its end is left."""
        return self.tokenizer.decode([i for i in ids.tolist() if i != self.end])

    def batch(
        self, prompts: Sequence[Tensor], seed: int, first_row: int = 0
    ) -> dict[str, Tensor]:
        """One sampled answer to each prompt, as rows to train on."""
        options: dict[str, Any] = {"seed": seed, "stop": self.stop, "first_row": first_row}
        return roll_out(self.model, prompts, self.new_tokens, temperature=1.0, **options)

    def sample(
        self, questions: Sequence[Question], samples: int, seed: int, chat: bool = False
    ) -> list[list[str]]:
        """Some answers to each question."""
        prompts = [self.ids(q, chat) for q in questions for _ in range(samples)]
        found: list[str] = []
        for start in range(0, len(prompts), AT_ONCE):
            batch = self.batch(prompts[start : start + AT_ONCE], seed, start)
            found += [self.text(y) for y in completions_of(batch)]
        return [found[i : i + samples] for i in range(0, len(found), samples)]

    def greedy(self, questions: Sequence[Question], chat: bool = False) -> list[str]:
        """The answer to each question that takes the likeliest token each time."""
        prompts = [self.ids(q, chat) for q in questions]
        texts = generate_ragged(self.model, prompts, self.new_tokens, 0.0, stop=self.stop)
        return [self.text(y[len(x) :]) for x, y in zip(prompts, texts, strict=True)]

    def _tensor(self, ids: Any) -> Tensor:
        return torch.as_tensor(np.asarray(ids), dtype=torch.int64)


def train(
    writer: Writer, pairs: Sequence[tuple[int, int]], seed: int, settings: dict[str, Any]
) -> list[dict[str, float]]:
    """RLOO: one update from the answers of each step, to questions that are used once."""
    optimizer = AdamW(adapt.trainable(writer.model).values(), lr=settings["lr"])
    order = np.random.default_rng(seed).permutation(len(pairs)).tolist()
    number, steps = settings["prompts"], list[dict[str, float]]()
    for step in range(settings["steps"]):
        own = [sum_question(*pairs[i]) for i in order[step * number :][:number]]
        lr = settings["lr"] * min(1.0, (step + 1) / settings["warmup"])
        found = train_step(writer, own, optimizer, lr, settings["group"], 1000 * seed + step)
        steps.append({key: round(float(x), 4) for key, x in found.items()})
        log.info("seed %d step %d: %s", seed, step, steps[-1])
    return steps


def train_step(
    writer: Writer,
    questions: Sequence[Question],
    optimizer: AdamW,
    lr: float,
    group: int,
    seed: int,
) -> dict[str, float]:
    """Write answers, judge them, and make those that were better than their group likelier."""
    start = time.process_time()
    asked = [q for q in questions for _ in range(group)]
    batch = writer.batch([writer.ids(q) for q in asked], seed)
    written = time.process_time()
    answers = [writer.text(y) for y in completions_of(batch)]
    rewards = torch.tensor([reward(q, y) for q, y in zip(asked, answers, strict=True)])
    groups = rewards.view(-1, group)
    advantages = leave_one_out_advantages(groups).flatten()
    mask = batch["targets"] != IGNORED
    logp = target_log_probabilities(writer.model, batch)
    (rloo_loss(logp, advantages, mask).sum() / len(asked)).backward()
    norm = update(optimizer, lr)
    numbers = [first_number(y) == q.result for q, y in zip(asked, answers, strict=True)]
    return {
        "reward": rewards.mean().item(),
        "first_right": float(np.mean(numbers)),
        "length": batch["lengths"].double().mean().item(),
        "no_spread": (groups.amax(1) == groups.amin(1)).double().mean().item(),
        "logp": (logp.detach().sum() / len(asked)).item(),
        "gradient": norm,
        "write_seconds": written - start,
        "learn_seconds": time.process_time() - written,
    }


def update(optimizer: AdamW, lr: float) -> float:
    """One step along a gradient that is no longer than 1; its length before."""
    trained = [p for group in optimizer.param_groups for p in group["params"]]
    for group in optimizer.param_groups:
        group["lr"] = lr
    norm = torch.nn.utils.clip_grad_norm_(trained, 1.0)
    optimizer.step()
    optimizer.zero_grad()
    return norm.item()


def judge(writer: Writer, settings: dict[str, Any]) -> dict[str, Any]:
    """All answers to the held-out questions and to the other sets."""
    _, held_out = split(settings["held_out"])
    own = [sum_question(*pair) for pair in held_out]
    found = {"sums": answered(writer, own, settings["samples"])}
    for name, questions in other_sets(held_out, settings["held_out_other"]):
        found[name] = answered(writer, questions, settings["samples_other"], name == "chat")
    return found


def answered(
    writer: Writer, questions: Sequence[Question], samples: int, chat: bool = False
) -> dict[str, Any]:
    """Questions with their greedy and sampled answers, and what these come to."""
    start = time.process_time()
    found: dict[str, Any] = {
        "questions": [q.text.splitlines()[-1] for q in questions],
        "results": [q.result for q in questions],
        "greedy": writer.greedy(questions, chat),
        "sampled": writer.sample(questions, samples, seed=7, chat=chat),
    }
    found["seconds"] = round(time.process_time() - start, 1)
    return found | {"summary": {name: summary(found, name) for name in READERS}}


def summary(found: dict[str, Any], reader: str) -> dict[str, Any]:
    """Shares of right answers, as one of ``READERS`` reads them, with intervals of 95 %.

    Args:
        found: ``results``, ``greedy`` and ``sampled``.
        reader: "whole" or "first".
    """
    read, results = READERS[reader], found["results"]
    greedy = [read(y) == r for y, r in zip(found["greedy"], results, strict=True)]
    numbers = [[read(y) for y in row] for row in found["sampled"]]
    samples = len(numbers[0])
    right = [row.count(r) for row, r in zip(numbers, results, strict=True)]
    ks = [k for k in (1, 2, 4, 8, 16) if k <= samples]
    each = {k: [pass_at_k(samples, c, k) for c in right] for k in ks}
    votes = {
        k: np.mean([voted(row, r, k) for row, r in zip(numbers, results, strict=True)])
        for k in ks
    }
    return {
        "greedy": [sum(greedy), *map(rounded, wilson_interval(sum(greedy), len(greedy)))],
        "right": right,
        "pass": {str(k): interval(x) for k, x in each.items()},
        "majority": {str(k): rounded(x) for k, x in votes.items()},
    }


def voted(numbers: Sequence[int | None], result: int, n: int) -> float:
    """How often the vote of n answers is right, over the parts of n; no number, no voice."""
    parts = [numbers[i : i + n] for i in range(0, len(numbers) - n + 1, n)]
    voices = [[x for x in part if x is not None] for part in parts]
    return float(np.mean([bool(v) and majority(v) == result for v in voices]))


def interval(shares: Sequence[float]) -> list[float]:
    """Mean over questions, and 1.96 standard errors of it to both sides."""
    mean = float(np.mean(shares))
    half = 1.96 * float(np.std(shares, ddof=1)) / len(shares) ** 0.5
    return [rounded(mean), rounded(max(0.0, mean - half)), rounded(min(1.0, mean + half))]


rounded = partial(round, ndigits=4)


def compared(after: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """Greedy answers of two models to the same questions, whole answers counted."""
    rights = [
        np.array([whole_answer(y) == r for y, r in zip(x["greedy"], x["results"], strict=True)])
        for x in (after, before)
    ]
    found = compare_paired(rights[0], rights[1])
    return {
        "difference": found.difference,
        "interval": list(found.interval),
        "p": found.p_value,
    }


def main(argv: Sequence[str] | None = None) -> None:
    """Run what the record does not have."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--record", type=Path, required=True)
    path: Path = parser.parse_args(argv).record
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.set_num_threads(1)
    data = json.loads(path.read_text()) if path.exists() else {"runs": {}}
    data |= {"settings": SETTINGS, "versions": versions()}
    data["device"] = device_name(torch.device("cpu"))
    chat_model = folder.load("smollm2", tokenizer=None, form="auto", device="cpu")
    chat_model.model.requires_grad_(False)
    writer = Writer(chat_model, SETTINGS["new_tokens"])
    learned, _ = split(SETTINGS["held_out"])
    if "base" not in data:
        data["base"] = judge(writer, SETTINGS)
        keep(path, data)
    for seed in SEEDS:
        if str(seed) in data["runs"]:
            continue
        start = time.process_time()
        add_update(writer.model, seed, SETTINGS["rank"], SETTINGS["last_blocks"])
        steps = train(writer, learned, seed, SETTINGS)
        run = {"steps": steps, "seconds": round(time.process_time() - start, 1)}
        found = judge(writer, SETTINGS)
        adapt.remove_adapter(writer.model, "tuned")
        run["compared"] = {name: compared(x, data["base"][name]) for name, x in found.items()}
        data["runs"][str(seed)] = run | {"sets": found}
        keep(path, data)


def keep(path: Path, data: dict[str, Any]) -> None:
    """Write the record, whole."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    new.replace(path)


if __name__ == "__main__":
    main()
