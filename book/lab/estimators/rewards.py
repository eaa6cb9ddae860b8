"""Two rewards of one answer: which of them a group's advantages follow, exactly."""

from collections.abc import Callable, Sequence
from itertools import product

import torch
from torch import Tensor

from mathlm.align import group_advantages

ANSWERS = ((0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0))  # what each kind of answer earns

Combine = Callable[[Tensor], Tensor]  # rewards (2, G, N) -> (G, N)


def normalized_sum(rewards: Tensor) -> Tensor:
    """GRPO of the sum: add the rewards, then divide by the spread of the group."""
    return group_advantages(rewards.sum(0))


def sum_of_normalized(rewards: Tensor) -> Tensor:
    """GDPO before its batch is whitened: divide each reward by its own spread, then add."""
    return group_advantages(rewards[0]) + group_advantages(rewards[1])


COMBINED: dict[str, Combine] = {
    "normalized sum (GRPO)": normalized_sum,
    "sum of normalized (GDPO)": sum_of_normalized,
}


def expected_advantage(
    combine: Combine, chance: Tensor, scales: Sequence[float], samples: int = 4
) -> Tensor:
    """Mean advantage of an answer of each kind over what else the group can hold.

    Computes::

        Ā(y) = Σ_{y₂ … y_N} π(y₂) … π(y_N) A₁(y, y₂, …, y_N)

    Args:
        combine: From both rewards to advantages.
        chance: π of the four kinds of answers of ``ANSWERS``, (4,).
        scales: What 1 of each reward is counted as.
        samples: N.

    Returns:
        (4,); its gradient step is π(y) (Ā(y) - Σ π Ā) in the logits.
    """
    groups, A = _first_of_each_group(combine, scales, samples)
    others = chance[groups[:, 1:]].prod(1)
    return torch.zeros(4).index_add(0, groups[:, 0], others * A)


def _first_of_each_group(
    combine: Combine, scales: Sequence[float], samples: int
) -> tuple[Tensor, Tensor]:
    """All groups of kinds of answers, and the advantage of the first answer of each."""
    groups = torch.tensor(list(product(range(4), repeat=samples)))
    earned = torch.tensor(ANSWERS).T * torch.tensor(list(scales))[:, None]  # (2, 4)
    return groups, combine(earned[:, groups])[:, 0]


def pulls(
    combine: Combine, chance: Tensor, scales: Sequence[float], samples: int = 4
) -> Tensor:
    """How fast each success rate rises along the expected natural gradient, (2,).

    Computes::

        dE[r_k]/dt = Cov_π(r_k, Ā)   for dz/dt = Ā,   π = softmax z
    """
    mean = expected_advantage(combine, chance, scales, samples)
    return (chance * (mean - chance @ mean)) @ torch.tensor(ANSWERS)


def end_of_two(
    combine: Combine,
    reference: Tensor,
    scales: Sequence[float],
    beta: float,
    rate: float = 0.2,
    steps: int = 1500,
) -> Tensor:
    """Both success rates where the expected gradient with an exact KL penalty vanishes, (2,).

    Follows the natural gradient ``z ← z + η (Ā - β log π/π_ref)`` from the reference.
    """
    z = reference.log()
    groups, A = _first_of_each_group(combine, scales, 4)
    for _ in range(steps):
        others = z.exp()[groups[:, 1:]].prod(1)
        mean = torch.zeros(4).index_add(0, groups[:, 0], others * A)
        z = (z + rate * (mean - beta * (z - reference.log()))).log_softmax(0)
    return z.exp() @ torch.tensor(ANSWERS)
