"""Multiply-adds of one layer that mixes a sequence: attention and recurrence."""

from mathlm.errors import InputError


def attention_products(n: int, d: int) -> tuple[int, int]:
    """Multiply-adds of one attention layer, pairs and projections.

    Implements eq-attention-cost::

        2 n² d  (scores and mixtures),   4 n d²  (W_q, W_k, W_v, W_o)

    The two are equal at n = 2 d.

    Args:
        n: Positions.
        d: Width of the model; all heads together are as wide.

    Raises:
        InputError: If a size is not positive.
    """
    _require_positive(n, d)
    return 2 * n * n * d, 4 * n * d * d


def recurrent_products(n: int, d: int, maps: int = 1) -> int:
    """Multiply-adds of one recurrent layer.

    Implements eq-attention-against-recurrence::

        2 m n d²   (an input map and a state map for each of m updates)

    m is 1 for a plain RNN, 3 for a GRU and 4 for an LSTM.

    Args:
        n: Steps.
        d: Width of the input and of the state.
        maps: m.

    Raises:
        InputError: If a size is not positive.
    """
    _require_positive(n, d, maps)
    return 2 * maps * n * d * d


def _require_positive(*sizes: int) -> None:
    if min(sizes) < 1:
        raise InputError(f"sizes {sizes} must all be at least 1")


__all__ = ["attention_products", "recurrent_products"]
