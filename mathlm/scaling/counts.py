"""What a model costs, counted from its configuration."""

from ..errors import InputTypeError
from ..models import GPTConfig
from .count_checks import require_counts


def kv_cache_bytes(
    config: GPTConfig, tokens: int, batch: int = 1, bytes_per_number: int = 2
) -> int:
    """Memory of the keys and values that a model keeps while it writes.

    Implements eq-heads-cache::

        2 L B G S K b

    keys and values, for each of L layers, B rows, G key/value heads and S tokens K numbers of b
    bytes. Grouped heads divide it by H / G; it does not depend on the number of query heads.

    Args:
        config: Of the model: L, G and K.
        tokens: S that there is room for [tokens].
        batch: B, rows.
        bytes_per_number: b: 2 for float16 and bfloat16, 4 for float32.

    Returns:
        Size of the tensors of a :class:`mathlm.layers.KeyValueCache` [bytes].

    Raises:
        InputTypeError: If it is no such configuration.
        InputError: If a number is negative, or batch or bytes_per_number 0.
    """
    if not isinstance(config, GPTConfig):
        raise InputTypeError(f"config is a {type(config).__name__}, expected a GPTConfig")
    require_counts(0, tokens=tokens)
    require_counts(1, batch=batch, bytes_per_number=bytes_per_number)
    numbers = batch * config.kv_heads * tokens * config.head_width
    return 2 * config.n_layers * numbers * bytes_per_number
