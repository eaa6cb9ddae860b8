"""Ask one or two models questions with several answers: ``mathlm evaluate``."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..chat.folder import load, load_pretrained, read
from ..errors import ConfigError
from ..evaluation import (
    compare_paired,
    questions_needed,
    right_answers,
    score_choices,
    score_letters,
    wilson_interval,
)
from ..evaluation.choices import By
from ..text import questions
from ..text.corpora.questions import Question
from ..train import resolve_device, write_record
from ..train.distributed import DeviceName
from .command import Maybe, execute, flat, parse

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class EvaluateConfig:
    """Ask a model questions with several answers, and say how sure the share of right ones is.

    The model never writes: the answer that it finds likeliest counts. With --against a second
    model is asked the same questions, and the difference is judged question by question.

        mathlm evaluate --model smollm2 --task piqa --limit 300
        mathlm evaluate --model runs/mine --against smollm2 --task my-questions.jsonl
    """

    model: str = "smollm2"
    """'smollm2', a GGUF file, or a folder: of Hugging Face, or a result of these commands."""
    against: Maybe[str] = None
    """A second model to compare with, named in the same way; None: none."""
    task: str = "piqa"
    """piqa, openbookqa, mmlu, or a JSONL file of question, choices and answer (from 0)."""
    way: Literal["answer", "letter"] = "answer"
    """Likelihood of each answer in full, or of its letter below a list of all."""
    by: By = "byte"
    """What the log-likelihood of an answer is divided by: byte, token, or sum for nothing."""
    limit: Maybe[int] = None
    """Ask so many questions, spread evenly over the set; None: all."""
    batch: int = 16
    """Questions that are read together."""
    tokenizer: Maybe[str] = None
    """'bytes', a file of ByteBPE.save, or a folder; None: the model's own."""
    device: DeviceName = "auto"
    """Where to run."""
    record: Maybe[Path] = None
    """JSON file for options, results, and which questions were answered rightly; None: none."""

    def __post_init__(self) -> None:
        if self.limit is not None and self.limit < 1:
            raise ConfigError(f"--limit {self.limit} asks nothing: give 1 or more, or leave it")


def asked(config: EvaluateConfig) -> tuple[Question, ...]:
    """The questions of the options."""
    known = config.task in questions.available()
    found = questions.load(config.task) if known else questions.read(config.task)
    if config.limit is None or config.limit >= len(found):
        return found
    places = np.linspace(0, len(found) - 1, config.limit).round().astype(int)
    return tuple(found[i] for i in places)


def right(name: str, some: Sequence[Question], config: EvaluateConfig) -> NDArray[np.bool_]:
    """Whether a model is right, question by question."""
    if read(Path(name)) is None:
        model, tokenizer = load_pretrained(name, config.tokenizer, config.device)
    else:  # tuned by one of these commands
        found = load(name, tokenizer=config.tokenizer, device=config.device)
        model, tokenizer = found.model, found.tokenizer
    ask = score_choices if config.way == "answer" else score_letters
    scores = ask(model, tokenizer, some, batch=config.batch)
    return right_answers(scores, some, config.by)


def summary(answers: NDArray[np.bool_], some: Sequence[Question]) -> dict[str, Any]:
    """Share of right answers with its interval, and what chance would give."""
    k, n = int(answers.sum()), len(answers)
    chance = float(np.mean([1 / len(q.choices) for q in some]))
    return {
        "questions": n,
        "right": k / n,
        "interval": list(wilson_interval(k, n)),
        "chance": chance,
    }


def run(config: EvaluateConfig) -> dict[str, Any]:
    """Ask, print a line for each model and one for the difference; returns what it printed."""
    some = asked(config)
    names = [name for name in (config.model, config.against) if name is not None]
    answers = {name: right(name, some, config) for name in names}
    results: dict[str, Any] = {name: summary(a, some) for name, a in answers.items()}
    for name, one in results.items():
        low, high = one["interval"]
        log.info(
            "%s: %.1f %% of %d questions right (95 %%: %.1f to %.1f; chance %.1f)",
            name, 100 * one["right"], one["questions"], 100 * low, 100 * high,
            100 * one["chance"],
        )  # fmt: skip
    if config.against is not None:
        results["comparison"] = compared(answers[config.model], answers[config.against])
    if config.record is not None:
        write_record(
            config.record,
            config=flat(config),
            device=str(resolve_device(config.device)),
            results=results,
            answers={name: a.tolist() for name, a in answers.items()},
        )
    return results


def compared(first: NDArray[np.bool_], second: NDArray[np.bool_]) -> dict[str, Any]:
    """The difference of two models, said in a sentence."""
    found = compare_paired(first, second)
    low, high = found.interval
    log.info(
        "difference %+.1f points (95 %%: %+.1f to %+.1f), p = %.2g: they differ on %.0f %% of "
        "the questions",
        100 * found.difference, 100 * low, 100 * high, found.p_value,
        100 * found.disagreement,
    )  # fmt: skip
    if low < 0 < high and found.difference:
        n = questions_needed(found.difference, found.disagreement)
        log.info("a difference of this size shows with some %d questions", n)
    return found._asdict()


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """The command ``mathlm evaluate``."""
    return run(parse(EvaluateConfig, argv, prog="mathlm evaluate"))


if __name__ == "__main__":
    execute(main)
