"""Mixture of experts: which tokens go where, with which weights, and balanced loads."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from ..checks import require_counts, require_positive
from ..errors import InputError, InputTypeError
from ..shapes import Bool, Float, Int
from .activation import swiglu

Routing = tuple[Tensor, Tensor]  # gates (..., k) and the numbers of the experts (..., k)


def top_k_softmax(logits: Float[Tensor, "*batch E"], k: int) -> Routing:
    """Weights of the k experts with the largest scores: the softmax of these scores alone.

    Implements eq-moe-top-k::

        C = the k largest of z,   g_e = exp z_e / Σ_{c in C} exp z_c   for e in C

    The same as a softmax over all experts, of which k are kept and divided by their sum. With
    k = 1 the weight is 1 and the gradient in the scores 0: use :func:`softmax_top_k` there.
    Scores in half precision are taken in float32.

    Args:
        logits: Scores z of the router.
        k: Experts for each token, 1 to E.

    Returns:
        Gates and numbers of the chosen experts, largest first, each (..., k).

    Raises:
        InputError: If k is not 1 to the number of experts.

    Example:
        >>> gates, chosen = top_k_softmax(torch.tensor([1.0, 4.0, 6.0]).log(), k=2)
        >>> gates, chosen
        (tensor([0.6000, 0.4000]), tensor([2, 1]))

    References:
        Shazeer et al. (2017), arXiv:1701.06538, eq. (3) to (5); Jiang et al. (2024),
        arXiv:2401.04088, section 2.1.
    """
    values, chosen = _scores(logits, k).topk(k, -1)
    return values.softmax(-1), chosen


def softmax_top_k(logits: Float[Tensor, "*batch E"], k: int) -> Routing:
    """Weights of the k likeliest experts: their probabilities among all, as they are.

    Implements eq-moe-switch::

        g_e = exp z_e / Σ_c exp z_c   over all experts c,   for the k largest

    The gates sum to less than 1, and have a gradient even with k = 1. Arguments and errors are
    those of :func:`top_k_softmax`.

    Example:
        >>> gates, chosen = softmax_top_k(torch.tensor([1.0, 3.0, 6.0]).log(), k=1)
        >>> gates, chosen
        (tensor([0.6000]), tensor([2]))

    References:
        Fedus et al. (2022), arXiv:2101.03961, eq. (1) and (2).
    """
    return _scores(logits, k).softmax(-1).topk(k, -1)


def sigmoid_top_k(
    logits: Float[Tensor, "*batch E"],
    k: int,
    bias: Float[Tensor, " E"] | None = None,
    scale: float = 1.0,
    *,
    n_groups: int = 1,
    top_groups: int = 1,
) -> Routing:
    """Weights of k experts from sigmoids, divided by their sum; a bias affects only the choice.

    Implements eq-moe-sigmoid::

        s = σ(z),   C = the k largest of s + b,   g_e = scale · s_e / Σ_{c in C} s_c

    With several groups, C is chosen within :func:`expert_groups`.

    Args:
        logits: Scores z of the router.
        k: Experts for each token, 1 to E.
        bias: b, one number for each expert, which no gradient reaches. None = 0.
        scale: Sum of the gates of a token.
        n_groups: Groups of experts, such as those of one device.
        top_groups: Groups that a token may use.

    Returns:
        Gates and numbers of the chosen experts, each (..., k).

    Raises:
        InputError: If k is not 1 to the number of experts that a token may use, or the bias
            has another length.

    Example:
        >>> gates, chosen = sigmoid_top_k(torch.tensor([0.0, 0.0, -9.0]), k=2)
        >>> gates
        tensor([0.5000, 0.5000])

    References:
        DeepSeek-AI (2024), arXiv:2412.19437, eq. (13) to (16).
    """
    s = _scores(logits, k).sigmoid()
    if bias is not None and bias.shape != s.shape[-1:]:
        raise InputError(
            f"bias {tuple(bias.shape)} must have one entry for {s.shape[-1]} experts"
        )
    wanted = s if bias is None else s.detach() + bias
    if (n_groups, top_groups) != (1, 1):
        allowed = expert_groups(wanted, n_groups, top_groups)
        room = top_groups * (s.shape[-1] // n_groups)
        if k > room:
            raise InputError(
                f"k={k} must be at most the {room} experts of {top_groups=} groups"
            )
        wanted = wanted.masked_fill(~allowed, -torch.inf)
    chosen = wanted.topk(k, -1).indices
    kept = s.gather(-1, chosen)
    return scale * kept / (kept.sum(-1, keepdim=True) + 1e-20), chosen


def expert_groups(
    scores: Float[Tensor, "*batch E"], n_groups: int, top_groups: int
) -> Bool[Tensor, "*batch E"]:
    """Which experts a token may use, if it may use those of a few groups only.

    Implements eq-moe-groups::

        Γ_j = sum of the two largest scores of group j,   allowed = the experts of the
        top_groups groups with the largest Γ

    Experts of a group have consecutive numbers. If a group lies on one node, a token is sent
    to ``top_groups`` nodes at most. The paper takes the k / top_groups largest scores of a
    group, which are two in the published model.

    Args:
        scores: What the experts are chosen by, with the bias.
        n_groups: Groups of E / n_groups experts, 2 or more in each.
        top_groups: Groups that a token may use, 1 to ``n_groups``.

    Returns:
        True at the experts that are allowed.

    Raises:
        InputError: If the groups do not divide the experts, have fewer than two, or
            ``top_groups`` is not 1 to their number.

    Example:
        >>> scores = torch.tensor([3.0, 1.0, 2.0, 2.5])  # the groups have 4 and 4.5
        >>> expert_groups(scores, n_groups=2, top_groups=1).tolist()
        [False, False, True, True]

    References:
        DeepSeek-AI (2024), arXiv:2412.19437, section 2.1.2 (node-limited routing).
    """
    E = scores.shape[-1]
    require_counts(1, n_groups=n_groups, top_groups=top_groups)
    if E % n_groups or E // n_groups < 2 or top_groups > n_groups:
        raise InputError(
            f"n_groups={n_groups} must divide n_experts={E} into groups of 2 or more, of which "
            f"top_groups={top_groups} are used; give n_groups up to n_experts / 2 and "
            "top_groups up to n_groups"
        )
    grouped = scores.unflatten(-1, (n_groups, -1))  # (..., n_groups, E / n_groups)
    best = grouped.topk(2, -1).values.sum(-1).topk(top_groups, -1).indices
    allowed = torch.zeros_like(grouped[..., 0], dtype=torch.bool).scatter(-1, best, True)
    return allowed.repeat_interleave(E // n_groups, -1)


def mix_experts(
    x: Float[Tensor, "N D"],
    gates: Float[Tensor, "N k"],
    chosen: Int[Tensor, "N k"],
    W_in: Float[Tensor, "E F D"],
    W_gate: Float[Tensor, "E F D"],
    W_out: Float[Tensor, "E D F"],
    keep: Bool[Tensor, "N k"] | None = None,
) -> Float[Tensor, "N D"]:
    """The weighted sum of what each token's experts return; an expert sees its tokens only.

    Implements eq-moe-mixture::

        y = Σ_{e in C} g_e W_out⁽ᵉ⁾ (silu(W_gate⁽ᵉ⁾ x) ⊙ W_in⁽ᵉ⁾ x)

    Pairs of token and expert are sorted by expert, each expert multiplies its rows, and the
    results are added where they came from. An expert without tokens costs nothing.

    Args:
        x: One token a row.
        gates: g, weight of each choice.
        chosen: Number of the expert of each choice.
        W_in: Of each expert.
        W_gate: Of each expert.
        W_out: Of each expert.
        keep: True where there is room for the choice; None = everywhere.

    Returns:
        y; a token without any choice kept gives 0.

    Example:
        >>> W_in, W_gate = torch.ones(2, 1, 1), torch.full((2, 1, 1), 20.0)  # silu(20) is 20
        >>> W_out = torch.tensor([[[1.0]], [[2.0]]])  # the experts return 20 and 40
        >>> gates, chosen = torch.tensor([[0.5, 0.5]]), torch.tensor([[0, 1]])
        >>> mix_experts(torch.ones(1, 1), gates, chosen, W_in, W_gate, W_out)
        tensor([[30.]])
    """
    pairs = torch.arange(chosen.numel(), device=x.device)
    flat = chosen.flatten()
    if keep is not None:
        pairs = pairs[keep.flatten()]
    pairs = pairs[flat[pairs].argsort(stable=True)]  # grouped by expert, tokens in order
    counts = expert_load(flat[pairs], len(W_in)).tolist()
    rows = pairs // chosen.shape[1]
    weights = gates.flatten()[pairs, None].to(x.dtype)
    y, start = torch.zeros_like(x), 0
    for e, count in enumerate(counts):
        if count:
            here = slice(start, start + count)
            z = x[rows[here]]  # (count, D)
            out = swiglu(z @ W_gate[e].mT, z @ W_in[e].mT) @ W_out[e].mT
            y = y.index_add(0, rows[here], weights[here] * out)
        start += count
    return y


def expert_load(chosen: Int[Tensor, "*any"], n_experts: int) -> Int[Tensor, " E"]:
    """How many choices fall on each expert [tokens].

    Example:
        >>> expert_load(torch.tensor([[0, 2], [2, 1]]), n_experts=4)
        tensor([1, 1, 2, 0])
    """
    require_counts(1, n_experts=n_experts)
    return torch.bincount(chosen.flatten(), minlength=n_experts)


def balance_loss(
    logits: Float[Tensor, "*batch E"], chosen: Int[Tensor, "*batch k"]
) -> Float[Tensor, ""]:
    """Auxiliary loss that lowers the scores of experts by their share of the load.

    Implements eq-moe-balance-loss::

        L = E Σ_e f_e P_e,   f_e = choices of e / (N k),   P_e = (1/N) Σₙ softmax(zₙ)_e
        ∂L/∂zₙ = (E/N) pₙ ⊙ (f - f·pₙ)

    It is 1 where either is uniform. f is a count and has no gradient. Switch has k = 1;
    transformers does not divide by k, so its value is k times this one.

    Args:
        logits: Scores z of N tokens.
        chosen: Their experts.

    Returns:
        L, a mean over the tokens.

    Example:
        >>> balance_loss(torch.zeros(2, 2), torch.tensor([[0], [1]]))  # uniform
        tensor(1.)

    References:
        Fedus et al. (2022), arXiv:2101.03961, eq. (4) to (6).
    """
    E = logits.shape[-1]
    p = _scores(logits, 1).softmax(-1).flatten(0, -2).mean(0)
    share = expert_load(chosen, E).to(p) / chosen.numel()
    return E * (share * p).sum()


def balance_bias(
    bias: Float[Tensor, " E"], load: Int[Tensor, " E"] | Float[Tensor, " E"], rate: float
) -> Float[Tensor, " E"]:
    """The bias after a step: raised for experts with little load, lowered for those with much.

    Implements eq-moe-bias::

        b_e ← b_e + u sign(mean load - load_e)

    Args:
        bias: b before the step.
        load: Choices that fell on each expert in a step [tokens].
        rate: u > 0; DeepSeek-V3 has 0.001.

    Returns:
        A new bias, for :func:`sigmoid_top_k`.

    Raises:
        InputError: If the rate is not positive or the lengths differ.

    Example:
        >>> balance_bias(torch.zeros(2), load=torch.tensor([6.0, 2.0]), rate=0.5)
        tensor([-0.5000,  0.5000])

    References:
        Wang et al. (2024), arXiv:2408.15664, algorithm 1.
    """
    require_positive(rate=rate)
    if bias.shape != load.shape:
        raise InputError(f"bias {tuple(bias.shape)} and load {tuple(load.shape)} must fit")
    load = load.to(bias.dtype)
    return bias + rate * (load.mean() - load).sign()


def expert_capacity(tokens: int, n_experts: int, k: int, factor: float) -> int:
    """Room that each expert reserves in a batch.

    Implements eq-moe-capacity::

        ⌈factor · k N / E⌉

    Args:
        tokens: N.
        n_experts: E.
        k: Experts for each token.
        factor: 1 = just the mean load.

    Returns:
        Choices that an expert has room for [tokens].

    Raises:
        InputError: If a count is below 1 or the factor not positive.

    Example:
        >>> expert_capacity(tokens=100, n_experts=10, k=2, factor=1.25)
        25
    """
    require_counts(1, tokens=tokens, n_experts=n_experts, k=k)
    require_positive(factor=factor)
    return math.ceil(round(factor * k * tokens / n_experts, 9))  # 1.1 · 50 / 5 is no 12


def within_capacity(
    chosen: Int[Tensor, "N k"], n_experts: int, capacity: int
) -> Bool[Tensor, "N k"]:
    """Which choices find room; first choices of all tokens go before second ones.

    Computes::

        keep[n, j] = (earlier choices of the same expert) < capacity

    Args:
        chosen: Experts of each token, the most wanted first.
        n_experts: E.
        capacity: Room of each expert [tokens].

    Returns:
        True where the choice is kept; the others are dropped, and the residual stream alone
        carries the token on.

    Raises:
        InputError: If the capacity is below 1.
        InputTypeError: If the numbers of experts are no integers.

    Example:
        >>> chosen = torch.tensor([[0], [0], [1]])
        >>> within_capacity(chosen, n_experts=2, capacity=1).tolist()
        [[True], [False], [True]]

    References:
        Lepikhin et al. (2020), arXiv:2006.16668, algorithm 1.
    """
    require_counts(1, n_experts=n_experts, capacity=capacity)
    if chosen.is_floating_point():
        raise InputTypeError(f"chosen has {chosen.dtype}; give numbers of experts, int64")
    order = chosen.mT.flatten()  # all first choices, then all second ones
    ranks = F.one_hot(order, n_experts).cumsum(0).gather(1, order[:, None])[:, 0] - 1
    return (ranks < capacity).reshape(chosen.mT.shape).mT


def _scores(logits: Tensor, k: int) -> Tensor:
    """The scores in float32 or better, once k of them can be chosen."""
    E = logits.shape[-1]
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= E:
        raise InputError(f"k={k} must be an integer of 1 to n_experts={E}")
    return logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
