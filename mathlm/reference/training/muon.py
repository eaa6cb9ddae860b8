"""Muon: momentum whose matrix is made nearly orthogonal before it is applied."""

import numpy as np
from numpy import ndarray

from ...errors import ConfigError, InputError, NonFiniteLossError
from ...shapes import Float
from .stepping import State, checked, unpack

Array = Float[ndarray, "..."]
Coefficients = tuple[float, float, float]
QUINTIC: Coefficients = (3.4445, -4.7750, 2.0315)


def newton_schulz(
    G: Array,
    steps: int = 5,
    coefficients: Coefficients = QUINTIC,
    eps: float = 1e-7,
) -> Array:
    """Push all singular values of a matrix towards 1, by products of matrices alone.

    Implements eq-newton-schulz::

        X ← G / max(‖G‖, ε)
        X ← aX + (b XXᵀ + c (XXᵀ)²) X,   ``steps`` times

    With G = U diag(σ) Vᵀ, each pass maps every singular value by s ↦ as + bs³ + cs⁵ and leaves
    U and V alone. The default coefficients are steep at 0 and do not converge: five passes
    leave the singular values that were at least 0.01 of ‖G‖ between 0.68 and 1.14. The
    cubic (3/2, -1/2, 0) is slower and converges to U Vᵀ. A zero matrix stays zero.

    Args:
        G: Matrix; a tall one is handled as its transpose, which is cheaper.
        steps: Passes, at least 0.
        coefficients: (a, b, c).
        eps: Smallest Frobenius norm that G is divided by, ε > 0.

    Returns:
        X, of the shape of G.

    Raises:
        InputError: If G is not a matrix with entries.
        NonFiniteLossError: If G holds NaN or infinity.
        ConfigError: If ``steps`` is negative, ``eps`` not positive, or the coefficients are not
            three finite numbers.

    Example:
        >>> W = newton_schulz(np.diag([5.0, 1.0]))
        >>> bool((abs(np.linalg.svd(W)[1] - 1) < 0.4).all())
        True

    References:
        Jordan et al. (2024), Muon: an optimizer for hidden layers in neural networks.
    """
    _require_matrix(G, steps, eps, coefficients)
    G, (a, b, c) = np.asarray(G, dtype=float), coefficients
    X = G.T if len(G) > len(G.T) else G
    X = X / max(np.hypot.reduce(X, axis=None), eps)  # hypot: squares would overflow
    for _ in range(steps):
        A = X @ X.T
        X = a * X + (b * A + c * A @ A) @ X
    return X.T if len(G) > len(G.T) else X


@checked
def muon_step(
    theta: Array,
    gradient: Array,
    state: State | None = None,
    *,
    lr: float | int = 1e-3,
    beta: float | int = 0.95,
    weight_decay: float | int = 0.1,
    nesterov: bool = True,
    scale: str = "original",
    passes: int = 5,
    coefficients: Coefficients = QUINTIC,
) -> tuple[Array, State]:
    """One step of Muon for a matrix.

    Implements eq-muon::

        m ← βm + (1-β)g
        u = (1-β)g + βm with Nesterov's look-ahead, else m
        θ ← (1 - ηλ) θ - ηr newton_schulz(u)

    with r = √max(1, A/B) as in the original, or 0.2 √max(A, B), which gives the step the root
    mean square of one of AdamW. PyTorch's conventions, whose iteration runs in bfloat16
    whatever the dtype of the parameter; this one runs in float64, and equals PyTorch's to
    rounding once that cast is taken out.

    Args:
        theta: Parameter θ, a matrix (A, B).
        gradient: Gradient g.
        state: What the step before returned; None at the start, where m = 0.
        lr: Step size η.
        beta: Decay rate β in [0, 1) [1/step].
        weight_decay: λ, not multiplied by r.
        nesterov: Whether the step looks ahead.
        scale: Which r, "original" or "match_rms_adamw".
        passes: Passes of :func:`newton_schulz`.
        coefficients: Its coefficients.

    Returns:
        The new θ and the new state with ``m`` and ``t``.

    Raises:
        InputError: If θ is not a matrix.
        ConfigError: If a number is outside its range or ``scale`` is not known.

    Example:
        >>> step = {"lr": 0.1, "weight_decay": 0.0}
        >>> W, state = muon_step(np.zeros((2, 2)), np.diag([5.0, 1.0]), **step)
        >>> bool((np.diag(W) < -0.05).all())  # all directions move alike
        True

    References:
        Jordan et al. (2024), Muon; Liu et al. (2025), arXiv:2502.16982, for the second r.
    """
    r = muon_scale(theta.shape, scale)
    t, m = unpack(state, theta, "m")
    m = beta * m + (1 - beta) * gradient
    u = (1 - beta) * gradient + beta * m if nesterov else m
    X = newton_schulz(u, passes, coefficients)
    return (1 - lr * weight_decay) * theta - lr * r * X, {"t": t, "m": m}


def muon_scale(shape: tuple[int, ...], scale: str) -> float:
    """Factor r of the step size of a matrix of this shape."""
    if len(shape) != 2:
        raise InputError(f"Muon moves matrices, got shape {shape}; use adamw_step")
    A, B = shape
    scales = {"original": max(1, A / B) ** 0.5, "match_rms_adamw": 0.2 * max(A, B) ** 0.5}
    if scale not in scales:
        raise ConfigError(f"scale={scale!r} is not known; it is one of {', '.join(scales)}")
    return scales[scale]


def _require_matrix(G: ndarray, steps: int, eps: float, coefficients: Coefficients) -> None:
    if np.ndim(G) != 2 or np.size(G) == 0:
        raise InputError(
            f"newton_schulz needs a matrix with entries, got shape {np.shape(G)}; "
            "use adamw_step for anything else"
        )
    if bad := int(np.sum(~np.isfinite(G))):
        raise NonFiniteLossError(f"{bad} of {G.size} entries of G are not finite")
    if steps < 0 or not eps > 0:
        raise ConfigError(f"need steps >= 0 and eps > 0, got steps={steps}, eps={eps}")
    if len(coefficients) != 3 or not np.isfinite(coefficients).all():
        raise ConfigError(f"coefficients={coefficients} must be three finite numbers")


__all__ = ["QUINTIC", "muon_scale", "muon_step", "newton_schulz"]
