"""Learning-rate schedules: functions from the step number to the step size.

A schedule is a frozen dataclass that is called with a step. Its ``repr`` is the call that makes
it, so a run can record it and compare it when it is resumed.
"""

import math
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
        if not (0 <= self.final <= self.peak < math.inf and self.peak > 0):
            raise ConfigError(
                f"need 0 <= final <= peak and 0 < peak, got final={self.final}, "
                f"peak={self.peak}"
            )

    def __call__(self, step: int) -> float:
        """Step size η of ``step``, counted from 0."""
        check_step(step)
        if step < self.warmup:
            return self.peak * (step + 1) / (self.warmup + 1)
        s = min((step - self.warmup) / (self.steps - self.warmup), 1.0)
        return self.final + (self.peak - self.final) * (1 + math.cos(math.pi * s)) / 2


@dataclass(frozen=True)
class noam:
    """Linear rise, then decay with the inverse square root of the step.

    Computes::

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


def check_step(step: int) -> None:
    """Refuse steps before the first."""
    if step < 0:
        raise ConfigError(f"steps count from 0, got step={step}")
