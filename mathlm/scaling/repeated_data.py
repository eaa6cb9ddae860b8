"""What text is worth when it is read again: the data-constrained law of Muennighoff et al."""

import numpy as np

from ..errors import InputError
from ..shapes import Float
from .chinchilla import ChinchillaLaw
from .count_checks import require_positive
from .power_law import Numbers, positive

TOKENS_KEEP, PARAMETERS_KEEP = 15.4, 5.3  # R*_D and R*_N, as published


def effective_tokens(
    unique: float | int, epochs: Numbers, decay: float | int = TOKENS_KEEP
) -> Float[np.ndarray, " N"]:
    """Fresh tokens that text read several times is worth.

    Implements eq-scaling-repeated::

        D' = U + U R* (1 − exp(−(epochs − 1) / R*))

    so that the first repetition is worth nearly as much as fresh text, and all that can ever
    come are worth ``R*`` readings.

    Args:
        unique: Tokens U that differ.
        epochs: Times that they are read, at least 1.
        decay: The constant R*: after so many repetitions one more is worth 1/e of the first.
            The paper calls it a half-life; the half comes sooner, at ``R* ln 2``.

    Returns:
        D' [tokens].

    Raises:
        InputError: If a number is not positive, or an epoch is below 1.

    References:
        Muennighoff et al. (2023). Scaling data-constrained language models, equation 5.
    """
    require_positive(unique=unique, decay=decay)
    times = positive("epochs", epochs)
    if len(times) and times.min() < 1:
        raise InputError(
            f"epochs={times.min():g} must be at least 1: text that is read in part is unique "
            "text of that length, read once"
        )
    return unique * worth(times - 1, decay)


def effective_parameters(
    n: Numbers,
    unique: float | int,
    fit: ChinchillaLaw,
    decay: float | int = PARAMETERS_KEEP,
) -> Float[np.ndarray, " N"]:
    """Parameters that those beyond what the unique text calls for are worth.

    Computes::

        N' = U_N + U_N R* (1 − exp(−(N / U_N − 1) / R*)),   U_N = min(N, G (U G)^(β / α))

    where the second number, with ``G = (α A / (β B))^(1 / (α + β))``, is the size for which U
    tokens are compute-optimal.

    Args:
        n: Parameters N.
        unique: Tokens U that differ.
        fit: The law for text that is read once.
        decay: The constant R* of the excess.

    Returns:
        N'. Models up to the compute-optimal size count in full.

    Raises:
        InputError: If a number is not positive.

    References:
        Muennighoff et al. (2023). Scaling data-constrained language models, equation 6.
    """
    require_positive(unique=unique, decay=decay)
    size = positive("n", n)
    base = np.minimum(size, matching_size(unique, fit))
    return base * worth(size / base - 1, decay)


def repeated_loss(
    n: Numbers,
    unique: float | int,
    epochs: Numbers,
    fit: ChinchillaLaw,
    decays: tuple[float | int, float | int] = (TOKENS_KEEP, PARAMETERS_KEEP),
) -> Float[np.ndarray, " N"]:
    """Loss of models whose text is read several times.

    Computes::

        E + A N'^-α + B D'^-β

    Args:
        n: Parameters.
        unique: Tokens that differ.
        epochs: Times that they are read, at least 1; one for each size, or one alone.
        fit: The law for text that is read once.
        decays: R* of the tokens and R* of the parameters.

    Returns:
        Loss [nats]. With one epoch and a size not above the compute-optimal one, that of
            the law.

    Raises:
        InputError: If a number is not positive, an epoch is below 1, or the lengths differ.

    References:
        Muennighoff et al. (2023). Scaling data-constrained language models, section 3.1; with
        ``A=521, B=1488, E=1.87, alpha=beta=0.353`` on C4.
    """
    size = effective_parameters(n, unique, fit, decays[1])
    tokens = effective_tokens(unique, epochs, decays[0])
    if len(size) != len(tokens) and 1 not in (len(size), len(tokens)):
        raise InputError(
            f"n has {len(size)} numbers and epochs has {len(tokens)}; expected as many, or one"
        )
    return fit.loss(size, tokens)


def worth(repeats: Float[np.ndarray, " N"], keep: float | int) -> Float[np.ndarray, " N"]:
    """What 1 and its repetitions are worth together."""
    return 1 - keep * np.expm1(-repeats / keep)


def matching_size(unique: float | int, fit: ChinchillaLaw) -> float:
    """Parameters for which so many tokens are compute-optimal: ``α A N^-α = β B D^-β``."""
    return float((fit.alpha * fit.A / (fit.beta * fit.B) * unique**fit.beta) ** (1 / fit.alpha))
