"""The record of the page: SmolLM2 on three sets of questions, judged in three ways.

What the update for brief answers did to it serves the pages of chapters 24 and 27 as well.

    cd book
    python -m lab.evaluation.study --record results/evaluation.json

Each part is written as soon as it is there; a part that the record has is not run again.
"""

import argparse
import json
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy import ndarray

from mathlm import adapt
from mathlm.chat import folder
from mathlm.chat.model import ChatModel
from mathlm.evaluation import ChoiceScores, right_answers, score_choices, score_letters
from mathlm.evaluation.choices import By
from mathlm.generate import generate_ragged, quantize
from mathlm.models import GPT
from mathlm.text import Message, questions
from mathlm.text.corpora.questions import Question
from mathlm.train.record import versions

log = logging.getLogger(__name__)
ASKED = {"piqa": 400, "openbookqa": 500, "mmlu": 171}  # of each set, spread evenly over it
FEWER = 250  # of OpenBookQA, for other prompts and other models
WRITTEN = 100  # of OpenBookQA, answered in words
NEW_TOKENS = 32
PROMPTS = {  # the words around a question
    "Question: ... Answer:": "Question: {}\nAnswer:",
    "Q: ... A:": "Q: {}\nA:",
    "the question alone": "{}",
    "a request before it": "Choose the best answer to this question.\n{}\nThe answer is",
}


def some(name: str, count: int | None = None) -> list[Question]:
    """Questions of a set, spread evenly over it."""
    whole = questions.load(name)
    places = np.linspace(0, len(whole) - 1, count or ASKED[name]).round().astype(int)
    return [whole[i] for i in places]


def others() -> list[Question]:
    """The questions of OpenBookQA that are not among its :data:`FEWER`."""
    asked = some("openbookqa", FEWER)
    return [q for q in some("openbookqa") if q not in asked]


def before_and_after(record: dict[str, Any], by: By = "byte") -> tuple[ndarray, ndarray]:
    """Which questions of OpenBookQA are answered before the update for brevity, and after.

    Args:
        record: Of this module.
        by: What the log-likelihoods are divided by.

    Returns:
        Two rows of bool, one entry for each question, those of :data:`FEWER` first.
    """
    base = dict(zip(some("openbookqa"), scores_of(record["answers openbookqa"]), strict=True))
    tuned = [*scores_of(record["brief"]), *scores_of(record["brief others"])]
    asked = [*some("openbookqa", FEWER), *others()]
    before = right_answers([base[q] for q in asked], asked, by)
    return before, right_answers(tuned, asked, by)


def rights_of(record: dict[str, Any]) -> dict[str, list[int]]:
    """1 for each question of :func:`before_and_after` that is answered right, else 0."""
    names = ("before", "after")
    rows = zip(names, before_and_after(record), strict=True)
    return {name: row.astype(int).tolist() for name, row in rows}


def fitting(context: int) -> Callable[[Question], str]:
    """The prompt, or as much of its end as leaves room for the longest answer.

    Args:
        context: Of a model that reads bytes.
    """

    def prompt(q: Question) -> str:
        room = context - max(len(f" {c}".encode()) for c in q.choices)
        whole = PROMPTS["Question: ... Answer:"].format(q.text).encode()
        return whole[-room:].decode(errors="ignore")

    return prompt


def kept(scores: Sequence[ChoiceScores]) -> list[dict[str, list[float]]]:
    """Scores as they are written to a file."""
    return [
        {
            "logp": [round(x, 4) for x in one.logp.tolist()],
            "tokens": one.tokens.tolist(),
            "bytes": one.bytes.tolist(),
        }
        for one in scores
    ]


def scores_of(rows: Sequence[dict[str, list[float]]]) -> list[ChoiceScores]:
    """Scores as they were before."""
    return [
        ChoiceScores(np.array(r["logp"]), np.array(r["tokens"]), np.array(r["bytes"]))
        for r in rows
    ]


@torch.no_grad()
def write_answers(
    chat_model: ChatModel, asked: Sequence[Question], batch: int = 25
) -> list[str]:
    """What the model answers in a chat, its likeliest token each time."""
    end = chat_model.tokenizer.special[chat_model.format.end]
    said: list[str] = []
    for start in range(0, len(asked), batch):
        turns = [
            Message("user", q.lettered.removesuffix("Answer:") + "Answer with one letter.")
            for q in asked[start : start + batch]
        ]
        prompts = [
            chat_model.format.encode([turn], chat_model.tokenizer, answer=True).ids
            for turn in turns
        ]
        ids = [torch.as_tensor(p) for p in prompts]
        found = generate_ragged(chat_model.model, ids, NEW_TOKENS, 0.0, stop=[end])
        said += [
            chat_model.tokenizer.decode([i for i in row[len(p) :].tolist() if i != end])
            for row, p in zip(found, ids, strict=True)
        ]
        log.info("%d of %d questions answered", len(said), len(asked))
    return said


class Study:
    """Parts of the record, each run once."""

    def __init__(self, record: Path) -> None:
        self.record = record
        self.data: dict[str, Any] = json.loads(record.read_text()) if record.exists() else {}

    def part(self, name: str, make: Any) -> None:
        """Run a part unless the record has it, and write it now."""
        if name in self.data:
            return
        log.info("%s ...", name)
        self.data[name] = make()
        text = json.dumps(self.data, ensure_ascii=False, separators=(",", ":")) + "\n"
        new = self.record.with_suffix(".new")
        new.write_text(text, encoding="utf-8")
        new.replace(self.record)

    def choices(self, name: str, model: GPT, tokenizer: Any, *asked: Any) -> None:
        """The part in which a model scores choices, after the words of a prompt if given."""
        self.part(name, lambda: kept(score_choices(model, tokenizer, *asked)))


def ask_each_way(study: Study, base: ChatModel) -> None:
    """One model: likelihoods of answers and of letters, other prompts, answers in words."""
    judged = (base.model, base.tokenizer)
    for name in ASKED:
        study.choices(f"answers {name}", *judged, some(name))
    for name in ASKED:
        study.part(f"letters {name}", lambda n=name: kept(score_letters(*judged, some(n))))
    for words in [*PROMPTS][1:]:
        study.choices(
            f"prompt {words}",
            *judged,
            some("openbookqa", FEWER),
            lambda q, w=words: PROMPTS[w].format(q.text),
        )
    study.part("written", lambda: write_answers(base, some("openbookqa", WRITTEN)))


def ask_others(study: Study, base: ChatModel) -> None:
    """Other models by the likelihood of the answer; the last of them changes ``base``."""
    model, tokenizer = base.model, base.tokenizer
    fewer = some("openbookqa", FEWER)
    for bits in (8, 4):
        study.choices(f"{bits} bits", quantize(model, bits), tokenizer, fewer)
    plays, letters = folder.load_pretrained("results/shakespeare-gpt", "bytes", "cpu")
    for name in ("piqa", "openbookqa"):
        room = fitting(plays.config.context)
        study.choices(f"plays {name}", plays, letters, some(name), room)
    adapt.load_adapter(model, "results/smollm2-brief", name="brief")
    study.choices("brief", model, tokenizer, fewer)
    study.choices("brief others", model, tokenizer, others())
    study.part("brief right", lambda: rights_of(study.data))


def main(argv: Sequence[str] | None = None) -> None:
    """Write the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", type=Path, required=True)
    args = parser.parse_args(argv)
    study = Study(args.record)
    base = folder.load("smollm2", tokenizer=None, form="auto", device="cpu")
    study.part("versions", versions)
    study.part("asked", lambda: ASKED)
    ask_each_way(study, base)
    ask_others(study, base)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    main()
