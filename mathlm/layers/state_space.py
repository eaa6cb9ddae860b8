"""Layers that carry a state of fixed size: Mamba-2 and the gated delta rule."""

import math

import torch
from torch import Tensor, nn

from .. import functional as F
from ..errors import ConfigError
from ..shapes import Float
from .normalization import RMSNorm


class LinearStateCache:
    """What a layer with a linear state keeps of the text: its size does not depend on length.

    Attributes:
        past: The last tokens before the short convolution (B, W - 1, E), None before the first.
        state: M of each head (B, H, N, P), None before the first.

    Example:
        >>> mixer = Mamba2(d_model=16, n_heads=2, d_head=8, d_state=4)
        >>> cache = LinearStateCache()
        >>> with torch.no_grad():
        ...     _ = mixer(torch.randn(1, 50, 16), cache=cache)
        >>> cache.state.shape  # as after one token
        torch.Size([1, 2, 4, 8])
    """

    def __init__(self) -> None:
        self.past: Tensor | None = None
        self.state: Tensor | None = None

    @property
    def nbytes(self) -> int:
        """Size of what is held [bytes]."""
        return sum(t.nbytes for t in (self.past, self.state) if t is not None)


class GatedRMSNorm(nn.Module):
    """Root-mean-square normalization of an output that a gate has multiplied.

    Computes::

        z = y ⊙ silu(gate),   out = γ ⊙ z / √(mean(z²) + ε)   over each of the groups

    Args:
        width: Features.
        n_groups: Groups of features, each normalized by itself.
        eps: Added to the mean square.

    Example:
        >>> open_gate = torch.full((2,), 20.0)  # silu(20) = 20, and is divided out
        >>> GatedRMSNorm(2)(torch.tensor([1.0, -1.0]), open_gate).round(decimals=3)
        tensor([ 1., -1.], grad_fn=...)
    """

    def __init__(self, width: int, n_groups: int = 1, eps: float = 1e-5) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.n_groups, self.eps = n_groups, eps

    def forward(
        self, y: Float[Tensor, "*batch E"], gate: Float[Tensor, "*batch E"]
    ) -> Float[Tensor, "*batch E"]:
        """Gate, then normalize."""
        z = (y * F.silu(gate)).unflatten(-1, (self.n_groups, -1))
        ones = z.new_ones(z.shape[-1])
        return self.weight * F.rms_norm(z, ones, self.eps).flatten(-2)


class Mamba2(nn.Module):
    """The mixer of Mamba-2: projection, short convolution, selective scan, gated norm.

    Implements eq-state-space-mixer::

        [z, xBC, dt] = X W_inᵀ,   [x, B, C] = silu(conv(xBC)),   Δ = softplus(dt + dt_bias)
        a = -exp(A_log),   M_t = e^(Δ a) M_{t-1} + B_tᵀ (Δ_t x_t),   y_t = C_t M_t + D x_t
        Y = norm(y ⊙ silu(z)) W_outᵀ

    Parameters have the names and shapes of ``Mamba2Mixer`` of transformers, so that the state
    of either loads into the other. A sequence is read in chunks, a single token by one step.

    Args:
        d_model: Width of the model, D.
        n_heads: Heads, H.
        d_head: Width of one head, P.
        d_state: Rows of the state of one head, N.
        n_groups: Groups of heads that share B and C; divides ``n_heads``.
        d_conv: Tokens that the short convolution sees, W.
        chunk: Tokens in a chunk.
        bias: Whether the two projections have one.
        norm_eps: ε of the norm.

    Raises:
        ConfigError: If a size is less than 1, or n_groups does not divide n_heads.

    Example:
        >>> mixer = Mamba2(d_model=16, n_heads=2, d_head=8, d_state=4)
        >>> mixer(torch.randn(1, 5, 16)).shape
        torch.Size([1, 5, 16])

    References:
        Dao and Gu (2024), arXiv:2405.21060, section 7.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_head: int,
        d_state: int,
        *,
        n_groups: int = 1,
        d_conv: int = 4,
        chunk: int = 64,
        bias: bool = False,
        norm_eps: float = 1e-5,
    ) -> None:
        super().__init__()
        _require_sizes(d_model, n_heads, d_head, d_state, d_conv, chunk)
        if n_groups < 1 or n_heads % n_groups:
            raise ConfigError(f"n_groups={n_groups} must divide n_heads={n_heads}")
        width, shared = n_heads * d_head, 2 * n_groups * d_state
        self.n_heads, self.n_groups, self.chunk = n_heads, n_groups, chunk
        self.sizes = (width, width + shared, n_heads)
        self.parts = (width, shared // 2, shared // 2)
        self.in_proj = nn.Linear(d_model, sum(self.sizes), bias=bias)
        self.conv1d = nn.Conv1d(width + shared, width + shared, d_conv, groups=width + shared)
        self.dt_bias = nn.Parameter(_step_bias(n_heads))
        self.A_log = nn.Parameter(torch.arange(1.0, n_heads + 1).log())
        self.D = nn.Parameter(torch.ones(n_heads))
        self.norm = GatedRMSNorm(width, n_groups, norm_eps)
        self.out_proj = nn.Linear(width, d_model, bias=bias)

    def forward(
        self, x: Float[Tensor, "B T D"], *, cache: LinearStateCache | None = None
    ) -> Float[Tensor, "B T D"]:
        """Mix the positions of ``x`` with what the cache holds of those before."""
        cache = LinearStateCache() if cache is None else cache
        z, mixed, dt = self.in_proj(x).split(self.sizes, -1)
        mixed = F.silu(_convolve(self.conv1d, mixed, cache))
        v, k, q = mixed.split(self.parts, -1)
        v = v.unflatten(-1, (self.n_heads, -1))
        k, q = (self._of_all_heads(part) for part in (k, q))
        delta = nn.functional.softplus(dt + self.dt_bias)  # (B, T, H)
        log_decay = -delta * self.A_log.exp()
        written = delta[..., None] * v
        y, cache.state = _scan(q, k, written, log_decay, self.chunk, cache.state)
        y = y + self.D[:, None] * v
        return self.out_proj(self.norm(y.flatten(2), z))

    def _of_all_heads(self, part: Tensor) -> Tensor:
        """(B, T, G N) as (B, T, H, N): heads of a group in a row share one."""
        shared = part.unflatten(-1, (self.n_groups, -1))
        return shared.repeat_interleave(self.n_heads // self.n_groups, 2)


class GatedDeltaNet(nn.Module):
    """A layer whose state is written by the gated delta rule, with normalized keys.

    Implements eq-state-space-delta-layer::

        [q, k, v] = silu(conv(X W_qkvᵀ)),   then q and k of length 1
        β = σ(X W_bᵀ),   log α = -exp(A_log) softplus(X W_aᵀ + dt_bias)
        Y = (norm(delta_rule(q, k, v, β, log α)) ⊙ silu(X W_zᵀ)) W_oᵀ

    The norm is over each head by itself, with one weight γ for all heads, and comes before the
    gate; in :class:`Mamba2` it comes after. The factor 1/√N that some codes give q is undone by
    the norm, up to its ε.

    Args:
        d_model: Width of the model, D.
        n_heads: Heads, H.
        d_head: Width of the values of one head, P.
        d_state: Width of its keys, N.
        d_conv: Tokens that the short convolution sees, W.
        chunk: Tokens in a chunk.
        norm_eps: ε of the norm.

    Raises:
        ConfigError: If a size is less than 1.

    Example:
        >>> mixer = GatedDeltaNet(d_model=16, n_heads=2, d_head=8, d_state=4)
        >>> mixer(torch.randn(1, 5, 16)).shape
        torch.Size([1, 5, 16])

    References:
        Yang, Kautz and Hatamizadeh (2024), arXiv:2412.06464.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        d_head: int,
        d_state: int,
        *,
        d_conv: int = 4,
        chunk: int = 64,
        norm_eps: float = 1e-5,
    ) -> None:
        super().__init__()
        _require_sizes(d_model, n_heads, d_head, d_state, d_conv, chunk)
        self.n_heads, self.chunk = n_heads, chunk
        self.parts = (n_heads * d_state, n_heads * d_state, n_heads * d_head)
        width = sum(self.parts)
        self.W_qkv = nn.Linear(d_model, width, bias=False)
        self.conv1d = nn.Conv1d(width, width, d_conv, groups=width, bias=False)
        self.W_b = nn.Linear(d_model, n_heads, bias=False)
        self.W_a = nn.Linear(d_model, n_heads, bias=False)
        self.W_z = nn.Linear(d_model, n_heads * d_head, bias=False)
        self.dt_bias = nn.Parameter(_step_bias(n_heads))
        self.A_log = nn.Parameter(torch.arange(1.0, n_heads + 1).log())
        self.norm = RMSNorm(d_head, norm_eps)
        self.W_o = nn.Linear(n_heads * d_head, d_model, bias=False)

    def forward(
        self, x: Float[Tensor, "B T D"], *, cache: LinearStateCache | None = None
    ) -> Float[Tensor, "B T D"]:
        """Mix the positions of ``x`` with what the cache holds of those before."""
        cache = LinearStateCache() if cache is None else cache
        mixed = F.silu(_convolve(self.conv1d, self.W_qkv(x), cache))
        q, k, v = (p.unflatten(-1, (self.n_heads, -1)) for p in mixed.split(self.parts, -1))
        q, k = (nn.functional.normalize(part, dim=-1, eps=1e-6) for part in (q, k))
        beta = self.W_b(x).sigmoid()
        log_decay = -self.A_log.exp() * nn.functional.softplus(self.W_a(x) + self.dt_bias)
        if x.shape[1] == 1:
            y, cache.state = F.delta_rule(q, k, v, beta, log_decay, cache.state)
        else:
            y, cache.state = F.delta_rule_chunked(
                q, k, v, beta, log_decay, self.chunk, cache.state
            )
        return self.W_o(self.norm(y).flatten(2) * F.silu(self.W_z(x)))


def _scan(
    q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor, chunk: int, state: Tensor | None
) -> tuple[Tensor, Tensor]:
    """One step for one token, chunks for more."""
    if v.shape[1] == 1:
        return F.selective_scan(q, k, v, log_decay, state)
    return F.ssd_chunked(q, k, v, log_decay, chunk, state)


def _convolve(conv: nn.Conv1d, x: Tensor, cache: LinearStateCache) -> Tensor:
    """The short convolution, with the tokens before ``x``; the cache takes up the last ones."""
    before = conv.kernel_size[0] - 1
    past = x.new_zeros(len(x), before, x.shape[2]) if cache.past is None else cache.past
    whole = torch.cat((past, x), 1)
    cache.past = whole[:, whole.shape[1] - before :].clone()  # a view would keep all of it
    return F.causal_convolution(x, conv.weight[:, 0], conv.bias, past)


def _step_bias(n_heads: int, low: float = 0.001, high: float = 0.1) -> Tensor:
    """dt_bias with which softplus gives steps drawn between low and high, evenly in the log."""
    delta = (torch.rand(n_heads) * math.log(high / low) + math.log(low)).exp()
    return delta + torch.log(-torch.expm1(-delta))


def _require_sizes(
    d_model: int, n_heads: int, d_head: int, d_state: int, d_conv: int, chunk: int
) -> None:
    if min(d_model, n_heads, d_head, d_state, d_conv, chunk) < 1:
        raise ConfigError(
            f"d_model={d_model}, n_heads={n_heads}, d_head={d_head}, d_state={d_state}, "
            f"d_conv={d_conv}, chunk={chunk} must be at least 1"
        )
