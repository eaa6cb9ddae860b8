"""Comparisons in a world that can be listed, and policies that learn from them.

Every log-probability of the world comes from one pass of the model, so each step looks at all
comparisons at once.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from mathlm.align import Annotator, Comparisons, PairScores, compare, dpo_loss, implicit_reward
from mathlm.align.exact import World
from mathlm.errors import InputError
from mathlm.optim import AdamW

Loss = Callable[[Tensor], Tensor]  # from log-probabilities (P, Y) to one number
Row = dict[str, float | int]


@dataclass(frozen=True, eq=False)
class Pairs:
    """Numbers of prompts and of the completions that were preferred and not, each (N,)."""

    prompt: Tensor
    chosen: Tensor
    rejected: Tensor

    def __len__(self) -> int:
        return len(self.prompt)

    def of(self, values: Tensor) -> Tensor:
        """A number of each completion, (P, Y), for the chosen and the rejected: (2, N)."""
        x = self.prompt
        return torch.stack((values[x, self.chosen], values[x, self.rejected]))


def decided(comparisons: Comparisons) -> Pairs:
    """The pairs in which one side won."""
    return Pairs(*(torch.from_numpy(x) for x in comparisons.chosen))


def draw_pairs(
    world: World, number: int, seed: int, annotator: Annotator | None = None
) -> Pairs:
    """Pairs of completions that the reference writes, and which of them was preferred."""
    judge = annotator or Annotator()
    logp = world.logp_ref.double().log_softmax(-1)
    return decided(compare(world.rewards, judge, number, seed, logp=logp))


def scores(world: World, logp: Tensor, pairs: Pairs) -> PairScores:
    """What a policy and the reference say of the pairs, in the form of the objectives."""
    lengths = world.prefixes.real.sum(1).expand(world.rewards.shape)
    return PairScores(
        logp=pairs.of(logp), lengths=pairs.of(lengths), logp_ref=pairs.of(world.logp_ref)
    )


@torch.no_grad()
def measures(world: World, logp: Tensor, beta: float | int, pairs: Pairs) -> Row:
    """How good a policy is, exactly, and what it does to pairs that it may not have seen."""
    reward = pairs.of(implicit_reward(logp, world.logp_ref, beta))
    shift = pairs.of(logp - world.logp_ref).mean(1)
    found = {
        "value": world.objective(logp, beta).mean(),
        "reward": world.expectation(logp, world.rewards).mean(),
        "kl": world.kl(logp).mean(),
        "to_optimum": world.kl(logp, world.optimum(beta).logp).mean(),
        "held_out": dpo_loss(*reward).mean(),
        "accuracy": (reward[0] > reward[1]).double().mean(),
        "chosen": shift[0],
        "rejected": shift[1],
    }
    return {name: float(x) for name, x in found.items()}


def tune(
    world: World,
    loss: Loss,
    *,
    steps: int,
    step_size: float,
    measure: Callable[[Tensor], Row],
    every: int = 10,
    final: float = 1.0,
) -> tuple[nn.Module, list[Row]]:
    """Train a copy of the reference; ``final`` is the last step size, of the first.

    Raises:
        InputError: If ``every`` is below 1.
    """
    if every < 1:
        raise InputError(f"every={every} must be at least 1: measured every so many steps")
    model = world.reference()
    optimizer = AdamW(model.parameters(), lr=step_size, weight_decay=0.0)
    curve: list[Row] = []
    for step in range(steps + 1):
        logp = world.log_probabilities(model)
        if step % every == 0 or step == steps:
            curve.append({"step": step} | measure(logp.detach()))
        if step < steps:
            optimizer.param_groups[0]["lr"] = step_size * (1 - (1 - final) * step / steps)
            optimizer.zero_grad()
            loss(logp).backward()
            optimizer.step()
    return model, curve


def best(curve: Sequence[Row], name: str = "held_out") -> Row:
    """The moment at which held-out pairs were least surprising."""
    return min(curve, key=lambda row: row[name])
