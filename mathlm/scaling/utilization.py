"""Which share of a device's arithmetic a training uses."""

from ..errors import InputError
from .count_checks import require_positive


def flop_utilization(
    flops: float | int, seconds: float | int, flops_per_second: float | int
) -> float:
    """Operations that the model needs over those that the devices could have done.

    Implements eq-scale-utilization::

        flops / (seconds · flops_per_second)

    What is computed twice, as when activations are thrown away, counts once: the operations are
    the model's, not the run's.

    Args:
        flops: That the model needs, as :func:`mathlm.scaling.flops_per_token` counts them
            [FLOP].
        seconds: That they took.
        flops_per_second: Of all devices together, at best [FLOP/s].

    Returns:
        The share, at most 1.

    Raises:
        InputError: If a number is not positive, or the share is above 1.

    References:
        Chowdhery et al. (2022), PaLM, arXiv:2204.02311, section 4.1.
    """
    require_positive(flops=flops, seconds=seconds, flops_per_second=flops_per_second)
    share = flops / (seconds * flops_per_second)
    if share > 1:
        raise InputError(
            f"{flops:.3g} FLOP in {seconds:.3g} s are {share:.3g} times the peak of "
            f"{flops_per_second:.3g} FLOP/s: one of the three numbers is wrong"
        )
    return share
