"""State spaces and gated linear models: a matrix that is carried along a sequence."""

import torch
from torch import Tensor

from ..errors import InputError
from ..shapes import Float

Outputs = tuple[Float[Tensor, "B T H P"], Float[Tensor, "B H N P"]]


def zero_order_hold(
    delta: Float[Tensor, "*batch"], a: Float[Tensor, "*batch"]
) -> tuple[Float[Tensor, "*batch"], Float[Tensor, "*batch"]]:
    """Decay of a state and gain of its input over a step with constant input.

    Implements eq-state-space-hold::

        dm/dt = a m + u   over a time Δ:   m' = e^(aΔ) m + (e^(aΔ) - 1)/a · u

    Args:
        delta: Length of the step, Δ ≥ 0.
        a: Rate; negative for a state that forgets, 0 for one that sums.

    Returns:
        e^(aΔ), and (e^(aΔ) - 1)/a, which is Δ at a = 0.

    Example:
        >>> zero_order_hold(torch.tensor([2.0]), torch.tensor([0.0]))  # a = 0 forgets nothing
        (tensor([1.]), tensor([2.]))
    """
    z = delta * a
    small = z.abs() < 0.1  # there the gradient of the quotient would lose its digits
    inside = torch.where(small, z, 0.0)
    series = torch.ones_like(z)  # (e^z - 1)/z = 1 + z/2! + z²/3! + …, by Horner's rule
    for n in range(11, 1, -1):
        series = 1 + inside / n * series
    quotient = torch.expm1(z) / torch.where(small, 1.0, z)
    return z.exp(), delta * torch.where(small, series, quotient)


def selective_scan(
    q: Float[Tensor, "B T H N"],
    k: Float[Tensor, "B T H N"],
    v: Float[Tensor, "B T H P"],
    log_decay: Float[Tensor, "B T H"],
    state: Float[Tensor, "B H N P"] | None = None,
) -> Outputs:
    """A selective state space with one decay for each head and token, step by step.

    Implements eq-state-space-recurrence::

        M_t = α_t M_{t-1} + k_tᵀ v_t,   y_t = q_t M_t,   α_t = exp(log_decay_t)

    In the letters of Mamba-2, q is C, k is B, and v is Δ x.

    Args:
        q: What reads the state, C.
        k: Where a token writes, B.
        v: What it writes, Δ x.
        log_decay: log α = Δ a, at most 0 for a state that does not grow.
        state: M before the first token; None = 0.

    Returns:
        y, and M after the last token.

    Raises:
        InputError: If the shapes do not fit.

    Example:
        >>> ones, halves = torch.ones(1, 3, 1, 1), torch.full((1, 3, 1), 0.5).log()
        >>> y, state = selective_scan(ones, ones, ones, halves)
        >>> y.flatten()  # each is 1 more than half of the one before
        tensor([1.0000, 1.5000, 1.7500])

    References:
        Gu and Dao (2023), arXiv:2312.00752; Dao and Gu (2024), arXiv:2405.21060.
    """
    state = _start(q, k, v, log_decay, state)
    alpha = log_decay.exp()[..., None, None]  # (B, T, H, 1, 1)
    outputs = []
    for t in range(v.shape[1]):
        state = alpha[:, t] * state + k[:, t, :, :, None] * v[:, t, :, None]
        outputs.append((q[:, t, :, None] @ state)[..., 0, :])
    return torch.stack(outputs, 1), state


def decay_scan(
    log_decay: Float[Tensor, "B T H"], update: Float[Tensor, "B T H N P"]
) -> Float[Tensor, "B T H N P"]:
    """All states of the recurrence, by an associative scan of about log₂ T rounds.

    Implements eq-state-space-scan::

        (α, U) ∘ (α', U') = (α α', α' U + U')

    Each round merges every segment with the one that ends where it begins and doubles its
    length.

    Args:
        log_decay: log α of each token.
        update: U of each token, such as kᵀ v.

    Returns:
        M_1 … M_T, from the state 0.

    Example:
        >>> halves = torch.full((1, 3, 1), 0.5).log()
        >>> decay_scan(halves, torch.ones(1, 3, 1, 1, 1)).flatten()
        tensor([1.0000, 1.5000, 1.7500])

    References:
        Hillis and Steele (1986); Blelloch (1990).
    """
    reach = 1
    while reach < update.shape[1]:
        alpha = log_decay[:, reach:, :, None, None].exp()
        merged = alpha * update[:, :-reach] + update[:, reach:]
        update = torch.cat((update[:, :reach], merged), 1)
        added = log_decay[:, reach:] + log_decay[:, :-reach]
        log_decay = torch.cat((log_decay[:, :reach], added), 1)
        reach *= 2
    return update


def decay_mask(log_decay: Float[Tensor, "*batch T"]) -> Float[Tensor, "*batch T T"]:
    """What is left at token i of what token j wrote.

    Implements eq-state-space-mask::

        L_ij = α_{j+1} … α_i   for j ≤ i,   0 for j > i

    Args:
        log_decay: log α of each token, along the last axis; -inf for one that forgets all.

    Example:
        >>> decay_mask(torch.tensor([0.5, 0.5, 0.5]).log())
        tensor([[1.0000, 0.0000, 0.0000],
                [0.5000, 1.0000, 0.0000],
                [0.2500, 0.5000, 1.0000]])
    """
    T = log_decay.shape[-1]
    past = torch.ones(T, T, dtype=torch.bool, device=log_decay.device).tril(-1)  # j < i
    between = log_decay[..., :, None].expand(*log_decay.shape, T).masked_fill(~past, 0.0)
    between = between.cumsum(-2)  # summed for each j: a difference of two sums may be inf - inf
    return between.masked_fill(past.mT, -torch.inf).exp()


def decayed_attention(
    q: Float[Tensor, "B T H N"],
    k: Float[Tensor, "B T H N"],
    v: Float[Tensor, "B T H P"],
    log_decay: Float[Tensor, "B T H"],
) -> Float[Tensor, "B T H P"]:
    """The outputs of :func:`selective_scan`, as attention without a softmax.

    Implements eq-state-space-attention::

        Y = (Q Kᵀ ⊙ L) V   for each head, with L of decay_mask

    Arguments and errors are those of :func:`selective_scan`; work grows with T².

    Example:
        >>> ones, halves = torch.ones(1, 3, 1, 1), torch.full((1, 3, 1), 0.5).log()
        >>> decayed_attention(ones, ones, ones, halves).flatten()  # 1, 1 + 1/2, 1 + 1/2 + 1/4
        tensor([1.0000, 1.5000, 1.7500])

    References:
        Dao and Gu (2024), arXiv:2405.21060, section 3.
    """
    _start(q, k, v, log_decay, None)
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))  # (B, H, T, ·)
    return (q @ k.mT * decay_mask(log_decay.mT) @ v).transpose(1, 2)


def ssd_chunked(
    q: Float[Tensor, "B T H N"],
    k: Float[Tensor, "B T H N"],
    v: Float[Tensor, "B T H P"],
    log_decay: Float[Tensor, "B T H"],
    chunk: int = 64,
    state: Float[Tensor, "B H N P"] | None = None,
) -> Outputs:
    """The value of :func:`selective_scan`: attention inside chunks, a recurrence between them.

    Implements eq-state-space-chunk::

        Y = (Q Kᵀ ⊙ L) V + Γ Q M,   M' = γ_C M + (Γ⁻¹ γ_C K)ᵀ V,   γ_i = α_1 … α_i

    for one chunk of C tokens whose state at the start is M; Γ is diagonal, with γ_i.

    Args:
        q: What reads the state.
        k: Where a token writes.
        v: What it writes.
        log_decay: log α.
        chunk: Tokens in a chunk, C; the last one may have fewer.
        state: M before the first token; None = 0.

    Returns:
        y, and M after the last token.

    Raises:
        InputError: If the shapes do not fit, or a chunk has no token.

    Example:
        >>> ones, halves = torch.ones(1, 3, 1, 1), torch.full((1, 3, 1), 0.5).log()
        >>> y, state = ssd_chunked(ones, ones, ones, halves, chunk=2)
        >>> y.flatten()  # as of selective_scan
        tensor([1.0000, 1.5000, 1.7500])

    References:
        Dao and Gu (2024), arXiv:2405.21060, section 6.
    """
    state = _start(q, k, v, log_decay, state, chunk)
    T = v.shape[1]
    q, k, v, log_decay = (_chunks(x, chunk) for x in (q, k, v, log_decay[..., None]))
    log_decay = log_decay[..., 0]  # (B, c, H, C)
    total = log_decay.cumsum(-1)[..., None]  # log γ (B, c, H, C, 1)
    left = decay_mask(log_decay)  # (B, c, H, C, C)
    inside = q @ k.mT * left @ v
    written = (k * left[..., -1, :, None]).mT @ v  # (B, c, H, N, P)
    starts, state = _between_chunks(total[..., -1:, :].exp(), written, state)
    y = inside + (q * total.exp()) @ starts
    return _whole(y, T), state


def gated_linear_attention(
    q: Float[Tensor, "B T H N"],
    k: Float[Tensor, "B T H N"],
    v: Float[Tensor, "B T H P"],
    log_decay: Float[Tensor, "B T H N"],
    chunk: int = 16,
    state: Float[Tensor, "B H N P"] | None = None,
) -> Outputs:
    """A linear state whose every row has a decay of its own, in chunks.

    Implements eq-state-space-gates::

        M_t = Diag(α_t) M_{t-1} + k_tᵀ v_t,   y_t = q_t M_t,   α_t a vector of N numbers

    Arguments, returns and errors are those of :func:`ssd_chunked`, but for ``log_decay``, which
    has N numbers for each token and head. The decays between two tokens of a chunk are made for
    each of the N rows, (C, C, N) numbers, so that no ratio of them overflows.

    Example:
        >>> ones, halves = torch.ones(1, 3, 1, 1), torch.full((1, 3, 1, 1), 0.5).log()
        >>> y, state = gated_linear_attention(ones, ones, ones, halves)
        >>> y.flatten()
        tensor([1.0000, 1.5000, 1.7500])

    References:
        Yang et al. (2024), arXiv:2312.06635.
    """
    state = _start(q, k, v, log_decay[..., 0], state, chunk)
    if log_decay.shape != k.shape:
        raise InputError(
            f"log_decay {tuple(log_decay.shape)} needs the shape of k {tuple(k.shape)}"
        )
    T = v.shape[1]
    q, k, v, log_decay = (_chunks(x, chunk) for x in (q, k, v, log_decay))
    total = log_decay.cumsum(-2)  # (B, c, H, C, N)
    left = decay_mask(log_decay.mT).movedim(-3, -1)  # (B, c, H, C, C, N)
    inside = torch.einsum("...in,...jn,...ijn->...ij", q, k, left) @ v
    written = (k * left[..., -1, :, :]).mT @ v
    starts, state = _between_chunks(total[..., -1:, :].exp().mT, written, state)
    y = inside + (q * total.exp()) @ starts
    return _whole(y, T), state


def delta_rule(
    q: Float[Tensor, "B T H N"],
    k: Float[Tensor, "B T H N"],
    v: Float[Tensor, "B T H P"],
    beta: Float[Tensor, "B T H"],
    log_decay: Float[Tensor, "B T H"] | None = None,
    state: Float[Tensor, "B H N P"] | None = None,
) -> Outputs:
    """A linear state that writes only what it does not say already, step by step.

    Implements eq-state-space-delta::

        M̄_t = α_t M_{t-1},   u_t = β_t (v_t - k_t M̄_t),   M_t = M̄_t + k_tᵀ u_t,   y_t = q_t M_t

    Args:
        q: What reads the state.
        k: Where a token writes; of length 1, or β |k|² at most 2, lest the state grow.
        v: What the state shall say to k.
        beta: Share of the error that is corrected, 0 to 1.
        log_decay: log α; None = 0, nothing is forgotten.
        state: M before the first token; None = 0.

    Returns:
        y, and M after the last token.

    Raises:
        InputError: If the shapes do not fit.

    Example:
        >>> ones, v = torch.ones(1, 2, 1, 1), torch.full((1, 2, 1, 1), 3.0)
        >>> y, state = delta_rule(ones, ones, v, beta=torch.full((1, 2, 1), 0.5))
        >>> y.flatten()  # half of what is missing: 3/2, then half of 3/2 more
        tensor([1.5000, 2.2500])

    References:
        Schlag et al. (2021), arXiv:2102.11174; gated: Yang et al. (2024), arXiv:2412.06464.
    """
    log_decay = torch.zeros_like(beta) if log_decay is None else log_decay
    state = _start(q, k, v, log_decay, state)
    _require_beta(beta, log_decay)
    outputs = []
    for t in range(v.shape[1]):
        state = log_decay[:, t, :, None, None].exp() * state
        said = (k[:, t, :, None] @ state)[..., 0, :]  # (B, H, P)
        u = beta[:, t, :, None] * (v[:, t] - said)
        state = state + k[:, t, :, :, None] * u[:, :, None]
        outputs.append((q[:, t, :, None] @ state)[..., 0, :])
    return torch.stack(outputs, 1), state


def delta_rule_chunked(
    q: Float[Tensor, "B T H N"],
    k: Float[Tensor, "B T H N"],
    v: Float[Tensor, "B T H P"],
    beta: Float[Tensor, "B T H"],
    log_decay: Float[Tensor, "B T H"] | None = None,
    chunk: int = 64,
    state: Float[Tensor, "B H N P"] | None = None,
) -> Outputs:
    """The value of :func:`delta_rule`, with one triangular system for each chunk.

    Implements eq-state-space-delta-chunk::

        (I + tril₋₁(β K Kᵀ ⊙ L)) U = β (V - Γ K M)
        Y = (Q Kᵀ ⊙ L) U + Γ Q M,   M' = γ_C M + (Γ⁻¹ γ_C K)ᵀ U

    for one chunk whose state at the start is M; β multiplies the rows. Arguments, returns and
    errors are those of :func:`delta_rule`, and ``chunk`` is that of :func:`ssd_chunked`.

    Example:
        >>> ones, v = torch.ones(1, 2, 1, 1), torch.full((1, 2, 1, 1), 3.0)
        >>> y, state = delta_rule_chunked(ones, ones, v, beta=torch.full((1, 2, 1), 0.5))
        >>> y.flatten()  # as of delta_rule
        tensor([1.5000, 2.2500])

    References:
        Yang et al. (2024), arXiv:2406.06484; gated: arXiv:2412.06464.
    """
    log_decay = torch.zeros_like(beta) if log_decay is None else log_decay
    state = _start(q, k, v, log_decay, state, chunk)
    _require_beta(beta, log_decay)
    T, P = v.shape[1], v.shape[-1]
    q, k, v = (_chunks(x, chunk) for x in (q, k, v))
    beta, log_decay = (_chunks(x[..., None], chunk) for x in (beta, log_decay))
    total, left = log_decay.cumsum(-2), decay_mask(log_decay[..., 0])
    system = (beta * (k @ k.mT) * left).tril(-1)
    right = beta * torch.cat((v, total.exp() * k), -1)
    wide = torch.promote_types(right.dtype, torch.float32)  # the solver takes no 16 bits
    system, wanted = system.to(wide), right.to(wide)
    both = torch.linalg.solve_triangular(system, wanted, upper=False, unitriangular=True)
    both = both.to(right.dtype)
    from_v, from_state = both.split((P, k.shape[-1]), -1)  # U = from_v - from_state M
    scores, late = q @ k.mT * left, k * left[..., -1, :, None]
    read, kept = q * total.exp(), total[..., -1:, :].exp()
    outputs = []
    for c in range(v.shape[1]):
        u = from_v[:, c] - from_state[:, c] @ state
        outputs.append(scores[:, c] @ u + read[:, c] @ state)
        state = kept[:, c] * state + late[:, c].mT @ u
    return _whole(torch.stack(outputs, 1), T), state


def causal_convolution(
    x: Float[Tensor, "B T E"],
    weight: Float[Tensor, "E W"],
    bias: Float[Tensor, " E"] | None = None,
    past: Float[Tensor, "B U E"] | None = None,
) -> Float[Tensor, "B T E"]:
    """A short window that slides over each feature by itself and sees no later token.

    Implements eq-state-space-convolution::

        y_t = Σ_{i=0}^{W-1} w_i ⊙ x_{t-W+1+i} + b

    Args:
        x: One vector for each token.
        weight: W weights of each feature; the last belongs to the token itself.
        bias: b, or None.
        past: The W - 1 vectors before ``x``; None = 0.

    Raises:
        InputError: If ``past`` has not W - 1 tokens.

    Example:
        >>> x = torch.tensor([[[1.0], [2.0], [3.0]]])
        >>> causal_convolution(x, weight=torch.tensor([[1.0, 10.0]])).flatten()
        tensor([10., 21., 32.])
    """
    before = weight.shape[1] - 1
    past = x.new_zeros(len(x), before, x.shape[2]) if past is None else past
    if past.shape[1] != before:
        raise InputError(
            f"past has {past.shape[1]} tokens; a window of {before + 1} needs {before}"
        )
    windows = torch.cat((past, x), 1).unfold(1, before + 1, 1)  # (B, T, E, W)
    y = (windows * weight).sum(-1)
    return y if bias is None else y + bias


def _between_chunks(kept: Tensor, written: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
    """States at the start of each chunk, and after the last."""
    starts = []
    for c in range(written.shape[1]):
        starts.append(state)
        state = kept[:, c] * state + written[:, c]
    return torch.stack(starts, 1), state


def _chunks(x: Tensor, chunk: int) -> Tensor:
    """(B, T, H, E) as (B, c, H, C, E); zeros fill the last chunk: no decay, nothing written."""
    chunk = min(chunk, x.shape[1])
    x = torch.nn.functional.pad(x, (0, 0, 0, 0, 0, -x.shape[1] % chunk))
    return x.unflatten(1, (-1, chunk)).transpose(2, 3)


def _whole(y: Tensor, T: int) -> Tensor:
    """The inverse of the cut into chunks, (B, T, H, E)."""
    return y.transpose(2, 3).flatten(1, 2)[:, :T]


def _require_beta(beta: Tensor, log_decay: Tensor) -> None:
    if beta.shape != log_decay.shape:
        raise InputError(
            f"beta {tuple(beta.shape)} and log_decay {tuple(log_decay.shape)} must agree"
        )


def _start(
    q: Tensor, k: Tensor, v: Tensor, log_decay: Tensor, state: Tensor | None, chunk: int = 1
) -> Tensor:
    """The first state, once everything fits."""
    if q.shape != k.shape or k.shape[:3] != v.shape[:3] or log_decay.shape != v.shape[:3]:
        shapes = ", ".join(str(tuple(x.shape)) for x in (q, k, v, log_decay))
        raise InputError(
            f"q, k, v and log_decay have shapes {shapes}; expected (B, T, H, N) twice, "
            "(B, T, H, P) and a decay for each token and head"
        )
    if v.shape[1] < 1 or chunk < 1:
        raise InputError(f"T={v.shape[1]} tokens, chunks of {chunk}: both must be at least 1")
    shape = (v.shape[0], v.shape[2], k.shape[3], v.shape[3])
    if state is None:
        return v.new_zeros(shape)
    if state.shape != shape:
        raise InputError(f"state {tuple(state.shape)} must be (B, H, N, P) = {shape}")
    return state
