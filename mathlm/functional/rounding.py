"""Numbers as a format of 32, 16 or 8 bits holds them, computed in a wider one."""

import math

import torch
from torch import Tensor

from ..errors import InputError, InputTypeError
from ..shapes import Float

FORMATS = (torch.float32, torch.bfloat16, torch.float16)
EIGHT = (torch.float8_e4m3fn, torch.float8_e5m2)
WIDE = (torch.float64, torch.float32)


def float_spacing(x: Float[Tensor, "*shape"], dtype: torch.dtype) -> Float[Tensor, "*shape"]:
    """Distance between the neighbors of a format around a number.

    Implements eq-scale-spacing::

        2^(max(e, e_min) - m)   with 2^e ≤ |x| < 2^(e+1)

    The format keeps m bits behind the binary point: 23 in float32, 10 in float16, 7 in
    bfloat16, 3 in float8_e4m3fn and 2 in float8_e5m2.
    Below 2^e_min its numbers are subnormal and equally spaced down to 0.

    Args:
        x: Numbers, in float32 or float64.
        dtype: float32, bfloat16, float16, float8_e4m3fn or float8_e5m2.

    Returns:
        The spacing, in float64.

    Raises:
        InputError: If ``dtype`` is another format, or ``x`` is NaN or infinite.
        InputTypeError: If ``x`` is narrower than float32.

    Example:
        >>> float_spacing(torch.tensor([1.0]), torch.bfloat16).item() == 1 / 128
        True
    """
    require_formats(x, dtype)
    if not x.isfinite().all():
        raise InputError("NaN and infinity have no neighbors: float_spacing needs finite x")
    return spacing(x.double(), dtype)


def round_to(x: Float[Tensor, "*shape"], dtype: torch.dtype) -> Float[Tensor, "*shape"]:
    """The nearest number of a format, ties to the even one, in the dtype of ``x``.

    Implements eq-scale-rounding::

        s round(x / s)   with s = float_spacing(x, dtype)

    What rounds to more than the largest number of the format becomes infinite, or NaN in
    float8_e4m3fn, which has no infinity (a conversion that does not saturate). What lies below
    half the smallest becomes 0. NaN and infinity stay. The rounding has no gradient.

    Args:
        x: Numbers, in float32 or float64.
        dtype: float32, bfloat16, float16, float8_e4m3fn or float8_e5m2.

    Returns:
        The rounded numbers.

    Raises:
        InputError: If ``dtype`` is another format.
        InputTypeError: If ``x`` is narrower than float32.

    Example:
        >>> round_to(torch.tensor([1.01]), torch.bfloat16)  # the next of 1 + n / 128
        tensor([1.0078])
    """
    require_formats(x, dtype)
    wide = x.detach().double()
    s = spacing(wide, dtype)
    return bounded(s * torch.round(wide / s), wide, dtype).to(x.dtype)


def round_stochastic(
    x: Float[Tensor, "*shape"], dtype: torch.dtype, generator: torch.Generator | None = None
) -> Float[Tensor, "*shape"]:
    """One of the two neighbors in a format, drawn so that the mean is the number itself.

    Implements eq-scale-stochastic::

        s ⌊x / s + u⌋,   u uniform on [0, 1),   E = x

    A sum of many small terms that rounding to the nearest would drop one by one is right in
    the mean. Beyond the largest number of the format the result is infinite; NaN and infinity
    stay.

    Args:
        x: Numbers, in float32 or float64.
        dtype: float32, bfloat16, float16, float8_e4m3fn or float8_e5m2.
        generator: Source of u; None takes torch's own.

    Returns:
        The rounded numbers, in the dtype of ``x``.

    Raises:
        InputError: If ``dtype`` is another format.
        InputTypeError: If ``x`` is narrower than float32.

    Example:
        >>> x = torch.full((1000,), 1.5 + 2**-9)  # bfloat16 has 1.5 and 1.5 + 2⁻⁷
        >>> round_stochastic(x, torch.bfloat16).unique().tolist()
        [1.5, 1.5078125]
    """
    require_formats(x, dtype)
    wide = x.detach().double()
    s = spacing(wide, dtype)
    u = torch.rand(x.shape, generator=generator, dtype=torch.float64, device=x.device)
    return bounded(s * torch.floor(wide / s + u), wide, dtype).to(x.dtype)


def round_scaled(
    x: Float[Tensor, "*shape"], dtype: torch.dtype, block: int | None = None
) -> Float[Tensor, "*shape"]:
    """Numbers rounded to a narrow format after a scale has brought them into its range.

    Implements eq-low-block::

        s fl(x / s),   s = 2^k the least with max|x| ≤ s · largest   for each block

    A power of two changes exponents only, so what stays in the normal range is rounded as it
    would be without a scale. Nothing overflows.

    Args:
        x: Numbers, finite, in float32 or float64.
        dtype: As of :func:`round_to`.
        block: Numbers of the last axis that share a scale; it must divide that axis. None
            gives the whole tensor one scale.

    Returns:
        The rounded numbers, in the dtype of ``x``.

    Raises:
        InputError: If ``dtype`` is another format, ``x`` is not finite, or blocks do not fit.
        InputTypeError: If ``x`` is narrower than float32.

    Example:
        >>> x = torch.tensor([1000.0, 1.0])  # float8_e4m3fn ends at 448
        >>> round_scaled(x, torch.float8_e4m3fn).tolist()  # s = 4: 250 becomes 256
        [1024.0, 1.0]
    """
    require_formats(x, dtype)
    if not x.isfinite().all():
        raise InputError("NaN and infinity have no scale: round_scaled needs finite x")
    if block is not None and (block < 1 or x.ndim == 0 or x.shape[-1] % block):
        raise InputError(f"blocks of {block} do not divide the last axis of {tuple(x.shape)}")
    parts = x.detach().double().reshape(1, -1) if block is None else x.detach().double()
    parts = parts if block is None else parts.unflatten(-1, (-1, block))
    most = parts.abs().amax(-1, keepdim=True) / torch.finfo(dtype).max
    s = torch.exp2(torch.where(most > 0, most, 1.0).log2().ceil())
    return (s * round_to(parts / s, dtype)).reshape(x.shape).to(x.dtype)


def spacing(x: Tensor, dtype: torch.dtype) -> Tensor:
    """:func:`float_spacing` of float64 numbers; of 0 where they are not finite."""
    format_ = torch.finfo(dtype)
    lowest = round(math.log2(format_.smallest_normal))  # e_min
    m = round(-math.log2(format_.eps))
    e = torch.frexp(torch.where(x.isfinite(), x, 0.0)).exponent - 1
    e = torch.where(x == 0, lowest, e).clamp_min(lowest)
    return torch.ldexp(torch.ones_like(x), e - m)


def bounded(y: Tensor, x: Tensor, dtype: torch.dtype) -> Tensor:
    """``y``, infinite beyond the format's largest number; ``x`` where that is not finite.

    A format without infinity has NaN in both places.
    """
    beyond = torch.copysign(torch.full_like(x, math.inf), x)
    kept = x
    if dtype == torch.float8_e4m3fn:
        beyond = torch.full_like(x, math.nan)
        kept = beyond
    y = torch.where(y.abs() > torch.finfo(dtype).max, beyond, torch.copysign(y, x))
    return torch.where(x.isfinite(), y, kept)


def require_formats(x: Tensor, dtype: torch.dtype) -> None:
    """Refuse another format, and numbers that are narrower than the widest of the formats."""
    if dtype not in FORMATS + EIGHT:
        names = ", ".join(map(str, FORMATS + EIGHT))
        raise InputError(f"dtype={dtype} is not one of {names}")
    if x.dtype not in WIDE:
        raise InputTypeError(f"x must be float32 or float64 to be rounded, got {x.dtype}")


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

    Example:
        >>> logits = torch.tensor([0.0, 1.5])  # bfloat16 has both
        >>> float(rounding_divergence(logits, torch.bfloat16))
        0.0
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

    Example:
        >>> divergence = expected_rounding_divergence(torch.tensor([1.5, 1.5]), torch.bfloat16)
        >>> round(float(divergence) * 48 * 2**14, 6)  # δ² / 48 with δ = 2⁻⁷
        1.0
    """
    p = logits.double().softmax(-1)
    return (p * (1 - p) * float_spacing(logits, dtype).square()).sum(-1) / 24
