"""The record of a run that tunes a model: options, history, result, and what decided it."""

import argparse
from pathlib import Path
from typing import Any

from ..train import Trainer
from ..train.record import device_name, write_record

FILES = ("data", "prompts", "model", "tokenizer", "template", "replay", "reward")


def record_run(
    args: argparse.Namespace, trainer: Trainer, found: dict[str, Any], **more: Any
) -> None:
    """Write what a run was asked, did and found to ``args.record``; files get their hashes.

    Args:
        args: Options of the command.
        trainer: After the run.
        found: The results.
        **more: Further parts of the record.
    """
    given = {name: vars(args).get(name) for name in FILES}
    files = {name: Path(value) for name, value in given.items() if value is not None}
    parts: dict[str, Any] = {"options": vars(args) | files, "results": found, **more}
    parts |= {"history": trainer.history, "config": trainer.describe()}
    write_record(args.record, **parts, device=device_name(trainer.device))
