"""Draw what a run did: loss, step size, norms and what else it recorded."""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import tyro

from ..errors import ConfigError, DataNotFoundError
from ..train import newest_checkpoint
from ..train.checkpoint import read_state
from ..train.diagnosis.run import rollouts_of
from .command import Maybe, execute, parse

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class PlotConfig:
    """Draw what a run did: loss, step size, norm of the gradient and what else it recorded.

    The figure has a panel for each kind of number, over the steps; of grpo and ppo also what
    the policy wrote: rewards, divergence, entropy and lengths over the iterations.

        mathlm plot runs/mine
        mathlm plot record.json --out curves.png
    """

    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """Folder of a run, of which the newest checkpoint is read, or a file of --record."""
    out: Maybe[Path] = None
    """PNG, PDF or SVG file to write; None: plot.png in the folder, or beside the record."""


def record_of(run: Path) -> dict[str, Any]:
    """What a run recorded: a file of ``--record``, or the state of its newest checkpoint.

    Raises:
        DataNotFoundError: If there is neither a checkpoint nor a record.
        ConfigError: If a file is none of --record.
    """
    if run.is_file():
        try:
            record = json.loads(run.read_text(encoding="utf-8"))
            return {**record, "history": list(record["history"])}
        except (ValueError, KeyError, TypeError) as error:
            raise ConfigError(f"{run} holds no history: name a file of --record") from error
    for folder in (run, run / "checkpoints"):
        newest = newest_checkpoint(folder)
        if newest is not None:
            return read_state(newest)
    raise DataNotFoundError(f"{run} holds no checkpoint of a run, and is no file of --record")


def history_of(run: Path) -> list[dict[str, Any]]:
    """The records of a run; as :func:`record_of`."""
    return list(record_of(run)["history"])


def run(config: PlotConfig) -> Path:
    """Read, draw and write; returns the file."""
    try:
        from ..plot import style, training_run
    except ImportError as error:
        raise ConfigError("mathlm plot needs matplotlib: pip install 'mathlm[plot]'") from error
    folder = config.run if config.run.is_dir() else config.run.parent
    out = config.out or folder / "plot.png"
    style.use()
    record = record_of(config.run)
    figure = training_run(record["history"], config.run.name, rollouts_of(record))
    try:
        figure.savefig(out, dpi=150)
    except (OSError, ValueError) as error:
        raise ConfigError(f"--out {out} cannot be written: {error}") from error
    log.info("%s", out)
    return out


def main(argv: Sequence[str] | None = None) -> Path:
    """The command ``mathlm plot``."""
    return run(parse(PlotConfig, argv, prog="mathlm plot"))


if __name__ == "__main__":
    execute(main)
