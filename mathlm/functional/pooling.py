"""From one vector for each token to one for each sequence, and to length 1."""

import torch
from torch import Tensor

from ..errors import InputError, InputTypeError
from ..shapes import Bool, Float


def mean_pool(
    hidden: Float[Tensor, "B T D"], mask: Tensor | None = None
) -> Float[Tensor, "B D"]:
    """Average of the vectors of the tokens that count.

    Implements eq-mean-pool::

        y_b = Σ_t m_bt h_bt / Σ_t m_bt

    What stands at a token that does not count does not matter, NaN included. Half-precision
    vectors are added up in float32.

    Args:
        hidden: One vector for each token.
        mask: bool (B, T), True where a token counts; None = all do.

    Returns:
        One vector for each sequence.

    Raises:
        InputError: If the shapes do not fit, or a sequence has no token that counts.
        InputTypeError: If the mask is not boolean.

    Example:
        >>> hidden, mask = torch.tensor([[[1.0], [9.0]]]), torch.tensor([[True, False]])
        >>> mean_pool(hidden, mask)
        tensor([[1.]])
    """
    mask = _counted(hidden, mask)
    wide = torch.promote_types(hidden.dtype, torch.float32)
    total = hidden.masked_fill(~mask.unsqueeze(-1), 0.0).sum(1, dtype=wide)  # (B, D)
    return (total / mask.sum(1, keepdim=True)).to(hidden.dtype)


def first_pool(
    hidden: Float[Tensor, "B T D"], mask: Tensor | None = None
) -> Float[Tensor, "B D"]:
    """Vector of the first token that counts, which in BERT is ``[CLS]``.

    Args:
        hidden: One vector for each token.
        mask: bool (B, T), True where a token counts; None = all do.

    Returns:
        One vector for each sequence.

    Raises:
        InputError: If the shapes do not fit, or a sequence has no token that counts.
        InputTypeError: If the mask is not boolean.

    Example:
        >>> first_pool(torch.tensor([[[1.0], [3.0]]]))
        tensor([[1.]])
    """
    first = _counted(hidden, mask).int().argmax(1)  # the first of equal ones
    return hidden[torch.arange(len(hidden), device=hidden.device), first]


def l2_normalize(x: Float[Tensor, "*batch D"]) -> Float[Tensor, "*batch D"]:
    """Vectors of the same direction and length 1, whose dot product is their cosine.

    Computes::

        y = x / ‖x‖₂

    Each vector is divided by its largest entry first, so that no square overflows or vanishes.

    Args:
        x: Vectors along the last axis.

    Raises:
        InputError: If a vector is zero, which has no direction, or empty, or not finite.

    Example:
        >>> l2_normalize(torch.tensor([3.0, 4.0]))
        tensor([0.6000, 0.8000])
    """
    if x.ndim == 0 or x.shape[-1] == 0:
        raise InputError(f"x has shape {tuple(x.shape)}: there are no entries to normalize")
    largest = x.detach().abs().amax(-1, keepdim=True)
    if not torch.compiler.is_compiling():
        _require_direction(largest.squeeze(-1))
    y = x / largest
    return y / torch.linalg.vector_norm(y, dim=-1, keepdim=True)


def _counted(hidden: Tensor, mask: Tensor | None) -> Bool[Tensor, "B T"]:
    """The mask, if it fits and leaves something in each row."""
    if not isinstance(hidden, Tensor) or not hidden.is_floating_point():
        found = getattr(hidden, "dtype", type(hidden).__name__)
        raise InputTypeError(f"hidden must be a tensor of floating-point numbers, got {found}")
    if hidden.ndim != 3:
        raise InputError(f"hidden has shape {tuple(hidden.shape)}, expected (B, T, D)")
    if mask is None:
        mask = torch.ones(hidden.shape[:2], dtype=torch.bool, device=hidden.device)
    require_mask(mask, "counts")
    if mask.shape != hidden.shape[:2]:
        raise InputError(
            f"mask {tuple(mask.shape)} must be {tuple(hidden.shape[:2])}: one entry for each "
            f"vector of hidden {tuple(hidden.shape)}"
        )
    require_counted(mask)
    return mask


def require_mask(mask: Tensor, meaning: str) -> None:
    """Refuse what is no tensor of booleans."""
    if not isinstance(mask, Tensor):
        kind = type(mask).__name__
        raise InputTypeError(f"mask must be a bool tensor, True = {meaning}, got {kind}")
    if mask.dtype != torch.bool:
        found = str(mask.dtype).removeprefix("torch.")
        raise InputTypeError(f"mask must be bool, True = {meaning}, got {found}")


def require_counted(mask: Bool[Tensor, "B T"]) -> None:
    """Refuse a mask in which a sequence has no token that counts."""
    empty = ~mask.any(1)
    if not torch.compiler.is_compiling() and empty.any():
        raise InputError(
            f"sequence {int(empty.int().argmax())} has no token that counts: nothing to pool"
        )


def _require_direction(largest: Tensor) -> None:
    bad = ~((largest > 0) & largest.isfinite())
    if bad.any():
        where = bad.nonzero()[0].tolist()
        value = float(largest[tuple(where)])
        raise InputError(
            f"vector at {where} has no direction: its largest entry is {value}; drop it, or "
            "look for what made it so"
        )
