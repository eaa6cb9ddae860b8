"""The step size as a function of the step."""

from numbers import Integral

from ...errors import ConfigError


def noam_rate(step: int, d_model: int, warmup: int) -> float:
    """Linear rise, then decay with the inverse square root of the step.

    Implements eq-noam::

        η(t) = d_model^(-1/2) min((t + 1)^(-1/2), (t + 1) warmup^(-3/2))

    The paper counts steps from 1, ``step`` counts from 0, as in :class:`mathlm.optim.noam`. The
    largest step size, (d_model warmup)^(-1/2), is reached at ``step = warmup - 1``.

    Args:
        step: t >= 0 [steps].
        d_model: Width of the model, D.
        warmup: Length of the rise [steps].

    Returns:
        η, the step size of this step.

    Raises:
        ConfigError: If the step is negative, or another number is less than 1.

    Example:
        >>> noam_rate(3, d_model=4, warmup=4)
        0.25

    References:
        Vaswani et al. (2017), arXiv:1706.03762, eq. (3).
    """
    for name, value, least in (
        ("step", step, 0),
        ("d_model", d_model, 1),
        ("warmup", warmup, 1),
    ):
        if not isinstance(value, Integral) or value < least:
            raise ConfigError(f"{name}={value} must be a whole number of at least {least}")
    t = int(step) + 1
    return float(d_model**-0.5 * min(t**-0.5, t * warmup**-1.5))


__all__ = ["noam_rate"]
