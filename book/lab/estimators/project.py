"""Grader of the project of this page: advantages for any pass@k, and a loss of old answers.

from lab.estimators.project import grade
grade(pass_at_k)                          # part 1
grade(pass_at_k, likelihood)              # parts 1 and 2
grade(pass_at_k, likelihood, loss)        # all of it
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from lab.grading import Case, Report, grade_parts
from mathlm.align import cispo_loss

from .groups import gradient_moments

SAMPLES = 4
FIRSTS = (-2.0, -0.5, 0.5, 2.0)  # a weight has degree N - 1 in p: four rates decide it for all
OTHER_SAMPLES = 6  # groups of another size, of two answers: six rates decide
OTHER_FIRSTS = (-2.0, -1.0, -0.3, 0.3, 1.0, 2.0)
CLOSE = 1e-6  # of an exact sum in float64, with room for a small constant in a division


def grade(
    pass_at_k: Callable, likelihood: Callable | None = None, loss: Callable | None = None
) -> Report:
    """Test a reader's estimators by exact sums; later parts wait for the earlier ones.

    Args:
        pass_at_k: ``pass_at_k(rewards, k)``, from (G, N) to advantages (G, N) whose expected
            gradient is that of pass@k.
        likelihood: ``likelihood(rewards)``, of the first N terms of log p.
        loss: ``loss(logp, logp_old, A, high)``, from (B,) to (B,): the ratio as a weight that
            is cut at 1 + high.

    Returns:
        A report that prints itself.
    """
    return grade_parts(PARTS, pass_at_k, likelihood, loss)


# --- the exact world: four answers, two of them right -----------------------------------------


def _world(first: float, others: tuple[float, ...] = (0.3, 0.9, -0.4)) -> tuple[Tensor, Tensor]:
    """Four answers, or two: log π, and rewards; the first half of them is right."""
    z = torch.tensor([first, *others], dtype=torch.float64)
    return z.log_softmax(0), (torch.arange(len(z)) < len(z) // 2).double()


def _slope(
    objective: Callable[[Tensor], Tensor], first: float, *others: tuple[float, ...]
) -> Tensor:
    """Gradient of an objective of p in the logits, by autograd."""
    logp, rewards = _world(first, *others)
    z = logp.clone().requires_grad_(True)
    p = (z.log_softmax(0).exp() * rewards).sum()
    (slope,) = torch.autograd.grad(objective(p), z)
    return slope


def _series(terms: int) -> Callable[[Tensor], Tensor]:
    return lambda p: -sum((1 - p) ** k / k for k in range(1, terms + 1))  # type: ignore[return-value]


def _passes(k: int) -> Callable[[Tensor], Tensor]:
    return lambda p: 1 - (1 - p) ** k


def _expected(
    advantages: Callable[[Tensor], Tensor],
    right: Callable[[Tensor], Tensor],
    right_of_six: Callable[[Tensor], Tensor],
    mistakes: dict[str, Callable[[Tensor], Tensor]],
) -> str | None:
    """Whether the exact mean over all groups is the gradient, or which other gradient it is."""
    found, wanted = [], []
    for first in FIRSTS:
        moments = gradient_moments(advantages, *_world(first), SAMPLES)
        found.append(moments.mean)
        wanted.append(_slope(right, first))
    mean, truth = torch.stack(found), torch.stack(wanted)
    if not mean.isfinite().all():
        return "some group gives advantages that are not finite: is a mean or a spread 0 there?"
    if torch.allclose(mean, truth, rtol=0, atol=CLOSE):
        return _in_groups_of_six(advantages, right_of_six)
    for said, objective in mistakes.items():
        other = torch.stack([_slope(objective, first) for first in FIRSTS])
        if torch.allclose(mean, other, rtol=0, atol=CLOSE):
            return said
    share = mean / truth
    if torch.allclose(share, share[0, 0].expand_as(share), rtol=0, atol=1e-6):
        if mean.abs().max() < CLOSE:
            return "the expected gradient is 0 at every p: nothing is learned."
        if share[0, 0] < 0:
            return "the expected gradient points the opposite way at every p: is a sign wrong?"
        return (
            "the expected gradient has the right direction at every p, and is "
            f"{float(share[0, 0]):.3g} times as long as it should be."
        )
    ratio = (mean * truth).sum(1) / (truth * truth).sum(1)
    return (
        "the expected gradient, summed over all groups, is not that of the objective: at "
        f"p = {_rate(FIRSTS[0]):.2f} it is {float(ratio[0]):.3g} times as long as it should "
        f"be, at p = {_rate(FIRSTS[-1]):.2f} {float(ratio[-1]):.3g} times."
    )


def _in_groups_of_six(
    advantages: Callable[[Tensor], Tensor], right: Callable[[Tensor], Tensor]
) -> str | None:
    """Whether the exact mean is the gradient with another N, too."""
    for first in OTHER_FIRSTS:
        mean = gradient_moments(advantages, *_world(first, (0.0,)), OTHER_SAMPLES).mean
        if not torch.allclose(mean, _slope(right, first, (0.0,)), rtol=0, atol=CLOSE):
            return (
                "the expected gradient is right in groups of four and wrong in groups of six: "
                "which number in your code is right for N = 4 only?"
            )
    return None


def _rate(first: float) -> float:
    logp, rewards = _world(first)
    return float((logp.exp() * rewards).sum())


GROUPS = torch.tensor(
    [[1.0, 0, 0, 0], [1, 1, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1]], dtype=torch.float64
)


def _shape(advantages: Callable[[Tensor], Any]) -> str | None:
    rewards = GROUPS.clone()
    found = advantages(rewards)
    if not isinstance(found, Tensor) or found.shape != GROUPS.shape:
        shape = tuple(found.shape) if isinstance(found, Tensor) else type(found).__name__
        return f"the advantages must be a tensor of shape (4, 4), got {shape}."
    if not torch.equal(rewards, GROUPS):
        return "your code changes the rewards in place."
    for row, name in ((2, "no answer is right"), (3, "all answers are right")):
        if not found[row].isfinite().all():
            return f"the group in which {name} gives {found[row].tolist()}: a division by 0."
    alone = torch.cat([advantages(row[None].clone()) for row in GROUPS])
    if not torch.allclose(alone, found, atol=1e-9):
        return (
            "a group's advantages depend on the other groups of the batch; take each row alone."
        )
    return None


# --- part 1: pass@k ---------------------------------------------------------------------------


def _of_k(k: int) -> Callable[[Callable], str | None]:
    def test(pass_at_k: Callable) -> str | None:
        mistakes = {
            "this is the gradient of the mean reward, pass@1: is k used?": _passes(1),
            "this is the gradient of the first N - 1 terms of log p.": _series(SAMPLES - 1),
            "this is the gradient of the first N terms of log p.": _series(SAMPLES),
        }
        if k > 1:
            mistakes[
                f"this is the gradient of pass@{k} divided by k: is the factor k lost?"
            ] = lambda p: (1 - (1 - p) ** k) / k
        if k == 1:
            mistakes.pop(next(iter(mistakes)))
        said = _expected(lambda r: pass_at_k(r, k), _passes(k), _passes(k), mistakes)
        return said and f"with k = {k}: {said}"

    return test


# --- part 2: maximum likelihood ---------------------------------------------------------------


def _likelihood(advantages: Callable) -> str | None:
    mistakes = {
        "this is the gradient of the first N - 1 terms of log p, one less than asked for: what "
        "does your baseline do in a group without a right answer?": _series(SAMPLES - 1),
        "this is the gradient of the mean reward.": _passes(1),
        "this is the gradient of the mean reward, times (N - 1)/N.": lambda p: 0.75 * p,
        "this is the gradient of log p itself, which four samples cannot know.": torch.log,
    }
    return _expected(advantages, _series(SAMPLES), _series(OTHER_SAMPLES), mistakes)


def _quiet(advantages: Callable) -> str | None:
    found = advantages(GROUPS.clone())
    if found[3].abs().max() > 1e-6:
        return (
            "a group in which all answers are right gives advantages of "
            f"{float(found[3, 0]):.3g}: without a baseline the estimate is unbiased and noisy; "
            "subtract one whose expected gradient is 0."
        )
    return None


# --- part 3: the weight of a ratio ------------------------------------------------------------


RATIOS = torch.tensor([0.001, 0.5, 1.0, 2.0, 4.0, 6.0, 20.0], dtype=torch.float64)


def _loss_weights(loss: Callable) -> str | None:
    for A, high in ((1.0, 4.0), (-1.0, 4.0), (1.0, 1.5)):
        found, right = _weights(loss, A, high), RATIOS.clamp(max=1 + high)
        if isinstance(found, str):
            return found
        if torch.allclose(found, right, rtol=1e-6):
            continue
        return f"with A = {A:+.0f} and high = {high}: {_diagnosis(found, right, high)}"
    return None


def _weights(loss: Callable, A: float, high: float) -> Tensor | str:
    """-1/A dℓ/d log π at each ratio, or what is wrong with the form."""
    old = torch.linspace(-3.0, -1.0, len(RATIOS), dtype=torch.float64).requires_grad_(True)
    logp = (old.detach() + RATIOS.log()).requires_grad_(True)
    advantages = torch.full_like(RATIOS, A).requires_grad_(True)
    value = loss(logp, old, advantages, high)
    if not isinstance(value, Tensor) or value.shape != RATIOS.shape:
        shape = tuple(value.shape) if isinstance(value, Tensor) else type(value).__name__
        return f"the loss must be a tensor of shape ({len(RATIOS)},), got {shape}."
    if not value.requires_grad:
        return "no gradient reaches logp: only the weight is to be held constant."
    value.sum().backward()
    for name, x in (("logp_old", old), ("the advantages", advantages)):
        if x.grad is not None and x.grad.any():
            return f"a gradient reaches {name}: detach it."
    if logp.grad is None:
        return "no gradient reaches logp: only the weight is to be held constant."
    return -logp.grad / A


def _diagnosis(found: Tensor, right: Tensor, high: float) -> str:
    logp = torch.linspace(-3.0, -1.0, len(RATIOS), dtype=torch.float64) + RATIOS.log()
    free = RATIOS.lt(1 + high)
    known = {
        "the gradient has the wrong sign: a loss falls where the policy gets better.": -right,
        "the weight is not cut at 1 + high.": RATIOS,
        "there is no weight: each ratio counts as 1.": torch.ones_like(RATIOS),
        "tokens above the bound have lost their gradient: the ratio itself is differentiated "
        "and clipped; cut the weight, hold it constant, and multiply log π by it.": torch.where(
            free, RATIOS, 0.0
        ),
        "the weight has a gradient of its own: detach it.": torch.where(
            free, RATIOS * (1 + logp), right
        ),
        "the bound is high and should be 1 + high.": RATIOS.clamp(max=high),
        "the weight is cut below 1 too; the published loss leaves it there.": RATIOS.clamp(
            1.0, 1 + high
        ),
        "the ratio is upside down: it is new over old.": (1 / RATIOS).clamp(max=1 + high),
    }
    for said, wrong in known.items():
        if torch.allclose(found, wrong, rtol=1e-6):
            return said
    return (
        f"the weights at ratios {RATIOS.tolist()} are {[round(x, 3) for x in found.tolist()]}."
    )


def _against_package(loss: Callable) -> str | None:
    draws = torch.Generator().manual_seed(0)
    logp, old = -3 * torch.rand(2, 50, dtype=torch.float64, generator=draws)
    A = torch.randn(50, dtype=torch.float64, generator=draws)
    mask = torch.ones(50, 1, dtype=torch.bool)
    ours = cispo_loss(logp[:, None], old[:, None], A, mask, clip_high=0.7)[:, 0]
    if torch.allclose(loss(logp, old, A, 0.7), ours, rtol=1e-6):
        return None
    return "the gradient is right, but the values differ from align.cispo_loss."


def _part(place: int, tests: dict[str, Callable], *earlier: Case) -> tuple[Case, ...]:
    """Cases of one of the three functions; all wait for earlier parts and for the first."""

    def run(test: Callable) -> Callable[..., str | None]:
        return lambda *code: test(code[place])

    names = [f"{NAMES[place]}: {name}" for name in tests]
    before = tuple(case.name for case in earlier)
    return tuple(
        Case(name, run(test), before if name == names[0] else (*before, names[0]))
        for name, test in zip(names, tests.values(), strict=True)
    )


NAMES = ("pass@k", "likelihood", "loss")
PASS = _part(
    0,
    {"its form": lambda f: _shape(lambda r: f(r, 2))}
    | {f"expected gradient for k = {k}": _of_k(k) for k in (1, 2, 3, 4)},
)
LIKELIHOOD = _part(
    1, {"its form": _shape, "expected gradient": _likelihood, "all right": _quiet}, *PASS
)
LOSS = _part(2, {"weights": _loss_weights, "values": _against_package}, *PASS, *LIKELIHOOD)
PARTS = dict(zip(NAMES, (PASS, LIKELIHOOD, LOSS), strict=True))
