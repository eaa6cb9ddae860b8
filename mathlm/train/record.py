"""A run as data: what was asked for, what it ran on, what came out."""

import json
import math
import platform
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

import mathlm

from ..models.files.atomic import write_files


def describe(value: Any) -> Any:
    """``value`` as JSON data that says the same in every process.

    Dataclasses become their fields with the name of the class, functions and classes their
    public names, partials their function and what it was given, sets sorted lists, NaN and
    infinities the words for them. A path becomes its last part: where
    it lay on one machine says nothing to another.

    Example:
        >>> describe({"lr": 0.1, "clip": np.inf, "text": Path("a/b.txt"), "ids": np.arange(2)})
        {'lr': 0.1, 'clip': 'inf', 'text': 'b.txt', 'ids': [0, 1]}
    """
    if is_dataclass(value) and not isinstance(value, type):
        named = {f.name: describe(getattr(value, f.name)) for f in fields(value)}
        return {"class": type(value).__name__} | named
    if isinstance(value, partial):
        bound: dict[str, Any] = {"args": list(map(argument, value.args))}
        bound |= {"keywords": {name: argument(x) for name, x in value.keywords.items()}}
        return {"class": "partial", "of": describe(value.func)} | bound
    if isinstance(value, Mapping):
        return {str(key): describe(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [describe(item) for item in value]
    if isinstance(value, set | frozenset):
        return sorted(map(describe, value), key=str)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, np.generic | np.ndarray | torch.Tensor):
        return describe(value.tolist())
    if isinstance(value, Path):
        return value.name
    if isinstance(value, torch.dtype | torch.device):
        return str(value)
    return public_name(value if hasattr(value, "__qualname__") else type(value))


def argument(value: Any) -> Any:
    """What a partial was given: data, which may be a whole corpus, by its class alone."""
    is_data = isinstance(value, Mapping | list | tuple | np.ndarray | torch.Tensor)
    return public_name(type(value)) if is_data else describe(value)


def public_name(thing: Any) -> str:
    """A function or class by its part of the package, such as ``mathlm.train.next_token``.

    Which file of that part holds it is nothing that a run depends on.
    """
    module = str(thing.__module__)  # functions of torch have None
    if module.startswith("mathlm."):
        module = ".".join(module.split(".")[:2])
    return f"{module}.{thing.__qualname__}"


def versions() -> dict[str, str]:
    """Versions that a result may depend on."""
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "numpy": np.__version__,
        "mathlm": mathlm.__version__,
    }


def device_name(device: torch.device) -> str:
    """The kind of processor, and how many threads it was given."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{platform.machine()} CPU, {torch.get_num_threads()} threads"


def write_record(path: str | Path, **parts: Any) -> Path:
    """Write a JSON record of a run; a reader never sees half of it.

    Args:
        path: File to write; its folder is made if need be.
        parts: What to record, such as ``config``, ``device``, ``history`` and results.
            ``versions`` are added.

    Returns:
        The path.

    Raises:
        CheckpointError: If it cannot be written; nothing is left of it.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = write_record(f"{folder}/runs/record.json", results={"loss": 2.5})
        ...     json.loads(path.read_text())["results"]
        {'loss': 2.5}
    """
    path = Path(path)
    record = describe(parts | {"versions": versions()})
    text = json.dumps(record, indent=1, sort_keys=True, allow_nan=False) + "\n"
    write_files(path.parent, {path.name: text.encode()}, "the record")
    return path


def record_on_cpu(path: Path | None, **parts: Any) -> None:
    """Write the record of a study that ran on the CPU, if there is a path for it."""
    if path is not None:
        write_record(path, device=device_name(torch.device("cpu")), **parts)
