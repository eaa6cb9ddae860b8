"""Low-rank updates (LoRA), bottleneck adapters, prefixes: forward and backward by hand."""

from typing import Any

import numpy as np
from numpy import ndarray

from ...errors import ConfigError, InputError
from ...shapes import Bool, Float
from ..arrays import Numbers, finite_array, gradient_array
from .attention import full_mask, require_finite, scaled_scores
from .feedforward import ACTIVATIONS
from .linear import linear, linear_backward


def low_rank_linear(
    x: Float[ndarray, "..."],
    W: Float[ndarray, "O I"],
    A: Float[ndarray, "R I"],
    B: Float[ndarray, "O R"],
    scale: float | int = 1.0,
) -> tuple[Float[ndarray, "... O"], Any]:
    """Map each row vector by a matrix and its low-rank update.

    Implements eq-small-lora::

        y = x Wᵀ + s x Aᵀ Bᵀ

    Args:
        x: Input vectors (..., I), one a row.
        W: Weights, stored (out, in).
        A: Reads r numbers from an input.
        B: Writes them to the outputs.
        scale: s.

    Returns:
        y, and the cache that :func:`low_rank_linear_backward` needs.

    Raises:
        InputError: If the shapes do not fit.

    Example:
        >>> W, A, B = np.eye(2), np.array([[1.0, 1.0]]), np.array([[1.0], [0.0]])
        >>> y, cache = low_rank_linear(np.array([1.0, 2.0]), W, A, B, scale=10.0)
        >>> y.tolist()  # 10 (1 + 2) more in the first
        [31.0, 2.0]

    References:
        Hu et al. (2021), arXiv:2106.09685, eq. (3).
    """
    if A.shape[1] != W.shape[1] or B.shape[0] != W.shape[0] or A.shape[0] != B.shape[1]:
        raise InputError(
            f"A of shape {A.shape} and B of shape {B.shape} do not fit W of shape {W.shape}: "
            "expected (r, in) and (out, r)"
        )
    h, _ = linear(x, A)  # (..., R)
    y = linear(x, W)[0] + scale * linear(h, B)[0]
    return y, (x, h, W, A, B, scale)


def low_rank_linear_backward(dy: Float[ndarray, "..."], cache: Any) -> tuple[ndarray, ...]:
    """Gradients of a linear map with a low-rank update, summed over all rows.

    Implements eq-small-lora-backward::

        dh = s dy B,   dx = dy W + dh A,   dW = dyᵀ x,   dA = dhᵀ x,   dB = s dyᵀ h,   h = x Aᵀ

    With dW known these are dA = s Bᵀ dW and dB = s dW Aᵀ: where B = 0, A gets no gradient. A
    map that is not trained has no use for dW.

    Args:
        dy: Gradient of the loss in y, of its shape.
        cache: Second value of :func:`low_rank_linear`.

    Returns:
        (dx, dW, dA, dB).

    Raises:
        InputError: If dy has not the shape of y.

    Example:
        >>> W, A, B = np.eye(2), np.array([[1.0, 1.0]]), np.zeros((2, 1))  # as a LoRA begins
        >>> y, cache = low_rank_linear(np.array([1.0, 2.0]), W, A, B)
        >>> dx, dW, dA, dB = low_rank_linear_backward(np.array([1.0, 0.0]), cache)
        >>> dA.tolist(), dB.tolist()  # A gets no gradient where B is 0
        ([[0.0, 0.0]], [[3.0], [0.0]])
    """
    x, h, W, A, B, scale = cache
    expected = (*x.shape[:-1], W.shape[0])
    if dy.shape != expected:
        raise InputError(f"dy has shape {dy.shape}, but y has {expected}")
    dh = scale * (dy @ B)  # (..., R)
    dx = dy @ W + dh @ A
    rows_x, rows_h, rows_dy, rows_dh = (_rows(a) for a in (x, h, dy, dh))
    return dx, rows_dy.T @ rows_x, rows_dh.T @ rows_x, scale * (rows_dy.T @ rows_h)


def _rows(x: ndarray) -> ndarray:
    return np.reshape(x, (-1, x.shape[-1]))


NAMES = ("W_down", "b_down", "W_up", "b_up")


def bottleneck(
    x: Numbers,
    W_down: Numbers,
    b_down: Numbers,
    W_up: Numbers,
    b_up: Numbers,
    activation: str = "relu",
) -> tuple[ndarray, tuple]:
    """A vector, and what a narrow network makes of it.

    Implements eq-small-bottleneck::

        y = x + W_up f(W_down x + b_down) + b_up

    Args:
        x: Vectors (..., D), one a row.
        W_down: (w, D), reads w numbers from a vector.
        b_down: (w,).
        W_up: (D, w), writes them back.
        b_up: (D,).
        activation: f: relu, gelu, gelu_tanh or silu.

    Returns:
        y (..., D), and the cache that :func:`bottleneck_backward` needs.

    Raises:
        ConfigError: If the activation is not known.
        InputError: If the shapes do not fit, or a number is NaN or infinite.

    Example:
        >>> W_down, W_up = np.array([[1.0, 1.0]]), np.array([[1.0], [0.0]])
        >>> y, cache = bottleneck([[1.0, 2.0]], W_down, np.zeros(1), W_up, np.zeros(2))
        >>> y.tolist()  # adds relu(1 + 2) to the first
        [[4.0, 2.0]]

    References:
        Houlsby et al. (2019), arXiv:1902.00751, section 2.1.
    """
    known = [name for name in ACTIVATIONS if name != "swiglu"]
    if activation not in known:
        raise ConfigError(f"activation={activation!r} is not one of {', '.join(known)}")
    x = finite_array(x, "x")
    given = (W_down, b_down, W_up, b_up)
    W_down, b_down, W_up, b_up = (finite_array(a, n) for a, n in zip(given, NAMES, strict=True))
    z, down = linear(x, W_down, b_down)
    if W_up.shape != W_down.shape[::-1]:
        raise InputError(
            f"W_up has shape {W_up.shape}, and W_down {W_down.shape}: it must lead back, with "
            f"shape {W_down.shape[::-1]}"
        )
    hidden, inner = ACTIVATIONS[activation][0](z)
    added, up = linear(hidden, W_up, b_up)
    return x + added, (x.shape, activation, down, inner, up)


def bottleneck_backward(dy: Numbers, cache: tuple) -> tuple[ndarray, ...]:
    """Pull the gradient of the loss back through :func:`bottleneck`.

    Computes::

        dh = dy W_up,   dz = f'(z) ⊙ dh,   dx = dy + dz W_down
        dW_up = dyᵀ h,   db_up = Σ dy,   dW_down = dzᵀ x,   db_down = Σ dz   over the rows

    Where W_up = 0, dW_down and db_down are 0 too: at its start an adapter learns by W_up alone.

    Args:
        dy: Gradient of the loss in y, of its shape.
        cache: Second value of :func:`bottleneck`.

    Returns:
        dx, dW_down, db_down, dW_up, db_up.

    Raises:
        InputError: If dy has not the shape of y, or an entry is NaN or infinite.

    Example:
        >>> W_down, W_up = np.array([[1.0, 1.0]]), np.array([[1.0], [0.0]])
        >>> y, cache = bottleneck([[1.0, 2.0]], W_down, np.zeros(1), W_up, np.zeros(2))
        >>> dx, *gradients = bottleneck_backward([[1.0, 0.0]], cache)
        >>> dx.tolist()  # directly, and through the narrow network
        [[2.0, 1.0]]
    """
    shape, activation, down, inner, up = cache
    dy = gradient_array(dy, shape)
    dhidden, dW_up, db_up = linear_backward(dy, up)
    dz = ACTIVATIONS[activation][1](dhidden, inner)
    dx, dW_down, db_down = linear_backward(dz, down)
    return dy + dx, dW_down, db_down, dW_up, db_up


def prefix_share(
    q: Float[ndarray, "*batch T K"],
    k: Float[ndarray, "*batch S K"],
    k_prefix: Float[ndarray, "*batch m K"],
    mask: Bool[ndarray, "..."] | None = None,
) -> Float[ndarray, "*batch T"]:
    """Share of the attention of each query that falls on a prefix before the text.

    Implements eq-small-mixture::

        λ = Z_P / (Z_P + Z),   Z_P = Σ_i e^(q·p_i / √d_k),   Z = Σ_s e^(q·k_s / √d_k)

    so that attention over prefix and text together is (1 - λ) of what the query reads from the
    text alone, and λ of what it reads from the prefix alone.

    Args:
        q: Queries.
        k: Keys of the text.
        k_prefix: Keys of the prefix, p.
        mask: True where a query may attend to a key of the text, broadcastable to
            ``(*batch, T, S)``; each sees all of the prefix.

    Returns:
        λ in [0, 1]; 1 for a query that sees no text.

    Raises:
        InputError: If the shapes do not fit, a set of keys is empty, or a number or a visible
            score is not finite.
        InputTypeError: If the mask is not boolean.

    Example:
        >>> q, k, k_prefix = np.zeros((1, 2)), np.zeros((3, 2)), np.zeros((1, 2))
        >>> prefix_share(q, k, k_prefix)  # one of four equal scores
        array([0.25])

    References:
        He et al. (2021), arXiv:2110.04366, section 3.1.
    """
    shapes = q.shape, k.shape, k_prefix.shape
    batches = {shape[:-2] for shape in shapes}
    empty = 0 in k.shape + k_prefix.shape
    if len(batches) > 1 or len({shape[-1] for shape in shapes}) > 1 or empty:
        raise InputError(
            f"q {shapes[0]}, k {shapes[1]} and k_prefix {shapes[2]} do not fit: they differ in "
            "the number of rows only, and none is empty"
        )
    require_finite(q=q, k=k, k_prefix=k_prefix)
    mask = full_mask(mask, (*q.shape[:-1], k.shape[-2]))
    text, prefix = scaled_scores(q, k), scaled_scores(q, k_prefix)
    require_finite(scores=np.where(mask, text, 0.0), prefix_scores=prefix)
    visible = np.where(mask, text, -np.inf)
    highest = np.maximum(visible.max(-1), prefix.max(-1))[..., None]  # never -inf
    powers, own = np.exp(visible - highest), np.exp(prefix - highest)
    return own.sum(-1) / (own.sum(-1) + powers.sum(-1))
