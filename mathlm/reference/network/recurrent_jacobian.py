"""How the state of a recurrent network depends on earlier states."""

from typing import Any

import numpy as np
from numpy import ndarray

from ...errors import InputError
from ...shapes import Float


def rnn_cell_jacobian(cache: tuple) -> Float[ndarray, "*batch H H"]:
    """Derivative of one step of :func:`rnn_cell` in the state before it.

    Implements eq-rnn-jacobian::

        J = ∂h'/∂h = diag(1 - h'²) W_hh

    Args:
        cache: Second output of :func:`rnn_cell`.

    Returns:
        J, entry (i, j) the derivative of h'_i in h_j, for each row of the batch.
    """
    _, (_, W_hh, _), y = cache
    return (1 - y**2)[..., None] * W_hh


def gru_cell_jacobian(cache: tuple) -> Float[ndarray, "*batch H H"]:
    """Derivative of one step of :func:`gru_cell` in the state before it.

    Computes::

        J = ∂h'/∂h = diag(z) + diag((h - n) z(1 - z)) W_z
            + diag((1 - z)(1 - n²)) (diag(r) W_n + diag(u_n r(1 - r)) W_r)

    W_r, W_z, W_n are the blocks of W_hh.

    Args:
        cache: Second output of :func:`gru_cell`.

    Returns:
        J, entry (i, j) the derivative of h'_i in h_j, for each row of the batch.
    """
    _, (_, W_hh, _), r, z, n, u_n, h = cache
    W_r, W_z, W_n = np.split(W_hh, 3)
    inside = _diag(r) @ W_n + _diag(u_n * r * (1 - r)) @ W_r  # of r ⊙ u_n
    through_n = _diag((1 - z) * (1 - n**2)) @ inside
    return _diag(z) + _diag((h - n) * z * (1 - z)) @ W_z + through_n


def lstm_cell_jacobian(cache: tuple) -> Float[ndarray, "*batch S S"]:
    """Derivative of one step of :func:`lstm_cell` in the whole state (h, c) before it.

    Computes::

        C = ∂c'/∂h = diag(c f(1 - f)) W_f + diag(g i(1 - i)) W_i + diag(i (1 - g²)) W_g
        ∂c'/∂c = diag(f),   q = o (1 - tanh²(c'))
        ∂h'/∂h = diag(q) C + diag(tanh(c') o(1 - o)) W_o,   ∂h'/∂c = diag(q f)
        J = [[∂h'/∂h, ∂h'/∂c], [∂c'/∂h, ∂c'/∂c]]

    W_i, W_f, W_g, W_o are the blocks of W_hh.

    Args:
        cache: Second output of :func:`lstm_cell`.

    Returns:
        J of S = 2H rows and columns, h first, for each row of the batch.
    """
    _, (_, W_hh, _), i, f, g, o, c, squashed = cache
    W_i, W_f, W_g, W_o = np.split(W_hh, 4)
    through_gates = _diag(c * f * (1 - f)) @ W_f + _diag(g * i * (1 - i)) @ W_i
    c_in_h = through_gates + _diag(i * (1 - g**2)) @ W_g
    q = o * (1 - squashed**2)
    h_in_h = _diag(q) @ c_in_h + _diag(squashed * o * (1 - o)) @ W_o
    upper = np.concatenate((h_in_h, _diag(q * f)), axis=-1)
    return np.concatenate((upper, np.concatenate((c_in_h, _diag(f)), axis=-1)), axis=-2)


def state_jacobians(cache: tuple) -> Float[ndarray, "B T S S"]:
    """Derivative of each state of a sequence in the one before it.

    Computes::

        Jₜ = ∂sₜ/∂sₜ₋₁,   s = h, or (h, c) for an LSTM

    At a padded step it is the identity.

    Args:
        cache: Second output of :func:`rnn`, :func:`lstm` or :func:`gru`.

    Returns:
        J₁ … J_T for each sequence; S is H, or 2H for an LSTM.
    """
    kind, caches, real, _, _ = cache
    jacobians = np.stack([JACOBIANS[kind](step) for step in caches], axis=1)
    return np.where(real[..., None, None], jacobians, np.eye(jacobians.shape[-1]))


def jacobian_products(
    jacobians: Float[ndarray, "*batch T S S"],
) -> Float[ndarray, "*batch T S S"]:
    """Derivative of each state in the initial one, by the chain rule.

    Implements eq-jacobian-product::

        Pₜ = ∂sₜ/∂s₀ = Jₜ Jₜ₋₁ … J₁

    Args:
        jacobians: J₁ … J_T, such as those of :func:`state_jacobians`.

    Returns:
        P₁ … P_T.

    Raises:
        InputError: If the matrices are not square, there is none, or a product overflows.

    Example:
        >>> jacobian_products(np.full((3, 1, 1), 0.5)).ravel().tolist()
        [0.5, 0.25, 0.125]
    """
    if jacobians.ndim < 3 or 0 in jacobians.shape or len({*jacobians.shape[-2:]}) != 1:
        raise InputError(
            f"jacobians have shape {jacobians.shape}, expected (..., T, S, S): a square "
            "matrix for each of at least one step"
        )
    products = jacobians.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        for t in range(1, jacobians.shape[-3]):
            products[..., t, :, :] = jacobians[..., t, :, :] @ products[..., t - 1, :, :]
    _require_finite_products(products)
    return products


def state_singular_values(cache: tuple) -> Float[ndarray, "B T S"]:
    """By how much each state stretches directions of the initial one.

    Computes::

        σ₁ ≥ … ≥ σ_S of Pₜ = ∂sₜ/∂s₀,   for t = 1 … T

    A small change ε of s₀ changes sₜ by at most σ₁ ‖ε‖, and a gradient in sₜ reaches s₀ with at
    most σ₁ times its norm. Values below 10⁻¹⁶ of the largest are rounding.

    Args:
        cache: Second output of :func:`rnn`, :func:`lstm` or :func:`gru`.

    Returns:
        Singular values, largest first.

    Raises:
        InputError: If a product of Jacobians overflows.
    """
    return np.linalg.svd(jacobian_products(state_jacobians(cache)), compute_uv=False)


JACOBIANS: dict[str, Any] = {
    "rnn": rnn_cell_jacobian,
    "lstm": lstm_cell_jacobian,
    "gru": gru_cell_jacobian,
}


def _diag(v: ndarray) -> ndarray:
    """Diagonal matrices, one for each row of v."""
    return v[..., None] * np.eye(v.shape[-1])


def _require_finite_products(products: ndarray) -> None:
    bad = ~np.isfinite(products).all((-2, -1))
    if bad.any():
        t = int(np.argwhere(bad)[:, -1].min()) + 1
        raise InputError(
            f"the product of the first {t} Jacobians is not finite: it overflows, or one of "
            "them holds NaN; use fewer steps or smaller weights"
        )


__all__ = [
    "gru_cell_jacobian",
    "jacobian_products",
    "lstm_cell_jacobian",
    "rnn_cell_jacobian",
    "state_jacobians",
    "state_singular_values",
]
