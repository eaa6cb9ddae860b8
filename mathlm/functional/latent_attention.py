"""Multi-head latent attention (MLA): keys and values made from one short vector per token."""

import math

import torch
from torch import Tensor

from ..errors import InputError
from ..shapes import Float
from .attention import (
    _hide_unseen,
    _is_full,
    attention_weights,
    dot_product_attention,
    require_mask_fits,
)


def latent_attention(
    q: Float[Tensor, "B H T K"],
    q_rotary: Float[Tensor, "B H T R"],
    latent: Float[Tensor, "B S C"],
    k_rotary: Float[Tensor, "B S R"],
    W_uk: Float[Tensor, "HK C"],
    W_uv: Float[Tensor, "HV C"],
    mask: Tensor | None = None,
) -> Float[Tensor, "B H T V"]:
    """What each head reads when its keys and values are made from a shared latent vector.

    Implements eq-heads-latent::

        Kₕ = C W_uk⁽ʰ⁾ᵀ,   Vₕ = C W_uv⁽ʰ⁾ᵀ,   Zₕ = Aₕ Vₕ
        Aₕ = softmax((Qₕ Kₕᵀ + Qₕᴿ Kᴿᵀ) / √(d_k + d_r))   over the keys that the mask shows

    The form for reading a prompt: keys and values of all heads are made once. To add one token
    to a cache use :func:`absorbed_latent_attention`, which gives the same values. What
    stands at a token that no query may see does not change them, NaN included.

    Args:
        q: Queries without positions.
        q_rotary: Queries turned by their position; R = 0 features for none.
        latent: One latent vector for each token, shared by all heads.
        k_rotary: One turned key for each token, shared by all heads.
        W_uk: From the latent vector to the keys of all heads, (H K, C).
        W_uv: From the latent vector to the values of all heads, (H V, C).
        mask: bool, True where a query may attend; broadcasts to (B, H, T, S).

    Returns:
        One mixture of values for each head and query.

    Raises:
        InputError: If the shapes do not fit.
        InputTypeError: If the mask is not boolean.

    Example:
        >>> latent = torch.tensor([[[2.0, 0.0], [0.0, 4.0]]])  # of two tokens
        >>> q, nothing = torch.zeros(1, 1, 1, 2), torch.zeros(1, 1, 1, 0)  # no rotary part
        >>> up = torch.eye(2)
        >>> latent_attention(q, nothing, latent, torch.zeros(1, 2, 0), up, up)  # equal scores
        tensor([[[[1., 2.]]]])

    References:
        DeepSeek-AI (2024), arXiv:2405.04434, section 2.1.
    """
    up_k, up_v = _heads_of(q, q_rotary, latent, k_rotary, W_uk, W_uv)
    k, v = latent[:, None] @ up_k.mT, latent[:, None] @ up_v.mT  # (B, H, S, K), (B, H, S, V)
    shared = k_rotary[:, None].expand(-1, q.shape[1], -1, -1)  # (B, H, S, R)
    query, key = torch.cat((q, q_rotary), -1), torch.cat((k, shared), -1)
    return dot_product_attention(query, key, v, mask)


def absorbed_latent_attention(
    q: Float[Tensor, "B H T K"],
    q_rotary: Float[Tensor, "B H T R"],
    latent: Float[Tensor, "B S C"],
    k_rotary: Float[Tensor, "B S R"],
    W_uk: Float[Tensor, "HK C"],
    W_uv: Float[Tensor, "HV C"],
    mask: Tensor | None = None,
) -> Float[Tensor, "B H T V"]:
    """The value of :func:`latent_attention`, without making a key or a value.

    Implements eq-heads-absorbed::

        Q̃ₕ = Qₕ W_uk⁽ʰ⁾,   Zₕ = (Aₕ C) W_uv⁽ʰ⁾ᵀ
        Aₕ = softmax((Q̃ₕ Cᵀ + Qₕᴿ Kᴿᵀ) / √(d_k + d_r))   over the keys that the mask shows

    The form for writing token by token: multi-query attention whose one key is the cached
    vector (c, kᴿ) and whose one value is c. Arguments and errors are those of
    :func:`latent_attention`.

    Example:
        >>> latent = torch.tensor([[[2.0, 0.0], [0.0, 4.0]]])  # of two tokens
        >>> q, nothing = torch.zeros(1, 1, 1, 2), torch.zeros(1, 1, 1, 0)  # no rotary part
        >>> up = torch.eye(2)
        >>> absorbed_latent_attention(q, nothing, latent, torch.zeros(1, 2, 0), up, up)
        tensor([[[[1., 2.]]]])

    References:
        DeepSeek-AI (2024), arXiv:2405.04434, section 2.1 and appendix C.
    """
    up_k, up_v = _heads_of(q, q_rotary, latent, k_rotary, W_uk, W_uv)
    shape = (*q.shape[:-1], latent.shape[1])  # (B, H, T, S)
    require_mask_fits(mask, shape)
    mask = None if mask is None else mask.expand(shape).flatten(1, 2)
    queries = torch.cat((q @ up_k, q_rotary), -1).flatten(1, 2)  # (B, H T, C + R): all heads
    keys = torch.cat((latent, k_rotary), -1)  # (B, S, C + R): read once, for all of them
    if mask is not None and not _is_full(mask):
        queries, keys, latent = _hide_unseen(queries, keys, latent, mask)
    scale = 1 / math.sqrt(q.shape[-1] + q_rotary.shape[-1])
    mixed = attention_weights(queries, keys, mask, scale=scale) @ latent  # (B, H T, C)
    return mixed.unflatten(1, shape[1:3]) @ up_v.mT


def _heads_of(
    q: Tensor, q_rotary: Tensor, latent: Tensor, k_rotary: Tensor, W_uk: Tensor, W_uv: Tensor
) -> tuple[Tensor, Tensor]:
    """W_uk (H, K, C) and W_uv (H, V, C), once everything fits."""
    H, K, C = q.shape[1], q.shape[-1], latent.shape[-1]
    if q.shape[:-1] != q_rotary.shape[:-1] or q_rotary.shape[-1] != k_rotary.shape[-1]:
        raise InputError(
            f"q {tuple(q.shape)}, q_rotary {tuple(q_rotary.shape)} and k_rotary "
            f"{tuple(k_rotary.shape)} do not fit: the queries need one batch, heads and "
            "positions, the rotary parts one width"
        )
    if latent.shape[:-1] != k_rotary.shape[:-1] or len(latent) != len(q):
        raise InputError(
            f"latent {tuple(latent.shape)} and k_rotary {tuple(k_rotary.shape)} need one batch "
            f"and one length, and the batch of q {tuple(q.shape)}"
        )
    if W_uk.shape != (H * K, C) or W_uv.shape[1] != C or W_uv.shape[0] % H:
        raise InputError(
            f"W_uk {tuple(W_uk.shape)} must be {(H * K, C)} and W_uv {tuple(W_uv.shape)} "
            f"(rows for {H} heads, {C})"
        )
    return W_uk.unflatten(0, (H, -1)), W_uv.unflatten(0, (H, -1))
