"""What to look at while a policy is trained."""

import math

from torch import Tensor

from ...errors import InputError
from ...shapes import Bool, Float
from ..masks import require_alike
from .kl import kl_k3


def clip_share(
    logp: Float[Tensor, "*batch"],
    logp_old: Float[Tensor, "*batch"],
    advantages: Float[Tensor, "*batch"],
    clip: float | int = 0.2,
    mask: Bool[Tensor, "*batch"] | None = None,
) -> float:
    """Share of the tokens whose ratio is cut, so that they have no gradient.

    Computes::

        mean of [A > 0 and ρ > 1 + ε] + [A < 0 and ρ < 1 - ε]

    Args:
        logp: log π [nats].
        logp_old: log π_old of the same.
        advantages: A of the same.
        clip: ε in (0, 1).
        mask: True where a token counts; None = everywhere.

    Returns:
        Share in [0, 1].

    Raises:
        InputError: If the shapes differ or no token counts.
        InputTypeError: If the mask is not boolean.
    """
    require_alike(logp=logp, logp_old=logp_old, advantages=advantages, mask=mask)
    log_rho, A = (_chosen(x, mask) for x in (logp - logp_old, advantages))
    above = (A > 0) & (log_rho > math.log1p(clip))
    below = (A < 0) & (log_rho < math.log1p(-clip))
    return float((above | below).double().mean())


def approximate_kl(
    logp: Float[Tensor, "*batch"],
    logp_old: Float[Tensor, "*batch"],
    mask: Bool[Tensor, "*batch"] | None = None,
) -> float:
    """How far the policy has gone from the one that wrote, per token.

    Computes::

        mean of ρ - 1 - log ρ,   ρ = π(y) / π_old(y),   y from π_old: unbiased for KL(π_old ‖ π)

    Args:
        logp: log π [nats].
        logp_old: log π_old of the same, under the policy that wrote them.
        mask: True where a token counts; None = everywhere.

    Returns:
        Divergence [nats], mean over the tokens.

    Raises:
        InputError: If the shapes differ or no token counts.
        InputTypeError: If the mask is not boolean.
    """
    return float(_chosen(kl_k3(logp_old, logp, mask), mask).mean())


def explained_variance(
    values: Float[Tensor, "*batch"],
    returns: Float[Tensor, "*batch"],
    mask: Bool[Tensor, "*batch"] | None = None,
) -> float | None:
    """Share of the spread of what came that the values foresaw.

    Computes::

        1 - Var(R - V) / Var(R)

    Args:
        values: V.
        returns: R.
        mask: True where a number counts; None = everywhere.

    Returns:
        At most 1; 0 for values that are all equal; None if what came is all equal.

    Raises:
        InputError: If the shapes differ or nothing counts.
        InputTypeError: If the mask is not boolean.
    """
    require_alike(values=values, returns=returns, mask=mask)
    V, R = (_chosen(x, mask) for x in (values, returns))
    if bool((R[0] == R).all()):
        return None
    return float(1 - (R - V).var(correction=0) / R.var(correction=0))


def _chosen(x: Tensor, mask: Tensor | None) -> Tensor:
    """The numbers that count, in a row."""
    chosen = x.detach().flatten() if mask is None else x.detach()[mask]
    if len(chosen) == 0:
        raise InputError("nothing counts: the mask is False everywhere")
    return chosen
