"""Checkpoints: all that a run needs to continue exactly, in one folder for each.

A checkpoint is a folder ``step_000123`` with

* ``model.safetensors``: the weights; a tied weight stands there once, a frozen one not at all;
* ``optimizer.safetensors``: the tensors of the optimizer;
* ``NAME.safetensors``: the tensors of each other part that was given;
* ``state.json``: step, configuration, history, states of the random generators, format;
  a loss that is not finite stands there as ``NaN`` or ``Infinity``, as Python writes it;
* ``manifest.json``: size and SHA-256 of each of these, and of itself.

It appears whole or not at all, it is compared with its manifest before anything is taken from
it, and no part of it is a pickle. The tensors stand there in full, whatever number of ranks
shared them: a run may be resumed by another number, and a model be read by one process.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import torch
from torch import Tensor, nn

from ..checks import require_counts
from ..errors import CheckpointError, CheckpointMismatchError, InputError
from ..models.files.atomic import disk_reason
from ..models.files.weights import check_tensors_fit, read_tensors, refuse_pickle, to_bytes
from ..optim.clipping import part_like
from .distributed import rank
from .folders import MANIFEST, remove_folder, verify_folder, write_folder
from .record import describe, versions
from .state import (
    check_optimizer_fits,
    copy_full,
    expected_state,
    gathered,
    load_optimizer,
    optimizer_tensors,
    rng_state,
    set_rng_state,
    tensors_sha256,
    trained_state,
)

TAKEN = {"model", "optimizer", "state", "manifest"}


@runtime_checkable
class Stateful(Protocol):
    """Something whose state is a flat dict of tensors and JSON values."""

    def state_dict(self) -> dict[str, Any]:
        """The state; tensors may be shards."""

    def load_state_dict(self, state: dict[str, Any]) -> Any:
        """Take such a state."""


def check_names(parts: Mapping[str, Stateful | None]) -> None:
    """Refuse names that are no file names or are those of other files of a checkpoint."""
    for name in parts:
        if name in TAKEN or not re.fullmatch(r"[a-z_]+", name):
            raise InputError(
                f"the part {name!r} of a checkpoint needs a name of small letters and _, and "
                f"none of {', '.join(sorted(TAKEN))}"
            )


def tensors_of(part: Stateful) -> dict[str, Tensor]:
    """The tensors in the state of ``part``."""
    return {k: v for k, v in part.state_dict().items() if isinstance(v, Tensor)}


def numbers_of(part: Stateful) -> dict[str, Any]:
    """The rest of the state of ``part``."""
    return {k: v for k, v in part.state_dict().items() if not isinstance(v, Tensor)}


def check_part_fits(
    name: str, part: Stateful, tensors: Mapping[str, Tensor], numbers: Mapping[str, Any]
) -> None:
    """Refuse a saved state that is not one of ``part``.

    A part whose tensors change their shapes has a method ``require_state(state)``, which says
    so itself.
    """
    if hasattr(part, "require_state"):
        part.require_state({**tensors, **numbers})
        return
    check_tensors_fit(f"state does not fit {name}", tensors, tensors_of(part))
    own = numbers_of(part)
    if own.keys() != numbers.keys():
        raise CheckpointMismatchError(
            f"state does not fit {name}: it has {', '.join(sorted(numbers)) or 'no numbers'}, "
            f"expected {', '.join(sorted(own)) or 'none'}"
        )


def load_part(part: Stateful, tensors: Mapping[str, Tensor], numbers: dict[str, Any]) -> None:
    """Give ``part`` a saved state, known to fit, with its tensors cut as its own are."""
    own = tensors_of(part)
    cut = {k: part_like(t, own[k]) if k in own else t for k, t in tensors.items()}
    part.load_state_dict(cut | numbers)


FORMAT = 2


def save_checkpoint(
    folder: str | Path,
    step: int,
    model: nn.Module,
    optimizer: torch.optim.Optimizer | None = None,
    *,
    config: Mapping[str, Any] | None = None,
    history: Sequence[Mapping[str, int | float]] = (),
    parts: Mapping[str, Stateful | None] | None = None,
    keep: int | None = None,
) -> Path:
    """Write a checkpoint into ``folder``, then remove all but the newest ``keep`` so far.

    Those of later steps stay: they are of a run that went on from here in another way.

    In a run of several ranks rank 0 writes. All must call it if the model is sharded, since
    each has to give its part.

    Args:
        folder: Folder of the run.
        step: Steps done.
        model: Model whose parameters and buffers are saved; what :func:`distribute` made of it
            will do. Of a model that is trained in part the frozen parameters stay out, and a
            hash of them is kept.
        optimizer: Optimizer whose state is saved; None saves the model alone.
        config: What a run must share with this one to continue it; JSON data.
        history: Records of the run so far.
        parts: What else has a state, by name: its ``state_dict()`` holds tensors and JSON
            values; None stands for no such part.
        keep: How many checkpoints up to this step stay; None keeps all.

    Returns:
        The folder of this checkpoint.

    Raises:
        CheckpointError: If it cannot be written; older checkpoints stay as they are.
        InputError: If ``step`` is no whole number of at least 0.

    Example:
        >>> import tempfile
        >>> from mathlm.train import load_checkpoint
        >>> model = torch.nn.Linear(2, 1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = save_checkpoint(folder, 100, model)
        ...     saved = load_checkpoint(path, model)
        >>> saved["step"]
        100
    """
    require_counts(0, step=step)
    target = Path(folder) / f"step_{step:06d}"
    present = {name: part for name, part in (parts or {}).items() if part is not None}
    check_names(present)
    tensors, rest = optimizer_tensors(optimizer) if optimizer else ({}, None)
    held, frozen = trained_state(model)
    contents = {"model": held, "optimizer": tensors}
    contents |= {name: tensors_of(part) for name, part in present.items()}
    whole = {name: gathered(content) for name, content in contents.items()}
    state = {
        "format": FORMAT,
        "step": step,
        "config": describe(config or {}),
        "frozen": tensors_sha256(frozen) if frozen and rank() == 0 else None,
        "history": list(history),
        "rng": rng_state(),
        "optimizer": rest,
        "parts": {name: numbers_of(part) for name, part in present.items()},
        "versions": versions(),
    }
    if rank() == 0:
        files = {f"{name}.safetensors": to_bytes(content) for name, content in whole.items()}
        files["state.json"] = json.dumps(state).encode()
        write_checkpoint(target, files)
        remove_older(Path(folder), keep, step)
    return target


def write_checkpoint(target: Path, files: dict[str, bytes]) -> None:
    """Write the folder of a checkpoint; an error says what was good last."""
    try:
        write_folder(target, files)
    except OSError as error:
        raise write_failure(target, error, sum(map(len, files.values()))) from error


def load_checkpoint(
    path: str | Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer | None = None,
    *,
    config: Mapping[str, Any] | None = None,
    parts: Mapping[str, Stateful | None] | None = None,
    allow_change: bool = False,
) -> dict[str, Any]:
    """Load a checkpoint into ``model`` and ``optimizer``.

    Everything is checked first, so that an error leaves both untouched. With an optimizer,
    which says that the run goes on, the random generators are restored too.

    Args:
        path: A checkpoint, or the folder of a run, of which the newest is taken.
        model: Model of the same shape as the one that was saved; what was frozen then must
            have its values already.
        optimizer: Optimizer over the parameters of ``model``; None loads the weights alone.
        config: What the run must share with the one that was saved; None does not compare.
        parts: What else takes its state from the checkpoint; a part that it lacks stays.
        allow_change: Whether a different ``config`` is accepted.

    Returns:
        ``step``, ``config``, ``history`` and ``versions`` of the run that was saved.

    Raises:
        CheckpointError: If there is no checkpoint.
        CheckpointCorruptError: If a file is missing, cut short or changed.
        CheckpointMismatchError: If it is of a newer format, another model or another run.

    Example:
        >>> import tempfile
        >>> from mathlm.train import save_checkpoint
        >>> model, fresh = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     saved = load_checkpoint(save_checkpoint(folder, 100, model), fresh)
        >>> torch.equal(fresh.weight, model.weight)
        True
    """
    path = locate(Path(path))
    verify_folder(path)
    state = read_state(path)
    if config is not None and not allow_change:
        refuse_changes(state["config"], json.loads(json.dumps(describe(config))))
    weights = read_tensors(path / "model.safetensors")
    expected = expected_state(model, weights, state.get("frozen"))
    check_tensors_fit("state does not fit the model", weights, expected)
    saved = [
        (part, read_tensors(path / f"{name}.safetensors"), state["parts"][name], name)
        for name, part in (parts or {}).items()
        if part is not None and name in state["parts"]
    ]
    for part, tensors, numbers, name in saved:
        check_part_fits(name, part, tensors, numbers)
    if optimizer is not None:
        restore_optimizer(path, optimizer, state)
        set_rng_state(state["rng"])
    copy_full(model, weights)
    for part, tensors, numbers, _ in saved:
        load_part(part, tensors, numbers)
    return {name: state[name] for name in ("step", "config", "history", "versions")}


def restore_optimizer(path: Path, optimizer: torch.optim.Optimizer, state: dict) -> None:
    """Load the optimizer's part of a checkpoint, if it fits."""
    if state["optimizer"] is None:
        raise CheckpointMismatchError(f"checkpoint {path} holds no optimizer, only a model")
    tensors = read_tensors(path / "optimizer.safetensors")
    check_optimizer_fits(optimizer, tensors, state["optimizer"])
    load_optimizer(optimizer, tensors, state["optimizer"])


def checkpoints(folder: str | Path) -> list[Path]:
    """Checkpoints in the folder of a run, oldest first.

    Example:
        >>> import tempfile
        >>> model = torch.nn.Linear(2, 1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     paths = [save_checkpoint(folder, step, model) for step in (1, 2)]
        ...     checkpoints(folder) == paths
        True
    """
    found = [p for p in Path(folder).glob("step_*") if re.fullmatch(r"step_\d+", p.name)]
    return sorted((p for p in found if (p / MANIFEST).exists()), key=step_of)


def newest_checkpoint(folder: str | Path) -> Path | None:
    """The newest checkpoint in the folder of a run, or None.

    Example:
        >>> import tempfile
        >>> from mathlm.train import save_checkpoint
        >>> model = torch.nn.Linear(2, 1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     paths = [save_checkpoint(folder, step, model) for step in (1, 2)]
        ...     newest_checkpoint(folder) == paths[1]
        True
    """
    found = checkpoints(folder)
    return found[-1] if found else None


def step_of(checkpoint: Path) -> int:
    """Steps done, from the name of a checkpoint."""
    return int(checkpoint.name.removeprefix("step_"))


def remove_older(folder: Path, keep: int | None, step: int) -> None:
    """Remove all but the newest ``keep`` of the checkpoints up to ``step``."""
    found = [path for path in checkpoints(folder) if step_of(path) <= step]
    for old in found[:-keep] if keep else []:
        remove_folder(old)


def locate(path: Path) -> Path:
    """The checkpoint that ``path`` means."""
    if path.is_file():
        refuse_pickle(path)
    if (path / MANIFEST).exists():
        return path
    newest = newest_checkpoint(path)
    if newest is None:
        raise CheckpointError(
            f"{path} is not a checkpoint: expected a folder with {MANIFEST}, or one that holds "
            "folders step_…"
        )
    return newest


def read_state(path: Path) -> dict[str, Any]:
    """The JSON part of a checkpoint, if this version can read it, as it is written today."""
    state = json.loads((path / "state.json").read_text())
    if state["format"] not in {1, FORMAT}:
        relation = "newer" if state["format"] > FORMAT else "older"
        raise CheckpointMismatchError(
            f"checkpoint format {state['format']} is {relation} than this mathlm ({FORMAT}); "
            f"{path} was written by mathlm {state.get('versions', {}).get('mathlm', '?')}"
        )
    return migrated(state) if state["format"] == 1 else state


def migrated(state: dict[str, Any]) -> dict[str, Any]:
    """A state of format 1: full precision, no other parts, and tied to its number of ranks."""
    config = {name: value for name, value in state["config"].items() if name != "ranks"}
    config = {"precision": "full"} | config if config else {}
    return state | {"format": FORMAT, "parts": {}, "config": config}


def refuse_changes(saved: Mapping[str, Any], own: Mapping[str, Any]) -> None:
    """Raise one error that lists every difference between two configurations."""
    old, new = flat(saved), flat(own)
    keys = [k for k in dict.fromkeys([*old, *new]) if not is_same(old.get(k), new.get(k))]
    if keys:
        lines = [difference(key, old.get(key), new.get(key)) for key in keys]
        raise CheckpointMismatchError(
            f"resume config differs: {'; '.join(lines)}. Use the saved values, another folder, "
            "or allow the change (allow_change=True; of a command --allow-change)"
        )


def is_same(old: Any, new: Any) -> bool:
    """Equal; or an old name gave the file, ``mathlm.train.objectives.next_token``, too."""
    if old == new or not (isinstance(old, str) and isinstance(new, str)):
        return bool(old == new)
    part, name = new.split(".")[:2], new.split(".")[2:]
    words = old.split(".")
    return part[0] == "mathlm" and words[:2] == part and bool(name) and words[3:] == name


def difference(key: str, old: Any, new: Any) -> str:
    """One changed value in words; of the hashes of a corpus, the first that differs."""
    if key != "data_sha256" or not (isinstance(old, list) and isinstance(new, list)):
        short = [float(f"{x:.6g}") if isinstance(x, float) else x for x in (old, new)]
        was, now = short if short[0] != short[1] else (old, new)
        return f"{key} was {was}, is {now}"
    if len(old) != len(new):
        return f"{key} had {len(old)} shards, has {len(new)}"
    i = next(i for i, pair in enumerate(zip(old, new, strict=True)) if pair[0] != pair[1])
    return f"{key} (shard {i} changed since the run began: was {old[i]}, is {new[i]})"


def flat(config: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested dicts as one, with keys such as ``schedule.peak``."""
    result: dict[str, Any] = {}
    for key, value in config.items():
        inner = isinstance(value, Mapping)
        result |= flat(value, f"{prefix}{key}.") if inner else {f"{prefix}{key}": value}
    return result


def write_failure(target: Path, error: OSError, needed: int) -> CheckpointError:
    """Why a checkpoint could not be written, and what is left."""
    reason = disk_reason(error, target.parent, needed)
    last = newest_checkpoint(target.parent)
    good = f"step {step_of(last)}" if last else "none"
    return CheckpointError(f"cannot write checkpoint {target}: {reason}; last good: {good}")
