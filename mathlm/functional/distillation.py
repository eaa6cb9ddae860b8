"""Losses by which a student learns a teacher's distribution, position by position."""

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from ..checks import require_positive, require_share
from ..errors import InputError
from ..shapes import Float


def distillation_loss(
    student: Float[Tensor, "*batch V"],
    teacher: Float[Tensor, "*batch V"],
    temperature: float | int = 1.0,
) -> Float[Tensor, "*batch"]:
    """Forward KL: the student must give probability wherever the teacher does.

    Computes::

        ℓ = τ² KL(p ‖ q) = τ² Σ_c p_c (log p_c - log q_c),   p = softmax(t/τ), q = softmax(s/τ)
        ∂ℓ/∂s_c = τ (q_c - p_c)

    With τ = 1 it is the cross-entropy to the teacher less a constant, the teacher's entropy. A
    higher temperature shows how the teacher ranks what it hardly ever says; τ² keeps the size
    of the gradient: for τ → ∞ it is (s - t)/V, both centered.

    Args:
        student: Logits s.
        teacher: Logits t of the same positions; no gradient passes into them. An entry may be
            -inf, a token that the teacher never gives.
        temperature: τ > 0.

    Returns:
        ℓ [nats] at each position, at least 0; 0 only where both distributions are the same.

    Raises:
        InputError: If the shapes differ or τ is not positive.

    Example:
        >>> student, teacher = torch.zeros(1, 2), torch.tensor([[1.0, 3.0]]).log()
        >>> distillation_loss(student, teacher)  # 1/4 ln 1/2 + 3/4 ln 3/2
        tensor([0.1308])

    References:
        Hinton, Vinyals and Dean (2015), arXiv:1503.02531, section 2.
    """
    log_q, log_p = _log_probabilities(student, teacher, temperature)
    return temperature**2 * _kl(log_p, log_q)


def reverse_distillation_loss(
    student: Float[Tensor, "*batch V"],
    teacher: Float[Tensor, "*batch V"],
    temperature: float | int = 1.0,
) -> Float[Tensor, "*batch"]:
    """Reverse KL: the student may leave out what the teacher says, and add nothing to it.

    Computes::

        ℓ = τ² KL(q ‖ p) = τ² Σ_c q_c (log q_c - log p_c)

    A student that cannot hold all of the teacher keeps a part that it can hold, where the
    forward KL spreads it over all. At τ = 1 and averaged over sequences that the student
    itself writes, its sum over positions is the KL of whole sequences.

    Args:
        student: Logits s.
        teacher: Logits t of the same positions; no gradient passes into them.
        temperature: τ > 0.

    Returns:
        ℓ [nats] at each position, at least 0; infinite where the teacher excludes a token that
        the student does not.

    Raises:
        InputError: If the shapes differ or τ is not positive.

    Example:
        >>> student, teacher = torch.zeros(1, 2), torch.tensor([[1.0, 3.0]]).log()
        >>> reverse_distillation_loss(student, teacher)  # 1/2 ln 2 + 1/2 ln 2/3
        tensor([0.1438])

    References:
        Gu et al. (2023), arXiv:2306.08543; Agarwal et al. (2023), arXiv:2306.13649.
    """
    log_q, log_p = _log_probabilities(student, teacher, temperature)
    return temperature**2 * _kl(log_q, log_p)


def jensen_shannon_distillation_loss(
    student: Float[Tensor, "*batch V"],
    teacher: Float[Tensor, "*batch V"],
    mixture: float | int = 0.5,
    temperature: float | int = 1.0,
) -> Float[Tensor, "*batch"]:
    """Between forward and reverse KL: both are compared with their mixture.

    Computes::

        ℓ = β KL(p ‖ m) + (1 - β) KL(q ‖ m),   m = β p + (1 - β) q
        ℓ/β → KL(p ‖ q) for β → 0,   ℓ/(1 - β) → KL(q ‖ p) for β → 1

    It is bounded by the entropy of (β, 1 - β), at most log 2, whatever the student leaves out.
    As in the paper, it is not multiplied by τ².

    Args:
        student: Logits s, whose softmax is q.
        teacher: Logits t of the same positions, whose softmax is p; no gradient passes into
            them.
        mixture: β in (0, 1), the share of the teacher in the mixture.
        temperature: τ > 0; divides both logits.

    Returns:
        ℓ [nats] at each position, at least 0.

    Raises:
        InputError: If the shapes differ, τ is not positive, or β is outside (0, 1).

    Example:
        >>> student, teacher = torch.tensor([1000.0, 0.0]), torch.tensor([0.0, 1000.0])
        >>> jensen_shannon_distillation_loss(student, teacher)  # log 2: nothing in common
        tensor(0.6931)

    References:
        Agarwal et al. (2023), arXiv:2306.13649, eq. (1).
    """
    require_share(mixture=mixture)
    if not 0 < mixture < 1:
        raise InputError(
            f"mixture={mixture} compares a distribution with itself: give a number between 0 "
            "and 1, or use distillation_loss or reverse_distillation_loss"
        )
    log_q, log_p = _log_probabilities(student, teacher, temperature)
    nowhere = (log_p == -math.inf) & (log_q == -math.inf)  # there logaddexp has no gradient
    parts = log_p + math.log(mixture), log_q + math.log1p(-mixture)
    log_m = torch.logaddexp(*(x.masked_fill(nowhere, 0.0) for x in parts))
    return mixture * _kl(log_p, log_m) + (1 - mixture) * _kl(log_q, log_m)


def _log_probabilities(student: Tensor, teacher: Tensor, temperature: float | int) -> tuple:
    """Log q and log p, in at least single precision."""
    require_positive(temperature=temperature)
    if student.shape != teacher.shape:
        raise InputError(
            f"the student has logits {tuple(student.shape)}, the teacher "
            f"{tuple(teacher.shape)}: both need the same positions and the same vocabulary"
        )
    teacher = teacher.detach()
    if student.dtype in (torch.float16, torch.bfloat16):
        student = student.float()
    log_q = F.log_softmax(student / temperature, -1)
    return log_q, F.log_softmax(teacher.to(log_q.dtype) / temperature, -1)


def _kl(log_a: Tensor, log_b: Tensor) -> Tensor:
    """KL(a ‖ b) over the last axis; where a is 0, so is its term, with its gradient."""
    none = log_a == -math.inf
    ratio = torch.where(none, 0.0, log_a) - torch.where(none, 0.0, log_b)
    return (log_a.exp() * ratio).sum(-1)


__all__ = [
    "distillation_loss",
    "jensen_shannon_distillation_loss",
    "reverse_distillation_loss",
]
