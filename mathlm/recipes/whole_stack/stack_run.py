"""A run of several stages in a folder: what is done stays done, and the rest is done again.

Used by recipes.whole_stack. A stage is done when its result stands in the folder ``stages``; it
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
from typing import Any

from ...chat.folder import FILE
from ...errors import ConfigError
from ...train.record import describe, write_record
from .stack_scales import Scale

log = logging.getLogger(__name__)
Result = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """Where a run stands, how large it is, and how it draws.

    Args:
        folder: Of all that it writes.
        scale: Sizes of its stages.
        seed: Of every draw.
        device: cpu, cuda or auto.
    """

    folder: Path
    scale: Scale
    seed: int = 0
    device: str = "auto"

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

    def do(self, stages: Mapping[str, Callable[["Run"], Result]]) -> dict[str, Result]:
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
