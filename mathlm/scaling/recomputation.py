"""Memory of a forward pass whose activations are partly thrown away."""

import math

from ..errors import InputError
from .count_checks import require_counts


def kept_with_segments(blocks: int, segments: int, stream: int, block: int) -> int:
    """Numbers in memory when segments of blocks are computed again in the backward pass.

    Implements eq-scale-segments::

        s · stream + ceil(L / s) · block

    The input of each segment is kept, and while backward goes through a segment, all that its
    blocks keep. One segment for each block is what is usual.

    Args:
        blocks: L.
        segments: s, from 1 to L.
        stream: Numbers in the input of a block.
        block: Numbers that a block keeps for its backward pass.

    Returns:
        Numbers at the peak.

    Raises:
        InputError: If a number is out of range.

    References:
        Chen et al. (2016), arXiv:1604.06174.
    """
    require_counts(1, blocks=blocks, segments=segments, stream=stream, block=block)
    if segments > blocks:
        raise InputError(f"segments={segments} must be at most blocks={blocks}")
    return segments * stream + math.ceil(blocks / segments) * block
