"""What the fields of a Hugging Face folder say of rotary positions."""

from collections.abc import Mapping
from typing import Any

from ...errors import CheckpointMismatchError, ConfigError
from ...functional import RopeScaling
from .hugging_face import number

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
