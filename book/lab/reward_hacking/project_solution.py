"""Reference solution of the project: importance weights from a mixture."""

import math
from collections.abc import Callable, Sequence

import torch
from torch import Tensor


def tilted(logp_ref: Tensor, proxy: Tensor, beta: float) -> Tensor:
    """Log-probabilities of the best policy for a reward and a KL coefficient.

    Args:
        logp_ref: log π_ref of each answer, (Y,).
        proxy: Reward of each answer, (Y,).
        beta: KL coefficient [reward/nat].
    """
    return (logp_ref + proxy / beta).log_softmax(-1)


def worth(logp: Tensor, logp_drawn: Tensor, answers: Tensor, scores: Tensor) -> Tensor:
    """Mean score of a policy, from answers that were drawn from another one.

    Args:
        logp: log π of each answer under the policy that is judged, (Y,).
        logp_drawn: The same under the policy that was drawn from, (Y,).
        answers: Numbers of the drawn answers, (n,).
        scores: Their scores, (n,).
    """
    weights = (logp - logp_drawn)[answers].softmax(0)  # they sum to 1
    return (weights * scores).sum()


def choose(
    logp_ref: Tensor,
    proxy: Tensor,
    ask: Callable[[Tensor], Tensor],
    budget: int,
    betas: Sequence[float],
    seed: int,
) -> float:
    """The coefficient whose policy has the largest estimated gold reward.

    The answers are drawn from the mixture of all policies, so each has been drawn from, and
    each score serves all estimates: no weight is larger than the number of policies.

    Args:
        logp_ref: log π_ref of each answer, (Y,).
        proxy: The flawed reward of each answer, (Y,).
        ask: From numbers of answers to their gold rewards.
        budget: How many may be asked for.
        betas: The coefficients between which to choose.
        seed: Of the draws.
    """
    policies = torch.stack([tilted(logp_ref, proxy, beta) for beta in betas])
    mixture = policies.logsumexp(0) - math.log(len(betas))
    draws = torch.Generator().manual_seed(seed)
    answers = torch.multinomial(mixture.exp(), budget, True, generator=draws)
    scores = ask(answers)
    worths = [float(worth(logp, mixture, answers, scores)) for logp in policies]
    return betas[worths.index(max(worths))]
