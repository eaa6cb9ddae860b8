"""Multi-head latent attention, and the short cache that it needs."""

import torch
from torch import Tensor, nn

from .. import functional as F
from ..errors import ConfigError
from ..shapes import Bool, Float
from .position import Rotation


class LatentCache:
    """Latent vectors and turned keys of the tokens read so far, for one layer.

    Attributes:
        latent: c of each token (B, S, C), None before the first.
        k_rotary: kᴿ of each token (B, S, R), None before the first.

    Example:
        >>> cache = LatentCache()
        >>> _ = cache.append(torch.randn(1, 3, 8), torch.randn(1, 3, 2))
        >>> latent, k_rotary = cache.append(torch.randn(1, 1, 8), torch.randn(1, 1, 2))
        >>> latent.shape, k_rotary.shape  # four tokens
        (torch.Size([1, 4, 8]), torch.Size([1, 4, 2]))
    """

    def __init__(self) -> None:
        self.latent: Tensor | None = None
        self.k_rotary: Tensor | None = None

    def append(
        self, latent: Float[Tensor, "B T C"], k_rotary: Float[Tensor, "B T R"]
    ) -> tuple[Tensor, Tensor]:
        """Add T tokens; return what is held of all."""
        if self.latent is not None and self.k_rotary is not None:
            latent = torch.cat((self.latent, latent), 1)
            k_rotary = torch.cat((self.k_rotary, k_rotary), 1)
        self.latent, self.k_rotary = latent, k_rotary
        return latent, k_rotary

    @property
    def nbytes(self) -> int:
        """Size of what is held [bytes]."""
        return sum(t.nbytes for t in (self.latent, self.k_rotary) if t is not None)


class LatentAttention(nn.Module):
    """Multi-head latent attention (MLA), causal unless a mask says otherwise.

    Implements eq-heads-latent::

        C = X W_dkvᵀ,   Kᴿ = rotate(X W_krᵀ),   the two that a cache holds
        Qₕ = X W_q⁽ʰ⁾ᵀ,   Qₕᴿ = rotate(X W_qr⁽ʰ⁾ᵀ),   Y = Σₕ Zₕ W_o⁽ʰ⁾ᵀ

    with Zₕ as in :func:`mathlm.functional.latent_attention`. DeepSeek-V2 makes the queries
    through a latent vector of their own and normalizes both; neither changes what is cached.

    Args:
        d_model: Width of the model, D.
        n_heads: Heads, H.
        d_latent: Width of the latent vector, C.
        d_rotary: Width of the part that is turned by position, R; even.
        d_head: Width of the other part and of the values, K. None = D / H.

    Raises:
        ConfigError: If a size is less than 1, R is odd, or H does not divide D.

    Example:
        >>> attention = LatentAttention(d_model=16, n_heads=4, d_latent=8, d_rotary=2)
        >>> still = torch.ones(5, 1), torch.zeros(5, 1)  # cosines and sines: nothing is turned
        >>> attention(torch.randn(1, 5, 16), still).shape
        torch.Size([1, 5, 16])

    References:
        DeepSeek-AI (2024), arXiv:2405.04434, section 2.1.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_latent: int,
        d_rotary: int,
        d_head: int | None = None,
    ) -> None:
        super().__init__()
        if min(d_model, n_heads, d_latent, d_rotary, d_head or 1) < 1 or d_rotary % 2:
            raise ConfigError(
                f"d_model={d_model}, n_heads={n_heads}, d_latent={d_latent}, d_head={d_head} "
                f"must be at least 1, and d_rotary={d_rotary} even and at least 2"
            )
        if d_head is None and d_model % n_heads:
            raise ConfigError(
                f"n_heads={n_heads} must divide d_model={d_model}, or give d_head"
            )
        d_head = d_model // n_heads if d_head is None else d_head
        self.n_heads = n_heads
        self.W_q = nn.Linear(d_model, n_heads * d_head, bias=False)
        self.W_qr = nn.Linear(d_model, n_heads * d_rotary, bias=False)
        self.W_dkv = nn.Linear(d_model, d_latent, bias=False)
        self.W_kr = nn.Linear(d_model, d_rotary, bias=False)
        self.W_uk = nn.Linear(d_latent, n_heads * d_head, bias=False)
        self.W_uv = nn.Linear(d_latent, n_heads * d_head, bias=False)
        self.W_o = nn.Linear(n_heads * d_head, d_model, bias=False)

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        rotation: Rotation,
        *,
        mask: Bool[Tensor, "..."] | None = None,
        cache: LatentCache | None = None,
        absorb: bool = False,
    ) -> Float[Tensor, "B T D"]:
        """Mix the positions of ``x``.

        Args:
            x: One vector for each position.
            rotation: cos and sin (T, R/2) by which the rotary parts are turned.
            mask: Who may attend; None = causal, the last query aligned with the last key.
            cache: What stands before ``x``; takes up what is to be kept of ``x``.
            absorb: Whether to leave keys and values unmade; the result is the same.
        """
        q, q_rotary = (
            W(x).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
            for W in (self.W_q, self.W_qr)
        )
        q_rotary = F.rotate_half_split(q_rotary, *rotation)
        latent, k_rotary = self.W_dkv(x), F.rotate_half_split(self.W_kr(x), *rotation)
        if cache is not None:
            latent, k_rotary = cache.append(latent, k_rotary)
        if mask is None:
            mask = F.causal_mask(x.shape[1], latent.shape[1], device=x.device)
        attend = F.absorbed_latent_attention if absorb else F.latent_attention
        up = self.W_uk.weight, self.W_uv.weight
        z = attend(q, q_rotary, latent, k_rotary, *up, mask)  # (B, H, T, K)
        return self.W_o(z.transpose(1, 2).flatten(2))
