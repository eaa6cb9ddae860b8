"""The record of the page: SmolLM2 teaches a small GPT to write definitions.

    cd book
    python -m lab.distillation.study --record results/distillation.json --cache FOLDER

Each part is written as soon as it is there; a part that the record has is not run again. What
the teacher said stands in the cache, which is large and is not part of the record.
"""

import argparse
import json
import logging
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mathlm.chat import folder
from mathlm.generate import generate
from mathlm.models import GPT
from mathlm.train.record import versions

from . import glosses, students
from .students import PROMPT, WAYS, Reading

log = logging.getLogger(__name__)
SIZES = (6144, 12288, 24576)  # tokens of text with the teacher's logits
MORE = (49152, 73728)  # of plain text alone
TUNING_SEED = 100
RATES = (1e-3, 2e-3, 4e-3)  # of AdamW
SEEDS = (0, 1, 2)
ANSWERS = 128  # rows that the teacher writes, of 48 tokens each
OWN_RATE, OWN_STEPS = 1e-3, 12  # of the steps on the student's own samples
JUDGED = 12  # rows of each student that the teacher reads
WRITTEN = 128  # rows of each student whose runs of tokens are counted


class Study:
    """Parts of the record, each run once, and the teacher's answers, each computed once."""

    def __init__(self, record: Path, cache: Path) -> None:
        self.record, self.cache = record, cache
        self.data: dict[str, Any] = json.loads(record.read_text()) if record.exists() else {}
        cache.mkdir(parents=True, exist_ok=True)

    def part(self, name: str, make: Callable[[], Any]) -> Any:
        """Run a part unless the record has it, and write it now."""
        if name not in self.data:
            self.data[name] = make()
            log.info("%s: %s", name, str(self.data[name])[:160])
            text = json.dumps(self.data, ensure_ascii=False, separators=(",", ":")) + "\n"
            new = self.record.with_suffix(".new")
            new.write_text(text, encoding="utf-8")
            new.replace(self.record)
        return self.data[name]

    def tensor(self, name: str, make: Callable[[], Tensor]) -> Tensor:
        """A tensor from the cache, or computed and put there."""
        file = self.cache / f"{name}.pt"
        if not file.exists():
            log.info("%s ...", name)
            torch.save(make(), file)
        return torch.load(file, weights_only=True)


@torch.no_grad()
def teacher_logits(teacher: GPT, rows: Tensor) -> Tensor:
    """Log p at each input of rows, as float16."""
    parts = []
    for i, part in enumerate(rows.split(16)):
        parts.append(teacher(part[:, :-1]).float().log_softmax(-1).half())
        log.info("%d of %d rows read", 16 * i + len(part), len(rows))
    return torch.cat(parts)


def written_by(teacher: GPT, prompts: Tensor, temperature: float) -> Tensor:
    """The teacher's answers to prompts."""
    parts = [
        generate(teacher, p, 48, temperature, seed=i) for i, p in enumerate(prompts.split(32))
    ]
    return torch.cat(parts)


class Runs:
    """Students by the way they were taught."""

    def __init__(self, study: Study, rows: glosses.Rows, readings: dict[str, Reading]) -> None:
        self.study, self.rows, self.readings = study, rows, readings

    def one(self, way: str, size: int, rate: float, seed: int) -> dict[str, Any]:
        """What came out for a student on the validation and the test text; it is kept."""
        reading, how = self.reading(way, size), WAYS[way]
        V = len(self.rows.vocabulary)
        model, best = students.learn(reading, how, rate, seed, self.rows.validation, V)
        found = {k: round(v, 4) if isinstance(v, float) else v for k, v in best.items()}
        test = round(students.mean_loss(model, self.rows.test), 4)
        torch.save(model.state_dict(), self.file(way, size, seed))
        return found | {"test": test, "rate": rate}

    def reading(self, way: str, size: int) -> Reading:
        """What a student of a way reads."""
        return self.readings[way if way in self.readings else "text"].head(size)

    def file(self, way: str, size: int, seed: int) -> Path:
        """Where the weights of a student are kept."""
        return self.study.cache / f"{way} {size} {seed}.pt"

    def student(self, way: str, size: int, seed: int) -> GPT:
        """A student that was trained before."""
        model = students.new_student(len(self.rows.vocabulary), 0)
        model.load_state_dict(torch.load(self.file(way, size, seed), weights_only=True))
        return model.eval()

    def rate(self, way: str, size: int) -> float:
        """The step size with the lowest loss on the validation text, on a seed of its own."""
        rows = self.study.part(
            f"rates {way}", lambda: [self.one(way, size, r, TUNING_SEED) for r in RATES]
        )
        return min(rows, key=lambda row: row["validation"])["rate"]

    def seeds(self, way: str, size: int) -> None:
        """Three students of a way and a size, into the record."""
        rate = self.rate(way, SIZES[0])
        self.study.part(
            f"{way} {size}", lambda: [self.one(way, size, rate, seed) for seed in SEEDS]
        )


def judge(student: GPT, teacher: GPT, rows: glosses.Rows, test_logits: Tensor) -> dict:
    """A student on the text of others and on its own, by its teacher's measure."""
    with torch.no_grad():
        on_text = student(rows.test[:, :-1])
        prompts = rows.test[:, :PROMPT]
        many = torch.cat([prompts] * 2)[:WRITTEN]
        written = generate(student, many, 48, seed=7)
        read = written[:JUDGED]
        own = student(read[:, :-1])[:, PROMPT - 1 :]
        said = teacher(read[:, :-1]).float()[:, PROMPT - 1 :]
        targets = read[:, PROMPT:]
    new = written[:, PROMPT:]
    found = {
        "test": students.mean_loss(student, rows.test),
        "text": students.divergences(on_text, test_logits.float()),
        "own": students.divergences(own, said),
        "teacher on own": float(students.cross_entropy(said, targets).mean()),
        "distinct 2": students.distinct(new, 2),
        "distinct 3": students.distinct(new, 3),
    }
    return json.loads(json.dumps(found), parse_float=lambda x: round(float(x), 4))


@torch.no_grad()
def after_prompts(student: GPT, rows: Tensor) -> float:
    """Loss on the targets that come after as many tokens as a prompt has [nats per token]."""
    found = students.cross_entropy(student(rows[:, :-1]), rows[:, 1:])
    return round(float(found[:, PROMPT - 1 :].mean()), 4)


def after_own_samples(
    runs: Runs, teacher: GPT, rows: glosses.Rows, test_logits: Tensor, seed: int
) -> dict:
    """A student of the logits after some steps on its own samples."""
    size = SIZES[-1]
    student = runs.student("kl", size, seed)
    prompts = rows.train[: size // 64, :PROMPT]
    students.on_policy(student, teacher, prompts, OWN_RATE, seed, OWN_STEPS)
    return judge(student, teacher, rows, test_logits)


def main(argv: Sequence[str] | None = None) -> None:
    """Write the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", type=Path, required=True)
    parser.add_argument(
        "--cache", type=Path, default=Path(tempfile.gettempdir()) / "distillation-cache"
    )
    args = parser.parse_args(argv)
    torch.set_num_threads(1)
    study = Study(args.record, args.cache)
    base = folder.load("smollm2", tokenizer=None, form="auto", device="cpu")
    rows = glosses.load_rows(base.tokenizer)
    teacher = glosses.cut_vocabulary(base.model, rows.vocabulary).bfloat16().eval()
    study.part("versions", versions)
    study.part("vocabulary", rows.vocabulary.tolist)
    study.part("rows", lambda: {k: len(getattr(rows, k)) for k in ("train", "test")})
    runs = Runs(study, rows, {"plain": Reading(rows.train)})
    train_on_text(runs, teacher)
    test_logits = study.tensor("test", lambda: teacher_logits(teacher, rows.test))
    study.part("teacher", lambda: of_teacher(rows, test_logits))
    train_on_answers(runs, teacher)
    judge_all(runs, teacher, test_logits)


def train_on_text(runs: Runs, teacher: GPT) -> None:
    """Students of the text alone, and of what the teacher says to each of its tokens."""
    train = runs.rows.train
    for size in SIZES + MORE:
        runs.seeds("plain", size)
    with_logits = train[: SIZES[-1] // 64]
    text = runs.study.tensor("text", lambda: teacher_logits(teacher, with_logits))
    runs.readings["text"] = Reading(with_logits, text.float().softmax(-1).half())
    for size in SIZES:
        runs.seeds("kl", size)


def train_on_answers(runs: Runs, teacher: GPT) -> None:
    """Students of what the teacher writes, drawn and greedy."""
    prompts = runs.rows.train[:ANSWERS, :PROMPT]
    for name, temperature in (("samples", 1.0), ("greedy", 0.0)):
        answers = runs.study.tensor(name, lambda t=temperature: written_by(teacher, prompts, t))
        runs.readings[name] = Reading(answers, first=PROMPT - 1)
        runs.seeds(name, SIZES[0])
        new = answers[:, PROMPT:]
        runs.study.part(
            f"answers {name}",
            lambda new=new: {f"distinct {n}": students.distinct(new, n) for n in (2, 3)},
        )
    replaced = runs.rows.train[:ANSWERS, PROMPT : PROMPT + 48]  # what stands there in the text
    runs.study.part(
        "answers text",
        lambda: {f"distinct {n}": students.distinct(replaced, n) for n in (2, 3)},
    )


def judge_all(runs: Runs, teacher: GPT, test_logits: Tensor) -> None:
    """What each student lost, and what training on its own samples does to it."""
    study, rows, small = runs.study, runs.rows, SIZES[0]
    for way in ("plain", "kl", "samples", "greedy"):
        study.part(
            f"after prompts {way}",
            lambda w=way: [after_prompts(runs.student(w, small, s), rows.test) for s in SEEDS],
        )
    whom = [("kl", SIZES[-1]), ("greedy", small), ("samples", small), ("plain", small)]
    for seed in SEEDS:
        for way, size in [*whom, ("kl", small)]:

            def judged(way: str = way, size: int = size, seed: int = seed) -> dict:
                return judge(runs.student(way, size, seed), teacher, rows, test_logits)

            study.part(f"judged {way} {size} {seed}", judged)
        study.part(
            f"judged own samples {seed}",
            lambda s=seed: after_own_samples(runs, teacher, rows, test_logits, s),
        )


def entry(row: dict[str, Any], keys: Sequence[str]) -> float:
    """A number of a part of the record, by the names that lead to it."""
    found: Any = row
    for key in keys:
        found = found[key]
    return float(found)


def of_teacher(rows: glosses.Rows, logits: Tensor) -> dict[str, float]:
    """The teacher's own loss and entropy on the test text, per token [nats]."""
    loss = students.cross_entropy(logits.float(), rows.test[:, 1:]).mean()
    entropy = students.divergences(logits, logits)["teacher entropy"]
    new = rows.test[:, PROMPT + 1 :]
    runs = {f"distinct {n}": students.distinct(new, n) for n in (2, 3)}
    return {"test": float(loss), "entropy": entropy} | runs


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    main()
