"""A run as it is diagnosed: what kind it is, and its numbers by their names."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
from numpy import ndarray

from ...errors import ConfigError, InputError
from .expected import KINDS, Expected, Kind, expected_first, loss_name

Numbers = Mapping[str, float]
OBJECTIVES: dict[str, Kind] = {
    "BradleyTerry": "reward",
    "DPO": "dpo",
    "RobustDPO": "dpo",
    "IPO": "dpo",
    "Hinge": "dpo",
    "LengthNormalizedDPO": "dpo",
    "KTO": "dpo",
    "ORPO": "dpo",
    "SimPO": "dpo",
    "GRPO": "grpo",
    "CorrectedGRPO": "grpo",
    "DrGRPO": "grpo",
    "Reinforce": "grpo",
    "PPO": "ppo",
}
NEXT_TOKEN = ".next_token"  # old records name its file too
PARTS = 5  # a trend is a difference between the means of fifths
FEW = 10  # records below which nothing is said of trends


class Curve(NamedTuple):
    """The finite values of one number, and the steps at which they were recorded."""

    steps: ndarray
    values: ndarray

    def __bool__(self) -> bool:
        return len(self.values) > 0

    @property
    def shows_trends(self) -> bool:
        """Whether there are enough values for means of fifths."""
        return len(self.values) >= FEW

    @property
    def fifths(self) -> ndarray:
        """Mean of each fifth of the values."""
        return np.array([part.mean() for part in np.array_split(self.values, PARTS)])

    @property
    def ends(self) -> tuple[ndarray, ndarray]:
        """The first fifth of the values and the last, one value each at least."""
        size = max(1, len(self.values) // PARTS)
        return self.values[:size], self.values[-size:]

    @property
    def first(self) -> float:
        """Mean of the first fifth."""
        return float(self.ends[0].mean())

    @property
    def last(self) -> float:
        """Mean of the last fifth."""
        return float(self.ends[1].mean())

    @property
    def change_in_errors(self) -> float:
        """Last fifth less first, in standard errors of that difference."""
        error = math.sqrt(sum(part.var(ddof=1) / len(part) for part in self.ends))
        return (self.last - self.first) / max(error, 1e-12)


@dataclass(frozen=True, kw_only=True)
class RunHistory:
    """What a run recorded, with what is known of it.

    Args:
        kind: Of run.
        history: One record for each logged step: ``step``, ``loss``, and if there are
            ``grad_norm`` (before clipping), ``lr``, ``held_out_loss``, ``skipped``, and of
            preferences ``margin``, ``accuracy``, ``chosen_change``, ``rejected_change``.
        rollouts: Of grpo and ppo, one record for each iteration: ``reward``, ``reward_std``,
            ``equal_groups``, ``kl``, ``entropy``, ``length``, ``finished``, ``clip_share``,
            ``moved``.
        vocab_size: V.
        expected: First values by name; see :func:`expected_first`.
        before: What was measured before the first step: ``accuracy``, ``loss`` or ``margin``.
        clip: Largest norm of the gradient; None = not clipped.
        weight_decay: Of the optimizer, the largest of its groups.
        adam: Whether the optimizer is one of Adam's kind.
        bytes_per_target: Bytes of text that a target stands for.
    """

    kind: Kind
    history: Sequence[Numbers]
    rollouts: Sequence[Numbers] = ()
    vocab_size: int | None = None
    expected: Mapping[str, Expected] = field(default_factory=dict)
    before: Numbers = field(default_factory=dict)
    clip: float | None = None
    weight_decay: float = 0.0
    adam: bool = False
    bytes_per_target: float = 1.0

    @cached_property
    def loss(self) -> Curve:
        """The loss of training."""
        return self.curve("loss")

    @cached_property
    def norm(self) -> Curve:
        """The norm of the gradient."""
        return self.curve("grad_norm")

    @cached_property
    def rate(self) -> Curve:
        """The step size."""
        return self.curve("lr")

    def curve(self, name: str) -> Curve:
        """A number of the history."""
        return curve_of(self.history, name, "step")

    def rollout(self, name: str) -> Curve:
        """A number of the rollouts."""
        return curve_of(self.rollouts, name, "iteration")


def curve_of(records: Sequence[Numbers], name: str, at: str) -> Curve:
    """The records that hold a finite number of that name."""
    pairs = [(r.get(at, i), r[name]) for i, r in enumerate(records) if name in r]
    finite = [pair for pair in pairs if math.isfinite(pair[1])]
    table = np.array(finite, dtype=float).reshape(-1, 2)
    return Curve(table[:, 0], table[:, 1])


def run_history(record: Mapping[str, Any], kind: Kind | None = None) -> RunHistory:
    """A run from its record, as ``--record`` writes it, or from the state of a checkpoint.

    A record of a loop of one's own needs ``history`` alone; ``kind``, ``vocab_size``, ``clip``
    and ``rollouts`` beside it are read.

    Args:
        record: JSON data.
        kind: Of run; None reads it off the objective.

    Raises:
        ConfigError: If the kind is neither given nor known by the objective.
        InputError: If the history has no record.

    Example:
        >>> run = run_history({"kind": "pretrain", "history": [{"step": 1, "loss": 5.5}]})
        >>> run.kind, len(run.history)
        ('pretrain', 1)
    """
    config = record.get("config") or {}
    objective = inner_objective(config)
    found = kind or record.get("kind") or kind_of(objective, config)
    if found not in KINDS:
        raise ConfigError(
            f"of what kind this run is cannot be told by its objective ({objective or 'none'}):"
            f" say --kind, one of {', '.join(KINDS)}"
        )
    history = [numbers(entry) for entry in record.get("history") or ()]
    if not history:
        raise InputError("the history is empty: there is nothing to say before the first step")
    results = record.get("results") or {}
    return RunHistory(
        kind=found,
        history=history,
        rollouts=[numbers(entry) for entry in rollouts_of(record)],
        vocab_size=(size := vocabulary(record, config)),
        expected=expected_of(found, size, objective),
        before=numbers(results.get("before") or {}),
        clip=config.get("clip", record.get("clip")),
        weight_decay=decay_of(config),
        adam="Adam" in str((config.get("optimizer") or {}).get("class")),
        bytes_per_target=bytes_of(numbers(results)),
    )


def inner_objective(config: Mapping[str, Any]) -> dict[str, Any]:
    """The objective that was trained with, as a dict with its class and options."""
    found = config.get("objective") or {}
    if isinstance(found, Mapping) and found.get("class") == "Tuning":
        found = found["objective"]
    return dict(found) if isinstance(found, Mapping) else {"class": found}


def kind_of(objective: Mapping[str, Any], config: Mapping[str, Any]) -> Kind | None:
    """The kind of run that has this objective; a tuned model is no new one."""
    name = str(objective.get("class", ""))
    if name == "L2SP" or (name.startswith("mathlm.train.") and name.endswith(NEXT_TOKEN)):
        tuned = isinstance(config["objective"], Mapping)
        return "sft" if tuned else "pretrain"
    return OBJECTIVES.get(name)


def expected_of(
    kind: Kind, vocab_size: int | None, objective: Mapping[str, Any]
) -> dict[str, Expected]:
    """First values by the options of the objective."""
    beta, margin = objective.get("beta"), objective.get("margin") or 0.0
    name = loss_name(objective)
    first = expected_first(kind, vocab_size=vocab_size, loss=name, beta=beta, margin=margin)
    return weighted(first, objective) if name == "kto" and "loss" in first else first


def weighted(
    first: Mapping[str, Expected], objective: Mapping[str, Any]
) -> dict[str, Expected]:
    """The values of KTO with its weights; two of them leave the first loss to the batch."""
    good, bad = (objective.get(f"{side}_weight", 1.0) for side in ("desirable", "undesirable"))
    if good != bad:
        return {name: value for name, value in first.items() if name != "loss"}
    because = f"{good:g} sigmoid(0)" if good != 1 else first["loss"].because
    return {**first, "loss": Expected(good / 2, because)}


def vocabulary(record: Mapping[str, Any], config: Mapping[str, Any]) -> int | None:
    """V, from the record or the model's configuration."""
    model = config.get("model")
    inner = model.get("vocab_size") if isinstance(model, Mapping) else None
    return cast(int | None, record.get("vocab_size", inner))


def rollouts_of(record: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Records of the iterations: of --record, or of the data of a checkpoint."""
    data = (record.get("parts") or {}).get("data") or {}
    return record.get("rollouts") or data.get("history") or ()


def decay_of(config: Mapping[str, Any]) -> float:
    """The largest weight decay of the groups of the optimizer."""
    groups = config.get("optimizer") or {}
    found = [g.get("weight_decay") or 0.0 for g in groups.values() if isinstance(g, Mapping)]
    return float(max(found, default=0.0))


def bytes_of(results: Numbers) -> float:
    """Bytes of text that a target stands for, by a loss in both units; 1 if not known."""
    nats, bits = results.get("held_out_loss"), results.get("bits_per_byte")
    return nats / (bits * math.log(2)) if nats and bits else 1.0


def numbers(entry: Mapping[str, Any]) -> dict[str, float]:
    """The numbers of a record; a record writes those that are not finite as words."""
    words = ("nan", "inf", "-inf")
    return {
        name: float(value)
        for name, value in entry.items()
        if value in words or (isinstance(value, int | float) and not isinstance(value, bool))
    }


__all__ = ["Curve", "RunHistory", "run_history"]
