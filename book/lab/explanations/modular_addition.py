"""Addition modulo p: the table, a network of nine units that knows it, and how to see that."""

import numpy as np

from mathlm.errors import InputError
from mathlm.shapes import Float, Int

PHASES = 2 * np.pi / 3 * np.arange(3)


def addition_table(modulus: int) -> tuple[Int[np.ndarray, "N 2"], Int[np.ndarray, " N"]]:
    """All pairs of numbers below p, and their sums modulo p.

    Args:
        modulus: p >= 2.

    Returns:
        Pairs (p², 2) in order, and sums.

    Raises:
        InputError: If p is below 2.
    """
    if modulus < 2:
        raise InputError(f"modulus={modulus} must be at least 2")
    pairs = np.stack(np.meshgrid(*[np.arange(modulus)] * 2, indexing="ij"), -1).reshape(-1, 2)
    return pairs, pairs.sum(1) % modulus


def fourier_adder(
    modulus: int, frequencies: Int[np.ndarray, " K"]
) -> tuple[Float[np.ndarray, "P H"], Float[np.ndarray, "P H"], Float[np.ndarray, "H P"]]:
    """Weights, written down, of a network with squares that adds modulo p.

    The weights are those of ``logits(a, b) = (U[a] + V[b])² W``, nine units a frequency.

    Implements eq-explain-waves::

        U[a] = cos(ω_k a + φ),  V[b] = cos(ω_k b + ψ),  W[c] = cos(ω_k c + φ + ψ),  ω_k = 2πk/p

    for φ and ψ in {0, 2π/3, 4π/3}. Summed over the phases, all but one product of cosines
    vanish, and ``logits[c] = 9/2 Σ_k cos(ω_k (a + b - c))``, largest at the sum.

    Args:
        modulus: p, odd and at least 3.
        frequencies: Different k, from 1 to (p - 1) / 2.

    Returns:
        U and V (p, 9K), and W (9K, p).

    Raises:
        InputError: If p is even, or a frequency lies outside the range or stands there twice.

    References:
        Gromov (2023), arXiv:2301.02679; the phases on a grid make it exact.
    """
    half = (modulus - 1) // 2
    if modulus < 3 or modulus % 2 == 0:
        raise InputError(f"modulus={modulus} must be odd and at least 3")
    once = len(set(frequencies.tolist())) == len(frequencies) > 0
    if not once or frequencies.min() < 1 or frequencies.max() > half:
        raise InputError(f"frequencies={frequencies.tolist()} must be different, 1 to {half}")
    k, phi, psi = (axis.reshape(-1) for axis in np.meshgrid(frequencies, PHASES, PHASES))
    turn = 2 * np.pi / modulus * np.arange(modulus)[:, None] * k  # (p, 9K)
    return np.cos(turn + phi), np.cos(turn + psi), np.cos(turn + phi + psi).T


def frequency_shares(weights: Float[np.ndarray, "P H"]) -> Float[np.ndarray, "K H"]:
    """Share of each frequency in the variance of each column.

    Computes::

        |Σ_a w[a] exp(-2πi k a / p)|² / Σ_{k' >= 1} the same

    for k = 1 ... (p - 1)/2, p odd. A column that is one wave has a single share, of 1; one of
    random numbers has about 2/(p - 1) everywhere.

    Args:
        weights: A row for each number below p.

    Returns:
        Shares ((p - 1)/2, H); each column sums to 1.

    Raises:
        InputError: If p is even or below 3, or a column does not vary.
    """
    p = len(weights)
    if p < 3 or p % 2 == 0:
        raise InputError(f"weights has {p} rows; expected an odd number, 3 or more")
    power = np.abs(np.fft.rfft(weights, axis=0)[1:]) ** 2
    total = power.sum(0)
    if not (total > 1e-20 * (weights**2).sum(0)).all():
        raise InputError("a column of weights does not vary: it has no frequency")
    return np.asarray(power / total)
