"""When the time of sending hides behind the time of computing."""

from mathlm.checks import require_counts, require_positive


def tokens_to_hide(
    flops_per_second: float | int,
    bytes_per_second: float | int,
    devices: int,
    *,
    bytes_per_number: int = 2,
) -> float:
    """Tokens on each device from which summing the gradients hides behind the backward pass.

    Implements eq-scale-hide::

        2 (n - 1) / n · b N / W  <=  4 N tokens / R

    The number of parameters N is on both sides and does not matter.

    Args:
        flops_per_second: R that the device reaches, not its peak [FLOP/s].
        bytes_per_second: W that it sends, and receives at the same time [bytes/s].
        devices: n that share the batch.
        bytes_per_number: b of a gradient as it is sent.

    Returns:
        Tokens of a step on each device.

    Raises:
        InputError: If a number is out of range.
    """
    require_positive(flops_per_second=flops_per_second, bytes_per_second=bytes_per_second)
    require_counts(1, devices=devices, bytes_per_number=bytes_per_number)
    sent = 2 * (devices - 1) / devices * bytes_per_number
    return sent * flops_per_second / (4 * bytes_per_second)


def tensor_parallel_overhead(
    flops_per_second: float | int,
    bytes_per_second: float | int,
    devices: int,
    width: int,
    *,
    bytes_per_number: int = 2,
) -> float:
    """Time of sending over time of computing, in a block whose matrices are cut.

    Implements eq-scale-tensor-share::

        4 · 2 (n - 1) / n · b D / W  :  72 D² / (n R)  =  (n - 1) b R / (9 D W)

    for each token: four sums of D numbers in a forward and a backward pass, and 72 D²
    operations on 12 D² weights, divided by n. The products of attention are left out.

    Args:
        flops_per_second: R that a device reaches [FLOP/s].
        bytes_per_second: W that it sends, and receives at the same time [bytes/s].
        devices: n that share each matrix.
        width: D of the model.
        bytes_per_number: b of an activation as it is sent.

    Returns:
        The ratio; 0 on one device.

    Raises:
        InputError: If a number is out of range.
    """
    require_positive(flops_per_second=flops_per_second, bytes_per_second=bytes_per_second)
    require_counts(1, devices=devices, width=width, bytes_per_number=bytes_per_number)
    rate = flops_per_second / bytes_per_second  # FLOP for each byte sent
    return (devices - 1) * bytes_per_number * rate / (9 * width)
