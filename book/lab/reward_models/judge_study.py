"""A small chat model as a judge of two answers: what its verdicts owe to place and to length.

    cd book
    python -m lab.reward_models.judge_study --record model-judge.json

SmolLM2-135M-Instruct is shown a question with two answers, in both orders, and asked which is
better. Recorded is the logarithm of the odds that it names the one that stands first.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import torch

from mathlm.models import GPT
from mathlm.text import ByteBPE, ChatFormat, Message, pretrained
from mathlm.train.record import record_on_cpu

from .judge_questions import Asked, questions

FORMAT = ChatFormat.chatml()


class Form(NamedTuple):
    """How a judge is asked.

    Args:
        request: Text with {question}, {first} and {second}.
        reply: How the judge's reply begins.
        labels: What follows it if the first, or the second, is better.
    """

    request: str
    reply: str
    labels: tuple[str, str]


FORMS = {
    "A or B": Form(
        "Question: {question}\n\nAnswer A: {first}\n\nAnswer B: {second}\n\n"
        "Which answer is better, A or B?",
        "The better answer is answer",
        (" A", " B"),
    ),
    "1 or 2": Form(
        "Here is a question, and two answers to it.\n\nQuestion: {question}\n"
        "Answer 1: {first}\nAnswer 2: {second}\n\nWhich answer is better? Reply with 1 or 2.",
        "Answer ",
        ("1", "2"),
    ),
    "first or second": Form(
        'Two people were asked: "{question}"\nThe first said: "{first}"\n'
        'The second said: "{second}"\nWho gave the better answer, the first or the second?',
        "The better answer was given by the",
        (" first", " second"),
    ),
}
PAIRS = {  # the answer that a good judge prefers, or the longer one, stands first
    "right, wrong": lambda a: (a.right, a.wrong),
    "padded, plain": lambda a: (f"{a.right} {a.padding}", a.right),
}


@torch.no_grad()
def lead(model: GPT, tokenizer: ByteBPE, request: str, form: Form) -> tuple[float, float]:
    """Log-odds of the first label against the second, and the probability of both together."""
    chat = FORMAT.encode([Message("user", request)], tokenizer, answer=True).ids.tolist()
    reply = tokenizer.encode(form.reply)
    ends = [tokenizer.encode(form.reply + label) for label in form.labels]
    if any(end[:-1] != reply for end in ends):
        raise ValueError(
            f"the labels {form.labels} must be one token each after {form.reply!r}"
        )
    state = model.hidden(torch.tensor([chat + reply]))[:, -1]
    logp = model.head(state)[0].double().log_softmax(-1)
    first, second = (float(logp[end[-1]]) for end in ends)
    both = torch.tensor([first, second]).logsumexp(0).exp()
    return first - second, float(both)


@torch.no_grad()
def log_probability(model: GPT, tokenizer: ByteBPE, question: str, answer: str) -> float:
    """Of an answer with its end, after the question alone [nats]."""
    end = tokenizer.special[FORMAT.end]
    asked = FORMAT.encode([Message("user", question)], tokenizer, answer=True).ids.tolist()
    said = [*tokenizer.encode(answer), end]
    logp = model(torch.tensor([asked + said]))[0].double().log_softmax(-1)
    at = torch.arange(len(asked) - 1, len(asked) + len(said) - 1)
    return float(logp[at, torch.tensor(said)].sum())


def verdicts(model: GPT, tokenizer: ByteBPE, form: Form, asked: Asked) -> dict[str, Any]:
    """For each pair the log-odds of its first place, as it stands and exchanged."""
    found: dict[str, Any] = {}
    for name, pair in PAIRS.items():
        x, y = pair(asked)
        requests = [
            form.request.format(question=asked.question, first=a, second=b)
            for a, b in ((x, y), (y, x))
        ]
        rows = [lead(model, tokenizer, request, form) for request in requests]
        found[name] = {"odds": [row[0] for row in rows], "mass": min(row[1] for row in rows)}
    return found


def judged(model: GPT, tokenizer: ByteBPE, asked: Asked) -> dict[str, Any]:
    """All that is measured on one question."""
    said = (
        ("right", asked.right),
        ("wrong", asked.wrong),
        ("padded", f"{asked.right} {asked.padding}"),
    )
    return {
        "question": asked._asdict(),
        "log-probability": {
            name: log_probability(model, tokenizer, asked.question, answer)
            for name, answer in said
        },
        "verdicts": {
            name: verdicts(model, tokenizer, form, asked) for name, form in FORMS.items()
        },
    }


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Ask the judge; returns what it said, and writes the record after each question.

    Questions that the record holds already are not asked again, so that a run can be stopped.
    """
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", type=Path)
    parser.add_argument("--limit", type=int, default=0)
    args = parser.parse_args(argv)
    path = pretrained.find("smollm2")
    model, tokenizer = GPT.from_pretrained(path).eval(), ByteBPE.from_gguf(path)
    rows: list[dict[str, Any]] = []
    if args.record and args.record.exists():
        rows = json.loads(args.record.read_text(encoding="utf-8"))["rows"]
    for asked in questions()[len(rows) : args.limit or None]:
        rows.append(judged(model, tokenizer, asked))
        record_on_cpu(args.record, config={"forms": FORMS}, rows=rows)
    return {"rows": rows}


if __name__ == "__main__":
    main()
