"""Linear attention: a feature map in place of the exponential, so that two sums suffice."""

import numpy as np
from numpy import ndarray

from mathlm.errors import InputError
from mathlm.reference.arrays import finite_array, first_place
from mathlm.shapes import Float


def positive_features(x: Float[ndarray, "..."]) -> Float[ndarray, "..."]:
    """The feature map elu(x) + 1, positive everywhere.

    Computes::

        φ(x) = 1 + x  for x > 0,   e^x  otherwise

    Args:
        x: Queries or keys.

    Raises:
        InputError: If there is no entry, or one is NaN or infinite.

    References:
        Katharopoulos et al. (2020), arXiv:2006.16236, eq. (7).
    """
    x = finite_array(x, "x")
    return np.where(x > 0, 1 + x, np.exp(np.minimum(x, 0.0)))


def linear_attention(
    q: Float[ndarray, "*batch T K"],
    k: Float[ndarray, "*batch S K"],
    v: Float[ndarray, "*batch S V"],
) -> Float[ndarray, "*batch T V"]:
    """Average of the values with weights φ(q)·φ(k), through two sums that all queries share.

    Implements eq-heads-linear::

        y_t = φ(q_t) M / (φ(q_t) zᵀ),   M = Σ_s φ(k_s)ᵀ v_s,   z = Σ_s φ(k_s)

    Every query sees every key. Work grows with (T + S) K V; no (T, S) array is made.

    Args:
        q: Queries.
        k: Keys.
        v: Values.

    Raises:
        InputError: If the shapes do not fit, there is no key, a number is not finite, the
            weights of a query all underflow to 0, or a sum overflows.

    References:
        Katharopoulos et al. (2020), arXiv:2006.16236, eq. (5).
    """
    _require_fit(q, k, v)
    q, k = positive_features(q), positive_features(k)
    with np.errstate(over="ignore", invalid="ignore"):
        memory, total = k.mT @ v, k.sum(-2)  # (*batch, K, V), (*batch, K)
        return _quotient(q @ memory, q @ total[..., None])


def causal_linear_attention(
    q: Float[ndarray, "*batch T K"],
    k: Float[ndarray, "*batch T K"],
    v: Float[ndarray, "*batch T V"],
) -> Float[ndarray, "*batch T V"]:
    """Linear attention in causal order, one token after the other, with a state of fixed size.

    Implements eq-heads-linear-recurrent::

        M_t = M_{t-1} + φ(k_t)ᵀ v_t,   z_t = z_{t-1} + φ(k_t)
        y_t = φ(q_t) M_t / (φ(q_t) z_tᵀ)

    Args:
        q: Queries.
        k: Keys, one at each query's position.
        v: Values.

    Raises:
        InputError: As for :func:`linear_attention`, or if there is not one query for each key.

    References:
        Katharopoulos et al. (2020), arXiv:2006.16236, eqs. (16) to (20).
    """
    _require_fit(q, k, v)
    if q.shape[-2] != k.shape[-2]:
        raise InputError(
            f"q has {q.shape[-2]} positions and k has {k.shape[-2]}; causal order needs one "
            "query at the position of each key"
        )
    q, k = positive_features(q), positive_features(k)
    memory = np.zeros((*k.shape[:-2], k.shape[-1], v.shape[-1]))
    total, y = np.zeros((*k.shape[:-2], k.shape[-1])), np.zeros((*q.shape[:-1], v.shape[-1]))
    weight = np.zeros((*q.shape[:-1], 1))
    with np.errstate(over="ignore", invalid="ignore"):
        for t in range(q.shape[-2]):
            memory += k[..., t, :, None] * v[..., t, None, :]
            total += k[..., t, :]
            weight[..., t, :] = (q[..., t, :] * total).sum(-1, keepdims=True)
            y[..., t, :] = (q[..., t, None, :] @ memory)[..., 0, :]
        return _quotient(y, weight)


def _quotient(sums: ndarray, weight: ndarray) -> ndarray:
    """Sums (..., T, V) over weights (..., T, 1); refuses weights of 0 and what overflowed."""
    if (blind := weight == 0).any():
        raise InputError(
            f"all weights of query {first_place(blind)[:-1]} are 0: e^x of entries below -745 "
            "underflows; make queries and keys smaller"
        )
    if (bad := ~(np.isfinite(sums) & np.isfinite(weight))).any():
        raise InputError(
            f"the sums of query {first_place(bad)[:-1]} overflow float64; make queries, keys "
            "and values smaller"
        )
    return sums / weight


def _require_fit(q: ndarray, k: ndarray, v: ndarray) -> None:
    shapes = f"q, k, v have shapes {q.shape}, {k.shape}, {v.shape}"
    if min(q.ndim, k.ndim, v.ndim) < 2 or not q.shape[:-2] == k.shape[:-2] == v.shape[:-2]:
        raise InputError(f"{shapes}; each needs (positions, width) behind one common batch")
    if q.shape[-1] != k.shape[-1] or 0 in q.shape[-1:]:
        raise InputError(f"{shapes}; queries and keys need one common width of at least 1")
    if k.shape[-2] != v.shape[-2] or k.shape[-2] == 0:
        raise InputError(f"{shapes}; each key needs its value, and there must be at least one")
    for name, array in (("q", q), ("k", k), ("v", v)):
        finite_array(array, name)
