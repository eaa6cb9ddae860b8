"""What comparisons cost a reward: the likelihood of who won, of ties too, and where zero lies.

References:
    Bradley and Terry (1952), Rank analysis of incomplete block designs, Biometrika 39.
    Rao and Kupper (1967), Ties in paired-comparison experiments, JASA 62.
    Davidson (1970), On extending the Bradley-Terry model to accommodate ties, JASA 65.
"""

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from ...errors import InputError
from ...shapes import Float
from ..masks import require_alike

Number = float | int | Tensor


def bradley_terry_loss(
    reward_chosen: Float[Tensor, "*S"],
    reward_rejected: Float[Tensor, "*S"],
    margin: Number = 0.0,
) -> Float[Tensor, "*S"]:
    """Surprise at each choice, when the odds of a choice are the exponential of a difference.

    Implements eq-reward-loss::

        ℓ = -log p,   dℓ/dr_chosen = -(1 - p)   with p = σ(r_chosen - r_rejected - m)

    A constant that is added to both rewards changes nothing. A margin m > 0 asks for a
    difference of that size before it counts as none at all; the loss is then no likelihood.

    Args:
        reward_chosen: Of what was preferred [nats].
        reward_rejected: Of what was not.
        margin: m [nats]; one number, or one for each pair.

    Returns:
        ℓ of each pair [nats], above 0, finite for every finite difference; the mean is the
        caller's.

    Raises:
        InputError: If the shapes differ, or there are other margins than pairs.

    Example:
        >>> bradley_terry_loss(torch.tensor([0.0]), torch.tensor([0.0]))  # ln 2: no opinion
        tensor([0.6931])

    References:
        Touvron et al. (2023), arXiv:2307.09288, eq. (2): the margin.
    """
    require_alike(reward_chosen=reward_chosen, reward_rejected=reward_rejected)
    difference = _full(reward_chosen) - _full(reward_rejected)
    return -logsigmoid(difference - _each(margin, "margin", difference))


def davidson_log_probabilities(
    reward_a: Float[Tensor, "*S"], reward_b: Float[Tensor, "*S"], log_tie: Number = 0.0
) -> Float[Tensor, "*S 3"]:
    """Log-probabilities that a wins, that nobody does, and that b wins, after Davidson.

    Computes::

        (p_a, p_tie, p_b) = softmax(d/2, log ν, -d/2)   with d = r_a - r_b

    Given that somebody wins, it is the model without ties: p_a / p_b = exp(d). A tie is
    likeliest between equals.

    Args:
        reward_a: Of the first of each pair [nats].
        reward_b: Of the second.
        log_tie: log ν [nats]; 0 makes a tie of equals as likely as each victory.

    Returns:
        (…, 3) [nats]; the probabilities sum to 1.

    Raises:
        InputError: If the shapes differ.

    Example:
        >>> davidson_log_probabilities(torch.zeros(1), torch.zeros(1)).exp()
        tensor([[0.3333, 0.3333, 0.3333]])
    """
    half = _difference(reward_a, reward_b) / 2
    tie = _each(log_tie, "log_tie", half).expand(half.shape)
    return torch.stack((half, tie, -half), -1).log_softmax(-1)


def rao_kupper_log_probabilities(
    reward_a: Float[Tensor, "*S"], reward_b: Float[Tensor, "*S"], threshold: Number = 1.0
) -> Float[Tensor, "*S 3"]:
    """Log-probabilities that a wins, that nobody does, and that b wins, after Rao and Kupper.

    Computes::

        p_a = σ(d - η),   p_b = σ(-d - η),   p_tie = (e^{2η} - 1) p_a p_b   with d = r_a - r_b

    A judge sees d with logistic noise, and calls it a tie if it is smaller than η.

    Args:
        reward_a: Of the first of each pair [nats].
        reward_b: Of the second.
        threshold: η > 0 [nats].

    Returns:
        (…, 3) [nats]; the probabilities sum to 1.

    Raises:
        InputError: If a threshold is not above 0, or the shapes differ.

    Example:
        >>> zero = torch.zeros(1)
        >>> rao_kupper_log_probabilities(zero, zero, np.log(3)).exp()  # σ(-ln 3) = 1/4
        tensor([[0.2500, 0.5000, 0.2500]])
    """
    d = _difference(reward_a, reward_b)
    eta = _each(threshold, "threshold", d)
    if not bool((eta > 0).all()):
        raise InputError(
            f"threshold={float(eta.min()):g} must be above 0: without ties, use "
            "bradley_terry_loss"
        )
    a, b = logsigmoid(d - eta), logsigmoid(-d - eta)
    tie = 2 * eta + torch.log(-torch.expm1(-2 * eta)) + a + b
    return torch.stack((a, tie, b), -1)


def centring_penalty(
    reward_chosen: Float[Tensor, "*S"], reward_rejected: Float[Tensor, "*S"]
) -> Float[Tensor, "*S"]:
    """Squared sum of the two rewards of a pair, which is least when they lie around 0.

    Computes::

        (r_chosen + r_rejected)²

    Comparisons leave a reward's constant open; a little of this penalty fixes it.

    Args:
        reward_chosen: Of what was preferred [nats].
        reward_rejected: Of what was not.

    Returns:
        Of each pair [nats²]; its weight, such as 0.01, is the caller's.

    Raises:
        InputError: If the shapes differ.

    Example:
        >>> centring_penalty(torch.tensor([2.0]), torch.tensor([1.0]))
        tensor([9.])

    References:
        Eisenstein et al. (2023), arXiv:2312.09244, eq. (2).
    """
    require_alike(reward_chosen=reward_chosen, reward_rejected=reward_rejected)
    return (_full(reward_chosen) + _full(reward_rejected)).square()


def _difference(a: Tensor, b: Tensor) -> Tensor:
    """Of two sides that nobody has preferred yet."""
    require_alike(reward_a=a, reward_b=b)
    return _full(a) - _full(b)


def _each(value: Number, name: str, pairs: Tensor) -> Tensor:
    """A number as a tensor: one for all pairs, or one for each."""
    number = torch.as_tensor(value, dtype=pairs.dtype, device=pairs.device)
    if number.ndim and number.shape != pairs.shape:
        raise InputError(
            f"{name} has shape {tuple(number.shape)}, expected {tuple(pairs.shape)}: one "
            "number, or one for each pair"
        )
    return number


def _full(reward: Tensor) -> Tensor:
    """In 32 bits or more."""
    return reward.float() if reward.dtype in (torch.float16, torch.bfloat16) else reward
