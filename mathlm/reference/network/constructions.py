"""Networks whose weights are written down, not trained: XOR, parity, zigzags, interpolants.

Each function returns weights in the form that :func:`multilayer_perceptron` takes: a list of
(W, b), W stored (out, in). Every layer but the last is followed by ReLU.
"""

from collections.abc import Sequence

import numpy as np
from numpy import ndarray

from ...checks import require_integer
from ...errors import InputError
from ...shapes import Float

Weights = list[tuple[ndarray, ndarray]]


def all_bits(n: int) -> tuple[ndarray, ndarray]:
    """Every input of n bits, in the order of counting, and its parity; n = 2 is XOR.

    Args:
        n: Number of bits, at least 1.

    Returns:
        (x, y): x (2^n, n) and y (2^n, 1), zeros and ones.

    Raises:
        InputTypeError: If n is no integer.
        InputError: If n < 1, or n > 20: a table of a million rows is enough.

    Example:
        >>> x, y = all_bits(2)
        >>> x.tolist(), y.ravel().tolist()  # XOR
        ([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]], [0.0, 1.0, 1.0, 0.0])
    """
    require_integer(n=n)
    if not 1 <= n <= 20:
        raise InputError(f"n={n} must lie between 1 and 20: the table has 2^n rows")
    x = (np.arange(2**n)[:, None] >> np.arange(n)[::-1] & 1).astype(float)
    return x, x.sum(1, keepdims=True) % 2


def parity_network(n: int) -> Weights:
    """Parity of n bits with one hidden layer of n ReLU units; for n = 2 it is XOR.

    Implements eq-parity-shallow::

        s = Σ x_i,   y = ReLU(s) - 2 ReLU(s - 1) + 2 ReLU(s - 2) - ...

    Args:
        n: Number of bits, at least 1.

    Returns:
        Weights of the layers n → n → 1. The output is 1 for an odd number of ones, else 0.

    Raises:
        InputTypeError: If n is no integer.
        InputError: If n < 1.

    Example:
        >>> from mathlm.reference import multilayer_perceptron
        >>> x, parity = all_bits(3)
        >>> y, cache = multilayer_perceptron(x, parity_network(3), ["relu", "identity"])
        >>> bool((y == parity).all())
        True
    """
    _require_at_least_one(n=n)
    slopes = 2.0 * (-1.0) ** np.arange(n)  # change of slope at s = 0, 1, ..., n - 1
    slopes[0] = 1.0
    return [(np.ones((n, n)), -np.arange(float(n))), (slopes[None], np.zeros(1))]


def parity_folds(n: int) -> Weights:
    """Parity of n bits with ⌈log₂ n⌉ hidden layers of two ReLU units each.

    Implements eq-parity-folds::

        s ← s - 2 ReLU(s - c),   c = 2^(k-1), ..., 2, 1

    Folding 0 ≤ s ≤ 2c at c keeps the parity of s, since 2c is even.

    Args:
        n: Number of bits, at least 2.

    Returns:
        Weights of the layers n → 2 → ... → 2 → 1.

    Raises:
        InputTypeError: If n is no integer.
        InputError: If n < 2.

    Example:
        >>> [W.shape for W, b in parity_folds(8)]  # log₂ 8 hidden layers of two
        [(2, 8), (2, 2), (2, 2), (1, 2)]
    """
    require_integer(n=n)
    if n < 2:
        raise InputError(f"n={n} must be at least 2: there is nothing to fold")
    depth = int(n - 1).bit_length()
    read, layers = np.ones((1, n)), []
    for c in 2.0 ** np.arange(depth - 1, -1, -1):
        layers.append((np.repeat(read, 2, axis=0), np.array([0.0, -c])))
        read = np.array([[1.0, -2.0]])
    return [*layers, (read, np.zeros(1))]


def parity_tree(n: int) -> Weights:
    """Parity of n bits as a tree of pairwise XORs: ⌈log₂ n⌉ hidden layers.

    Implements eq-xor-solution at every node::

        xor(a, b) = ReLU(a + b) - 2 ReLU(a + b - 1)

    A bit without a partner passes through one unit, ReLU(a) = a.

    Args:
        n: Number of bits, at least 2.

    Returns:
        Weights; the hidden layers have n, then about n/2, n/4, ... units.

    Raises:
        InputTypeError: If n is no integer.
        InputError: If n < 2.

    Example:
        >>> from mathlm.reference import multilayer_perceptron
        >>> (x, parity), weights = all_bits(4), parity_tree(4)
        >>> activations = ["relu"] * (len(weights) - 1) + ["identity"]
        >>> y, cache = multilayer_perceptron(x, weights, activations)
        >>> bool((y == parity).all()), len(weights) - 1  # log₂ 4 hidden layers
        (True, 2)
    """
    require_integer(n=n)
    if n < 2:
        raise InputError(f"n={n} must be at least 2: there is no pair")
    layers, read = [], np.eye(n)
    while len(read) > 1:
        listen, b, write = _xor_level(len(read))
        layers.append((listen @ read, b))
        read = write
    return [*layers, (read, np.zeros(1))]


def _xor_level(m: int) -> tuple[ndarray, ndarray, ndarray]:
    """One level of the tree: what its units listen to, their shifts, what they write."""
    pairs, left = divmod(m, 2)
    pair = np.kron(np.eye(pairs), np.ones((2, 2)))
    listen = np.zeros((2 * pairs + left, m))
    listen[: 2 * pairs, : 2 * pairs] = pair
    write = np.zeros((pairs + left, 2 * pairs + left))
    write[:pairs, : 2 * pairs] = np.kron(np.eye(pairs), [[1.0, -2.0]])
    if left:
        listen[-1, -1] = write[-1, -1] = 1.0
    b = np.tile([0.0, -1.0], pairs)
    return listen, np.append(b, np.zeros(left)), write


def tent_network(depth: int) -> Weights:
    """The tent map applied ``depth`` times: two ReLU units a layer, 2^depth linear pieces.

    Implements eq-tent::

        t(x) = 2 ReLU(x) - 4 ReLU(x - 1/2)   on 0 ≤ x ≤ 1

    Args:
        depth: Number of hidden layers, at least 1.

    Returns:
        Weights of the layers 1 → 2 → ... → 2 → 1.

    Raises:
        InputTypeError: If depth is no integer.
        InputError: If depth < 1.

    Example:
        >>> from mathlm.reference import linear_pieces
        >>> linear_pieces(tent_network(2), 0, 1).tolist()  # 2² pieces
        [0.0, 0.25, 0.5, 0.75, 1.0]
    """
    _require_at_least_one(depth=depth)
    read, layers = np.ones((1, 1)), []
    for _ in range(depth):
        layers.append((np.repeat(read, 2, axis=0), np.array([0.0, -0.5])))
        read = np.array([[2.0, -4.0]])
    return [*layers, (read, np.zeros(1))]


def interpolating_network(
    knots: Float[ndarray, " N"] | Sequence[float],
    values: Float[ndarray, " N"] | Sequence[float],
) -> Weights:
    """One hidden layer through given points of the plane: N - 1 ReLU units for N points.

    Implements eq-relu-interpolation::

        y(x) = v_0 + Σ_i (m_i - m_(i-1)) ReLU(x - k_i),   m_(-1) = 0

    with m_i the slope from point i to point i + 1. Left of the first knot y is constant.

    Args:
        knots: k_i, strictly increasing, at least two.
        values: v_i, one for each knot.

    Returns:
        Weights of the layers 1 → N - 1 → 1.

    Raises:
        InputError: If there are fewer than two knots, they do not increase, a number is not
            finite, there is not one value a knot, or a slope is beyond float64.

    Example:
        >>> from mathlm.reference import multilayer_perceptron
        >>> weights = interpolating_network([0, 1, 2], [5, 7, 6])
        >>> y, cache = multilayer_perceptron([[0.0], [1.5]], weights, ["relu", "identity"])
        >>> y.ravel()
        array([5. , 6.5])
    """
    k, v = np.asarray(knots, dtype=float), np.asarray(values, dtype=float)
    if k.ndim != 1 or k.shape != v.shape or len(k) < 2:
        raise InputError(
            f"knots {k.shape} and values {v.shape} must be two lists of one length, at least 2"
        )
    if not (np.isfinite(k).all() and np.isfinite(v).all() and (np.diff(k) > 0).all()):
        raise InputError("knots must increase strictly, and all numbers must be finite")
    with np.errstate(over="ignore"):
        slopes = np.diff(v) / np.diff(k)
    if not np.isfinite(slopes).all():
        raise InputError(
            f"the slope behind knot {int(np.isfinite(slopes).argmin())} is beyond float64: "
            "move the knots apart or scale the values"
        )
    changes = np.diff(slopes, prepend=0.0)
    return [(np.ones((len(slopes), 1)), -k[:-1]), (changes[None], v[:1])]


def _require_at_least_one(**values: float | int) -> None:
    require_integer(**values)
    for name, value in values.items():
        if value < 1:
            raise InputError(f"{name}={value} must be at least 1")


__all__ = [
    "all_bits",
    "interpolating_network",
    "parity_folds",
    "parity_network",
    "parity_tree",
    "tent_network",
]
