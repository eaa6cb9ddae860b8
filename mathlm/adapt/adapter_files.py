"""The two files of an adapter's folder."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import CheckpointCorruptError, CheckpointError, CheckpointMismatchError
from ..models.files.hugging_face import require_finite
from ..models.files.weights import PICKLE_SUFFIXES, plain, read_tensors, to_bytes
from .fingerprint import base_fingerprint, base_tensors, trained_tensors

CONFIG, WEIGHTS = "adapter_config.json", "adapter_model.safetensors"


def write_adapter(
    folder: Path, config: Mapping[str, Any], tensors: Mapping[str, Tensor]
) -> Path:
    """Write both files, the configuration last: a folder without it holds no adapter.

    Raises:
        CheckpointError: If there is such a file already, or the disk refuses.
    """
    files = {
        WEIGHTS: to_bytes(tensors),
        CONFIG: (json.dumps(config, indent=2, sort_keys=True) + "\n").encode(),
    }
    for name in files:
        if (folder / name).exists():
            raise CheckpointError(f"{folder / name} is there already: give another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            part = folder / f".{name}.{os.getpid()}.tmp"
            part.write_bytes(content)
            os.replace(part, folder / name)
    except OSError as error:
        reason = error.strerror or error
        raise CheckpointError(f"the adapter cannot be written to {folder}: {reason}") from error
    return folder


def read_adapter(folder: Path) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Configuration and tensors, all finite.

    Raises:
        CheckpointError: If a file is missing.
        CheckpointCorruptError: If a file cannot be read, or a number is NaN or infinite.
        CheckpointMismatchError: If the weights are a pickle.
    """
    config = read_config(folder)
    if not (folder / WEIGHTS).is_file():
        for path in sorted(folder.iterdir()):
            if path.suffix in PICKLE_SUFFIXES:
                raise CheckpointMismatchError(
                    f"{path} is a pickle, which can run any code; mathlm does not unpickle: "
                    f"save the adapter with peft again, which writes {WEIGHTS}"
                )
        raise CheckpointError(f"{folder / WEIGHTS} is missing: the folder has no weights")
    tensors = read_tensors(folder / WEIGHTS)
    for name, tensor in tensors.items():
        if not tensor.is_floating_point():
            raise CheckpointMismatchError(
                f"{folder / WEIGHTS}: {name} is {plain(tensor.dtype)}"
            )
    require_finite(tensors, str(folder / WEIGHTS))
    return config, tensors


def read_config(folder: Path) -> dict[str, Any]:
    """The fields of ``adapter_config.json``."""
    path = folder / CONFIG
    if not path.is_file():
        there = sorted(p.name for p in folder.iterdir()) if folder.is_dir() else None
        holds = "is no folder" if there is None else f"holds {', '.join(there) or 'nothing'}"
        hint = (
            "; a whole model is read by GPT.from_pretrained"
            if there and ("config.json" in there)
            else ""
        )
        raise CheckpointError(f"{path} is missing: {folder} {holds}{hint}")
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise CheckpointCorruptError(f"{path} is not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise CheckpointCorruptError(f"{path} holds no fields, but {type(fields).__name__}")
    return fields


def base_of(model: nn.Module) -> dict[str, Any]:
    """What tells the base that an adapter was made on; as its name, peft keeps it and reads on.

    Weights of the base that are trained too are left out: they are the adapter's as well.
    """
    without = trained_tensors(model)
    return {
        "base_sha256": base_fingerprint(model, without=without),
        "base_sha256_bfloat16": base_fingerprint(model, dtype=torch.bfloat16, without=without),
        "base_dtype": dtype_of(model),
        "base_without": without,
    }


def require_base(model: nn.Module, said: Any, folder: Path) -> None:
    """Refuse a model whose weights are not those that an adapter was made on.

    Weights in another dtype are compared after rounding to bfloat16. What peft made says
    nothing of its base.
    """
    if not isinstance(said, Mapping) or "base_sha256" not in said:
        return
    without, same = said.get("base_without") or [], said.get("base_dtype") == dtype_of(model)
    expected = said["base_sha256" if same else "base_sha256_bfloat16"]
    rounding = None if same else torch.bfloat16
    found = base_fingerprint(model, dtype=rounding, without=without)
    if found != expected:
        rounded = "" if same else " after rounding to bfloat16"
        raise CheckpointMismatchError(
            f"{folder} is an adapter for another base: its weights have the SHA-256 "
            f"{expected}, those of this model {found}{rounded}; load the base that it was "
            "trained on, or say other_base=True if you know that it fits"
        )


def dtype_of(model: nn.Module) -> str:
    """Of the base's weights: that of the first parameter that is no adapter's."""
    floats = (t for t in base_tensors(model).values() if t.is_floating_point())
    return plain(next(floats, torch.empty(0)).dtype)
