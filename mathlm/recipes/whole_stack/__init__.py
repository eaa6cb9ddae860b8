"""From raw text to a chat: every stage of the book with one command."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
import tyro

from ...errors import ConfigError
from ...train.distributed import DeviceName, resolve_device
from ...train.record import device_name, write_record
from ..command import Maybe, parse
from ..result import Row, places, say, values
from .answers import compare
from .judging import judge
from .pipeline import SCALES, Result, Run, ScaleName
from .report import write_report
from .smollm2 import FROM_SMOLLM2, TUNING_SCALES
from .stages import baselines, cleaned, instruct, raw, tokens
from .training import preferred, pretrained, tuned

__all__ = ["FROM_SMOLLM2", "STAGES", "TUNING_SCALES", "WholeStackConfig", "main", "run"]

STAGES = {
    "raw": raw,
    "cleaned": cleaned,
    "tokens": tokens,
    "baselines": baselines,
    "pretrained": pretrained,
    "instructions": instruct,
    "tuned": tuned,
    "pairs": compare,
    "preferred": preferred,
    "judged": judge,
}


@dataclass(frozen=True, kw_only=True)
class WholeStackConfig:
    """From raw text to a chat: every stage of the book with one command.

    Raw text is cleaned, a tokenizer learned, a GPT pretrained, tuned on requests, and tuned on
    preferences; all three models are judged, and OUT/report.html shows what each stage did.
    Killed at any moment, the same command goes on where it was.

        mathlm whole_stack runs/stack --scale cpu
        mathlm chat --model runs/stack/preferred
        mathlm whole_stack runs/smollm2 --from smollm2
    """

    out: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="OUT")]
    """Folder of the run; one that was begun is gone on with."""
    scale: ScaleName = "cpu"
    """How large the stages are: tiny takes 20 s, cpu ten minutes at most, evening a good hour
    of one core; gpu is larger."""
    start: Annotated[Literal["scratch", "smollm2"], tyro.conf.arg(name="from")] = "scratch"
    """Raw text, or SmolLM2, which is tuned on requests and then on preferences."""
    seed: int = 0
    """Of every draw."""
    device: DeviceName = "auto"
    """Where to train."""
    threads: Maybe[int] = None
    """Threads of the processor; None: as torch finds best."""
    record: Maybe[Path] = None
    """JSON file for the results of all stages, beside OUT/record.json; None: that alone."""


def run(config: WholeStackConfig) -> dict[str, Result]:
    """Do what is not done yet, and report; returns what each stage found.

    Raises:
        ConfigError: If the folder holds a run with other settings, or nothing can draw the
            figures of the report.
    """
    if find_spec("matplotlib") is None:
        raise ConfigError("the report needs matplotlib: pip install 'mathlm[plot,data]'")
    if config.threads is not None:
        torch.set_num_threads(config.threads)
    pipeline, stages = begun(config)
    found = pipeline.do(stages)
    device = device_name(resolve_device(config.device))
    for path in (pipeline.place("record.json"), config.record):
        if path is not None:
            write_record(path, settings=pipeline.settings, stages=found, device=device)
    say_result(pipeline, found, write_report(pipeline.folder, found), config.record)
    return found


def say_result(
    pipeline: Run[Any], found: dict[str, Result], report: Path, record: Path | None
) -> None:
    """The table at the end: of each training what it is judged by, and what follows."""
    rows: list[Row] = [
        (f"{name}: {label}", value)
        for name in ("pretrained", "tuned", "preferred")
        for label, value in values(found.get(name, {}) | found.get(name, {}).get("after", {}))
    ]
    seconds = sum(stage["seconds"] for stage in found.values())
    following = [f"mathlm chat --model {pipeline.place('preferred')}"]
    wrote = {"report": report, "record": record or pipeline.place("record.json")}
    say(rows, places(seconds, following, **wrote))


def begun(config: WholeStackConfig) -> tuple[Run[Any], dict[str, Any]]:
    """The run that the options ask for, and its stages."""
    if config.start == "scratch":
        return Run(config.out, SCALES[config.scale], config.seed, config.device), STAGES
    if config.scale not in TUNING_SCALES:
        raise ConfigError(
            f"--scale {config.scale} is for --from scratch: with --from smollm2 the scales "
            f"are {', '.join(TUNING_SCALES)}"
        )
    scale = TUNING_SCALES[config.scale]
    return Run(config.out, scale, config.seed, config.device), FROM_SMOLLM2


def main(argv: Sequence[str] | None = None) -> dict[str, Result]:
    """The command ``mathlm whole_stack``."""
    return run(parse(WholeStackConfig, argv, prog="mathlm whole_stack"))
