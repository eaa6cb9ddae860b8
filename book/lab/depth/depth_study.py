"""What depth does to a signal and to its gradient before any training.

The same random attention and feed-forward maps are stacked in several ways.
"""

from collections.abc import Sequence

import torch

from mathlm.errors import ConfigError

from .random_stacks import FIRST, STACKS, profile, random_maps

DEPTHS = (1, 2, 4, 8, 16, 32, 64, 96)


def depth_study(
    depths: Sequence[int] = DEPTHS,
    kinds: Sequence[str] = FIRST,
    *,
    d_model: int = 64,
    n_heads: int = 4,
    length: int = 16,
    batch: int = 4,
    gain: float = 1.0,
    qk_norm: bool = False,
    seed: int = 0,
) -> list[dict]:
    """Profiles of stacks of every depth and kind, from the same maps and the same inputs.

    Args:
        depths: Numbers of blocks, L.
        kinds: Some of "plain" (neither sum nor norm), "residual", "pre-norm", "post-norm",
            "attention-only" (no sum, no norm, no feed-forward network), "branch-norm" and
            "deep-norm".
        d_model: Width D.
        n_heads: Heads of each attention.
        length: Tokens of a sequence, T, drawn independently with variance 1.
        batch: Sequences.
        gain: Factor of what attention and the feed-forward network each give.
        qk_norm: Whether queries and keys are normalized.
        seed: Of maps, inputs and the gradient at the top.

    Returns:
        One :func:`profile` for each kind and depth.

    Raises:
        ConfigError: If a kind is not known, there are none, or a depth or size is below 1.
    """
    if not kinds or set(kinds) - {*STACKS, "deep-norm"}:
        raise ConfigError(f"kinds={list(kinds)} must be some of {', '.join(STACKS)}")
    if not depths or min(depths) < 1:
        raise ConfigError(f"depths={list(depths)} must be numbers of blocks, each at least 1")
    if min(length, batch, d_model) < 1:
        raise ConfigError(
            f"length={length}, batch={batch} and d_model={d_model} must be 1 or more"
        )
    maps = random_maps(max(depths), d_model, n_heads, seed, gain, qk_norm)
    draw = torch.Generator().manual_seed(seed)
    x, dy = torch.randn(2, batch, length, d_model, generator=draw, dtype=torch.float64)
    return [profile(kind, maps[:L], x, dy) for kind in kinds for L in depths]
