"""The cheapest model of a given loss when writing counts as well as training."""

import math
from typing import NamedTuple

from ..errors import InputError
from .chinchilla import ChinchillaLaw
from .count_checks import require_positive

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
        InputError: If the loss is not above the law's E, or the tokens are negative.

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
    odds = math.exp(log_odds(rest, served_tokens, fit))
    n = (fit.A * (1 + odds) / (rest * odds)) ** (1 / fit.alpha)
    d = (fit.B * (1 + odds) / rest) ** (1 / fit.beta)
    return LifetimePlan(n, d, 6 * n * d + 2 * n * served_tokens)


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
