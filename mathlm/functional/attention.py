"""Scaled dot-product attention, its masks, and the same through a fused kernel."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from ..errors import InputError, InputTypeError
from ..shapes import Bool, Float


def causal_mask(
    T: int, S: int, window: int | None = None, device: torch.device | None = None
) -> Bool[Tensor, "{T} {S}"]:
    """Mask that lets each query see the keys up to its own position; True = may attend.

    Computes::

        mask[t, s] = s - (S - T) ≤ t,   and with a window also  t - window < s - (S - T)

    The last query is aligned with the last key, as a cache needs: ``causal_mask(1, S)`` is all
    True. With more queries than keys the first queries see nothing.

    Args:
        T: Queries.
        S: Keys.
        window: Keys that a query may see, itself included; None = all earlier ones.
        device: Where to put the mask.

    Raises:
        InputError: If ``window`` is less than 1.

    Example:
        >>> causal_mask(2, 3)  # the last query sees the last key
        tensor([[ True,  True, False],
                [ True,  True,  True]])
    """
    if window is not None and window < 1:
        raise InputError(f"window={window} must be at least 1: a query sees itself")
    mask = torch.ones(T, S, dtype=torch.bool, device=device).tril(S - T)
    return mask if window is None else mask.triu(S - T - window + 1)


def attention_weights(
    q: Float[Tensor, "*batch T K"],
    k: Float[Tensor, "*batch S K"],
    mask: Bool[Tensor, "..."] | None = None,
    bias: Float[Tensor, "..."] | None = None,
    *,
    scale: float | int | None = None,
) -> Float[Tensor, "*batch T S"]:
    """Share of its attention that each query gives to each key.

    Computes::

        A = softmax(Q Kᵀ / √d_k + bias)   over the keys that the mask shows

    Args:
        q: Queries.
        k: Keys.
        mask: True where a query may attend; broadcasts to ``(*batch, T, S)``.
        bias: Added to the scaled scores; broadcasts likewise.
        scale: Factor of the scores in place of 1/√d_k.

    Returns:
        Weights; each row sums to 1, or is exactly 0 for a query that sees nothing.

    Example:
        >>> attention_weights(torch.zeros(1, 2), torch.eye(2))
        tensor([[0.5000, 0.5000]])
    """
    if q.dtype == torch.float16:  # q kᵀ itself may exceed 65504, its largest number
        q, scale = (q / math.sqrt(q.shape[-1]) if scale is None else scale * q), 1
    scores = q @ k.mT  # (*batch, T, S)
    scores = scores / math.sqrt(q.shape[-1]) if scale is None else scale * scores
    if bias is not None:
        scores = scores + bias
    if mask is None:
        return scores.softmax(-1)
    lowest = torch.finfo(scores.dtype).min  # not -inf: a row of -inf has no softmax
    return scores.masked_fill(~mask, lowest).softmax(-1) * mask


def dot_product_attention(
    q: Float[Tensor, "*batch T K"],
    k: Float[Tensor, "*batch S K"],
    v: Float[Tensor, "*batch S V"],
    mask: Tensor | None = None,
    bias: Float[Tensor, "..."] | None = None,
) -> Float[Tensor, "*batch T V"]:
    """Average of the values, weighted by how well each key matches the query.

    Implements eq-attention::

        Y = A V,   A = softmax(Q Kᵀ / √d_k + bias)   over the keys that the mask shows

    A query that sees nothing gives exactly 0, and its gradient is 0. What stands in a key or
    value that no query may see does not matter, NaN included.

    Args:
        q: Queries.
        k: Keys.
        v: Values; their width may differ from that of the keys.
        mask: bool, True where a query may attend; broadcasts to ``(*batch, T, S)``.
        bias: Added to the scaled scores, such as :func:`alibi_bias`; broadcasts likewise.

    Returns:
        One mixture of values for each query.

    Raises:
        InputError: If the shapes do not fit.
        InputTypeError: If the mask is not boolean.

    Example:
        >>> q, k = torch.zeros(1, 2), torch.eye(2)  # a query of zeros scores all keys alike
        >>> dot_product_attention(q, k, torch.tensor([[1.0], [3.0]]))
        tensor([[2.]])

    References:
        Vaswani et al. (2017), arXiv:1706.03762, eq. (1).
    """
    _require_fit(q, k, v, mask)
    if mask is not None and not _is_full(mask):
        q, k, v = _hide_unseen(q, k, v, mask)
    return attention_weights(q, k, mask, bias) @ v


def fused_attention(
    q: Float[Tensor, "*batch T K"],
    k: Float[Tensor, "*groups S K"],
    v: Float[Tensor, "*groups S V"],
    mask: Tensor | None = None,
    bias: Float[Tensor, "..."] | None = None,
    *,
    causal: bool = False,
    dropout: float | int = 0.0,
    scale: float | int | None = None,
) -> Float[Tensor, "*batch T V"]:
    """The value of :func:`dot_product_attention`, without storing the weights.

    Implements eq-attention::

        Y = softmax(Q Kᵀ / √d_k + bias) V   by one kernel of torch

    Args:
        q: Queries.
        k: Keys. With four axes they may have fewer heads, G in place of H: key head g is read
            by the query heads g H/G to (g + 1) H/G - 1.
        v: Values, likewise.
        mask: As in :func:`dot_product_attention`.
        bias: As in :func:`dot_product_attention`.
        causal: Use :func:`causal_mask` instead of ``mask``, without building it where the
            kernel can do so.
        dropout: Probability with which a weight is set to 0.
        scale: Factor of the scores in place of 1/√d_k.

    Returns:
        One mixture of values for each query; 0 for one that sees nothing.

    Raises:
        InputError: If the shapes do not fit, or both ``causal`` and ``mask`` are given.

    Example:
        >>> q, k, v = torch.randn(3, 1, 5, 8)
        >>> y = dot_product_attention(q, k, v, causal_mask(5, 5))
        >>> torch.allclose(fused_attention(q, k, v, causal=True), y, atol=1e-6)
        True
    """
    _require_fit(q, k, v, mask)
    _require_groups(q, k, v)
    T, S = q.shape[-2], k.shape[-2]
    if causal and mask is not None:
        raise InputError("give causal=True or a mask, not both: combine them into one mask")
    aligned = causal and T == S and bias is None  # the kernel aligns the first query and key
    if causal and not aligned and T > 1:  # one query sees every key
        mask = causal_mask(T, S, device=q.device)
    if mask is None:
        bias = None if bias is None else torch.atleast_2d(bias.to(q.dtype))
        return F.scaled_dot_product_attention(
            q,
            k,
            v,
            attn_mask=bias,
            dropout_p=dropout,
            is_causal=aligned,
            scale=scale,
            enable_gqa=_grouped(q, k),
        )
    return _fused_masked(q, k, v, mask, bias, dropout, scale)


def _fused_masked(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor,
    bias: Tensor | None,
    dropout: float | int,
    scale: float | int | None,
) -> Tensor:
    """A query that sees nothing is shown everything, and its value replaced by 0."""
    if _grouped(q, k) and mask.ndim > 2 and mask.shape[-3] > 1:  # each head hides its own keys
        k, v = (x.repeat_interleave(q.shape[-3] // x.shape[-3], -3) for x in (k, v))
    if _is_full(mask):
        allowed, blind = mask, None
    else:
        q, k, v = _hide_unseen(q, k, v, mask)
        blind = ~mask.any(-1, keepdim=True)
        allowed = mask | blind
    if bias is not None:
        allowed = bias.to(q.dtype).masked_fill(~allowed, -math.inf)
    y = F.scaled_dot_product_attention(
        q, k, v, attn_mask=allowed, dropout_p=dropout, scale=scale, enable_gqa=_grouped(q, k)
    )
    return y if blind is None else y.masked_fill(blind, 0.0)


def _is_full(mask: Tensor) -> bool:
    """Whether every query sees a key and every key is seen, so that nothing is to be hidden.

    False also where that is not known without waiting for a GPU, or not before the code runs.
    """
    if mask.device.type != "cpu" or torch.compiler.is_compiling():
        return False
    try:
        return bool(mask.any(-1).all() & mask.any(-2).all())
    except RuntimeError:  # inside torch.func.vmap, or without values
        return False


def _hide_unseen(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Zero the queries that see nothing and the keys and values that nothing sees."""
    blind, unseen = ~mask.any(-1, keepdim=True), ~mask.any(-2).unsqueeze(-1)
    return q.masked_fill(blind, 0.0), k.masked_fill(unseen, 0.0), v.masked_fill(unseen, 0.0)


def _grouped(q: Tensor, k: Tensor) -> bool:
    """Whether several heads of queries share one of keys."""
    return q.ndim == 4 and q.shape[1] != k.shape[1]


def _require_groups(q: Tensor, k: Tensor, v: Tensor) -> None:
    fits = q.shape[:-2] == k.shape[:-2] == v.shape[:-2]
    if q.ndim == k.ndim == v.ndim == 4 and k.shape[1] > 0:
        fits = k.shape[:2] == v.shape[:2] and q.shape[0] == k.shape[0]
        fits = fits and q.shape[1] % k.shape[1] == 0
    if not fits:
        raise InputError(
            f"q {tuple(q.shape)}, k {tuple(k.shape)} and v {tuple(v.shape)} do not fit: they "
            "need the same axes in front, or with four of them heads of keys that divide "
            "those of queries"
        )


def _require_fit(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> None:
    if q.shape[-1] != k.shape[-1] or k.shape[-2] != v.shape[-2] or k.shape[-2] == 0:
        raise InputError(
            f"q {tuple(q.shape)}, k {tuple(k.shape)} and v {tuple(v.shape)} do not fit: q and "
            "k need one width, k and v the same number of positions, at least 1"
        )
    require_mask_fits(mask, (*q.shape[:-1], k.shape[-2]))


def require_mask_fits(mask: Tensor | None, scores: tuple[int, ...]) -> None:
    """Refuse a mask that is not boolean or does not broadcast to scores of this shape."""
    if mask is None:
        return
    if mask.dtype != torch.bool:
        found = str(mask.dtype).removeprefix("torch.")
        raise InputTypeError(f"mask must be bool, True = may attend, got {found}")
    matches = zip(reversed(mask.shape), reversed(scores), strict=False)
    if not 2 <= mask.ndim <= len(scores) or any(m not in (1, n) for m, n in matches):
        raise InputError(f"mask {tuple(mask.shape)} does not broadcast to the scores {scores}")
