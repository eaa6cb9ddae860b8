"""Grader of the project's third part: does a direction steer, and at what cost."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from lab.grading import Case, Report, grade_by
from mathlm.interpret import Steered, losses_without_heads
from mathlm.models import GPT

RANDOM, TIMES, COST = 10, 3.0, 1.0  # directions, times the root mean square of theirs, nats


@dataclass(frozen=True)
class Trial:
    """What was added, and what is to change.

    Args:
        model: The model as it is.
        tap: Where the vector is added, such as ``"blocks.14.resid_post"``.
        vector: What is added, (D,), of the length that was chosen.
        words: Token ids of the words that are to become likelier.
        prompts: Token ids (T,) of each prompt, at least four, none of which chose the vector.
        plain: Token ids (T,) of each text on which the cost is measured, at least two.
    """

    model: GPT
    tap: str
    vector: Tensor
    words: Sequence[int]
    prompts: Sequence[Tensor]
    plain: Sequence[Tensor]


@torch.no_grad()
def log_odds(model: GPT, prompts: Sequence[Tensor], words: Sequence[int]) -> float:
    """Mean over prompts of ln(p / (1 - p)), where p = p(the next token is one of the words)."""
    index, found = torch.as_tensor(list(words)), []
    for ids in prompts:
        logp = model(ids[None])[0, -1].log_softmax(-1)
        rest = logp.index_fill(0, index, -torch.inf)
        found.append(logp[index].logsumexp(0) - rest.logsumexp(0))
    return float(torch.stack(found).mean())


@torch.no_grad()
def loss(model: GPT, plain: Sequence[Tensor]) -> float:
    """Cross-entropy over all positions of the plain texts [nats per token]."""
    return float(torch.cat([losses_without_heads(model, ids[None])[0] for ids in plain]).mean())


def effect(trial: Trial, vector: Tensor) -> float:
    """By how much a vector raises the log-odds of the words."""
    steered = Steered(trial.model, {trial.tap: vector})
    before = log_odds(trial.model, trial.prompts, trial.words)
    return log_odds(steered, trial.prompts, trial.words) - before


def cost(trial: Trial) -> float:
    """By how much the vector raises the loss on the plain texts [nats per token]."""
    steered = Steered(trial.model, {trial.tap: trial.vector})
    return loss(steered, trial.plain) - loss(trial.model, trial.plain)


def random_effects(trial: Trial, count: int = RANDOM) -> Tensor:
    """Effects (count,) of random directions of the same length."""
    draw = torch.Generator().manual_seed(0)
    noise = torch.randn(count, len(trial.vector), generator=draw, dtype=torch.float32)
    noise = torch.nn.functional.normalize(noise, dim=1).to(trial.vector) * trial.vector.norm()
    return torch.tensor([effect(trial, v) for v in noise])


def grade(trial: Trial) -> Report:
    """Test a direction: prompts and texts, effect, effect against chance, and cost."""
    return grade_by(TESTS, trial)


def _sets(trial: Trial) -> str | None:
    if len(trial.prompts) < 4 or len(trial.plain) < 2:
        return (
            f"{len(trial.prompts)} prompts and {len(trial.plain)} plain texts: give at least "
            "four and two."
        )
    if not trial.words or not float(trial.vector.norm()):
        return "there must be a word at least, and a vector that is not zero."
    return None


def _effect(trial: Trial) -> str | None:
    found = effect(trial, trial.vector)
    return None if found > 0 else f"the words become less likely: log-odds {found:+.2f}."


def _chance(trial: Trial) -> str | None:
    found, chance = effect(trial, trial.vector), random_effects(trial)
    spread = float(chance.square().mean().sqrt())
    if found > max(TIMES * spread, float(chance.max())):
        return None
    return (
        f"log-odds {found:+.2f}; {RANDOM} random directions of this length move them by "
        f"{spread:.2f} (root mean square), at most by {float(chance.max()):+.2f}: it must be "
        f"{TIMES:g} times as much."
    )


def _cost(trial: Trial) -> str | None:
    found = cost(trial)
    if found <= COST:
        return None
    return f"the plain texts cost {found:+.2f} nats per token more, and {COST:g} may be spent."


TESTS = (
    Case("steering: prompts and texts", _sets),
    Case("steering: the words become likelier", _effect, ("steering: prompts and texts",)),
    Case("steering: more than chance", _chance, ("steering: the words become likelier",)),
    Case("steering: cost", _cost, ("steering: prompts and texts",)),
)
