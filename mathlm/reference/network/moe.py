"""Mixture of experts: routers, experts and the balance loss, with their backward passes."""

from typing import Any

import numpy as np
from numpy import ndarray

from ...checks import require_counts
from ...errors import InputError
from ...shapes import Bool, Float
from ..arrays import Numbers, finite_array, gradient_array, require_gradient_shape
from ..statistics.softmax import softmax
from .activation import logistic_pair, swiglu, swiglu_backward
from .weights import Gradients, Weights, checked_weights

EXPERT_MAPS = ("W_router.weight", "W_in", "W_gate", "W_out")


def top_k_softmax(
    logits: Float[ndarray, "*batch E"], k: int
) -> tuple[Float[ndarray, "*batch E"], tuple]:
    """Gates of all experts: a softmax over the k largest scores, 0 for the others.

    Implements eq-moe-top-k::

        C = the k largest of z,   g_e = exp z_e / Σ_{c in C} exp z_c   for e in C, else 0

    Args:
        logits: Scores z; of equal scores the expert with the smaller number is chosen.
        k: Experts for each token, 1 to E.

    Returns:
        g, and the cache that :func:`top_k_softmax_backward` needs.

    Raises:
        InputError: If k is not 1 to E, or a score is not finite.

    Example:
        >>> gates, cache = top_k_softmax(np.log([1.0, 4.0, 6.0]), 2)
        >>> gates.round(4)
        array([0. , 0.4, 0.6])

    References:
        Shazeer et al. (2017), arXiv:1701.06538, eq. (3) to (5).
    """
    z = finite_array(logits, "logits")
    chosen = largest(z, k)
    g = softmax(np.where(chosen, z, z.min() - 1000.0)) * chosen
    g = g / g.sum(-1, keepdims=True)
    return g, (g,)


def top_k_softmax_backward(dg: Numbers, cache: tuple) -> ndarray:
    """Pull the gradient of the loss back through :func:`top_k_softmax`.

    Implements eq-moe-top-k-backward::

        dz_e = g_e (dg_e - Σ_c g_c dg_c),   0 for experts that were not chosen

    Args:
        dg: Gradient of the loss in g, of its shape.
        cache: Second value of :func:`top_k_softmax`.

    Returns:
        dz.

    Raises:
        InputError: If dg has not the shape of g.

    Example:
        >>> gates, cache = top_k_softmax(np.zeros(4), 2)  # of equal scores the first
        >>> top_k_softmax_backward(np.array([1.0, 0.0, 0.0, 0.0]), cache)[:2].tolist()
        [0.25, -0.25]
    """
    (g,) = cache
    dg = gradient_array(dg, g.shape)
    return g * (dg - (g * dg).sum(-1, keepdims=True))


def sigmoid_top_k(
    logits: Float[ndarray, "*batch E"],
    k: int,
    bias: Numbers | None = None,
    *,
    n_groups: int = 1,
    top_groups: int = 1,
) -> tuple[Float[ndarray, "*batch E"], tuple]:
    """Gates of all experts: sigmoids of k experts, divided by their sum; 0 for the others.

    Implements eq-moe-sigmoid::

        s = σ(z),   C = the k largest of s + b,   g_e = s_e / Σ_{c in C} s_c   for e in C

    Args:
        logits: Scores z.
        k: Experts for each token, 1 to E.
        bias: b (E,), which takes part in the choice only; None = 0.
        n_groups: Groups of experts.
        top_groups: Groups that C is chosen from, see :func:`expert_groups`.

    Returns:
        g, and the cache that :func:`sigmoid_top_k_backward` needs.

    Raises:
        InputError: If k is not 1 to the number of experts that a token may use, a number is
            not finite, or there is not one bias for each expert.

    Example:
        >>> gates, cache = sigmoid_top_k(np.zeros(4), 2)  # of equal scores the first
        >>> gates.tolist()
        [0.5, 0.5, 0.0, 0.0]

    References:
        DeepSeek-AI (2024), arXiv:2412.19437, eq. (13) to (16).
    """
    z = finite_array(logits, "logits")
    s, rest = logistic_pair(z)
    wanted = s if bias is None else s + _bias(bias, z.shape[-1])
    if (n_groups, top_groups) != (1, 1):
        allowed = expert_groups(wanted, n_groups, top_groups)
        room = top_groups * (z.shape[-1] // n_groups)
        if k > room:
            raise InputError(
                f"k={k} must be at most the {room} experts of {top_groups=} groups"
            )
        wanted = np.where(allowed, wanted, -np.inf)
    chosen = largest(wanted, k)
    g = softmax(np.where(chosen, -np.logaddexp(0.0, -z), -np.inf))  # of log s: s may be 0
    return g, (g, rest)


def expert_groups(
    scores: Float[ndarray, "*batch E"], n_groups: int, top_groups: int
) -> Bool[ndarray, "*batch E"]:
    """Which experts a token may use, if it may use those of a few groups only.

    Implements eq-moe-groups::

        Γ_j = sum of the two largest scores of group j,   allowed = the experts of the
        top_groups groups with the largest Γ

    Args:
        scores: What the experts are chosen by, with the bias; of equal groups the first ones
            are kept.
        n_groups: Groups of E / n_groups experts of consecutive numbers, 2 or more in each.
        top_groups: Groups that a token may use, 1 to ``n_groups``.

    Returns:
        True at the experts that are allowed.

    Raises:
        InputError: If the groups do not divide the experts, have fewer than two, or
            ``top_groups`` is not 1 to their number.

    Example:
        >>> scores = np.array([3.0, 1.0, 2.0, 2.5])  # the groups have 4 and 4.5
        >>> expert_groups(scores, n_groups=2, top_groups=1).tolist()
        [False, False, True, True]

    References:
        DeepSeek-AI (2024), arXiv:2412.19437, section 2.1.2 (node-limited routing).
    """
    scores = finite_array(scores, "scores")
    E = scores.shape[-1]
    require_counts(1, n_groups=n_groups, top_groups=top_groups)
    if E % n_groups or E // n_groups < 2 or top_groups > n_groups:
        raise InputError(
            f"n_groups={n_groups} must divide n_experts={E} into groups of 2 or more, of which "
            f"top_groups={top_groups} are used; give n_groups up to n_experts / 2 and "
            "top_groups up to n_groups"
        )
    grouped = np.sort(scores.reshape(*scores.shape[:-1], n_groups, -1), -1)
    kept = largest(grouped[..., -2:].sum(-1), top_groups)
    return np.repeat(kept, E // n_groups, -1)


def sigmoid_top_k_backward(dg: Numbers, cache: tuple) -> ndarray:
    """Pull the gradient of the loss back through :func:`sigmoid_top_k`.

    Implements eq-moe-sigmoid-backward::

        dz_e = (1 - s_e) g_e (dg_e - Σ_c g_c dg_c),   0 for experts that were not chosen

    Args:
        dg: Gradient of the loss in g, of its shape.
        cache: Second value of :func:`sigmoid_top_k`.

    Returns:
        dz; no gradient reaches the bias.

    Raises:
        InputError: If dg has not the shape of g.

    Example:
        >>> gates, cache = sigmoid_top_k(np.zeros(4), 2)
        >>> sigmoid_top_k_backward(np.array([1.0, 0.0, 0.0, 0.0]), cache)[:2].tolist()
        [0.125, -0.125]
    """
    g, rest = cache  # 1 - s
    dg = gradient_array(dg, g.shape)
    return rest * g * (dg - (g * dg).sum(-1, keepdims=True))


def mixture_of_experts(
    x: Float[ndarray, "N D"], weights: Weights, k: int
) -> tuple[Float[ndarray, "N D"], tuple]:
    """A feed-forward network in E parts, of which each token passes k.

    Implements eq-moe-mixture::

        g = top_k_softmax(x W_routerᵀ),   y = Σ_e g_e W_out⁽ᵉ⁾ (silu(W_gate⁽ᵉ⁾ x) ⊙ W_in⁽ᵉ⁾ x)

    Args:
        x: One token a row.
        weights: W_router.weight (E, D), W_in and W_gate (E, F, D), W_out (E, D, F); the names
            of :class:`mathlm.layers.MixtureOfExperts`.
        k: Experts for each token, 1 to E.

    Returns:
        y, and the cache that :func:`mixture_of_experts_backward` needs.

    Raises:
        InputError: If a weight is missing or of another shape, or a number is not finite.

    Example:
        >>> weights = {"W_router.weight": np.zeros((2, 1)), "W_in": np.ones((2, 1, 1))}
        >>> weights |= {"W_gate": np.full((2, 1, 1), 40.0)}  # silu(40) is 40
        >>> weights |= {"W_out": np.array([[[1.0]], [[2.0]]])}
        >>> y, cache = mixture_of_experts(np.ones((1, 1)), weights, k=2)
        >>> y.round(6)  # half of 40 and half of 80
        array([[60.]])

    References:
        Jiang et al. (2024), arXiv:2401.04088, section 2.1.
    """
    maps, x = checked_weights(weights, EXPERT_MAPS), finite_array(x, "x")
    _require_experts(x, maps)
    g, router = top_k_softmax(x @ maps["W_router.weight"].T, k)
    y, experts = np.zeros_like(x), {}
    for e in range(g.shape[1]):
        rows = np.flatnonzero(g[:, e])
        if len(rows):
            z = x[rows]
            hidden, gate_cache = swiglu(z @ maps["W_gate"][e].T, z @ maps["W_in"][e].T)
            out = hidden @ maps["W_out"][e].T
            y[rows] += g[rows, e, None] * out
            experts[e] = (rows, hidden, gate_cache, out)
    return y, (x, maps, g, router, experts)


def mixture_of_experts_backward(dy: Numbers, cache: tuple) -> tuple[ndarray, Gradients]:
    """Pull the gradient of the loss back through :func:`mixture_of_experts`.

    Implements eq-moe-backward::

        dg_e = dy · f_e(x),   dz as in top_k_softmax_backward
        dx = W_routerᵀ dz + Σ_e g_e (∂f_e/∂x)ᵀ dy,   dW_router = dzᵀ x

    Args:
        dy: Gradient of the loss in y, of its shape.
        cache: Second value of :func:`mixture_of_experts`.

    Returns:
        dx, and the gradients of the weights by name.

    Raises:
        InputError: If dy has not the shape of y.

    Example:
        >>> weights = {"W_router.weight": np.zeros((2, 1)), "W_in": np.ones((2, 1, 1))}
        >>> weights |= {"W_gate": np.full((2, 1, 1), 40.0)}  # silu(40) is 40
        >>> weights |= {"W_out": np.array([[[1.0]], [[2.0]]])}
        >>> y, cache = mixture_of_experts(np.ones((1, 1)), weights, k=2)
        >>> dx, gradients = mixture_of_experts_backward(np.ones((1, 1)), cache)
        >>> dx.round(6)  # y is 60 x², but for silu(40 x), which is 40 x
        array([[120.]])
    """
    x, maps, g, router, experts = cache
    dy = gradient_array(dy, x.shape)
    dx, dg = np.zeros_like(x), np.zeros_like(g)
    grads: Gradients = {name: np.zeros_like(W) for name, W in maps.items()}
    for e, (rows, hidden, gate_cache, out) in experts.items():
        dg[rows, e] = (dy[rows] * out).sum(-1)
        dout = g[rows, e, None] * dy[rows]
        grads["W_out"][e] = dout.T @ hidden
        dgate, dvalue = swiglu_backward(dout @ maps["W_out"][e], gate_cache)
        grads["W_gate"][e], grads["W_in"][e] = dgate.T @ x[rows], dvalue.T @ x[rows]
        dx[rows] += dgate @ maps["W_gate"][e] + dvalue @ maps["W_in"][e]
    dz = top_k_softmax_backward(dg, router)
    grads["W_router.weight"] = dz.T @ x
    return dx + dz @ maps["W_router.weight"], grads


def balance_loss(logits: Float[ndarray, "N E"], k: int) -> tuple[Any, tuple]:
    """Auxiliary loss that lowers the scores of experts by their share of the load.

    Implements eq-moe-balance-loss::

        L = E Σ_e f_e P_e,   f_e = choices of e / (N k),   P_e = (1/N) Σₙ softmax(zₙ)_e

    Args:
        logits: Scores z of N tokens.
        k: Experts for each token, 1 to E.

    Returns:
        L, and the cache that :func:`balance_loss_backward` needs.

    Raises:
        InputError: If the logits are not (N, E), k is not 1 to E, or a score is not finite.

    Example:
        >>> loss, cache = balance_loss(np.log([[3.0, 1.0], [1.0, 3.0]]), k=1)
        >>> float(loss.round(6))  # an even load
        1.0

    References:
        Fedus et al. (2022), arXiv:2101.03961, eq. (4) to (6).
    """
    z = finite_array(logits, "logits")
    if z.ndim != 2:
        raise InputError(f"logits {z.shape} must be (N, E): reshape them to one token a row")
    f, p = largest(z, k).mean(0) / k, softmax(z)
    return z.shape[1] * (f @ p.mean(0)), (f, p)


def balance_loss_backward(dloss: float, cache: tuple) -> ndarray:
    """Pull the gradient of the loss back through :func:`balance_loss`; f is held.

    Implements eq-moe-balance-loss::

        dzₙ = (E/N) pₙ ⊙ (f - f·pₙ) dL

    Args:
        dloss: Gradient in L.
        cache: Second value of :func:`balance_loss`.

    Returns:
        dz, (N, E).

    Raises:
        InputError: If dloss is not one number.

    Example:
        >>> loss, cache = balance_loss(np.zeros((2, 2)), k=2)  # each has half of the load
        >>> balance_loss_backward(1.0, cache).tolist()
        [[0.0, 0.0], [0.0, 0.0]]
    """
    require_gradient_shape(dloss, (), "dloss")
    f, p = cache
    N, E = p.shape
    return dloss * E / N * p * (f - (p @ f)[:, None])


def largest(z: ndarray, k: int) -> ndarray:
    """True at the k largest entries of each row, the first ones of equals."""
    if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= z.shape[-1]:
        raise InputError(f"k={k} must be an integer of 1 to n_experts={z.shape[-1]}")
    chosen = np.zeros(z.shape, bool)
    np.put_along_axis(chosen, np.argsort(-z, -1, kind="stable")[..., :k], True, -1)
    return chosen


def _bias(bias: Numbers, E: int) -> ndarray:
    """One number for each expert."""
    b = finite_array(bias, "bias")
    if b.shape != (E,):
        raise InputError(f"bias {b.shape} must be ({E},): one number for each expert")
    return b


def _require_experts(x: ndarray, maps: Gradients) -> None:
    """Refuse weights that do not fit each other."""
    shapes = {name: W.shape for name, W in maps.items()}
    E, F = len(maps["W_in"]), maps["W_in"].shape[1:2]
    D = x.shape[-1]
    inner = (E, *F, D)
    wanted = {"W_router.weight": (E, D), "W_in": inner, "W_gate": inner, "W_out": (E, D, *F)}
    if shapes != wanted or x.ndim != 2:
        raise InputError(f"x {x.shape} and weights {shapes} do not fit; expected {wanted}")
