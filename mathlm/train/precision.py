"""Mixed precision: products in 16 bits, the loss scale that float16 needs; compilation."""

from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from ..errors import ConfigError, NonFiniteLossError

Precision = Literal["full", "bfloat16", "float16"]
HALF = {"bfloat16": torch.bfloat16, "float16": torch.float16}
LEAST_SCALE = 1e-8
MOST_SKIPPED = 20


def computing_in(precision: Precision, device: torch.device) -> AbstractContextManager:
    """Mixed precision (autocast): within it, float32 matrix products are in ``precision``.

    Weights and the cross-entropy stay float32, and float64 is left alone. On CUDA softmax and
    normalization give float32 too; on the CPU they keep the dtype of what they read, so that
    bfloat16 gives bfloat16. That is torch's autocast.
    """
    if precision == "full":
        return nullcontext()
    return torch.autocast(device.type, HALF[precision])


def compile_model(model: nn.Module) -> None:
    """Have ``torch.compile`` compile the forward pass, in place: names and class stay.

    Raises:
        ConfigError: If it would do nothing, as for containers of torch such as Sequential.
    """
    name = type(model).__module__
    if name.startswith("torch.nn."):
        raise ConfigError(
            f"compile=True does nothing for a bare {name}.{type(model).__name__}: make it a "
            "part of a module of your own"
        )
    model.compile()


class WideSum:
    """Gradients of micro-batches, summed in float32 where the weights have 16 bits.

    In bfloat16, which has 8 bits, a sum of 16 terms would lose what is less than a part in 256
    of it.

    Args:
        parameters: Those of which some may have 16 bits; the others are left alone.
    """

    def __init__(self, parameters: Iterable[nn.Parameter]) -> None:
        self.parameters = [p for p in parameters if p.dtype in HALF.values()]
        self.sums: dict[nn.Parameter, Tensor] = {}

    def take(self) -> None:
        """Add the gradients of a micro-batch to the sums, and forget them."""
        for p in self.parameters:
            if p.grad is not None:
                wide = p.grad.float()
                self.sums[p] = self.sums[p].add_(wide) if p in self.sums else wide
                p.grad = None

    def give(self) -> None:
        """Leave the sums as gradients, rounded to the dtype of the weights."""
        for p, total in self.sums.items():
            p.grad = total.to(p.dtype)
        self.sums = {}


@dataclass(frozen=True, kw_only=True)
class LossScale:
    """Loss scaling for mixed precision: how its factor adapts, so that float16 holds ∇.

    Implements eq-scale-loss::

        g = ∇(S L) / S
        S ← S growth    after ``interval`` steps in a row whose ∇(S L) is finite
        S ← S backoff   after a step whose ∇(S L) is not; that step is skipped

    Float16 ends at 65504 and at 6 · 10⁻⁸. L is the sum over the targets of a micro-batch: with
    N of them, S is N times larger for their mean. Powers of two change no digit of g.

    Args:
        initial: S of the first step.
        growth: Factor > 1.
        backoff: Factor in (0, 1).
        interval: Finite steps until S grows.

    Raises:
        ConfigError: If a number is outside its range.

    Example:
        >>> scaling = Scaling(LossScale(initial=8.0))
        >>> scaling.adapt(finite=False, step=1)  # a step that was skipped
        >>> scaling.scale
        4.0

    References:
        Micikevicius et al. (2018), arXiv:1710.03740, section 3.2.
    """

    initial: float = 2.0**8
    growth: float = 2.0
    backoff: float = 0.5
    interval: int = 2000

    def __post_init__(self) -> None:
        ranges = {
            "initial": LEAST_SCALE <= self.initial < torch.inf,
            "growth": 1 < self.growth < torch.inf,
            "backoff": 0 < self.backoff < 1,
            "interval": self.interval >= 1,
        }
        for name in (name for name, holds in ranges.items() if not holds):
            raise ConfigError(
                f"{name}={getattr(self, name)}: a loss scale needs initial >= {LEAST_SCALE:g}, "
                "growth > 1, 0 < backoff < 1 and interval >= 1, all finite"
            )


class Scaling:
    """A loss scale at work.

    Args:
        rule: How it adapts.

    Attributes:
        scale: S of the next step.
        good: Steps without overflow since S changed.
        skipped: Steps skipped in a row.
    """

    def __init__(self, rule: LossScale) -> None:
        self.rule = rule
        self.scale, self.good, self.skipped = rule.initial, 0, 0

    def adapt(self, finite: bool, step: int) -> None:
        """Change S after a step, whose gradient was ``finite`` or else skipped.

        Raises:
            NonFiniteLossError: If no scale seems to help: 20 steps in a row were skipped, or S
                fell below 10⁻⁸.
        """
        if not finite:
            self.scale *= self.rule.backoff
            self.good, self.skipped = 0, self.skipped + 1
            self.refuse_collapse(step)
            return
        self.good, self.skipped = self.good + 1, 0
        if self.good == self.rule.interval:
            self.scale, self.good = self.scale * self.rule.growth, 0

    def refuse_collapse(self, step: int) -> None:
        """Stop a run whose gradients overflow at every scale."""
        if self.scale >= LEAST_SCALE and self.skipped < MOST_SKIPPED:
            return
        before = self.scale / self.rule.backoff
        bound = LEAST_SCALE if self.scale < LEAST_SCALE else before
        raise NonFiniteLossError(
            f"gradient scale fell below {bound:g} at step {step}: {self.skipped} steps in a "
            "row overflowed and were skipped, so a smaller scale does not help. Look for a "
            "gradient that is NaN in precision='full', or use precision='bfloat16'"
        )

    def state_dict(self) -> dict[str, float]:
        """What a run that goes on needs."""
        return {"scale": self.scale, "good": self.good, "skipped": self.skipped}

    def load_state_dict(self, state: Mapping[str, float]) -> None:
        """Go on from where :meth:`state_dict` was taken."""
        self.scale, self.good = float(state["scale"]), int(state["good"])
        self.skipped = int(state["skipped"])
