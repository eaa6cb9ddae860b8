"""Answers of an older policy: the weight of a ratio, its bias, and many steps on one batch."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor

from mathlm.align import (
    cispo_loss,
    dapo_loss,
    leave_one_out_advantages,
    ppo_loss,
    reinforce_loss,
    sapo_loss,
)
from mathlm.align.exact import Moments, score_matrix

Loss = Callable[[Tensor, Tensor, Tensor], Tensor]  # log π, log π_old, A, each (B,) -> (B,)


def _rows(loss: Callable[..., Tensor], **options: float) -> Loss:
    """A loss of texts, for texts of one token."""

    def of_tokens(logp: Tensor, logp_old: Tensor, A: Tensor) -> Tensor:
        mask = torch.ones(len(logp), 1, dtype=torch.bool)
        return loss(logp[:, None], logp_old[:, None], A, mask, **options).reshape(-1)

    return of_tokens


def _importance(logp: Tensor, logp_old: Tensor, A: Tensor) -> Tensor:
    return -A * (logp - logp_old).exp()


LOSSES: dict[str, Loss] = {
    "no ratio": lambda logp, logp_old, A: reinforce_loss(logp, A),
    "ratio, not clipped": _importance,
    "PPO": lambda logp, logp_old, A: ppo_loss(logp, logp_old, A, 0.2),
    "DAPO": _rows(dapo_loss),
    "CISPO": _rows(cispo_loss),
    "SAPO": _rows(sapo_loss),
}


def ratio_weight(loss: Loss, rho: Tensor, A: float) -> Tensor:
    """What multiplies A ∇log π of a token, by its ratio: -1/A dℓ/d log π, by autograd.

    Args:
        loss: Of tokens.
        rho: Ratios, (K,).
        A: The advantage of all, not 0.
    """
    logp = rho.log().requires_grad_(True)
    total = loss(logp, torch.zeros_like(rho), torch.full_like(rho, A)).sum()
    (slope,) = torch.autograd.grad(total, logp)
    return -slope / A


def one_sample(loss: Loss, logp: Tensor, logp_old: Tensor, A: Tensor) -> Moments:
    """Exact mean and variance of the gradient of one answer that the old policy wrote.

    Args:
        loss: Of answers of one token.
        logp: log π of each answer, (Y,), softmax of free logits.
        logp_old: log π_old of each.
        A: The advantage of each.

    Returns:
        Moments of -∇ℓ in the logits, each (Y,), over y ~ π_old.
    """
    at = logp.detach().requires_grad_(True)
    (slope,) = torch.autograd.grad(loss(at, logp_old, A).sum(), at)
    gradient = -slope[:, None] * score_matrix(logp)
    chance = logp_old.exp()[:, None]
    mean = (chance * gradient).sum(0)
    return Moments(mean, (chance * (gradient - mean).square()).sum(0))


@dataclass(frozen=True, eq=False)
class Judged:
    """Answers to one prompt that an unreliable judge calls right or wrong.

    Attributes:
        logp_old: log π_old of each answer, (Y,) [nats].
        called_right: How likely the judge calls each right, (Y,): its mean reward.
    """

    logp_old: Tensor
    called_right: Tensor

    def groups(self, samples: int) -> tuple[Tensor, Tensor, Tensor]:
        """Every group of answers with every verdict: answers, rewards (G, N), and chances."""
        Y = len(self.logp_old)
        listed = torch.tensor(list(product(range(2 * Y), repeat=samples)))
        answer, reward = listed // 2, (listed % 2).to(self.logp_old)
        said = torch.where(reward > 0, self.called_right[answer], 1 - self.called_right[answer])
        chance = (self.logp_old.exp()[answer] * said).prod(1)
        return answer[chance > 0], reward[chance > 0], chance[chance > 0]

    def after_steps(
        self, loss: Loss, steps: int, rate: float, samples: int = 4
    ) -> tuple[Tensor, Tensor]:
        """Mean reward, and mean largest ratio, after each step on one batch of one group.

        The exact mean over all groups: each has a policy of its own, which starts at π_old and
        takes plain gradient steps on the answers of that group, with leave-one-out advantages.

        Args:
            loss: Of answers.
            steps: On the same answers.
            rate: Step size.
            samples: N, answers in the group.

        Returns:
            Two rows of steps + 1 numbers, from before the first step on.
        """
        answer, reward, chance = self.groups(samples)
        A = leave_one_out_advantages(reward).flatten()
        old = self.logp_old[answer].flatten()
        z = self.logp_old.expand(len(answer), -1).clone()
        rewards, ratios = [], []
        for _ in range(steps + 1):
            z = z.detach().requires_grad_(True)
            logp = z.log_softmax(1)
            now = logp.detach()
            rewards.append((chance * (now.exp() @ self.called_right)).sum())
            ratios.append((chance * (now - self.logp_old).exp().amax(1)).sum())
            total = loss(logp.gather(1, answer).flatten(), old, A).sum() / samples
            (slope,) = torch.autograd.grad(total, z)
            z = z - rate * slope
        return torch.stack(rewards), torch.stack(ratios)

    def after_batches(
        self, loss: Loss, batches: int, steps: int, rate: float, chains: int, seed: int
    ) -> tuple[float, float]:
        """Mean reward, and share of runs that prefer the best answer, after many batches.

        Args:
            loss: Of answers.
            batches: Each of four answers that the current policy draws.
            steps: On each.
            rate: Step size.
            chains: Independent runs.
            seed: Of the draws.

        Returns:
            Mean reward of the policies at the end, and the share of them whose likeliest answer
            is that of the largest mean reward.
        """
        draws = torch.Generator().manual_seed(seed)
        z = self.logp_old.expand(chains, -1).clone()
        for _ in range(batches):
            old = z.detach().log_softmax(1)
            answer = torch.multinomial(old.exp(), 4, replacement=True, generator=draws)
            luck = torch.rand(chains, 4, generator=draws)
            A = leave_one_out_advantages((luck < self.called_right[answer]).to(old)).flatten()
            logp_old = old.gather(1, answer).flatten()
            for _ in range(steps):
                z = z.detach().requires_grad_(True)
                logp = z.log_softmax(1).gather(1, answer).flatten()
                (slope,) = torch.autograd.grad(loss(logp, logp_old, A).sum() / 4, z)
                z = z - rate * slope
        end = z.detach().softmax(1)
        best = end.argmax(1) == self.called_right.argmax()
        return float((end @ self.called_right).mean()), float(best.double().mean())
