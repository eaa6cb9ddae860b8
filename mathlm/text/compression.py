"""Code lengths: what a text costs, by a model or by a compressor, in one unit."""

import math
from collections.abc import Callable

from ..errors import InputError


def bits_per_byte(nats: float, n_bytes: int) -> float:
    """Average code length of a text.

    Implements eq-bits-per-byte::

        b = -Σ log p / (n log 2)

    It does not depend on how the text was cut into tokens, as the loss per token does.

    Args:
        nats: -Σ log p, summed over the whole text [nats].
        n_bytes: Length n of the text in UTF-8 [bytes].

    Returns:
        b [bits/byte].

    Raises:
        InputError: If ``n_bytes`` is not positive.

    Example:
        >>> bits_per_byte(3 * math.log(256), 3)
        8.0
    """
    if n_bytes < 1:
        raise InputError(f"n_bytes={n_bytes} must be positive: an empty text has no average")
    return float(nats) / math.log(2) / n_bytes


def conditional_bits_per_byte(
    compress: Callable[[bytes], bytes], training: bytes, held_out: bytes
) -> float:
    """What a compressor that has read ``training`` pays for ``held_out``.

    Implements eq-conditional-code::

        b = 8 (|C(xy)| - |C(x)|) / |y|

    Args:
        compress: C, such as ``lzma.compress``.
        training: x.
        held_out: y.

    Returns:
        b [bits/byte].

    Raises:
        InputError: If ``held_out`` is empty.

    References:
        Cilibrasi and Vitanyi (2005), arXiv:cs/0312044, section III.
    """
    if not held_out:
        raise InputError("held_out is empty: an empty text has no average")
    extra = len(compress(training + held_out)) - len(compress(training))
    return 8 * extra / len(held_out)
