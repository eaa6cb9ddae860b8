"""What each head of a layer can ask for and hand over, as matrices on the residual stream."""

from numbers import Integral

from torch import Tensor

from ..errors import InputError
from ..shapes import Float


def query_key_circuit(
    W_q: Float[Tensor, "Q D"], W_k: Float[Tensor, "G D"], n_heads: int
) -> Float[Tensor, "{n_heads} D D"]:
    """The matrix by which a head scores one token vector against another.

    Implements eq-heads-circuits::

        Mₕ = W_q⁽ʰ⁾ᵀ W_k⁽ʰ⁾,   score(x, x') = xᵀ Mₕ x' / √d_k

    Its rank is at most the width of the head. Rotary positions come between the two factors
    and make one such matrix for each distance; this is the one of distance 0.

    Args:
        W_q: Weight of the queries, (H K, D).
        W_k: Weight of the keys, (G K, D); H/G query heads share one.
        n_heads: Query heads, H.

    Returns:
        One matrix for each query head.

    Raises:
        InputError: If the numbers of rows do not divide, or of columns differ.

    Example:
        >>> eye = torch.eye(2)  # each of two heads compares one feature
        >>> query_key_circuit(eye, eye, n_heads=2).tolist()
        [[[1.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]]

    References:
        Elhage et al. (2021), A mathematical framework for transformer circuits.
    """
    if W_q.shape[1] != W_k.shape[1]:
        raise InputError(
            f"W_q has {W_q.shape[1]} columns and W_k has {W_k.shape[1]}; both read one stream"
        )
    d_head = _divided(W_q.shape[0], "rows of W_q", n_heads, "n_heads")
    return _heads(W_q, d_head, n_heads).mT @ _heads(W_k, d_head, n_heads)


def output_value_circuit(
    W_o: Float[Tensor, "D O"], W_v: Float[Tensor, "G D"], n_heads: int
) -> Float[Tensor, "{n_heads} D D"]:
    """The matrix by which a head turns what it reads into what it adds to the stream.

    Implements eq-heads-circuits::

        Cₕ = W_o⁽ʰ⁾ W_v⁽ʰ⁾,   the head adds Cₕ Σ_s a_s x_s

    Its rank is at most the width of the head.

    Args:
        W_o: Weight of the output, (D, H K).
        W_v: Weight of the values, (G K, D); H/G query heads share one.
        n_heads: Query heads, H.

    Returns:
        One matrix for each query head.

    Raises:
        InputError: If the numbers of rows or columns do not divide, or the widths differ.

    Example:
        >>> eye = torch.eye(2)  # each of two heads copies one feature
        >>> output_value_circuit(eye, eye, n_heads=2).tolist()
        [[[1.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]]
    """
    if W_o.shape[0] != W_v.shape[1]:
        raise InputError(
            f"W_o has {W_o.shape[0]} rows and W_v has {W_v.shape[1]} columns; both are the "
            "width of the stream"
        )
    d_head = _divided(W_o.shape[1], "columns of W_o", n_heads, "n_heads")
    return W_o.unflatten(1, (n_heads, d_head)).movedim(1, 0) @ _heads(W_v, d_head, n_heads)


def head_contributions(
    heads: Float[Tensor, "*batch H T K"], W_o: Float[Tensor, "D O"]
) -> Float[Tensor, "*batch H T D"]:
    """What each head adds to the output of its layer; their sum is the output without bias.

    Implements eq-heads-sum::

        W_o [head₁; …; head_H] = Σₕ W_o⁽ʰ⁾ headₕ

    Args:
        heads: Mixtures of values, one for each head and query.
        W_o: Weight of the output, (D, H K).

    Raises:
        InputError: If W_o has not H K columns.

    Example:
        >>> heads = torch.tensor([[[1.0]], [[2.0]]])  # two heads of width 1, one query
        >>> head_contributions(heads, W_o=torch.tensor([[1.0, 10.0]])).tolist()
        [[[1.0]], [[20.0]]]
    """
    if heads.ndim < 3:
        raise InputError(f"heads {tuple(heads.shape)} must be (*batch, H, T, width)")
    n_heads, d_head = heads.shape[-3], heads.shape[-1]
    if W_o.shape[1] != n_heads * d_head:
        raise InputError(
            f"W_o has {W_o.shape[1]} columns for {n_heads} heads of width {d_head}; expected "
            f"{n_heads * d_head}"
        )
    return heads @ W_o.unflatten(1, (n_heads, d_head)).permute(1, 2, 0)


def _heads(W: Tensor, d_head: int, n_heads: int) -> Tensor:
    """One block (K, D) for each query head; blocks that are shared stand there repeatedly."""
    n_groups = _divided(W.shape[0], "rows of the shared weight", d_head, "width of a head")
    group = _divided(n_heads, "n_heads", n_groups, "number of key/value heads")
    return W.unflatten(0, (n_groups, d_head)).repeat_interleave(group, 0)


def _divided(number: int, name: str, divisor: int, divisor_name: str) -> int:
    if not isinstance(divisor, Integral) or divisor < 1:
        raise InputError(f"{divisor_name}={divisor} must be a whole number of at least 1")
    if number % divisor or number < divisor:
        raise InputError(f"{name} = {number} is not a multiple of {divisor_name} = {divisor}")
    return number // divisor
