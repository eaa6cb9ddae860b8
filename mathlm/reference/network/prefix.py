"""How much of its attention a query gives to a prefix."""

import numpy as np
from numpy import ndarray

from ...errors import InputError
from ...shapes import Bool, Float
from .attention import full_mask, require_finite, scaled_scores


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

    References:
        He et al. (2021), arXiv:2110.04366, section 3.1.
    """
    shapes = q.shape, k.shape, k_prefix.shape
    batches = {shape[:-2] for shape in shapes}
    if len(batches) > 1 or len({shape[-1] for shape in shapes}) > 1 or 0 in k.shape:
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
