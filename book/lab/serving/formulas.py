"""What queueing theory and counting say of a server, to hold against the simulation."""

import numpy as np

from mathlm.errors import InputError


def utilization(rate: float, service: float) -> float:
    """Share of time that one server is busy: ρ = λ E[S]."""
    return rate * service


def mean_wait(rate: float, service: np.ndarray) -> float:
    """Mean wait in line at one server with Poisson arrivals (Pollaczek and Khinchine).

    Computes::

        W = λ E[S²] / (2 (1 − ρ))

    Args:
        rate: λ [1/s].
        service: Samples of the time of service [s], or its only value.

    Returns:
        Seconds.

    Raises:
        InputError: If the server cannot keep up.
    """
    rho = utilization(rate, float(np.mean(service)))
    if rho >= 1:
        raise InputError(f"the load is {rho:.2f}; below 1 a queue has a mean, above it grows")
    return float(rate * np.mean(np.square(service)) / (2 * (1 - rho)))


def harmonic(n: int) -> float:
    """1 + 1/2 + ... + 1/n."""
    return float(sum(1 / i for i in range(1, n + 1)))


def longest_of(n: int, mean: float) -> float:
    """Mean of the largest of n geometric lengths.

    Computes::

        E[max] = Σ_{m≥0} (1 − (1 − q^m)^n),  q = 1 − 1/mean
    """
    m = np.arange(int(60 * mean) + 60)
    return float(np.sum(1 - (1 - (1 - 1 / mean) ** m) ** n))


def useful_share(n: int, mean: float) -> float:
    """Share of the rows of a static batch that still write: E[length] / E[longest of n]."""
    return mean / longest_of(n, mean)


def wasted_in_pages(page_size: int) -> float:
    """Mean empty tokens of the last page, where every remainder is as frequent: (P − 1) / 2."""
    return (page_size - 1) / 2
