"""The records of a run for other programs: JSON lines, CSV, TensorBoard, Weights & Biases.

A logger is a function of a record; :class:`mathlm.train.TrainerConfig` takes several. It opens
its file at the first record of a run, and drops what stands there from that step on: a run that
is resumed continues the file and repeats no step, and one that starts anew begins it anew.
"""

import csv
import io
import json
import os
import uuid
from collections.abc import Callable, Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal

from ..errors import CheckpointError, ConfigError, DataError
from ..models.files.atomic import disk_reason, write_files
from .record import describe

LoggerName = Literal["jsonl", "csv", "tensorboard", "wandb"]
Logger = Callable[[Mapping[str, int | float]], None]
Row = dict[str, Any]


class FileLogger:
    """A text file to which each record is appended; after each it is complete on the disk.

    Args:
        path: The file; its folder is made if need be.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self.last: int | None = None  # step of the last record; None before the first

    def __call__(self, record: Mapping[str, int | float]) -> None:
        """Append a record.

        Raises:
            DataError: If the file that is there is no log of a run.
            CheckpointError: If it cannot be written.
        """
        step = int(record["step"])
        if self.last is None or step <= self.last:
            self.begin(step)
        self.append(dict(record))
        self.last = step

    def begin(self, step: int) -> None:
        """Keep what the file has of the steps before ``step``."""
        rows = [row for row in self.read() if int(row["step"]) < step]
        self.rewrite(rows)

    def read(self) -> list[Row]:
        """What is there; a last line that was cut off by the end of a process is left out."""
        if not self.path.exists():
            return []
        whole, _, _ = self.path.read_text(encoding="utf-8").rpartition("\n")
        try:
            rows = self.parse(whole)
            _ = [int(row["step"]) for row in rows]
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"{self.path} is no log of a run: expected lines with a step, found {error!r}; "
                "move the file, or give another --out"
            ) from error
        return rows

    def rewrite(self, rows: list[Row]) -> None:
        """Write the whole file; a reader never sees half of it."""
        content = self.format(rows).encode()
        write_files(self.path.parent, {self.path.name: content}, "the log")

    def append(self, row: Row) -> None:
        """Write one row more."""
        line = self.format([row], head=False)
        try:
            with self.path.open("a", encoding="utf-8", newline="") as file:
                file.write(line)
        except OSError as error:
            reason = disk_reason(error, self.path.parent, len(line))
            raise CheckpointError(f"cannot write the log {self.path}: {reason}") from error

    def parse(self, text: str) -> list[Row]:
        """Rows of a text."""
        raise NotImplementedError

    def format(self, rows: Iterable[Row], head: bool = True) -> str:
        """Rows as text."""
        raise NotImplementedError


class JSONLLogger(FileLogger):
    """JSON lines: an object for each record.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     log = JSONLLogger(f"{folder}/log.jsonl")
        ...     log({"step": 1, "loss": 2.5})
        ...     log.path.read_text().strip()
        '{"step": 1, "loss": 2.5}'
    """

    def parse(self, text: str) -> list[Row]:
        """Rows of a text."""
        return [json.loads(line) for line in text.split("\n") if line]

    def format(self, rows: Iterable[Row], head: bool = True) -> str:
        """Rows as text."""
        return "".join(json.dumps(row) + "\n" for row in rows)


class CSVLogger(FileLogger):
    """CSV with a header; a cell is empty where a record lacks the number.

    A number that comes later, such as the first held-out loss, makes a new column: the file is
    written once more, with its name in the header.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     log = CSVLogger(f"{folder}/log.csv")
        ...     log({"step": 1, "loss": 2.5})
        ...     log({"step": 2, "loss": 2.0, "held_out_loss": 2.25})
        ...     log.path.read_text().split()
        ['step,loss,held_out_loss', '1,2.5,', '2,2.0,2.25']
    """

    def __init__(self, path: Path | str) -> None:
        super().__init__(path)
        self.columns: list[str] = []

    def append(self, row: Row) -> None:
        """Write one row more, and a new header if it has new columns."""
        new = [name for name in row if name not in self.columns]
        if new:
            kept = self.read()
            self.columns += new
            self.rewrite([*kept, row])
        else:
            super().append(row)

    def parse(self, text: str) -> list[Row]:
        """Rows of a text."""
        reader = csv.DictReader(io.StringIO(text))
        rows = list(reader)
        self.columns = list(reader.fieldnames or [])
        return rows

    def format(self, rows: Iterable[Row], head: bool = True) -> str:
        """Rows as text."""
        file = io.StringIO()
        writer = csv.DictWriter(file, self.columns, restval="", lineterminator="\n")
        if head and self.columns:
            writer.writeheader()
        writer.writerows(rows)
        return file.getvalue()


class TensorBoardLogger:
    """Event files for TensorBoard, by the package tensorboard.

    Args:
        folder: Of the event files.
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = Path(folder)
        self.writer: Any = None

    def __call__(self, record: Mapping[str, int | float]) -> None:
        """Write a scalar for each number of a record."""
        step = int(record["step"])
        if self.writer is None:
            from torch.utils.tensorboard import SummaryWriter

            self.writer = SummaryWriter(str(self.folder), purge_step=step)
        for name, value in record.items():
            if name != "step":
                self.writer.add_scalar(name, value, step)
        self.writer.flush()


class WandbLogger:
    """A run of Weights & Biases, by the package wandb; its environment variables hold.

    Args:
        folder: Of the run; its name names the run, unless ``WANDB_NAME`` does, and a file
            ``wandb.id`` in it the run that is continued. The project is that of
            ``WANDB_PROJECT``, or ``mathlm``; the entity that of ``WANDB_ENTITY``, or the user.
        config: What the run was asked for, shown beside it; None = nothing.
    """

    def __init__(self, folder: Path | str, config: Mapping[str, Any] | None = None) -> None:
        self.folder = Path(folder)
        self.config = describe(config or {})
        self.run: Any = None

    def __call__(self, record: Mapping[str, int | float]) -> None:
        """Log a record."""
        if self.run is None:
            self.run = self.start(fresh=record["step"] == 1)
        numbers = {name: value for name, value in record.items() if name != "step"}
        self.run.log(numbers, step=int(record["step"]))

    def start(self, fresh: bool) -> Any:
        """The run of this folder, or a new one."""
        import wandb

        known = self.folder / "wandb.id"
        if fresh or not known.exists():
            write_files(self.folder, {known.name: uuid.uuid4().hex[:8].encode()}, "wandb.id")
        return wandb.init(
            project=os.environ.get("WANDB_PROJECT", "mathlm"),
            entity=os.environ.get("WANDB_ENTITY"),
            name=os.environ.get("WANDB_NAME", self.folder.name),
            config=self.config,
            dir=str(self.folder),
            id=known.read_text(),
            resume="allow",
        )


MAKE: dict[str, Callable[[Path, Mapping[str, Any] | None], Logger]] = {
    "jsonl": lambda folder, _: JSONLLogger(folder / "log.jsonl"),
    "csv": lambda folder, _: CSVLogger(folder / "log.csv"),
    "tensorboard": lambda folder, _: TensorBoardLogger(folder / "tensorboard"),
    "wandb": WandbLogger,
}
PACKAGES = ("tensorboard", "wandb")


def run_loggers(
    names: Iterable[str], folder: Path | str | None, config: Mapping[str, Any] | None = None
) -> tuple[Logger, ...]:
    """Loggers by name, which write into the folder of a run.

    Args:
        names: ``jsonl`` (log.jsonl), ``csv`` (log.csv), ``tensorboard`` or ``wandb``.
        folder: Of the run; None = it has none.
        config: Options of the run, which wandb shows beside it.

    Raises:
        ConfigError: If a name is unknown, its package is not installed, or there is no folder.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     [type(logger).__name__ for logger in run_loggers(["csv", "jsonl"], folder)]
        ['CSVLogger', 'JSONLLogger']
    """
    names = list(dict.fromkeys(names))
    for name in names:
        if name not in MAKE:
            raise ConfigError(f"--log {name} must be one of {', '.join(MAKE)}")
        if name in PACKAGES and find_spec(name) is None:
            raise ConfigError(
                f"--log {name} needs the package {name}, which is not installed: "
                f"pip install {name}, or take --log csv"
            )
    if names and folder is None:
        raise ConfigError(f"--log {names[0]} writes into the folder of the run: give --out")
    return tuple(MAKE[name](Path(str(folder)), config) for name in names)


__all__ = [
    "CSVLogger",
    "JSONLLogger",
    "Logger",
    "TensorBoardLogger",
    "WandbLogger",
    "run_loggers",
]
