"""Numbers that attention moves between large, slow memory and small, fast memory."""

from numbers import Integral

from mathlm.errors import InputError


def plain_attention_traffic(T: int, S: int, d_head: int) -> int:
    """Numbers moved for one head when scores and weights go through slow memory.

    Implements eq-heads-traffic-plain::

        2 T d + 2 S d + 4 T S

    Q, K and V are read and Y is written once; the (T, S) scores are written, read for the
    softmax, written as weights and read again for the product with V.

    Args:
        T: Queries.
        S: Keys.
        d_head: Width of queries, keys and values.

    Raises:
        InputError: If a size is not a whole number of at least 1.

    References:
        Dao et al. (2022), arXiv:2205.14135, algorithm 0 and theorem 2.
    """
    T, S, d_head = _whole(T=T, S=S, d_head=d_head)
    return 2 * T * d_head + 2 * S * d_head + 4 * T * S


def flash_attention_traffic(T: int, S: int, d_head: int, rows: int) -> int:
    """Numbers moved for one head when tiles of the scores stay in fast memory.

    Implements eq-heads-traffic-flash::

        2 T d + T + ⌈T / rows⌉ · 2 S d

    Each tile of ``rows`` queries stays while all keys and values pass by; Y and one
    log-sum-exp for each query are written.

    Args:
        T: Queries.
        S: Keys.
        d_head: Width of queries, keys and values.
        rows: Queries in a tile.

    Raises:
        InputError: If a size is not a whole number of at least 1.

    References:
        Dao et al. (2022), arXiv:2205.14135, theorem 2; Dao (2023), arXiv:2307.08691.
    """
    T, S, d_head, rows = _whole(T=T, S=S, d_head=d_head, rows=rows)
    return 2 * T * d_head + T + -(-T // rows) * 2 * S * d_head


def _whole(**sizes: int) -> list[int]:
    """The sizes as integers of Python, which do not overflow."""
    for name, size in sizes.items():
        if not isinstance(size, Integral) or size < 1:
            raise InputError(f"{name}={size!r} must be a whole number of at least 1")
    return [int(size) for size in sizes.values()]
