"""What the ways to encode positions do to scores: overlaps, turns, decay and reach."""

import math

import numpy as np
from numpy import ndarray

from mathlm.errors import InputError
from mathlm.reference.arrays import Numbers, Value, finite_array
from mathlm.shapes import Float


def running_mean(v: Float[ndarray, "..."]) -> Float[ndarray, "..."]:
    """Mean of all rows up to each one: a causal head whose scores are all equal.

    Implements eq-position-counter::

        y_t = 1/(t + 1) Σ_{s ≤ t} v_s

    If v is 1 at the first position and 0 elsewhere, y_t = 1/(t + 1): the head has counted. If
    all rows are equal, so are all outputs.

    Args:
        v: Values ``(*batch, T, D)``, one row for each position.

    Returns:
        What the head returns.

    Raises:
        InputError: If v has fewer than two axes, or an entry is NaN or infinite.
    """
    v = finite_array(v, "v")
    if v.ndim < 2:
        raise InputError(f"v has shape {v.shape}, expected (..., T, D)")
    counts = np.arange(1, v.shape[-2] + 1)[:, None]
    scale = 2.0 ** v.shape[-2].bit_length()  # a power of 2 above T: exact, and no sum overflows
    return (v / scale).cumsum(-2) / (counts / scale)


def pair_overlap(distance: Numbers, d_model: int, base: float | int = 10_000.0) -> Value:
    """Dot product of two sinusoidal encodings, which depends on their distance only.

    Implements eq-sinusoid-overlap::

        p_t · p_{t+k} = Σᵢ cos(ωᵢ k),   ωᵢ = base^(-2i/D),   i = 0 ... D/2 - 1

    It is also the score of a query against itself under rotary positions, if all its pairs have
    length 1.

    Args:
        distance: k [tokens], of any shape.
        d_model: D, even.
        base: Ratio of the slowest to the fastest wavelength, nearly.

    Returns:
        One number for each distance, D/2 at distance 0.

    Raises:
        InputError: If D is odd, the base is not above 1, or a distance is not finite.
    """
    k = finite_array(distance, "distance")
    return np.cos(k[..., None] * _frequencies(d_model, base)).sum(-1)


def decay_bound(distance: Numbers, d_head: int, base: float | int = 10_000.0) -> Value:
    """The factor that bounds every rotary score at a distance: mean size of partial sums.

    Implements eq-rotary-bound::

        B(δ) = 2/K Σ_j |S_j(δ)|,   S_j(δ) = Σ_{i<j} e^{iδθᵢ},   j = 1 ... K/2
        |score(δ)| ≤ K/2 · B(δ) · maxᵢ |hᵢ₊₁ - hᵢ|,   hᵢ = qᵢ k̄ᵢ as complex numbers, h_{K/2} = 0

    It bounds; it does not say that a score falls with the distance.

    Args:
        distance: δ [tokens], of any shape.
        d_head: K, even.
        base: Of the frequencies θᵢ = base^(-2i/K).

    Returns:
        B, one number for each distance; (K/2 + 1) / 2 at distance 0.

    Raises:
        InputError: If K is odd, the base is not above 1, or a distance is not finite.

    References:
        Su et al. (2021), arXiv:2104.09864, eq. (37).
    """
    delta = finite_array(distance, "distance")
    turns = np.exp(1j * delta[..., None] * _frequencies(d_head, base))
    return np.abs(turns.cumsum(-1)).mean(-1)


def pairs_that_turn(length: float | int, d_head: int, base: float | int = 10_000.0) -> int:
    """Rotary pairs that complete a turn within a length, and so have shown every angle.

    Implements eq-rotary-turning::

        #{i : λᵢ ≤ length},   λᵢ = 2π base^(2i/K)

    The other K/2 minus this many pairs have shown only an arc; beyond the length they show
    angles that no training step has seen.

    Args:
        length: Trained length [tokens].
        d_head: K, even.
        base: Of the wavelengths.

    Raises:
        InputError: If K is odd, the base is not above 1, or the length is not positive.
    """
    if not 0 < length < math.inf:
        raise InputError(f"length={length} must be positive and finite")
    wavelengths = 2 * np.pi / _frequencies(d_head, base)
    return int((wavelengths <= length).sum())


def alibi_reach(
    slope: float | int, spread: float | int = 0.0, share: float | int = 0.01
) -> float:
    """Distance beyond which a head with ALiBi puts less than a share of its weight.

    Implements eq-alibi-reach::

        weight beyond w ≤ e^{c - m w},   so w = (c + log(1/share)) / m

    Args:
        slope: m > 0 [1/token].
        spread: c, largest minus smallest score before the penalty.
        share: Between 0 and 1.

    Returns:
        w [tokens].

    Raises:
        InputError: If slope or share are not in their ranges, or the spread is negative.
    """
    if not (0 < slope < math.inf and 0 <= spread < math.inf and 0 < share < 1):
        raise InputError(
            f"slope={slope} must be positive, spread={spread} at least 0 and finite, "
            f"share={share} between 0 and 1"
        )
    return (spread + math.log(1 / share)) / slope


def relative_vector_scores(
    q: Float[ndarray, "T K"], k: Float[ndarray, "S K"], table: Float[ndarray, "N K"]
) -> Float[ndarray, "T S"]:
    """Scores of queries and keys whose distance is a learned vector, added to the key.

    Implements eq-relative-vectors::

        score(t, s) = q_t (k_s + a_n)ᵀ / √K,   n = max(-c, min(c, s - t))

    Args:
        q: Queries.
        k: Keys; the first query and the first key stand at the same position.
        table: Vectors of the distances -c ... c, so that N = 2c + 1 is odd.

    Returns:
        Scores before the softmax.

    Raises:
        InputError: If the table has an even number of rows or another width.

    References:
        Shaw et al. (2018), arXiv:1803.02155, eqs. (4) and (5).
    """
    q, k, table = (finite_array(x, n) for x, n in ((q, "q"), (k, "k"), (table, "table")))
    if len(table) % 2 == 0 or not q.shape[-1] == k.shape[-1] == table.shape[-1]:
        raise InputError(
            f"table has shape {table.shape}: it needs an odd number of rows, and the width of "
            f"q {q.shape} and k {k.shape}"
        )
    furthest = len(table) // 2
    n = np.clip(np.arange(len(k)) - np.arange(len(q))[:, None], -furthest, furthest)
    by_place = np.take_along_axis(q @ table.T, n + furthest, axis=1)
    return (q @ k.T + by_place) / math.sqrt(q.shape[-1])


def _frequencies(width: int, base: float | int) -> ndarray:
    """base^(-2i/width), i = 0 ... width/2 - 1."""
    if width < 2 or width % 2:
        raise InputError(f"width {width} must be even and positive: features are paired")
    if not 1 < base < math.inf:
        raise InputError(f"base={base} must be above 1 and finite")
    return float(base) ** -(np.arange(0, width, 2) / width)


__all__ = [
    "alibi_reach",
    "decay_bound",
    "pair_overlap",
    "pairs_that_turn",
    "relative_vector_scores",
    "running_mean",
]
