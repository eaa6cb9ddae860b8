"""Keys and values that belong to no token."""

from torch import Tensor

from ..errors import InputError
from ..shapes import Float
from .attention import attention_weights


def gated_prefix(
    q: Float[Tensor, "B H T K"],
    k: Float[Tensor, "G m K"],
    v: Float[Tensor, "G m K"],
    gate: Float[Tensor, " H"],
    *,
    scale: float | int | None = None,
) -> tuple[Float[Tensor, "B H T K"], Float[Tensor, "B H T m"]]:
    """What the heads read from a prefix that has a softmax of its own.

    Implements eq-small-gated::

        zₕ = gₕ softmax(Qₕ K_Pᵀ / √d_k) V_P

    It is added to what the heads read from the text. At g = 0 it is exactly 0; whatever g is,
    the weights of the text among itself stay as they are.

    Args:
        q: Queries.
        k: Keys of the prefix, K_P; H/G query heads share one.
        v: Values of the prefix, V_P.
        gate: g, one number for each head.
        scale: Factor of the scores in place of 1/√d_k.

    Returns:
        z, and the weights, of which each row sums to 1.

    Raises:
        InputError: If the key/value heads do not divide the query heads.

    References:
        Zhang et al. (2023), arXiv:2303.16199, section 3.2.
    """
    H, G = q.shape[1], len(k)
    if H % G:
        raise InputError(f"{G} key/value heads of the prefix do not divide {H} query heads")
    k, v = (x.repeat_interleave(H // G, 0) for x in (k, v))
    weights = attention_weights(q, k.expand(len(q), *k.shape), scale=scale)
    return gate[:, None, None] * (weights @ v), weights
