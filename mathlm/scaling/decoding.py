"""Cost of decoding: what a step reads from memory, and the tokens a second that it allows."""

from ..checks import require_counts, require_positive
from ..errors import InputTypeError
from ..models import GPTConfig
from .parameters import count_parameters, window_cache_bytes


def decode_bytes(
    config: GPTConfig,
    cached: int,
    batch: int = 1,
    *,
    weight_bytes: float | int = 2,
    bytes_per_number: int = 2,
) -> float:
    """Bytes that one step of decoding reads: all matrices once, and every row's KV cache.

    Implements eq-fast-bytes, with S = cached + 1 tokens, or the window where that is less::

        b_w M + 2 L B G S K b

    M counts the matrices, the head's included, and the small vectors between them; of tables
    that are only looked up, one row is read, which is left out.

    Args:
        config: Of the model.
        cached: Tokens in front of the new one.
        batch: B, rows that are written together.
        weight_bytes: b_w, of one weight: 4 for float32, 0.5 for 4 bits.
        bytes_per_number: b, of one number in the cache.

    Returns:
        Bytes for one token in each of B rows.

    Raises:
        InputTypeError: If it is no such configuration.
        InputError: If a number is out of range.

    Example:
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=2, n_heads=2)
        >>> config = GPTConfig(**sizes)
        >>> decode_bytes(config, cached=1) - decode_bytes(config, cached=0)  # 2 · 2 · 16 · 2
        128.0
    """
    if not isinstance(config, GPTConfig):
        raise InputTypeError(f"config is a {type(config).__name__}, expected a GPTConfig")
    require_counts(0, cached=cached)
    require_positive(weight_bytes=weight_bytes)
    parts = count_parameters(config, by_part=True)
    tables = parts["position"] + parts["token_embedding"] * (not config.tie_embeddings)
    cache = window_cache_bytes(config, cached + 1, batch, bytes_per_number)
    return float((sum(parts.values()) - tables) * weight_bytes + cache)


def decode_limit(
    config: GPTConfig,
    bandwidth: float | int,
    cached: int,
    batch: int = 1,
    *,
    weight_bytes: float | int = 2,
    bytes_per_number: int = 2,
) -> float:
    """Speed of decoding: tokens a second that a memory allows at most, over all rows.

    Implements eq-fast-limit::

        B W / (b_w M + 2 L B G S K b)

    The arithmetic may need longer: see :func:`arithmetic_intensity`.

    Args:
        config: Of the model.
        bandwidth: W, of the memory [bytes/s].
        cached: Tokens in front of the new one.
        batch: B, rows that are written together.
        weight_bytes: b_w, of one weight.
        bytes_per_number: b, of one number in the cache.

    Returns:
        Rate [tokens/s].

    Raises:
        InputTypeError: If it is no such configuration.
        InputError: If a number is out of range.

    Example:
        >>> from mathlm.models import PRESETS
        >>> bytes_a_step = decode_bytes(PRESETS["gpt2"], cached=0)
        >>> round(decode_limit(PRESETS["gpt2"], bandwidth=bytes_a_step, cached=0), 6)
        1.0
    """
    require_positive(bandwidth=bandwidth)
    moved = decode_bytes(
        config, cached, batch, weight_bytes=weight_bytes, bytes_per_number=bytes_per_number
    )
    return float(batch * bandwidth / moved)
