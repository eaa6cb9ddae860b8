"""How a budget of compute is divided between parameters and tokens."""

import math
from typing import NamedTuple

import numpy as np

from ..checks import require_positive
from ..errors import InputError
from ..shapes import Float
from .chinchilla import ChinchillaLaw
from .fitting import within_floats
from .kaplan import KaplanLaw
from .power_law import Numbers, positive


def optimal_allocation(
    compute: float | int, fit: ChinchillaLaw | KaplanLaw
) -> tuple[float, float]:
    """Parameters and tokens of least loss for a budget of compute.

    Implements eq-scaling-allocation::

        additive law:  N = G (C / 6)^(β / (α + β)),      G = (α A / (β B))^(1 / (α + β))
        joint law:     N = (q N_c^q C / (6 D_c))^(1 / (1 + q)),      q = α_N / α_D
        both:          D = C / (6 N)

    which is where the derivative of the loss along ``6 N D = C`` is zero. The joint law's
    exponent of compute is ``1 / (1 + q) = α_D / (α_N + α_D)``.

    Args:
        compute: Budget C of the training [FLOP].
        fit: The law of the loss.

    Returns:
        Parameters and tokens; ``6 n d`` is the budget.

    Raises:
        InputError: If the budget is not positive, or no float is as large as the answer.

    Example:
        >>> law = ChinchillaLaw(A=400.0, B=400.0, E=1.7, alpha=0.3, beta=0.3)
        >>> n, d = optimal_allocation(6e18, law)  # both terms alike: n = d
        >>> round(n / 1e9, 3), round(d / 1e9, 3)
        (1.0, 1.0)

    References:
        Hoffmann et al. (2022). Training compute-optimal large language models, equation 4.
        Kaplan et al. (2020). Scaling laws for neural language models, equation 1.5; their own
        exponent of 0.73 comes from another law, of parameters and steps (equation 1.6).
    """
    require_positive(compute=compute)
    with within_floats("the best size"):
        n = best_size(compute, fit)
    if not 0 < n < math.inf:
        raise InputError(f"the best size is {n}: no float holds it for this law and budget")
    return n, compute / 6 / n


def best_size(compute: float | int, fit: ChinchillaLaw | KaplanLaw) -> float:
    """Parameters of least loss along the budget."""
    if isinstance(fit, KaplanLaw):
        q = fit.alpha_n / fit.alpha_d
        log_n = math.log(q * compute / (6 * fit.D_c)) + q * math.log(fit.N_c)
        return math.exp(log_n / (1 + q))
    both = fit.alpha + fit.beta
    g = (fit.alpha * fit.A / (fit.beta * fit.B)) ** (1 / both)
    return g * (compute / 6) ** (fit.beta / both)


HALVINGS = 200


class LifetimePlan(NamedTuple):
    """A model, its training, and what both cost together with the tokens it serves.

    Attributes:
        n: Parameters N.
        d: Tokens D of the training.
        flops: ``6 N D + 2 N D_served`` [FLOP].
    """

    n: float
    d: float
    flops: float


def inference_optimal(
    loss: float | int, served_tokens: float | int, fit: ChinchillaLaw
) -> LifetimePlan:
    """Size and training of least compute over a model's life, for a loss that it must reach.

    Implements eq-scaling-lifetime::

        α A N^-α / (β B D^-β) = 1 + D_served / (3 D),   E + A N^-α + B D^-β = loss

    which is where ``6 N D + 2 N D_served`` is least for this loss. The left side is
    ``α x / (β (1 − x))`` with x the share of ``A N^-α`` in ``loss − E``: it grows with x, the
    right side falls, and halving an interval of ``log(x / (1 − x))`` ends at the one solution.

    Args:
        loss: Loss that is asked for [nats].
        served_tokens: Read and written over the model's life, D_served; 0 counts the training
            alone.
        fit: The law of the loss.

    Returns:
        The plan. With nothing served it is the compute-optimal one of that loss.

    Raises:
        InputError: If the loss is not above the law's E, the tokens are negative, or no float
            is as large as the answer.

    Example:
        >>> law = ChinchillaLaw(A=1.0, B=1.0, E=1.0, alpha=0.5, beta=0.5)
        >>> plan = inference_optimal(1.2, served_tokens=0, fit=law)  # 1 + 1/10 + 1/10
        >>> round(plan.n, 3), round(plan.d, 3), round(plan.flops)
        (100.0, 100.0, 60000)

    References:
        Sardana et al. (2024). Beyond Chinchilla-optimal: accounting for inference in language
        model scaling laws, section 2.
    """
    require_positive(loss=loss)
    if not 0 <= served_tokens < math.inf:
        raise InputError(f"served_tokens={served_tokens} must be a finite number, at least 0")
    rest = loss - fit.E
    if rest <= 0:
        raise InputError(
            f"loss={loss} must be above E={fit.E:.6g}, which no size and no data take away"
        )
    with within_floats("the size or the tokens"):
        odds = math.exp(log_odds(rest, served_tokens, fit))
        n = (fit.A * (1 + odds) / (rest * odds)) ** (1 / fit.alpha)
        d = (fit.B * (1 + odds) / rest) ** (1 / fit.beta)
    flops = 6 * n * d + 2 * n * served_tokens
    if flops == math.inf:
        raise InputError(
            f"{n:.3g} parameters and {d:.3g} tokens take more compute than any float holds: "
            f"loss={loss} is too near E={fit.E:.6g}"
        )
    return LifetimePlan(n, d, flops)


def log_odds(rest: float, served: float | int, fit: ChinchillaLaw) -> float:
    """Where ``α x / (β (1 − x)) = 1 + D_served / (3 D)``, as ``log(x / (1 − x))``."""

    def wanted(t: float) -> float:
        """Log odds that the right side asks for, at the tokens that t gives."""
        tokens = (fit.B * (1 + math.exp(t)) / rest) ** (1 / fit.beta)
        return math.log(fit.beta / fit.alpha) + math.log1p(served / (3 * tokens))

    low = math.log(fit.beta / fit.alpha)
    high = low + math.log1p(served / 3 * (rest / fit.B) ** (1 / fit.beta))
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if middle < wanted(middle) else (low, middle)
    return (low + high) / 2


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

    Example:
        >>> effective_tokens(1e9, [1.0])  # read once, a text is worth itself
        array([1.e+09])

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

    Example:
        >>> law = ChinchillaLaw(A=1.0, B=1.0, E=1.0, alpha=0.5, beta=0.5)
        >>> effective_parameters([10.0, 1e9], unique=100.0, fit=law, decay=5.0).round(6)
        array([ 10., 600.])

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

    Example:
        >>> law = ChinchillaLaw(A=521.0, B=1488.0, E=1.87, alpha=0.353, beta=0.353)
        >>> once, often = (repeated_loss([1e8], 1e9, [times], law) for times in (1.0, 4.0))
        >>> bool(often < once)  # to read a text again is worth something
        True

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
    with within_floats("the size for which the unique tokens are compute-optimal"):
        ratio = fit.alpha * fit.A / (fit.beta * fit.B)
        return float((ratio * unique**fit.beta) ** (1 / fit.alpha))
