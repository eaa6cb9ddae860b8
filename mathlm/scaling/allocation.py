"""How a budget of compute is divided between parameters and tokens."""

import math

from .chinchilla import ChinchillaLaw
from .count_checks import require_positive
from .kaplan import KaplanLaw


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
        InputError: If the budget is not positive.

    References:
        Hoffmann et al. (2022). Training compute-optimal large language models, equation 4.
        Kaplan et al. (2020). Scaling laws for neural language models, equation 1.5; their own
        exponent of 0.73 comes from another law, of parameters and steps (equation 1.6).
    """
    require_positive(compute=compute)
    n = best_size(compute, fit)
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
