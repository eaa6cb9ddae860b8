"""Against forgetting: L2-SP, which pulls weights to their start, and replay of old text."""

import math
from collections.abc import Callable
from dataclasses import InitVar, dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import ConfigError, InputError
from ..optim.clipping import is_sharded
from ..train import describe, unwrap
from ..train.objectives import IGNORED, Batch, Objective, check_rows
from ..train.state import tensors_sha256


@dataclass(frozen=True)
class L2SP:
    """An objective, and a penalty on the distance from the weights of the start.

    Implements eq-tune-towards::

        (L + n λ Σ (θ - θ₀)², n),   objective(model, batch) = (L, n)

    over the trained parameters, so that the mean over the n targets is the mean loss plus
    λ ‖θ - θ₀‖²: it does not depend on how a batch is cut. λ counts in nats a target; the pull
    on a weight is 2 λ (θ - θ₀). In evaluation mode only the loss counts, so that a held-out
    loss can be compared with that of other runs.

    Of a model with adapters the numbers of the adapters are pulled, not their product.

    Args:
        objective: From model and batch to a loss summed over targets, and their number.
        model: As it is at the start. The trained parameters are copied.
        weight: λ, at least 0 [nats per target].

    Attributes:
        start_sha256: Of θ₀; a run is resumed with the same start only.

    Raises:
        ConfigError: If the weight is negative or not finite, no parameter is trained, or the
            model is sharded: a rank then holds a part of each weight only.

    Example:
        >>> def nothing(model, batch):
        ...     return torch.tensor(0.0), 2
        >>> model = torch.nn.Linear(1, 1, bias=False)
        >>> objective = L2SP(nothing, model, weight=0.5)
        >>> with torch.no_grad():
        ...     _ = model.weight.add_(3.0)
        >>> loss, targets = objective(model, {})
        >>> round(loss.item(), 4), targets  # 2 targets · 1/2 · 3²
        (9.0, 2)
    """

    objective: Objective
    model: InitVar[nn.Module]
    weight: float | int
    start_sha256: str = field(init=False)

    def __post_init__(self, model: nn.Module) -> None:
        if not 0 <= self.weight < float("inf"):
            raise ConfigError(f"weight={self.weight} must be at least 0 and finite")
        trained = _trained(model)
        if not trained:
            raise ConfigError("no parameter of the model is trained: nothing can be pulled")
        start = {name: p.detach().clone() for name, p in trained.items()}
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "start_sha256", tensors_sha256(start))

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        """Loss [nats], summed over targets, with their share of the penalty; their number."""
        loss, count = self.objective(model, batch)
        if model.training and self.weight:
            loss = loss + count * self.weight * self.distance(model).to(loss.dtype)
        return loss, count

    def distance(self, model: nn.Module) -> Tensor:
        """‖θ - θ₀‖², with gradients in θ.

        Raises:
            InputError: If the model trains other parameters than at the start.
        """
        now, start = _trained(model), self._start()
        if now.keys() != start.keys():
            other = sorted(now.keys() ^ start.keys())
            raise InputError(
                f"{len(other)} parameters are trained now but were not at the start, or the "
                f"other way, first {other[0]}: make L2SP after freezing and adding"
            )
        for name, p in now.items():
            start[name] = start[name].to(p.device)  # the trainer may have moved the model
        squares = [(_wide(p) - _wide(start[name])).square().sum() for name, p in now.items()]
        return torch.stack(squares).sum()

    def _start(self) -> dict[str, Tensor]:
        return self.__dict__["start"]


def _trained(model: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters that are trained, by name, each in one piece."""
    found = {n: p for n, p in unwrap(model).named_parameters() if p.requires_grad}
    if cut := [name for name, p in found.items() if is_sharded(p)]:
        raise ConfigError(
            f"{cut[0]} is sharded: L2SP needs whole weights, parallel 'sum' or 'ddp'"
        )
    return found


def _wide(x: Tensor) -> Tensor:
    """``x`` in 32 bits at least."""
    return x.float() if x.itemsize < 4 else x


FILLS = {"ids": 0, "targets": IGNORED, "documents": -1}  # behind the end of a shorter row
Data = Callable[[int], Batch]


class Replay:
    """Batches of new data, and behind their rows some of an old text.

    Computes::

        n(t) = ⌊(t+1) r B + φ⌋ - ⌊t r B + φ⌋,   r = s / (1 - s)

    old rows beside the B new ones of step t: in the mean the share s of all rows is old. No new
    row is left out. An old row counts as many targets as it has, and a row of plain text has
    more than one whose prompt is not learned: the share of the old *targets* is larger.

    The batch of a step depends on the seed and the step alone. Shorter rows are filled up to
    the right, where a causal model does not see it from its targets. If one of both kinds has
    ``documents``, a row of the other is one document.

    Args:
        data: Step to a batch of new rows, such as :class:`mathlm.align.ChatBatches`.
        old: Step to a batch of old rows, such as :class:`mathlm.train.TokenWindows`. As many
            of its first rows are taken as the step needs; of further batches if it has fewer.
        share: s, in [0, 1).
        seed: Decides φ in [0, 1), which shifts the steps that get one row more.

    Raises:
        ConfigError: If the share is outside its range or the seed negative.

    Example:
        >>> ids = torch.tensor([[1, 2], [3, 4]])
        >>> new = {"ids": ids, "targets": ids}
        >>> old = {"ids": torch.tensor([[5, 6]]), "targets": torch.tensor([[5, 6]])}
        >>> mixed = Replay(lambda step: new, lambda step: old, share=0.5)
        >>> mixed(0)["ids"].tolist()  # as many old rows as new ones
        [[1, 2], [3, 4], [5, 6], [5, 6]]
    """

    def __init__(self, data: Data, old: Data, share: float | int, seed: int = 0) -> None:
        if not 0 <= share < 1:
            raise ConfigError(f"share={share} must lie in [0, 1): rows of old text among all")
        if seed < 0:
            raise ConfigError(f"seed={seed} must not be negative")
        self.data, self.old, self.share, self.seed = data, old, share, seed
        self.shift = float(np.random.default_rng([seed, 0]).random())

    def __call__(self, step: int) -> Batch:
        """The batch of ``step``; old rows have the numbers -1, -2, … in ``index``."""
        new = self.data(step)
        needed = self.rows(step, check_rows(new, f"new data at step {step}"))
        old, at = [], step
        while needed > 0:
            batch = self.old(at)
            found = check_rows(batch, f"old text at step {at}")
            old.append({name: tensor[:needed] for name, tensor in batch.items()})
            needed, at = needed - found, at + 1
        return joined([new, *old])

    def rows(self, step: int, new: int) -> int:
        """Old rows beside so many new ones in ``step``."""
        each = new * self.share / (1 - self.share)
        return math.floor((step + 1) * each + self.shift) - math.floor(step * each + self.shift)

    @property
    def sha256(self) -> list[Any]:
        """Hashes of the new data and of the old text."""
        return [getattr(self.data, "sha256", None), getattr(self.old, "sha256", None)]

    def describe(self) -> dict[str, Any]:
        """What decides the batches, beside the data itself."""
        own = {"replay_share": self.share, "replay_seed": self.seed}
        return {"new": _said(self.data), "old": _said(self.old)} | own


def joined(batches: list[Batch]) -> Batch:
    """Rows of several batches in one; those behind the first count as old.

    Raises:
        InputError: If one has a tensor that another lacks, or rows of other shapes.
    """
    names = {name for batch in batches for name in batch} - {"index"}
    if "documents" in names:
        batches = [_with_documents(batch) for batch in batches]
    for name in sorted(names):
        lacking = [i for i, batch in enumerate(batches) if name not in batch]
        if lacking:
            who = "the new data" if lacking[0] == 0 else "the old text"
            raise InputError(
                f"{who} has no {name!r} and the other has: both must be made for one objective"
            )
    whole = {name: _stacked(name, [batch[name] for batch in batches]) for name in names}
    return whole | _numbered(batches)


def _numbered(batches: list[Batch]) -> Batch:
    """The numbers of the samples; old ones are negative."""
    first = batches[0].get("index")
    if first is None:
        return {}
    rows = sum(len(batch["ids"]) for batch in batches[1:])
    return {"index": torch.cat([first, -1 - torch.arange(rows)])}


def _with_documents(batch: Batch) -> Batch:
    return (
        batch if "documents" in batch else batch | {"documents": torch.zeros_like(batch["ids"])}
    )


def _stacked(name: str, tensors: list[Tensor]) -> Tensor:
    """The rows of several tensors, as long as the longest."""
    if len({t.shape[1:] for t in tensors}) == 1:
        return torch.cat(tensors)
    if name not in FILLS or any(t.ndim != 2 for t in tensors):
        shapes = [tuple(t.shape[1:]) for t in tensors]
        raise InputError(f"rows of {name!r} have the shapes {shapes} and cannot be joined")
    longest = max(t.shape[1] for t in tensors)
    rows = [torch.full((len(t), longest), FILLS[name], dtype=t.dtype) for t in tensors]
    for row, t in zip(rows, tensors, strict=True):
        row[:, : t.shape[1]] = t
    return torch.cat(rows)


def _said(data: Any) -> Any:
    return data.describe() if hasattr(data, "describe") else describe(data)
