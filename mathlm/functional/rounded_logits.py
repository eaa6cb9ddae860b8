"""What is lost when logits are kept in 16 bits, far from zero."""

import torch
from torch import Tensor

from ..errors import InputError
from ..shapes import Float
from .rounding import float_spacing, round_to


def rounding_divergence(
    logits: Float[Tensor, "*batch V"], dtype: torch.dtype
) -> Float[Tensor, "*batch"]:
    """Divergence from what the logits say to what they say after rounding.

    Computes::

        KL(softmax(z) ‖ softmax(round(z)))

    Args:
        logits: z, in float32 or float64.
        dtype: Format that the logits are rounded to: float16 or bfloat16.

    Returns:
        Divergence [nats].

    Raises:
        InputError: If ``dtype`` is another format, or a logit is not finite, before or after
            rounding.
        InputTypeError: If the logits are narrower than float32.
    """
    kept = round_to(logits.double(), dtype)
    if not bool(kept.isfinite().all()):
        raise InputError(
            f"a logit is not finite in {dtype}: the largest is {float(logits.abs().max()):g}, "
            f"and the format ends at {torch.finfo(dtype).max:g}"
        )
    logp, logq = logits.double().log_softmax(-1), kept.log_softmax(-1)
    return (logp.exp() * (logp - logq)).sum(-1)


def expected_rounding_divergence(
    logits: Float[Tensor, "*batch V"], dtype: torch.dtype
) -> Float[Tensor, "*batch"]:
    """The same, predicted from the spacing of the format.

    Implements eq-rounded-logits::

        E KL ≈ ½ E Var_p(e) = 1/24 Σ_v p_v (1 - p_v) δ_v²,   e_v uniform on ±δ_v / 2

    δ_v is the distance of z_v's neighbors in the format. To second order in δ, for errors that
    are independent.

    Args:
        logits: z, finite, in float32 or float64.
        dtype: float16 or bfloat16.

    Returns:
        Expected divergence [nats].

    Raises:
        InputError, InputTypeError: As :func:`float_spacing`.
    """
    p = logits.double().softmax(-1)
    return (p * (1 - p) * float_spacing(logits, dtype).square()).sum(-1) / 24
