"""Learning-rate schedules: functions from the step number to the step size.

A schedule is a frozen dataclass that is called with a step. Its ``repr`` is the call that makes
it, so a run can record it and compare it when it is resumed.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from ..errors import ConfigError


@dataclass(frozen=True)
class warmup_cosine:
    """Linear rise to ``peak``, then half a cosine down to ``final``.

    Implements eq-warmup-cosine::

        η(t) = peak (t + 1) / (warmup + 1)                               t < warmup
        η(t) = final + (peak - final) (1 + cos πs) / 2                   t >= warmup
        s    = min((t - warmup) / (steps - warmup), 1)

    So η(warmup) = peak and η(t) = final from ``steps`` on.

    Args:
        peak: Largest step size.
        warmup: Length of the rise [steps].
        steps: Length of the whole run [steps].
        final: Step size from ``steps`` on.

    Raises:
        ConfigError: Unless 0 <= warmup < steps and 0 <= final <= peak, peak > 0.

    Example:
        >>> warmup_cosine(peak=1.0, warmup=4, steps=12)(8)
        0.5

    References:
        Loshchilov and Hutter (2017), arXiv:1608.03983, eq. (5).
    """

    peak: float
    warmup: int
    steps: int
    final: float = 0.0

    def __post_init__(self) -> None:
        if not 0 <= self.warmup < self.steps:
            raise ConfigError(
                f"need 0 <= warmup < steps, got warmup={self.warmup}, steps={self.steps}"
            )
        check_peak(self.peak, self.final)

    def __call__(self, step: int) -> float:
        """Step size η of ``step``, counted from 0."""
        check_step(step)
        if step < self.warmup:
            return self.peak * (step + 1) / (self.warmup + 1)
        s = min((step - self.warmup) / (self.steps - self.warmup), 1.0)
        return self.final + (self.peak - self.final) * (1 + math.cos(math.pi * s)) / 2


@dataclass(frozen=True)
class warmup_stable_decay:
    """Linear rise to ``peak``, a constant step size, and a linear fall at the end.

    Implements eq-wsd::

        η(t) = peak (t + 1) / (warmup + 1)                               t < warmup
        η(t) = peak                                                      t < steps - decay
        η(t) = final + (peak - final) max(steps - t, 0) / decay          after that

    Until ``steps - decay`` nothing depends on ``steps``: a run can be prolonged, and one
    checkpoint of its constant part can be decayed into several models.

    Args:
        peak: Largest step size.
        warmup: Length of the rise [steps].
        steps: Length of the whole run [steps].
        decay: Length of the fall [steps].
        final: Step size from ``steps`` on.

    Raises:
        ConfigError: Unless 0 <= warmup, 1 <= decay, warmup + decay <= steps, 0 <= final <= peak
            and 0 < peak.

    Example:
        >>> [warmup_stable_decay(1.0, warmup=1, steps=6, decay=2)(t) for t in range(7)]
        [0.5, 1.0, 1.0, 1.0, 1.0, 0.5, 0.0]

    References:
        Hu et al. (2024), arXiv:2404.06395, section 4; Hägele et al. (2024), arXiv:2405.18392.
    """

    peak: float
    warmup: int
    steps: int
    decay: int
    final: float = 0.0

    def __post_init__(self) -> None:
        if not (
            self.warmup >= 0 and self.decay >= 1 and self.warmup + self.decay <= self.steps
        ):
            raise ConfigError(
                f"need warmup >= 0, decay >= 1 and warmup + decay <= steps, got "
                f"warmup={self.warmup}, decay={self.decay}, steps={self.steps}"
            )
        check_peak(self.peak, self.final)

    def __call__(self, step: int) -> float:
        """Step size η of ``step``, counted from 0."""
        check_step(step)
        if step < self.warmup:
            return self.peak * (step + 1) / (self.warmup + 1)
        left = min(max(self.steps - step, 0) / self.decay, 1.0)
        return self.final + (self.peak - self.final) * left


@dataclass(frozen=True)
class noam:
    """Linear rise, then decay with the inverse square root of the step.

    Implements eq-noam::

        η(t) = d_model^(-1/2) min((t + 1)^(-1/2), (t + 1) warmup^(-3/2))

    The paper counts steps from 1, ``step`` counts from 0. The largest step size,
    (d_model warmup)^(-1/2), is reached at ``step = warmup - 1``.

    Args:
        d_model: Width of the model.
        warmup: Length of the rise [steps].

    Raises:
        ConfigError: Unless both are positive.

    Example:
        >>> noam(d_model=4, warmup=4)(3)
        0.25

    References:
        Vaswani et al. (2017), arXiv:1706.03762, eq. (3).
    """

    d_model: int
    warmup: int

    def __post_init__(self) -> None:
        if self.d_model < 1 or self.warmup < 1:
            raise ConfigError(
                f"need d_model >= 1 and warmup >= 1, got {self.d_model} and {self.warmup}"
            )

    def __call__(self, step: int) -> float:
        """Step size η of ``step``, counted from 0."""
        check_step(step)
        t = step + 1
        return self.d_model**-0.5 * min(t**-0.5, t * self.warmup**-1.5)


@dataclass(frozen=True)
class constant:
    """The same step size at every step.

    Computes::

        η(t) = peak

    Raises:
        ConfigError: Unless ``peak`` is positive.

    Example:
        >>> constant(0.1)(1000)
        0.1
    """

    peak: float

    def __post_init__(self) -> None:
        check_peak(self.peak)

    def __call__(self, step: int) -> float:
        """Step size η of ``step``, counted from 0."""
        check_step(step)
        return self.peak


@dataclass(frozen=True)
class warmup:
    """Linear rise to the first step size of another schedule, then that schedule.

    Computes::

        η(t) = then(0) (t + 1) / (steps + 1)      t < steps
        η(t) = then(t - steps)                    t >= steps

    Args:
        steps: Length of the rise [steps].
        then: The schedule that follows.

    Raises:
        ConfigError: If ``steps`` is negative.

    Example:
        >>> [warmup(3, constant(1.0))(t) for t in range(5)]
        [0.25, 0.5, 0.75, 1.0, 1.0]
    """

    steps: int
    then: Callable[[int], float]

    def __post_init__(self) -> None:
        if self.steps < 0:
            raise ConfigError(f"steps={self.steps} must not be negative")

    def __call__(self, step: int) -> float:
        """Step size η of ``step``, counted from 0."""
        check_step(step)
        if step < self.steps:
            return self.then(0) * (step + 1) / (self.steps + 1)
        return self.then(step - self.steps)


@dataclass(frozen=True)
class followed_by:
    """One schedule up to a step, and another from there on, as for steps added to a run.

    Computes::

        η(t) = first(t)            t < start
        η(t) = then(t - start)     t >= start

    Args:
        first: The schedule at the beginning.
        start: Where the other takes over [steps].
        then: The schedule that follows; it counts from 0.

    Raises:
        ConfigError: If ``start`` is negative.

    Example:
        >>> [followed_by(constant(1.0), 2, constant(0.5))(t) for t in range(4)]
        [1.0, 1.0, 0.5, 0.5]
    """

    first: Callable[[int], float]
    start: int
    then: Callable[[int], float]

    def __post_init__(self) -> None:
        if self.start < 0:
            raise ConfigError(f"start={self.start} must not be negative")

    def __call__(self, step: int) -> float:
        """Step size η of ``step``, counted from 0."""
        check_step(step)
        return self.first(step) if step < self.start else self.then(step - self.start)


@dataclass(frozen=True)
class cosine_restarts:
    """Half a cosine down from ``peak``, again and again, each longer than the last.

    Computes::

        η(t) = final + (peak - final) (1 + cos(π s / Tᵢ)) / 2,   Tᵢ = first growthⁱ

    with s the steps since the i-th restart. At a restart η is ``peak`` again; ``final`` is
    approached and not reached.

    Args:
        peak: Step size after each restart.
        first: Length of the first fall, T₀ [steps].
        growth: How many times as long each fall is as the one before; 1 keeps the length.
        final: What each fall approaches.

    Raises:
        ConfigError: Unless 0 <= final <= peak, 0 < peak, first >= 1 and growth >= 1.

    Example:
        >>> eta = cosine_restarts(peak=1.0, first=2, growth=2)
        >>> [round(eta(t), 2) for t in range(7)]
        [1.0, 0.5, 1.0, 0.85, 0.5, 0.15, 1.0]

    References:
        Loshchilov and Hutter (2017), arXiv:1608.03983, eq. (5).
    """

    peak: float
    first: int
    growth: int = 1
    final: float = 0.0

    def __post_init__(self) -> None:
        check_peak(self.peak, self.final)
        if self.first < 1 or self.growth < 1:
            raise ConfigError(
                f"need first >= 1 and growth >= 1, got {self.first} and {self.growth}"
            )

    def __call__(self, step: int) -> float:
        """Step size η of ``step``, counted from 0."""
        check_step(step)
        s, length = step, self.first
        if self.growth == 1:
            s %= length
        while s >= length:
            s, length = s - length, length * self.growth
        return self.final + (self.peak - self.final) * (1 + math.cos(math.pi * s / length)) / 2


def check_peak(peak: float, final: float = 0.0) -> None:
    """Refuse step sizes outside their range, and a rise where a fall is meant."""
    if not (0 <= final <= peak < math.inf and peak > 0):
        raise ConfigError(
            f"need 0 <= final <= peak and 0 < peak, got final={final}, peak={peak}"
        )


def check_step(step: int) -> None:
    """Refuse steps before the first."""
    if step < 0:
        raise ConfigError(f"steps count from 0, got step={step}")
