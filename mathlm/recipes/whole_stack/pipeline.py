"""A resumable pipeline of stages in a folder, and how large its stages are.

A stage is done when its result stands in the folder ``stages``; it
appears there whole or not at all. A stage that was interrupted is begun again and finds what it
left, such as the checkpoints of a training run.
"""

import json
import logging
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar, get_args

from ...chat.folder import FILE
from ...errors import ConfigError
from ...train.distributed import DeviceName
from ...train.record import describe, write_record
from ..pretrain import Size

log = logging.getLogger(__name__)
Result = dict[str, Any]
S = TypeVar("S")


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How large each stage of the whole stack is.

    Args:
        documents: Passages of plays to begin with; None = all of them.
        planted: Dirty documents of each kind.
        glosses: Entries of a dictionary that are read and asked for beside the plays.
        encyclopedia: Whether passages of an encyclopedia are read too.
        read_talks: Whether conversations of two people are read too.
        vocab_size: Tokens.
        size: Of the model, a name of mathlm pretrain.
        context: Tokens that the model reads.
        batch_size: Windows in a step of pretraining.
        steps: Of pretraining.
        lr: Largest step size of pretraining.
        looks: Evaluations of a training; there it is saved too.
        held_out: Tokens that an evaluation of pretraining scores.
        speeches: Requests for a speech to learn from.
        chitchat: Whether long conversations of two people are learned too.
        tuning_steps: Of instruction tuning.
        tuning_lr: Its largest step size.
        rows: Conversations, or pairs, in a step of tuning.
        answer: Tokens of an answer at most.
        draws: Pairs of answers that are written and compared.
        preference_steps: Of preference tuning.
        preference_lr: Its largest step size.
        judged: Answers that each model is judged by.
    """

    documents: int | None
    planted: int
    glosses: int = 0
    encyclopedia: bool = False
    read_talks: bool = False
    vocab_size: int
    size: Size
    context: int
    batch_size: int
    steps: int
    lr: float
    looks: int
    held_out: int
    speeches: int
    chitchat: bool = False
    tuning_steps: int
    tuning_lr: float
    rows: int
    answer: int
    draws: int
    preference_steps: int
    preference_lr: float
    judged: int


TABLE: dict[str, tuple[Any, Any, Any, Any]] = {  # tiny, cpu, evening, gpu
    "documents": (240, None, None, None),
    "planted": (12, 120, 120, 120),
    "glosses": (0, 0, 80_000, 80_000),
    "encyclopedia": (False, False, True, False),
    "read_talks": (False, False, True, False),
    "vocab_size": (384, 1024, 8192, 8192),
    "size": ("tiny", "small", "medium", "base"),
    "context": (80, 128, 256, 256),
    "batch_size": (8, 16, 32, 64),
    "steps": (120, 600, 1200, 2400),
    "lr": (1e-2, 3e-3, 2e-3, 1e-3),
    "looks": (5, 10, 12, 12),
    "held_out": (4096, 16_384, 65_536, 131_072),
    "speeches": (400, 4000, 8000, 12_000),
    "chitchat": (False, False, True, True),
    "tuning_steps": (50, 300, 600, 2000),
    "tuning_lr": (4e-3, 1e-3, 5e-4, 2e-4),
    "rows": (16, 16, 32, 32),
    "answer": (32, 48, 64, 96),
    "draws": (256, 4096, 4096, 8192),
    "preference_steps": (12, 160, 160, 300),
    "preference_lr": (5e-4, 1e-4, 5e-5, 2e-5),
    "judged": (64, 512, 512, 1024),
}
ScaleName = Literal["tiny", "cpu", "evening", "gpu"]
SCALES: dict[ScaleName, Scale] = {
    name: Scale(**{key: row[i] for key, row in TABLE.items()})
    for i, name in enumerate(get_args(ScaleName))
}


@dataclass(frozen=True)
class Run(Generic[S]):
    """Where a run stands, how large it is, and how it draws.

    Args:
        folder: Of all that it writes.
        scale: Sizes of its stages.
        seed: Of every draw.
        device: cpu, cuda or auto.
    """

    folder: Path
    scale: S
    seed: int = 0
    device: DeviceName = "auto"

    def place(self, *names: str) -> Path:
        """A path in the folder."""
        return self.folder.joinpath(*names)

    def result(self, stage: str) -> Result | None:
        """What a stage found, or None if it is not done."""
        path = self.place("stages", f"{stage}.json")
        if not path.is_file():
            return None
        return json.loads(path.read_text(encoding="utf-8"))["result"]

    @cached_property
    def settings(self) -> dict[str, Any]:
        """What decides the results."""
        return describe({"scale": self.scale, "seed": self.seed})

    def begin(self) -> None:
        """Write the settings down, or compare them with those the folder was begun with.

        Raises:
            ConfigError: If they differ.
        """
        path = self.place("settings.json")
        if path.is_file():
            old = json.loads(path.read_text(encoding="utf-8"))["settings"]
            changed = {k: (old["scale"].get(k), v) for k, v in self.settings["scale"].items()}
            changed |= {"seed": (old["seed"], self.seed)}
            differ = [f"{k}={a} then, {b} now" for k, (a, b) in changed.items() if a != b]
            if differ:
                raise ConfigError(
                    f"{self.folder} holds a run with other settings ({', '.join(differ)}): "
                    "give those again, or another folder"
                )
        else:
            write_record(path, settings=self.settings)

    def do(self, stages: Mapping[str, Callable[["Run[Any]"], Result]]) -> dict[str, Result]:
        """Do the stages that are not done, in their order; returns what each found."""
        self.begin()
        for name, stage in stages.items():
            if self.result(name) is not None:
                log.info("%s: done before", name)
                continue
            log.info("%s: %s", name, (stage.__doc__ or "").split("\n")[0])
            start, cpu = time.perf_counter(), time.process_time()
            found = stage(self)
            found |= {"seconds": time.perf_counter() - start}
            found |= {"cpu_seconds": time.process_time() - cpu}
            write_record(self.place("stages", f"{name}.json"), result=found)
            log.info("%s: %.1f s", name, found["seconds"])
        return {name: self.result(name) or {} for name in stages}


def clear_half_written(folder: Path) -> None:
    """Remove the model of a folder that an interrupted stage did not finish writing."""
    for path in folder.glob(".new-*"):
        shutil.rmtree(path)
    if not (folder / FILE).is_file():
        (folder / "config.json").unlink(missing_ok=True)


def write_lines(path: Path, rows: list[dict[str, str]]) -> None:
    """Write JSON lines; a reader never sees half of them."""
    part = path.with_name(path.name + ".part")
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    part.write_text(text, encoding="utf-8")
    part.replace(path)
