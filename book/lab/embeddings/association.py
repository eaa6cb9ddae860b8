"""Word vectors from counts: pointwise mutual information and its best low-rank form."""

import numpy as np
from numpy import ndarray

from mathlm.errors import InputError
from mathlm.reference.arrays import Numbers, finite_array
from mathlm.reference.training.word2vec import count_table, draw_distribution


def pmi(counts: Numbers) -> ndarray:
    """Pointwise mutual information of every pair: how much more often than by chance.

    Computes::

        PMI_ij = log( p_ij / (p_i· p_·j) ) = log( n_ij n·· / (n_i· n_·j) )

    A pair that was never seen has minus infinity.

    Args:
        counts: How often center i and context j occur together, n (V, V).

    Returns:
        PMI [nats]; its mean over the pairs, weighted by p_ij, is their mutual information.

    Raises:
        InputError: If the counts are no matrix, one is negative, NaN or infinite, or a row or
            column is all 0: the ratio would be 0/0.

    Example:
        >>> pmi([[1, 1], [0, 2]]).round(3).tolist()
        [[0.693, -0.405], [-inf, 0.288]]

    References:
        Church and Hanks (1990), Word association norms, mutual information, and lexicography.
    """
    return shifted_pmi(counts, 1)


def ppmi(counts: Numbers, k: float | int = 1) -> ndarray:
    """Pointwise mutual information where it is positive, else 0.

    Implements eq-ppmi::

        PPMI_ij = max(0, PMI_ij - log k)

    It is 0 for a pair that was never seen, so the matrix is finite and mostly 0.

    Args:
        counts: As in :func:`pmi`.
        k: Shift, positive; 1 for none.

    Returns:
        PPMI [nats], not negative.

    Raises:
        InputError: As :func:`shifted_pmi`.
    """
    return np.maximum(shifted_pmi(counts, k), 0.0)


def shifted_pmi(counts: Numbers, k: float | int, noise: Numbers | None = None) -> ndarray:
    """The scores at which the expected cost of negative sampling is smallest.

    Implements eq-negative-sampling-optimum::

        x*_ij = log( n_ij / (k n_i· q_j) ) = PMI_ij - log k    where q_j = n_·j / n··

    With another distribution of the negative samples ``log(p_·j / q_j)`` is added to column
    j.

    Args:
        counts: As in :func:`pmi`.
        k: Negative samples for each pair, positive.
        noise: Distribution q that they are drawn from (V); None = that of the contexts.

    Returns:
        x* [nats]; minus infinity for a pair that was never seen.

    Raises:
        InputError: As :func:`pmi`; if k is not positive, the noise is not a distribution, or it
            never draws a word.

    References:
        Levy and Goldberg (2014), Neural word embedding as implicit matrix factorization.
    """
    n = count_table(counts)
    _require_full(n)
    q = draw_distribution(n, k, noise)
    if not q.all():
        raise InputError(f"noise is 0 for word {int(np.argmin(q))}: it is never drawn")
    i, j = n.nonzero()
    x = np.full(n.shape, -np.inf)  # log 0, the value of a pair that was never seen
    x[i, j] = np.log(n[i, j] / (k * n.sum(1)[i] * q[j]))
    return x


def svd_vectors(
    M: Numbers, d: int, power: float | int = 0.5, seed: int | None = None
) -> tuple[ndarray, ndarray]:
    """Word and context vectors whose products are nearest to a matrix.

    Implements eq-svd-vectors::

        M ≈ U_d Σ_d V_dᵀ,   W = U_d Σ_d^power,   C = V_d Σ_d^(1 - power),   W Cᵀ = M_d

    M_d is the nearest matrix of rank d in the Frobenius norm. Power 1/2 treats words and
    contexts alike; 0 to 1 give the same products.

    Args:
        M: Matrix (V, V), such as :func:`ppmi`; it has to be finite.
        d: Width of the vectors, 1 to V.
        power: Share of the singular values that goes to the words.
        seed: None for the exact decomposition; a number for :func:`randomized_svd` from that
            seed, which takes a small part of its time.

    Returns:
        (W, C), one row a word.

    Raises:
        InputError: If M is no finite matrix, or d, power or the seed is out of range.

    References:
        Levy, Goldberg and Dagan (2015), Improving distributional similarity with lessons
        learned from word embeddings.
    """
    M = _matrix(M, d)
    if not 0 <= power <= 1:
        raise InputError(f"power={power} is outside 0..1")
    if seed is None:
        U, sigma, Vt = np.linalg.svd(M, full_matrices=False)
        U, sigma, V = U[:, :d], sigma[:d], Vt[:d].T
    else:
        U, sigma, V = randomized_svd(M, d, seed=seed)
    return U * sigma**power, V * sigma ** (1 - power)


def randomized_svd(
    M: Numbers, d: int, seed: int = 0, rounds: int = 3, extra: int = 10
) -> tuple[ndarray, ndarray, ndarray]:
    """The d largest singular values and their vectors, from products with a few random ones.

    Computes::

        Q = orth((M Mᵀ)^rounds M Ω),   Qᵀ M = B = U' Σ Vᵀ,   U = Q U'

    Ω holds d + extra columns of normal draws. What is lost falls with each round, as
    (σ_{d+extra+1} / σ_d)^(2 rounds).

    Args:
        M: Matrix (V, N).
        d: Number of singular values, 1 to min(V, N).
        seed: Of the draws.
        rounds: Times that M Mᵀ is applied, 0 or more.
        extra: Columns of Ω beyond d, 0 or more.

    Returns:
        U (V, d), the singular values in falling order, and V (N, d).

    Raises:
        InputError: If M is no finite matrix, or a number is out of range.

    References:
        Halko, Martinsson and Tropp (2011), Finding structure with randomness, algorithm 4.4.
    """
    M = _matrix(M, d)
    for name, value in (("seed", seed), ("rounds", rounds), ("extra", extra)):
        if value < 0:
            raise InputError(f"{name}={value} must not be negative")
    columns = min(d + extra, *M.shape)
    Q = np.linalg.qr(M @ np.random.default_rng(seed).standard_normal((M.shape[1], columns)))[0]
    for _ in range(rounds):
        Q = np.linalg.qr(M @ np.linalg.qr(M.T @ Q)[0])[0]  # qr: or all columns become alike
    U, sigma, Vt = np.linalg.svd(Q.T @ M, full_matrices=False)
    return (Q @ U)[:, :d], sigma[:d], Vt[:d].T


def _matrix(M: Numbers, d: int) -> ndarray:
    M = finite_array(M, "M")
    if M.ndim != 2:
        raise InputError(f"M has shape {M.shape}, expected a matrix")
    if not 1 <= d <= min(M.shape):
        raise InputError(f"d={d} is outside 1..{min(M.shape)} for a matrix of shape {M.shape}")
    return M


def _require_full(n: ndarray) -> None:
    """Refuse words that were never seen with any other."""
    for axis, name in ((1, "row"), (0, "column")):
        empty = n.sum(axis) == 0
        if empty.any():
            raise InputError(
                f"{name} {int(np.argmax(empty))} of the counts is all 0 ({int(empty.sum())} "
                "such in all): leave out words that were never seen with another"
            )


__all__ = ["pmi", "ppmi", "randomized_svd", "shifted_pmi", "svd_vectors"]
