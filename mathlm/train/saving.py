"""The folder of a run, before its first step."""

from pathlib import Path

from ..errors import ConfigError
from .checkpoint import newest_checkpoint
from .distributed import rank
from .folders import check_writable


def check_folder(folder: Path | None, step: int) -> None:
    """Refuse a folder that cannot be written, or that holds another run than one at ``step``.

    Raises:
        CheckpointError: If it cannot be written.
        ConfigError: If it holds checkpoints, and no step has been done.
    """
    if folder is None or rank() != 0:
        return
    check_writable(folder)
    newest = newest_checkpoint(folder)
    if newest is not None and step == 0:
        raise ConfigError(
            f"output directory {folder} holds {newest.name} of an earlier run: call "
            "resume() to continue it, or choose another folder"
        )
