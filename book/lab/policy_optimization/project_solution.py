"""Reference solution of the project: GRPO on the exact world, without the package's losses."""

import torch
from torch import Tensor, nn

from mathlm.align.exact import World

BETA, GROUP, RATE, ITERATIONS = 0.5, 1024, 4e-3, 300


def group_advantages(rewards: Tensor) -> Tensor:
    """Rewards less the mean of their group, in units of its spread.

    Args:
        rewards: N samples of each of G prompts, (G, N).

    Returns:
        Advantages (G, N); 0 throughout a group whose rewards are equal.
    """
    centered = rewards - rewards.mean(1, keepdim=True)
    spread = centered.square().mean(1, keepdim=True).sqrt()
    return centered / (spread + 1e-4)


def grpo_loss(
    logp: Tensor,
    logp_old: Tensor,
    logp_ref: Tensor,
    advantages: Tensor,
    mask: Tensor,
    clip: float = 0.2,
    beta: float = 0.04,
) -> Tensor:
    """The published loss of each completion: clipped ratios and k₃, a mean over its tokens.

    Args:
        logp: log π of each token, (B, T) [nats]; the next two are the same of other policies.
        logp_old: Of the policy that wrote.
        logp_ref: Of the reference.
        advantages: One for each completion, (B,).
        mask: True where there is a token, (B, T).
        clip: ε.
        beta: Weight of the divergence.

    Returns:
        The loss of each completion, (B,).
    """
    rho, A = (logp - logp_old.detach()).exp(), advantages.detach()[:, None]
    gain = torch.minimum(rho * A, rho.clamp(1 - clip, 1 + clip) * A)
    u = logp - logp_ref.detach()  # log π / π_ref
    k3 = torch.expm1(-u) + u
    each = torch.where(mask, beta * k3 - gain, 0.0)
    return each.sum(1) / mask.sum(1)


def train(world: World, seed: int = 0) -> nn.Module:
    """A policy whose expected gradient is that of E[r] - β KL, trained on samples.

    The group's mean without its spread, and half the squared log-ratio of whole completions
    in place of k₃ of tokens. All completions of this world are equally long.

    Args:
        world: With a reference model, where the policy starts.
        seed: Of what is drawn.

    Returns:
        The model.
    """
    policy, draws = world.reference(), torch.Generator().manual_seed(seed)
    adam = torch.optim.Adam(policy.parameters(), RATE, betas=(0.9, 0.98))
    for i in range(ITERATIONS):
        adam.param_groups[0]["lr"] = RATE * (1 - i / ITERATIONS)
        logp = world.log_probabilities(policy)  # (P, Y)
        y = torch.multinomial(logp.detach().exp(), GROUP, replacement=True, generator=draws)
        r, chosen, ref = (x.gather(1, y) for x in (world.rewards, logp, world.logp_ref))
        A = (r - r.mean(1, keepdim=True)) * GROUP / (GROUP - 1)
        loss = (BETA * (chosen - ref).square() / 2 - A * chosen).mean()
        adam.zero_grad()
        loss.backward()
        adam.step()
    return policy
