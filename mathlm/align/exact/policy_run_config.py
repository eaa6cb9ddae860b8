"""How long and on how much a policy is trained in a listed world."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class PolicyConfig:
    """How long and on how much a policy is trained.

    Args:
        iterations: Times that the policy writes.
        group_size: Completions of each prompt that it writes each time.
        epochs: Steps on what it wrote.
        lr: Largest step size; it rises for 20 steps, then falls to 0 linearly.
        second_decay: β₂ of Adam: short runs forget their first gradients sooner.
        beta: Price of the divergence at which the end is judged [reward/nat].
        every: Iterations between two looks at the truth.
        seed: Of what is drawn.
    """

    iterations: int = 300
    group_size: int = 256
    epochs: int = 1
    lr: float = 3e-3
    second_decay: float = 0.98
    beta: float = 0.5
    every: int = 10
    seed: int = 0
