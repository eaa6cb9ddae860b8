"""Estimates of KL(policy ‖ reference) from texts of the policy: as values, and as losses.

With u = log π(y) - log π_ref(y) and y drawn from π, all three have an expectation. As values,
k₁ and k₃ are unbiased; k₂ is not. As losses it is otherwise: the gradient that autograd gives
is that of the estimate at a fixed y, and the draw of y depends on the policy too. In
expectation it is 0 for k₁, the gradient of KL(π ‖ π_ref) for k₂, and that of KL(π_ref ‖ π) for
k₃.

References:
    Schulman (2020), Approximating KL divergence, joschu.net/blog/kl-approx.html.
    Tang and Munos (2025), arXiv:2506.09477.
"""

import torch
from torch import Tensor

from ...shapes import Bool, Float
from ..masks import counted, require_alike


def kl_k1(
    logp: Float[Tensor, "*batch"],
    logp_ref: Float[Tensor, "*batch"],
    mask: Bool[Tensor, "*batch"] | None = None,
) -> Float[Tensor, "*batch"]:
    """Log-ratio of a text of the policy: unbiased, and of either sign.

    Implements eq-policy-estimates::

        k₁ = log π(y) - log π_ref(y),   E_π[k₁] = KL(π ‖ π_ref),   E_π[∇k₁] = 0

    As a loss it does nothing but add noise; it belongs into the reward, where it is a number.

    Args:
        logp: log π of tokens or of whole texts that π wrote [nats].
        logp_ref: log π_ref of the same.
        mask: Where False, the estimate is exactly 0 and no gradient passes.

    Returns:
        k₁ [nats], one for each of ``logp``.

    Raises:
        InputError: If the shapes differ.
        InputTypeError: If the mask is not boolean.

    Example:
        >>> kl_k1(torch.tensor([0.5]).log(), torch.tensor([0.25]).log())  # ln 2
        tensor([0.6931])
    """
    return 0.0 - _log_ratio(logp, logp_ref, mask)


def kl_k2(
    logp: Float[Tensor, "*batch"],
    logp_ref: Float[Tensor, "*batch"],
    mask: Bool[Tensor, "*batch"] | None = None,
) -> Float[Tensor, "*batch"]:
    """Half the squared log-ratio: biased as a value, unbiased as a loss.

    Implements eq-policy-estimates::

        k₂ = ½ (log π(y) - log π_ref(y))²,   E_π[∇k₂] = ∇KL(π ‖ π_ref)

    For texts of several tokens the gradient is that of the divergence of texts only if ``logp``
    is the sum of a text's tokens; token by token, what a token changes of later divergence is
    left out.

    Args:
        logp: log π of tokens or of whole texts that π wrote [nats].
        logp_ref: log π_ref of the same.
        mask: Where False, the estimate is exactly 0 and no gradient passes.

    Returns:
        k₂ ≥ 0, one for each of ``logp``.

    Raises:
        InputError, InputTypeError: As :func:`kl_k1`.

    Example:
        >>> kl_k2(torch.tensor([0.5]).log(), torch.tensor([0.25]).log())  # (ln 2)² / 2
        tensor([0.2402])
    """
    return _log_ratio(logp, logp_ref, mask).square() / 2


def kl_k3(
    logp: Float[Tensor, "*batch"],
    logp_ref: Float[Tensor, "*batch"],
    mask: Bool[Tensor, "*batch"] | None = None,
) -> Float[Tensor, "*batch"]:
    """Log-ratio with a control variate: unbiased, never negative; as a loss, the other KL.

    Implements eq-policy-estimates::

        k₃ = exp(-u) - 1 + u,   u = log π(y) - log π_ref(y)
        E_π[k₃] = KL(π ‖ π_ref),   E_π[∇k₃] = ∇KL(π_ref ‖ π)

    Unbiased if π gives nothing the probability 0 that π_ref does not. Nor has it the right
    gradient as a number in the reward: E_π[k₃ ∇log π] = ∇KL(π ‖ π_ref) - ∇KL(π_ref ‖ π).

    Args:
        logp: log π of tokens or of whole texts that π wrote [nats].
        logp_ref: log π_ref of the same.
        mask: Where False, the estimate is exactly 0 and no gradient passes.

    Returns:
        k₃ ≥ 0 [nats], one for each of ``logp``.

    Raises:
        InputError, InputTypeError: As :func:`kl_k1`.

    Example:
        >>> kl_k3(torch.tensor([0.5]).log(), torch.tensor([0.25]).log())  # 1/2 - 1 + ln 2
        tensor([0.1931])
    """
    log_r = _log_ratio(logp, logp_ref, mask)
    return torch.expm1(log_r) - log_r


def _log_ratio(logp: Tensor, logp_ref: Tensor, mask: Tensor | None) -> Tensor:
    """Log r = log π_ref - log π, 0 where nothing counts."""
    require_alike(logp=logp, logp_ref=logp_ref, mask=mask)
    return counted(logp_ref - logp, mask)
