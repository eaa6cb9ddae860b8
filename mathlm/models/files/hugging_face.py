"""Folders as Hugging Face writes them: ``config.json`` and the names of the weights."""

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ...errors import (
    CheckpointCorruptError,
    CheckpointError,
    CheckpointMismatchError,
    ConfigError,
)
from ...functional import RopeScaling
from .weights import check_tensors_fit, plain

MANIFEST = "manifest.json"  # of every checkpoint of a trainer
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)


def read_config(folder: Path) -> dict[str, Any]:
    """The fields of ``config.json``.

    Raises:
        CheckpointError: If there is no such file.
        CheckpointCorruptError: If it is not a JSON object.
    """
    path = folder / "config.json"
    if not path.is_file():
        checkpoints = [folder / MANIFEST, *folder.glob(f"step_*/{MANIFEST}")]
        if any(one.is_file() for one in checkpoints):
            raise CheckpointError(
                f"{path} is missing: {folder} holds checkpoints of a run; write its model by "
                f"'mathlm export {folder} FOLDER', and give that folder"
            )
        raise CheckpointError(f"{path} is missing: {folder} is not the folder of a model")
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise CheckpointCorruptError(f"{path} is not JSON: {error}") from error
    if not isinstance(fields, dict):
        raise CheckpointCorruptError(f"{path} holds no fields, but {type(fields).__name__}")
    return fields


def require_field(fields: Mapping[str, Any], name: str, known: Mapping | tuple) -> Any:
    """The value of a field that must be one of ``known``; of a mapping, what it stands for."""
    value = fields.get(name)
    if not isinstance(value, str | bool | None) or value not in known:
        listed = ", ".join(repr(k) for k in known)
        raise CheckpointMismatchError(
            f"config.json has {name}={value!r}, this model has {listed}"
        )
    return known[value] if isinstance(known, Mapping) else value


def require_values(fields: Mapping[str, Any], only: Mapping[str, Any]) -> None:
    """Refuse a field whose value would make another model; absent is as it must be."""
    for name, value in only.items():
        found = fields.get(name, value)
        if found is not value:
            raise CheckpointMismatchError(
                f"config.json has {name}={found!r}, this model has {value}"
            )


def flag(fields: Mapping[str, Any], name: str, default: bool) -> bool:
    """A field that is true or false."""
    return require_field({name: default} | dict(fields), name, (False, True))


def number(name: str, value: Any) -> float:
    """A field as a finite float."""
    try:
        if type(value) in (int, float) and math.isfinite(value):
            return float(value)
    except OverflowError:  # an integer beyond every float
        raise CheckpointMismatchError(f"config.json has a {name} beyond 1e308") from None
    raise CheckpointMismatchError(f"config.json has {name}={value!r}, not a number")


def fill(
    model: nn.Module,
    tensors: Mapping[str, Tensor],
    rename: Callable[[str], str],
    complaint: str,
) -> None:
    """Put the tensors of a file in place of the weights of a model, in the file's dtype.

    Args:
        model: Its weights need not have values.
        tensors: Of the file, under its names.
        rename: Their name for ours. Several of ours may have one name of theirs, which then
            holds their rows one below the other, in the order of the model.
        complaint: Beginning of the message.

    Raises:
        CheckpointMismatchError: If any is missing, left over, of another shape, of another
            dtype than the rest, or not of 16, 32 or 64 bits with a floating point.
        CheckpointCorruptError: If an entry is NaN or infinite.
    """
    first = next((t for t in tensors.values()), torch.empty(0))
    if first.dtype not in FLOATS:
        name = next(iter(tensors))
        raise CheckpointMismatchError(f"{complaint}: {name} is {plain(first.dtype)}")
    own: dict[str, dict[str, Tensor]] = {}
    model = model.to(first.dtype)
    for name, parameter in model.named_parameters():  # a shared one has one name
        own.setdefault(rename(name), {})[name] = parameter
    check_tensors_fit(complaint, tensors, {n: joined([*g.values()]) for n, g in own.items()})
    require_finite(tensors, complaint)
    state = {n: t for their, g in own.items() for n, t in cut_rows(tensors[their], g).items()}
    model.load_state_dict(state, strict=False, assign=True)  # the names have been checked


def joined(parts: list[Tensor]) -> Tensor:
    """The shape of ``parts`` one below the other; ``torch.cat`` would load the compiler."""
    return parts[0].new_empty(sum(len(part) for part in parts), *parts[0].shape[1:])


def cut_rows(tensor: Tensor, like: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The rows of ``tensor``, dealt out to names with as many rows as each has in ``like``."""
    if len(like) == 1:
        return dict.fromkeys(like, tensor)
    parts = tensor.split([t.shape[0] for t in like.values()])
    return {name: part.clone() for name, part in zip(like, parts, strict=True)}


def require_finite(tensors: Mapping[str, Tensor], complaint: str) -> None:
    """Refuse weights of which an entry is NaN or infinite."""
    for name, tensor in tensors.items():
        if tensor.numel() and not torch.stack(tensor.aminmax()).isfinite().all():
            bad = int((~tensor.isfinite()).sum())
            raise CheckpointCorruptError(
                f"{complaint}: {name} holds {bad} NaN or infinite entries"
            )


TRAINED = "original_max_position_embeddings"
RAMP = {"factor": "factor", TRAINED: "original_context"}
KINDS: dict[str, dict[str, str]] = {  # our names for what a kind has
    "default": {},
    "linear": {"factor": "factor"},
    "llama3": RAMP | {"low_freq_factor": "slow", "high_freq_factor": "fast"},
    "yarn": RAMP
    | {"beta_slow": "slow", "beta_fast": "fast", "attention_factor": "attention_factor"},
}
NEEDED = {"factor", "low_freq_factor", "high_freq_factor"}
NEUTRAL = {"partial_rotary_factor": 1.0, "truncate": True}  # the values that this model has


def rope_of(fields: Mapping[str, Any]) -> tuple[float, RopeScaling | None]:
    """The base of the wavelengths, and how they change for a longer context.

    Newer files have ``rope_parameters``, older ones ``rope_theta`` and ``rope_scaling``.

    Raises:
        CheckpointMismatchError: If a kind or a number is not one that this model has.
    """
    said = rope_fields(fields)
    kind = kind_of(said)
    base = number("rope_theta", said.pop("rope_theta", fields.get("rope_theta", 10_000.0)))
    if kind in ("llama3", "yarn"):  # elsewhere the trained length is the context
        outside = fields.get("max_position_embeddings")
        said[TRAINED] = fields.get(TRAINED, said.get(TRAINED, outside))
    for name, value in NEUTRAL.items():
        found = said.pop(name, fields.get(name, value))
        if found != value:
            raise CheckpointMismatchError(
                f"config.json has {name}={found!r}, this model has {value}"
            )
    return base, scaling_of(kind, said)


def rope_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of both objects together, without those that are null."""
    said: dict[str, Any] = {}
    for name in ("rope_scaling", "rope_parameters"):
        part = fields.get(name)
        if part is not None and not isinstance(part, dict):
            raise CheckpointMismatchError(f"config.json has {name}={part!r}, not an object")
        said |= {key: value for key, value in (part or {}).items() if value is not None}
    return said


def kind_of(said: dict[str, Any]) -> str:
    """The kind of scaling; takes its two names out of what is said."""
    old = said.pop("type", "default")
    kind = said.pop("rope_type", old)
    if old not in (kind, "default"):
        raise CheckpointMismatchError(f"config.json has the types {old!r} and {kind!r} of rope")
    if not isinstance(kind, str) or kind not in KINDS:
        known = ", ".join(map(repr, KINDS))
        hint = " (its frequencies follow the length of each text)" if kind == "dynamic" else ""
        raise CheckpointMismatchError(
            f"config.json has rope_type={kind!r}{hint}; this model has {known}"
        )
    return kind


def scaling_of(kind: str, said: Mapping[str, Any]) -> RopeScaling | None:
    """The scaling of a kind, of fields that must all be its own."""
    names = KINDS[kind]
    if strange := sorted(said.keys() - names.keys()):
        listed = ", ".join(f"{name}={said[name]!r}" for name in strange)
        raise CheckpointMismatchError(
            f"config.json has {listed} with rope_type={kind!r}, which has no such field here"
        )
    if missing := sorted((NEEDED & names.keys()) - said.keys()):
        raise CheckpointMismatchError(
            f"config.json has rope_type={kind!r} without {', '.join(missing)}"
        )
    if kind == "default":
        return None
    values = {names[n]: v if n == TRAINED else number(n, v) for n, v in said.items()}
    try:
        return RopeScaling(kind=kind, **values)  # type: ignore[arg-type]
    except ConfigError as error:
        raise CheckpointMismatchError(f"config.json describes no GPT: {error}") from error
