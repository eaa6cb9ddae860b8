"""What a vocabulary costs: arithmetic for each byte of text, and bits for each byte."""

import math

from mathlm.errors import InputError


def flop_per_byte(
    n_blocks: int, vocab_size: int, d_model: int, bytes_per_token: float | int
) -> float:
    """Training cost of a byte of text.

    Implements eq-flop-per-byte::

        C = 6 (N_blocks + V d) / β

    The products of attention that have no weights are left out.

    Args:
        n_blocks: Weights N_blocks of the blocks.
        vocab_size: Tokens V of the vocabulary.
        d_model: Width d.
        bytes_per_token: Mean length β of a token [bytes].

    Returns:
        C [FLOP/byte].

    Raises:
        InputError: If an argument is not positive.
    """
    _require_positive(
        n_blocks=n_blocks,
        vocab_size=vocab_size,
        d_model=d_model,
        bytes_per_token=bytes_per_token,
    )
    weights = float(n_blocks) + float(vocab_size) * float(d_model)  # an int32 would overflow
    return _finite(6 * weights / float(bytes_per_token))


def token_loss_to_bits(loss: float | int, bytes_per_token: float | int) -> float:
    """Bits per byte of a model whose loss is known per token.

    Implements eq-loss-per-token::

        b = ℓ / (β log 2)

    Args:
        loss: Mean loss ℓ of a token [nats].
        bytes_per_token: Mean length β of a token on the same text [bytes].

    Returns:
        b [bits/byte].

    Raises:
        InputError: If β is not positive, or ℓ negative or not finite.

    Example:
        >>> token_loss_to_bits(4 * math.log(2), 2)
        2.0
    """
    _require_positive(bytes_per_token=bytes_per_token)
    if not 0 <= loss < math.inf:
        raise InputError(f"loss={loss} must be finite and at least 0")
    return _finite(loss / (bytes_per_token * math.log(2)))


def _finite(value: float) -> float:
    if value == math.inf:
        raise InputError("the result is larger than any number; give larger bytes_per_token")
    return value


def _require_positive(**values: float | int) -> None:
    for name, value in values.items():
        if not 0 < value < math.inf:
            raise InputError(f"{name}={value} must be positive and finite")


__all__ = ["flop_per_byte", "token_loss_to_bits"]
