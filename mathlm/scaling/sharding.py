"""What one of several devices keeps when weights, gradients and optimizer are divided."""

from ..errors import InputError
from .count_checks import require_counts
from .parameters import Parts

DIVIDED = ("optimizer", "gradients", "weights")  # what stages 1, 2 and 3 divide


def sharded_memory(
    parameters: int,
    devices: int,
    stage: int = 3,
    *,
    weight_bytes: int = 2,
    gradient_bytes: int = 2,
    optimizer_bytes: int = 12,
) -> Parts:
    """Bytes of weights, gradients and optimizer on each device, by the stages of ZeRO.

    Implements eq-scale-zero::

        N (w / n₃ + g / n₂ + o / n₁),   nₛ = n from stage s on, else 1

    Stage 0 is data parallelism: every device keeps all. Shares that do not come out even are
    rounded up. Activations and gathered layers are not divided and not counted.

    Args:
        parameters: N.
        devices: n.
        stage: 0 divides nothing, 1 the optimizer, 2 gradients too, 3 weights too.
        weight_bytes: w for each parameter.
        gradient_bytes: g for each parameter.
        optimizer_bytes: o for each parameter: 12 for AdamW's two moments and the master copy
            in float32, 8 where weights are float32 themselves.

    Returns:
        Bytes of weights, gradients and optimizer.

    Raises:
        InputError: If a number is out of range.

    References:
        Rajbhandari et al. (2020), arXiv:1910.02054, figure 1.
    """
    require_counts(1, parameters=parameters, devices=devices)
    require_counts(
        0,
        weight_bytes=weight_bytes,
        gradient_bytes=gradient_bytes,
        optimizer_bytes=optimizer_bytes,
    )
    if stage not in (0, 1, 2, 3):
        raise InputError(f"stage={stage!r} is none of 0, 1, 2 and 3")
    sizes = {"weights": weight_bytes, "gradients": gradient_bytes, "optimizer": optimizer_bytes}
    share = {
        name: -(-parameters // devices) if name in DIVIDED[:stage] else parameters
        for name in sizes
    }
    return {name: share[name] * size for name, size in sizes.items()}
