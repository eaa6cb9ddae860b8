"""Multi-head self-attention with grouped key/value heads."""

from typing import Literal

from torch import Tensor, nn

from .. import functional as F
from ..errors import ConfigError, InputError
from ..shapes import Bool, Float
from .cache import LayerCache
from .normalization import RMSNorm
from .position import Rotation
from .taps import Taps, tap


class SelfAttention(nn.Module):
    """Multi-head self-attention, causal unless a mask says otherwise.

    Implements eq-multi-head::

        headₕ = softmax(Qₕ Kᵀ / √d_k) V,   y = W_o [head₁; …; head_H] + b
        Q = W_q x,   K = W_k x,   V = W_v x,   cut into heads; H/G query heads share a K and V

    Args:
        d_model: Width of the model, D.
        n_heads: Query heads, H.
        n_kv_heads: Key/value heads, G; must divide ``n_heads``. None = ``n_heads``.
        d_head: Width of one head, K. None = D / H, which must then be whole.
        bias: True: all four maps have one; "qkv": all but W_o; False: none.
        qk_norm: Whether each query and key is RMS-normalized, with a learned gain.
        window: Keys that a query may see, itself included; None = all earlier ones.
        causal: Whether a position sees none after it where no mask is given.
        norm_eps: ε of that normalization.
        dropout: Probability with which an attention weight is set to 0 in training.
        scale: Factor of the scores; None = 1/√d_k.

    Raises:
        ConfigError: If the sizes do not divide, or a window is given without causal order.

    Example:
        >>> attention = SelfAttention(d_model=16, n_heads=4, n_kv_heads=2)
        >>> attention(torch.randn(1, 5, 16)).shape
        torch.Size([1, 5, 16])

    References:
        Vaswani et al. (2017), arXiv:1706.03762, section 3.2.2.
        Ainslie et al. (2023), arXiv:2305.13245, section 2.2.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        n_kv_heads: int | None = None,
        d_head: int | None = None,
        *,
        bias: bool | Literal["qkv"] = False,
        qk_norm: bool = False,
        window: int | None = None,
        causal: bool = True,
        norm_eps: float | int = 1e-5,
        dropout: float | int = 0.0,
        scale: float | int | None = None,
    ) -> None:
        super().__init__()
        if window is not None and not causal:
            raise ConfigError(f"window={window} looks back: it needs causal=True")
        n_kv_heads = n_heads if n_kv_heads is None else n_kv_heads
        require_heads(d_model, n_heads, n_kv_heads, d_head)
        self.d_head = d_model // n_heads if d_head is None else d_head
        self.group = n_heads // n_kv_heads  # query heads that share a key
        self.window, self.causal, self.dropout = window, causal, dropout
        self.scale = scale
        self.W_q = nn.Linear(d_model, n_heads * self.d_head, bias=bool(bias))
        self.W_k = nn.Linear(d_model, n_kv_heads * self.d_head, bias=bool(bias))
        self.W_v = nn.Linear(d_model, n_kv_heads * self.d_head, bias=bool(bias))
        self.W_o = nn.Linear(n_heads * self.d_head, d_model, bias=bias is True)
        self.q_norm = RMSNorm(self.d_head, norm_eps) if qk_norm else None
        self.k_norm = RMSNorm(self.d_head, norm_eps) if qk_norm else None

    def forward(
        self,
        x: Float[Tensor, "B T D"],
        *,
        mask: Bool[Tensor, "..."] | None = None,
        rotation: Rotation | None = None,
        bias: Float[Tensor, "..."] | None = None,
        cache: LayerCache | None = None,
        taps: Taps | None = None,
    ) -> Float[Tensor, "B T D"]:
        """Mix the positions of ``x``; in causal order position t sees positions up to t.

        Args:
            x: One vector for each position.
            mask: The whole rule of who may attend, (T, S) or broadcastable with four axes to
                (B, H, T, S); None = causal within the window, or everyone to everyone if not
                ``causal``.
            rotation: cos and sin by which queries and keys are turned.
            bias: Added to the scores, broadcastable to (B, H, T, S).
            cache: Keys and values of what stands before ``x``; takes up those of ``x``.
            taps: Receives ``q``, ``k``, ``v``, ``weights`` and ``heads``.

        Returns:
            One vector for each position of ``x``.

        Raises:
            InputError: If the mask does not fit, or the cache has no room.
            InputTypeError: If the mask is not boolean.
        """
        q, k, v = self.project(x)
        y = self.heads(q, k, v, mask, rotation, bias, cache, taps)
        return self.W_o(y.transpose(1, 2).flatten(2))

    def project(self, x: Float[Tensor, "B T D"]) -> tuple[Tensor, Tensor, Tensor]:
        """Queries (B, H, T, K), keys and values (B, G, T, K)."""
        q, k, v = (
            W(x).unflatten(-1, (-1, self.d_head)).transpose(1, 2)
            for W in (self.W_q, self.W_k, self.W_v)
        )
        if self.q_norm is not None and self.k_norm is not None:
            q, k = self.q_norm(q), self.k_norm(k)
        return q, k, v

    def heads(
        self,
        q: Float[Tensor, "B H T K"],
        k: Float[Tensor, "B G T K"],
        v: Float[Tensor, "B G T K"],
        mask: Tensor | None = None,
        rotation: Rotation | None = None,
        bias: Tensor | None = None,
        cache: LayerCache | None = None,
        taps: Taps | None = None,
    ) -> Float[Tensor, "B H T K"]:
        """What each head reads: turn queries and keys, update the KV cache, attend."""
        require_row_masks(mask)
        if rotation is not None:
            q, k = F.rotate_half_split(q, *rotation), F.rotate_half_split(k, *rotation)
        if cache is not None:
            k, v = cache.append(k, v)  # (B, G, S, K)
            mask, bias = _last_keys(mask, k.shape[2]), _last_keys(bias, k.shape[2])
        return self.attend(q, k, v, mask, bias, taps)

    def attend(
        self,
        q: Float[Tensor, "B H T K"],
        k: Float[Tensor, "B G S K"],
        v: Float[Tensor, "B G S K"],
        mask: Tensor | None,
        bias: Tensor | None,
        taps: Taps | None,
    ) -> Float[Tensor, "B H T K"]:
        """Values mixed by the weights; through the fused kernel unless taps ask for weights."""
        dropout = self.dropout if self.training else 0.0
        if self.group > 1 and not (taps is None and k.is_cpu):  # the CPU's kernel needs no copy
            k, v = (h.repeat_interleave(self.group, 1) for h in (k, v))  # G to H heads
        if mask is None and self.window is not None:
            mask = F.causal_mask(q.shape[2], k.shape[2], self.window, q.device)
        if taps is None:
            causal = self.causal and mask is None
            return F.fused_attention(
                q, k, v, mask, bias, causal=causal, dropout=dropout, scale=self.scale
            )
        if dropout > 0:
            raise InputError("taps show the weights without dropout: call model.eval() first")
        return self._attend_tapped(q, k, v, mask, bias, taps)

    def _attend_tapped(self, q, k, v, mask, bias, taps):
        if mask is None and self.causal:
            mask = F.causal_mask(q.shape[2], k.shape[2], device=q.device)
        q, k, v = tap(taps, "q", q), tap(taps, "k", k), tap(taps, "v", v)
        weights = F.attention_weights(q, k, mask, bias, scale=self.scale)  # (B, H, T, S)
        return tap(taps, "heads", tap(taps, "weights", weights) @ v)


def _last_keys(x: Tensor | None, S: int) -> Tensor | None:
    """The part of a mask or a bias that belongs to the last S keys."""
    return x if x is None or x.shape[-1] <= S else x[..., -S:]


def require_row_masks(mask: Tensor | None) -> None:
    """Refuse a mask with three axes, of which broadcasting would take rows for heads."""
    if mask is not None and mask.ndim == 3:
        raise InputError(
            f"mask of shape {tuple(mask.shape)} has 3 axes: give (T, S) if all rows and "
            "heads see alike, or 4, such as (B, 1, T, S) for a mask a row"
        )


def require_heads(d_model: int, n_heads: int, n_kv_heads: int, d_head: int | None) -> None:
    """Refuse numbers of heads that do not divide."""
    for name, value in (("n_heads", n_heads), ("n_kv_heads", n_kv_heads)):
        if value < 1:
            raise ConfigError(f"{name}={value} must be at least 1")
    if d_head is None and d_model % n_heads:
        raise ConfigError(f"n_heads={n_heads} must divide d_model={d_model}, or give d_head")
    if n_heads % n_kv_heads:
        raise ConfigError(f"n_kv_heads={n_kv_heads} must divide n_heads={n_heads}")
