"""Reference solution of the project, without the package's estimators."""

from math import comb

import torch
from torch import Tensor


def pass_at_k_advantages(rewards: Tensor, k: int) -> Tensor:
    """Advantages whose expected gradient is that of pass@k, 1 - (1 - p)^k.

    Its derivative is k (1 - p)^(k-1). Of the N - 1 other answers, j of them wrong,
    C(j, k-1) / C(N-1, k-1) estimates (1 - p)^(k-1) without bias: the chance that k - 1 others,
    drawn without replacement, are all wrong.

    Args:
        rewards: 0 or 1, N samples of each of G prompts, (G, N).
        k: From 1 to N.

    Returns:
        (G, N): a right answer has k times that estimate, a wrong one 0.
    """
    N = rewards.shape[1]
    wrong = (N - 1) - (rewards.sum(1, keepdim=True) - rewards)  # among the others, (G, N)
    ways = [comb(j, k - 1) / comb(N - 1, k - 1) for j in range(N)]
    return k * rewards * torch.tensor(ways).to(rewards)[wrong.long()]


def maximum_likelihood_advantages(rewards: Tensor) -> Tensor:
    """Advantages whose expected gradient is that of the first N terms of log p.

    The baseline of 1 acts in every group: where none succeeds all advantages are -1.

    Args:
        rewards: 0 or 1, N samples of each of G prompts, (G, N).

    Returns:
        r / mean r - 1, with r / mean r = 0 where no answer is right.
    """
    share = rewards.mean(1, keepdim=True)
    return torch.where(share > 0, rewards / share.clamp(min=1e-9), 0.0) - 1


def cut_weight_loss(logp: Tensor, logp_old: Tensor, A: Tensor, high: float = 4.0) -> Tensor:
    """REINFORCE with the ratio as a weight that is cut at 1 + high and has no gradient.

    Args:
        logp: log π of tokens, (B,) [nats].
        logp_old: Of the policy that wrote them.
        A: Advantages.
        high: How far above 1 the weight may go.

    Returns:
        The loss of each token, (B,).
    """
    weight = (logp - logp_old).exp().clamp(max=1 + high).detach()
    return -weight * A.detach() * logp
