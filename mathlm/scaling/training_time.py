"""How long a training takes."""

from ..errors import InputError
from .count_checks import require_counts, require_positive


def training_days(
    flops: float | int,
    flops_per_second: float | int,
    utilization: float | int = 0.4,
    devices: int = 1,
) -> float:
    """Time that so many operations take on some devices.

    Implements eq-arch-days::

        flops / (devices · utilization · flops_per_second) / 86400

    Args:
        flops: Of the whole training, as :func:`mathlm.scaling.six_nd` gives them [FLOP].
        flops_per_second: Of one device, at best [FLOP/s].
        utilization: Share of that which is reached, at most 1; 0.3 to 0.5 is usual.
        devices: How many.

    Returns:
        Time [days].

    Raises:
        InputError: If a number is not positive, or the utilization is above 1.
    """
    require_positive(flops=flops, flops_per_second=flops_per_second, utilization=utilization)
    require_counts(1, devices=devices)
    if utilization > 1:
        raise InputError(f"utilization={utilization} is a share: at most 1")
    return flops / (devices * utilization * flops_per_second) / 86_400
