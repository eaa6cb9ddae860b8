"""Schedules that only fall."""

import math
from dataclasses import dataclass

from ..errors import ConfigError
from .schedules import check_peak, check_step


@dataclass(frozen=True)
class polynomial_decay:
    """Fall from ``peak`` to ``final`` as a power of the steps that are left.

    Computes::

        η(t) = final + (peak - final) (1 - min(t / steps, 1))^power

    Args:
        peak: Step size of step 0.
        steps: Length of the fall [steps].
        power: 1 is a straight line; a larger one falls steeply first.
        final: Step size from ``steps`` on.

    Raises:
        ConfigError: Unless 0 <= final <= peak, 0 < peak, 0 < power and 0 < steps.

    Example:
        >>> polynomial_decay(peak=1.0, steps=4, power=2.0)(2)
        0.25
    """

    peak: float
    steps: int
    power: float = 1.0
    final: float = 0.0

    def __post_init__(self) -> None:
        check_peak(self.peak, self.final)
        if not (self.steps > 0 and 0 < self.power < math.inf):
            raise ConfigError(
                f"need steps > 0 and power > 0, got steps={self.steps}, power={self.power}"
            )

    def __call__(self, step: int) -> float:
        """Step size η of ``step``, counted from 0."""
        check_step(step)
        left = 1 - min(step / self.steps, 1.0)
        return self.final + (self.peak - self.final) * left**self.power


@dataclass(frozen=True)
class linear_decay:
    """Fall from ``peak`` to ``final`` on a straight line.

    Computes::

        η(t) = final + (peak - final) (1 - min(t / steps, 1))

    Args:
        peak: Step size of step 0.
        steps: Length of the fall [steps].
        final: Step size from ``steps`` on.

    Raises:
        ConfigError: Unless 0 <= final <= peak, 0 < peak and 0 < steps.

    Example:
        >>> linear_decay(peak=1.0, steps=4)(1)
        0.75
    """

    peak: float
    steps: int
    final: float = 0.0

    def __post_init__(self) -> None:
        polynomial_decay(self.peak, self.steps, 1.0, self.final)

    def __call__(self, step: int) -> float:
        """Step size η of ``step``, counted from 0."""
        return polynomial_decay(self.peak, self.steps, 1.0, self.final)(step)


@dataclass(frozen=True)
class exponential_decay:
    """Fall by the same factor in every step.

    Computes::

        η(t) = peak factorᵗ

    Args:
        peak: Step size of step 0.
        factor: In (0, 1] [1/step].

    Raises:
        ConfigError: Unless 0 < peak and 0 < factor <= 1.

    Example:
        >>> exponential_decay(peak=1.0, factor=0.5)(3)
        0.125
    """

    peak: float
    factor: float

    def __post_init__(self) -> None:
        check_peak(self.peak)
        check_factor(self.factor)

    def __call__(self, step: int) -> float:
        """Step size η of ``step``, counted from 0."""
        check_step(step)
        return self.peak * self.factor**step


@dataclass(frozen=True)
class step_decay:
    """Fall by a factor at regular intervals, flat between them.

    Computes::

        η(t) = peak factor^⌊t / every⌋

    Args:
        peak: Step size of step 0.
        factor: In (0, 1].
        every: Steps between two falls.

    Raises:
        ConfigError: Unless 0 < peak, 0 < factor <= 1 and 0 < every.

    Example:
        >>> [step_decay(peak=1.0, factor=0.5, every=2)(t) for t in range(5)]
        [1.0, 1.0, 0.5, 0.5, 0.25]
    """

    peak: float
    factor: float
    every: int

    def __post_init__(self) -> None:
        check_peak(self.peak)
        check_factor(self.factor)
        if self.every < 1:
            raise ConfigError(f"every={self.every} must be positive")

    def __call__(self, step: int) -> float:
        """Step size η of ``step``, counted from 0."""
        check_step(step)
        return self.peak * self.factor ** (step // self.every)


def check_factor(factor: float) -> None:
    """Refuse factors that do not shrink."""
    if not 0 < factor <= 1:
        raise ConfigError(f"factor={factor} must lie in (0, 1]")
