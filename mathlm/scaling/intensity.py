"""Whether a model waits for its arithmetic or for its memory."""

from ..models import GPTConfig
from .count_checks import require_counts
from .counts import kv_cache_bytes
from .flop_counts import forward_flops
from .parameters import count_parameters


def arithmetic_intensity(
    config: GPTConfig,
    tokens: int,
    batch: int = 1,
    *,
    cached: int = 0,
    bytes_per_number: int = 2,
) -> float:
    """Operations for each byte that a forward pass moves.

    Implements eq-arch-intensity::

        forward_flops / (b · matrices + keys and values of B (C + T) tokens)

    All matrices, the head's included, are read once, whatever the batch; keys and values are
    read or written once. Of embedding tables only rows are read; they are left out, as is what
    lies between layers. Reading a prompt is ``tokens=T``; writing one token
    behind it is ``tokens=1, cached=T``. A device with a peak of P FLOP/s and a memory of W
    bytes/s waits for its memory below P / W.

    Args:
        config: Of the model.
        tokens: T that pass at once.
        batch: B, sequences.
        cached: C tokens whose keys and values are kept.
        bytes_per_number: b: 2 for float16 and bfloat16.

    Returns:
        Intensity [FLOP/byte].

    Raises:
        InputTypeError: If it is no such configuration.
        InputError: If a number is out of range.

    References:
        Williams, Waterman and Patterson (2009), Roofline, section 3.
    """
    require_counts(1, bytes_per_number=bytes_per_number)
    flops = forward_flops(config, tokens, batch, cached=cached)
    cache = kv_cache_bytes(config, cached + tokens, batch, bytes_per_number)
    parts = count_parameters(config, by_part=True)
    tables = parts["position"] + parts["token_embedding"] * (not config.tie_embeddings)
    return flops / ((sum(parts.values()) - tables) * bytes_per_number + cache)
