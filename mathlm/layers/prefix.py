"""Keys and values before the text that are parameters, not those of tokens."""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ..functional.low_rank import gated_prefix
from ..shapes import Float
from .attention import SelfAttention
from .cache import LayerCache
from .taps import Taps, tap


class PrefixKV(LayerCache):
    """KV cache that carries gradients: a prefix before the text, under one softmax with it.

    Args:
        k: Keys (G, m, K), as a cache holds them: turned to their positions 0 … m - 1.
        v: Values (G, m, K).
        text: Cache of the text behind the prefix; None = the text is read at once.

    Example:
        >>> prefix = PrefixKV(torch.randn(2, 3, 4), torch.randn(2, 3, 4))
        >>> k, v = prefix.append(torch.randn(1, 2, 5, 4), torch.randn(1, 2, 5, 4))
        >>> k.shape  # 3 of the prefix and 5 of the text
        torch.Size([1, 2, 8, 4])
    """

    def __init__(
        self,
        k: Float[Tensor, "G m K"],
        v: Float[Tensor, "G m K"],
        text: LayerCache | None = None,
    ) -> None:
        super().__init__(k.unsqueeze(0), v.unsqueeze(0))  # (1, G, m, K)
        self.text = text

    def append(
        self, k: Float[Tensor, "B G T K"], v: Float[Tensor, "B G T K"]
    ) -> tuple[Float[Tensor, "B G S K"], Float[Tensor, "B G S K"]]:
        """The prefix, and behind it all of the text that is there now."""
        if self.text is not None:
            k, v = self.text.append(k, v)
        own_k, own_v = (x.to(k.dtype).expand(len(k), -1, -1, -1) for x in (self.k, self.v))
        return torch.cat((own_k, k), 2), torch.cat((own_v, v), 2)

    def terms(self, text: LayerCache | None) -> dict[str, Any]:
        """What a block is told, so that its attention reads prefix and text."""
        return {"cache": PrefixKV(self.k[0], self.v[0], text)}


class GatedPrefixKV(NamedTuple):
    """Keys and values of a gated prefix, beside the text, under a softmax of their own.

    Args:
        k: Keys (G, m, K), which have no positions and are not turned.
        v: Values (G, m, K).
        gate: Factor of what each query head reads from them, (H,).

    Example:
        >>> k, v = torch.randn(2, 3, 4), torch.randn(2, 3, 4)
        >>> attention, x = SelfAttention(8, 2), torch.randn(1, 5, 8)
        >>> shut = GatedPrefixKV(k, v, gate=torch.zeros(2))
        >>> torch.allclose(shut(attention, x), attention(x), atol=1e-6)  # it is as if not there
        True
    """

    k: Tensor
    v: Tensor
    gate: Tensor

    def __call__(
        self,
        attention: SelfAttention,
        x: Float[Tensor, "B T D"],
        *,
        mask: Tensor | None = None,
        taps: Taps | None = None,
        **attend: Any,
    ) -> Float[Tensor, "B T D"]:
        """Attention to the text, to whose heads is added what they read from the prefix."""
        q, k, v = attention.project(x)  # the prefix is asked by queries that are not turned
        y = attention.heads(q, k, v, mask, taps=taps, **attend)
        y = y + self.read(q, mask, attention.scale, taps)
        return attention.W_o(y.transpose(1, 2).flatten(2))

    def read(
        self,
        q: Float[Tensor, "B H T K"],
        mask: Tensor | None,
        scale: float | int | None,
        taps: Taps | None,
    ) -> Float[Tensor, "B H T K"]:
        """What the gate lets through; taps ``prefix_weights`` and ``prefix_heads``."""
        k, v, gate = (x.to(q.dtype) for x in self)
        z, weights = gated_prefix(q, k, v, gate, scale=scale)
        tap(taps, "prefix_weights", weights)
        if mask is not None:  # a query that sees nothing of the text reads nothing
            z = z.masked_fill(~mask.any(-1, keepdim=True), 0.0)
        return tap(taps, "prefix_heads", z)

    def terms(self, text: LayerCache | None) -> dict[str, Any]:
        """What a block is told, so that its attention reads prefix and text."""
        return {"cache": text, "through": self}


class Prefix(nn.Module):
    """Trained keys and values before the text, for one layer.

    Implements eq-small-joined::

        joined:  Y = softmax(Q [K_P; K]ᵀ / √d_k) [V_P; V]
        gated:   Y = softmax(Q Kᵀ / √d_k) V + g softmax(Q K_Pᵀ / √d_k) V_P,   g = 0 at the start

    2 m G K numbers, and H more with a gate.

    Args:
        k: K_P at the start, (G, m, K).
        v: V_P at the start, (G, m, K).
        n_heads: H, of a gated prefix; None = joined.

    Example:
        >>> prefix = Prefix(torch.randn(2, 3, 4), torch.randn(2, 3, 4))
        >>> sum(p.numel() for p in prefix.parameters()), type(prefix()).__name__
        (48, 'PrefixKV')

    References:
        Li and Liang (2021), arXiv:2101.00190, section 4.
        Zhang et al. (2023), arXiv:2303.16199, section 3.2.
    """

    def __init__(
        self,
        k: Float[Tensor, "G m K"],
        v: Float[Tensor, "G m K"],
        n_heads: int | None = None,
    ) -> None:
        super().__init__()
        self.k, self.v = nn.Parameter(k.clone()), nn.Parameter(v.clone())
        self.gate = None if n_heads is None else nn.Parameter(k.new_zeros(n_heads))

    def forward(self) -> PrefixKV | GatedPrefixKV:
        """Its keys and values, for attention."""
        if self.gate is None:
            return PrefixKV(self.k, self.v)
        return GatedPrefixKV(self.k, self.v, self.gate)

    def extra_repr(self) -> str:
        """Sizes."""
        G, m, K = self.k.shape
        return f"groups={G}, length={m}, d_head={K}, gated={self.gate is not None}"


class KeptKeys(LayerCache):
    """KV cache of a single reading, with gradients."""

    def __init__(self) -> None:
        super().__init__(torch.zeros(1, 1, 0, 1), torch.zeros(1, 1, 0, 1))

    def append(
        self, k: Float[Tensor, "B G T K"], v: Float[Tensor, "B G T K"]
    ) -> tuple[Float[Tensor, "B G S K"], Float[Tensor, "B G S K"]]:
        """Keep them, and return them."""
        self.k, self.v = k, v
        return k, v
