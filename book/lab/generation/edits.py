"""Every short text of a model whose next-token distributions are edited before the draw."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from mathlm.errors import InputError
from mathlm.reference.arrays import finite_array
from mathlm.reference.statistics.chains import distribution
from mathlm.shapes import Float, Int

Prefix = tuple[int, ...]
MOST_TEXTS = 2**20


class EditedTexts(NamedTuple):
    """All texts of one length, and what each is drawn with.

    Args:
        ids: The texts, (N, n), in the order of counting.
        model: Their probabilities under the model.
        stepwise: Under the edit, renormalized at each token, as a sampler does.
        whole: Under the edit, renormalized once over whole texts.
        weight: Product of what the edit left at each step, Π Z_t; whole ∝ stepwise · weight.
    """

    ids: Int[ndarray, "N T"]
    model: Float[ndarray, " N"]
    stepwise: Float[ndarray, " N"]
    whole: Float[ndarray, " N"]
    weight: Float[ndarray, " N"]


def edited_texts(
    next_token: Callable[[Prefix], ndarray],
    edit: Callable[[Prefix, ndarray], ndarray],
    length: int,
) -> EditedTexts:
    """What drawing token by token from an edited model gives, and what was perhaps meant.

    Implements eq-gen-stepwise::

        stepwise(x) = Π_t e_t(x_t) / Z_t,   Z_t = Σ_v e_t(v),   e_t = edit(x_<t, p(·|x_<t))
        whole(x)    = Π_t e_t(x_t) / Σ_y Π_t e_t(y_t)

    The edit may be a temperature, a truncation or a constraint.

    Args:
        next_token: From the tokens so far to the distribution of the next one.
        edit: From the tokens so far and that distribution to numbers that are not negative,
            one for each token.
        length: Tokens in each text, at least 1.

    Returns:
        All texts and their probabilities. A text that the edited model never starts has the
        weight 0.

    Raises:
        InputError: If a distribution is none, an edit is negative, not finite, or leaves
            nothing behind tokens that can be drawn, or there are more than a million texts.
    """
    if length < 1:
        raise InputError(f"length={length} must be at least 1")
    V = len(distribution(next_token(()), "the first distribution"))
    if V**length > MOST_TEXTS:
        raise InputError(f"{V}^{length} texts are more than {MOST_TEXTS}: take fewer tokens")
    rows = np.ones((1, 3))  # probability under the model, Π e_t, Π Z_t
    prefixes: list[Prefix] = [()]
    for _ in range(length):
        rows = np.concatenate(
            [_extended(x, row, next_token, edit) for x, row in zip(prefixes, rows, strict=True)]
        )
        prefixes = [(*x, v) for x in prefixes for v in range(V)]
    model, product, Z = rows.T
    stepwise = np.divide(product, Z, out=np.zeros_like(Z), where=Z > 0)
    return EditedTexts(np.array(prefixes), model, stepwise, product / product.sum(), Z)


def _extended(
    prefix: Prefix,
    row: ndarray,
    next_token: Callable[[Prefix], ndarray],
    edit: Callable[[Prefix, ndarray], ndarray],
) -> ndarray:
    """The three products of each text that is one token longer, (V, 3)."""
    p = distribution(next_token(prefix), f"the distribution behind {prefix}")
    if row[1] == 0:
        return np.stack([row[0] * p, 0 * p, 0 * p], 1)
    e = finite_array(edit(prefix, p), f"the edit behind {prefix}")
    if e.shape != p.shape or e.min() < 0 or e.sum() == 0:
        raise InputError(
            f"the edit behind {prefix} has shape {e.shape}, smallest entry {e.min():g} and sum "
            f"{e.sum():g}; give {len(p)} numbers, none negative, not all 0"
        )
    return np.stack([row[0] * p, row[1] * e, np.full(len(p), row[2] * e.sum())], 1)


__all__ = ["EditedTexts", "edited_texts"]
