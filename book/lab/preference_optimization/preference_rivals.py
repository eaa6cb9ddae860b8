"""Three ways from the same comparisons to a policy: DPO, and a reward model used in two ways.

The reward model is judged at its best: the policy that is optimal for it is computed, not
trained. Best of n draws from the reference and keeps what the reward model likes most.
"""

from typing import Any

import torch
from torch import Tensor

from mathlm.align import DPO, RewardModel, best_of_n_log_probabilities, bradley_terry_loss
from mathlm.align.exact import World
from mathlm.models import GPT
from mathlm.optim import AdamW

from .preference_family import BETA, problem, run
from .preference_world import Pairs, Row, best, measures

PRICES = (2.0, 1.0, 0.5, 0.25, 0.12, 0.06)
DRAWS = (1, 2, 4, 8, 16, 32, 64)


def texts(world: World) -> Tensor:
    """Every prompt with every completion, prompts slowest; all are equally long."""
    P, Y = world.rewards.shape
    prompts = world.prompts.repeat_interleave(Y, 0)
    return torch.cat([prompts, world.completions.repeat(P, 1)], 1)


def fit_rewards(
    world: World, train: Pairs, held_out: Pairs, *, steps: int, step_size: float = 1e-3
) -> tuple[Tensor, list[Row]]:
    """Rewards (P, Y) of a reward model, stopped where held-out pairs surprise it least."""
    body = world.reference()
    assert isinstance(body, GPT)
    model, ids = RewardModel(body), texts(world)
    optimizer = AdamW(model.parameters(), lr=step_size, weight_decay=0.0)
    curve: list[Row] = []
    least, kept = torch.inf, torch.zeros_like(world.rewards)
    for step in range(steps + 1):
        rewards = model(ids).view(world.rewards.shape)
        with torch.no_grad():
            surprise = float(bradley_terry_loss(*held_out.of(rewards)).mean())
        curve.append({"step": step, "held_out": surprise})
        if surprise < least:
            least, kept = surprise, rewards.detach().clone()
        optimizer.zero_grad()
        bradley_terry_loss(*train.of(rewards)).mean().backward()
        optimizer.step()
    return kept, curve


def rivals(seed: int, number: int, steps: int) -> dict[str, Any]:
    """The three ways, over prices β of leaving the reference and over numbers of draws."""
    world, train, held_out = problem(seed, number)
    rewards, curve = fit_rewards(world, train, held_out, steps=steps)

    def judged(logp: Tensor) -> Row:
        return measures(world, logp, BETA, held_out)

    guessed = world.with_rewards(rewards - rewards.mean(1, keepdim=True))
    rows: dict[str, list[dict[str, Any]]] = {"DPO": [], "reward model": [], "best of n": []}
    for beta in PRICES:
        path = run(world, DPO(beta=beta), train, held_out, steps=steps)
        rows["DPO"].append({"beta": beta, "end": path[-1], "stopped": best(path, "own")})
        rows["reward model"].append({"beta": beta} | judged(guessed.optimum(beta).logp))
    for n in DRAWS:
        logp = best_of_n_log_probabilities(world.logp_ref, guessed.rewards, n)
        rows["best of n"].append({"n": n} | judged(logp))
    optima = [world.optimum(beta) for beta in PRICES]
    truth = [{"kl": float(o.kl.mean()), "reward": float(o.reward.mean())} for o in optima]
    return {"seed": seed, "truth": truth, "surprise": best(curve), **rows}
