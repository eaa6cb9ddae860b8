"""Reading a table: by number, as an embedding does, or softly, by trained attention."""

import math

import numpy as np
from numpy import ndarray

from ...errors import InputError
from ..arrays import Numbers, finite_array, gradient_array, integer_array
from .attention import dot_product_attention, dot_product_attention_backward


def embedding(ids: Numbers, table: ndarray) -> tuple[ndarray, tuple]:
    """Row of a table for each id: a one-hot vector times a matrix, without the zeros.

    Implements eq-embedding-lookup::

        y_t = E[ids_t] = one_hot(ids_t) E

    Args:
        ids: Token ids (...), integers in 0 ... V - 1. NumPy would take -1 for the last row;
            here it is refused.
        table: E (V, D), one row a token.

    Returns:
        y (..., D), a copy, and the cache that :func:`embedding_backward` needs.

    Raises:
        InputTypeError: If the ids are not integers.
        InputError: If there are no ids, one is outside the table, or the table is no matrix of
            finite numbers.

    Example:
        >>> embedding([1, 1], np.array([[1.0, 2.0], [3.0, 4.0]]))[0].tolist()
        [[3.0, 4.0], [3.0, 4.0]]
    """
    table = finite_array(table, "table")
    if table.ndim != 2:
        raise InputError(f"table has shape {table.shape}, expected (V, D): one row a token")
    ids = integer_array(ids, len(table), "token id")
    return table.take(ids, axis=0), (ids, table.shape)


def embedding_backward(dy: Numbers, cache: tuple) -> ndarray:
    """Gradient of a table: a row gathers what arrives wherever its id stood.

    Implements eq-embedding-gradient::

        dE[v] = Σ_{t: ids_t = v} dy_t

    Args:
        dy: Gradient of the loss in y, of its shape.
        cache: Second value of :func:`embedding`.

    Returns:
        dtable (V, D), 0 in every row that was not read; ids have no gradient.

    Raises:
        InputError: If dy has not the shape of y.

    Example:
        >>> y, cache = embedding([1, 1], np.zeros((3, 1)))
        >>> embedding_backward([[1.0], [1.0]], cache).tolist()  # row 1 was read twice
        [[0.0], [2.0], [0.0]]
    """
    ids, shape = cache
    dtable = np.zeros(shape)
    np.add.at(dtable, ids, gradient_array(dy, (*ids.shape, shape[1])))  # += counts repeats once
    return dtable


def loss_and_gradients(
    W_q: ndarray, W_k: ndarray, queries: ndarray, keys: ndarray, scaled: bool
) -> tuple[float, ndarray, ndarray, ndarray]:
    """Half the squared distance of the weights from the right answer, and its gradients.

    The value of a candidate is its one-hot label, so the output of attention is its weights.

    Returns:
        Loss (mean over lookups), dW_q, dW_k, and the weights (B, S).
    """
    B, S, _ = keys.shape
    undo = 1.0 if scaled else math.sqrt(len(W_q))  # attention divides by √d_k in any case
    values = np.broadcast_to(np.eye(S), (B, S, S))
    y, cache = dot_product_attention(undo * queries @ W_q.T, keys @ W_k.T, values)
    error = y - np.eye(S)[0]  # the right key is number 0
    dq, dk, _ = dot_product_attention_backward(error / B, cache)
    dW_q = undo * np.tensordot(dq, queries, ((0, 1), (0, 1)))
    dW_k = np.tensordot(dk, keys, ((0, 1), (0, 1)))
    return float((error**2).sum() / (2 * B)), dW_q, dW_k, y[:, 0]
