"""A draft token accepted or replaced so that what comes out was drawn from the target.

Leviathan et al. (2023), arXiv:2211.17192; Chen et al. (2023), arXiv:2302.01318.
"""

import math

import torch
from torch import Tensor

from ..errors import InputError, InputTypeError
from ..shapes import Float


def acceptance_probability(
    p: Float[Tensor, "*batch V"], q: Float[Tensor, "*batch V"]
) -> Float[Tensor, "*batch"]:
    """How often a draft token drawn from q passes for one drawn from p.

    Implements eq-fast-acceptance::

        α = Σ_x q(x) min(1, p(x) / q(x)) = Σ_x min(p(x), q(x)) = 1 - ½ Σ_x |p(x) - q(x)|

    The last form is one less the total variation distance: no other way of turning a draw from
    q into a draw from p keeps it more often.

    Args:
        p: Probabilities under the target.
        q: Probabilities under the draft, which the draft token is drawn from.

    Returns:
        α, between 0 and 1.

    Raises:
        InputError: If the shapes differ, or a row is no distribution.
        InputTypeError: If the dtypes differ or are not floating point.

    Example:
        >>> p, q = torch.tensor([0.5, 0.3, 0.2]), torch.tensor([0.2, 0.3, 0.5])
        >>> round(acceptance_probability(p, q).item(), 6)
        0.7
    """
    _require_distributions(p, q)
    return torch.minimum(p, q).sum(-1).clamp(max=1.0)  # a sum may round to more


def residual_distribution(
    p: Float[Tensor, "*batch V"], q: Float[Tensor, "*batch V"]
) -> Float[Tensor, "*batch V"]:
    """What a rejected draft token is replaced from: what p holds beyond q.

    Computes::

        r(x) = max(0, p(x) - q(x)) / Σ_y max(0, p(y) - q(y))

    Where p = q no draft token is rejected and r is 0 / 0; it is p there.

    Args:
        p: Probabilities under the target.
        q: Probabilities under the draft.

    Returns:
        r, which sums to 1.

    Raises:
        InputError: If the shapes differ, or a row is no distribution.
        InputTypeError: If the dtypes differ or are not floating point.

    Example:
        >>> p, q = torch.tensor([0.75, 0.25]), torch.tensor([0.25, 0.75])
        >>> residual_distribution(p, q)
        tensor([1., 0.])
    """
    _require_distributions(p, q)
    return excess(p, q)


def output_distribution(
    p: Float[Tensor, "*batch V"], q: Float[Tensor, "*batch V"]
) -> Float[Tensor, "*batch V"]:
    """Distribution of the token that comes out: a draft token accepted, or its replacement.

    Implements eq-fast-exact::

        q(x) min(1, p(x) / q(x)) + (1 - α) r(x) = p(x)

    The left side is computed, term by term as it is drawn; that it is p is the theorem.

    Args:
        p: Probabilities under the target.
        q: Probabilities under the draft.

    Returns:
        The distribution of the token.

    Raises:
        InputError: If the shapes differ, or a row is no distribution.
        InputTypeError: If the dtypes differ or are not floating point.

    Example:
        >>> p, q = torch.tensor([0.75, 0.25]), torch.tensor([0.25, 0.75])
        >>> output_distribution(p, q)  # exactly p
        tensor([0.7500, 0.2500])
    """
    _require_distributions(p, q)
    accept = (p / q.clamp(min=torch.finfo(q.dtype).tiny)).clamp(max=1.0)  # q = 0 is never drawn
    accepted = q * accept
    return accepted + (1.0 - accepted.sum(-1, keepdim=True)) * excess(p, q)


def excess(p: Tensor, q: Tensor) -> Tensor:
    """The residual distribution, of arguments that are known to be distributions."""
    beyond = (p - q).clamp(min=0.0)
    total = beyond.sum(-1, keepdim=True)
    return torch.where(total > 0, beyond / total.masked_fill(total == 0, 1.0), p)


def expected_tokens(alpha: float | int, draft_length: int) -> float:
    """Mean number of tokens that one reading of the target yields.

    Implements eq-fast-tokens::

        E = 1 + α + α² + … + α^γ = (1 - α^(γ+1)) / (1 - α)

    Guess i counts if it and all before it were accepted, which has probability αⁱ when each
    is accepted with probability α, independently; one more token comes from the target.

    Args:
        alpha: α, probability that a draft token is accepted.
        draft_length: γ, draft tokens in a round, 0 or more.

    Returns:
        E [tokens/round], between 1 and γ + 1.

    Raises:
        InputError: If an argument is out of range.

    Example:
        >>> expected_tokens(0.5, 2)
        1.75
    """
    _require_rate(alpha, draft_length)
    return math.fsum(alpha**i for i in range(draft_length + 1))


def expected_speedup(
    alpha: float | int, draft_length: int, cost: float | int, verify: float | int = 1.0
) -> float:
    """Tokens a second with draft tokens, over tokens a second without.

    Implements eq-fast-speedup::

        S = (1 + α + … + α^γ) / (γ c + v),   S = 1 for γ = 0

    Time is counted in steps of the target: one step without draft tokens gives one token. The
    familiar formula has v = 1, for a machine that reads γ + 1 tokens in the time of one.

    Args:
        alpha: α, probability that a draft token is accepted.
        draft_length: γ, draft tokens in a round, 0 or more.
        cost: c, time of one step of the draft over that of one step of the target.
        verify: v, time in which the target reads γ + 1 tokens over that of one.

    Returns:
        S; below 1 where drafting costs more than it saves.

    Raises:
        InputError: If an argument is out of range.

    Example:
        >>> round(expected_speedup(0.8, 4, 0.05), 3)
        2.801
    """
    tokens = expected_tokens(alpha, draft_length)
    _require_cost(cost)
    if not 0 < verify < math.inf:
        raise InputError(f"verify={verify} must be finite and positive")
    return tokens / (draft_length * cost + verify) if draft_length else 1.0


def expected_operations(
    alpha: float | int, draft_length: int, cost: float | int = 0.0
) -> float:
    """Operations a token with draft tokens, over operations a token without.

    Computes::

        (γ c + γ + 1) / (1 + α + … + α^γ)

    The target computes all γ + 1 positions whatever is accepted: time is bought with
    operations that were idle.

    Args:
        alpha: α, probability that a draft token is accepted.
        draft_length: γ, draft tokens in a round, 0 or more.
        cost: c, operations of one step of the draft over those of one step of the target.

    Returns:
        The ratio, at least 1.

    Raises:
        InputError: If an argument is out of range.

    Example:
        >>> expected_operations(alpha=1, draft_length=3), expected_operations(0, draft_length=3)
        (1.0, 4.0)
    """
    tokens = expected_tokens(alpha, draft_length)
    _require_cost(cost)
    return (draft_length * cost + draft_length + 1) / tokens


def best_draft_length(alpha: float | int, cost: float | int, most: int = 64) -> int:
    """How many draft tokens a round should have.

    Computes::

        γ* = argmax_γ  (1 + α + … + α^γ) / (γ c + 1),   0 ≤ γ ≤ most

    One draft token more pays as long as α^(γ+1) > c S, S the speed-up so far. There is
    something to gain if and only if α > c.

    Args:
        alpha: α, probability that a draft token is accepted.
        cost: c, time of one step of the draft over that of one step of the target.
        most: Guesses at most; reached if the draft is free.

    Returns:
        γ*, the smallest of equally good ones; 0 = draft nothing.

    Raises:
        InputError: If an argument is out of range.

    Example:
        >>> best_draft_length(0.8, 0.05)
        8
    """
    _require_rate(alpha, most)
    return max(range(most + 1), key=lambda n: expected_speedup(alpha, n, cost))


def _require_rate(alpha: float | int, draft_length: int) -> None:
    if not 0 <= alpha <= 1:
        raise InputError(f"alpha={alpha} is outside 0..1: it is a probability")
    if draft_length < 0:
        raise InputError(f"{draft_length} draft tokens: give 0 or more")


def _require_cost(cost: float | int) -> None:
    if not 0 <= cost < math.inf:
        raise InputError(f"cost={cost} must be finite and not negative")


def _require_distributions(p: Tensor, q: Tensor) -> None:
    if p.dtype != q.dtype or not p.is_floating_point():
        raise InputTypeError(
            f"p is {p.dtype} and q {q.dtype}: give both in one floating-point dtype"
        )
    if p.shape != q.shape or p.ndim == 0 or p.numel() == 0:
        raise InputError(
            f"p {tuple(p.shape)} and q {tuple(q.shape)} must be of one shape (..., V) with "
            "something in it"
        )
    for name, x in (("p", p), ("q", q)):
        lowest, off = x.min().item(), (x.sum(-1) - 1.0).abs().max().item()
        if not lowest >= 0 or not off <= torch.finfo(x.dtype).eps ** 0.5:
            raise InputError(
                f"{name} is no distribution: its smallest entry is {lowest:.4g}, and its sums "
                f"differ from 1 by up to {off:.4g}; give softmax(logits)"
            )
