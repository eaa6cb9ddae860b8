"""Groups of right and wrong answers: the weight of a problem, and where training ends."""

from collections.abc import Callable, Sequence
from math import comb

import torch
from torch import Tensor

from mathlm.align import (
    centred_advantages,
    group_advantages,
    leave_one_out_advantages,
    maxrl_advantages,
)
from mathlm.align.exact import Moments, estimator_moments, score_matrix

Advantages = Callable[[Tensor], Tensor]  # rewards (G, N) -> (G, N)
Weight = Callable[[Tensor], Tensor]  # success rates -> w(p)

GRID = 20_001  # places at which a root is looked for
HALVINGS = 80


def rewards_themselves(rewards: Tensor) -> Tensor:
    """REINFORCE without a baseline: the advantage is the reward."""
    return rewards


def successes_alone(rewards: Tensor) -> Tensor:
    """The mean score of the right answers: r over the mean reward; 0 if none is right."""
    return rewards / rewards.mean(1, keepdim=True).clamp(min=1 / rewards.shape[1])


ADVANTAGES: dict[str, Advantages] = {
    "REINFORCE": rewards_themselves,
    "RLOO": leave_one_out_advantages,
    "Dr. GRPO": centred_advantages,
    "GRPO": group_advantages,
    "MaxRL": maxrl_advantages,
}


def difficulty_weight(advantages: Advantages, p: Tensor, samples: int) -> Tensor:
    """What the expected gradient of a group multiplies the gradient of the success rate by.

    Computes::

        E[1/N Σ_i A_i ∇log π(y_i)] = w(p) ∇p
        w(p) = Σ_k C(N-1, k) p^k (1-p)^(N-1-k) [A(right, k) - A(wrong, k)]

    where k of the other answers are right.

    Args:
        advantages: From rewards (G, N) to advantages, alike for all samples of a group.
        p: Success rates, any shape.
        samples: N.

    Returns:
        w, of the shape of p.
    """
    others = samples - 1
    rest = (torch.arange(others) < torch.arange(samples)[:, None]).to(p)  # (k, others)
    own = torch.ones(samples, 1, dtype=p.dtype)
    gap = [advantages(torch.cat([r * own, rest], 1))[:, 0] for r in (1.0, 0.0)]
    k = torch.arange(samples)
    ways = torch.tensor([comb(others, int(j)) for j in k], dtype=p.dtype)
    chance = ways * p[..., None] ** k * (1 - p[..., None]) ** (others - k)
    return (chance * (gap[0] - gap[1])).sum(-1)


def gradient_moments(
    advantages: Advantages, logp: Tensor, rewards: Tensor, samples: int
) -> Moments:
    """Exact mean and variance of the gradient of one group, over all groups that can be drawn.

    Args:
        advantages: From rewards (G, N) to advantages.
        logp: log π of each answer to one prompt, (Y,) [nats]; the logits are the parameters.
        rewards: r of each answer, (Y,).
        samples: N, answers in a group; there are Y^N groups.

    Returns:
        Moments of 1/N Σ_i A_i ∇log π(y_i), each (Y,).
    """
    scores = score_matrix(logp)

    def gradient(groups: Tensor) -> Tensor:
        A = advantages(rewards[groups])
        return (A[..., None] * scores[groups]).mean(1)

    return estimator_moments(logp, gradient, samples)


def success_curve(weight: Weight, start: float, end: float, places: int = 4001) -> Tensor:
    """Times at which gradient flow of one logit passes success rates on a grid.

    Computes::

        dz/dt = w(p) p (1 - p),   t = ∫ dz / (w(p) p (1 - p))   with p = σ(z)

    Args:
        weight: w.
        start: p at time 0.
        end: The last p.
        places: Of the grid, evenly spaced in z.

    Returns:
        (2, places): p, and the time [1/step size].
    """
    z = torch.linspace(_logit(start), _logit(end), places)
    p = z.sigmoid()
    pace = 1 / (weight(p) * p * (1 - p))
    steps = (pace[1:] + pace[:-1]) / 2 * z.diff()
    return torch.stack([p, torch.cat([torch.zeros(1), steps.cumsum(0)])])


def end_with_penalty(weight: Weight, start: float, beta: float) -> float:
    """Success rate at which the gradient with a KL penalty vanishes, coming from the reference.

    Computes::

        w(p) = β [logit p - logit p_ref]   the first root above p_ref

    Args:
        weight: w.
        start: p_ref.
        beta: β, exact KL(π ‖ π_ref) of right and wrong.

    Returns:
        p; 1.0 if there is no root up to a logit of 60: the success rate goes to 1.
    """
    z0 = _logit(start)
    z = torch.linspace(z0 + 1e-9, 60.0, GRID)

    def pull(at: Tensor) -> Tensor:
        return weight(at.sigmoid()) - beta * (at - z0)

    negative = (pull(z) <= 0).nonzero()
    if not len(negative):
        return 1.0
    i = max(1, int(negative[0]))
    low, high = z[i - 1], z[i]
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        low, high = (middle, high) if pull(middle) > 0 else (low, middle)
    return float(high.sigmoid())


def shared_answer(
    weight: Weight, shares: Sequence[float], rate: float = 0.1, steps: int = 20_000
) -> Tensor:
    """Where a policy ends that cannot tell its prompts apart, each with an answer of its own.

    Follows the natural gradient of Σ_i f_i F(π_i), F' = w, from equal probabilities::

        z_i ← z_i + η f_i w(π_i),   π = softmax z

    Args:
        weight: w.
        shares: f_i, how often prompt i is asked.
        rate: η.
        steps: Of the rule.

    Returns:
        π, the share of each answer at the end.
    """
    f = torch.tensor(list(shares))
    z = torch.zeros_like(f)
    for _ in range(steps):
        z = (z + rate * f * weight(z.softmax(0))).log_softmax(0)
    return z.exp()


def log_series(p: Tensor, terms: int) -> Tensor:
    """-Σ_{k=1}^{K} (1 - p)^k / k, the first K terms of log p [nats]."""
    return -sum(((1 - p) ** k / k for k in range(1, terms + 1)), torch.zeros_like(p))


def _logit(p: float) -> float:
    return float(torch.tensor(p, dtype=torch.float64).logit())
