"""Grader of the project of this page: GRPO on the exact world, from an empty file.

from lab.policy_optimization.project import grade
grade(advantages)                # part 1
grade(advantages, loss)          # parts 1 and 2
grade(advantages, loss, train)   # all of it
"""

import copy
import functools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from lab.grading import Case, Report, grade_parts
from mathlm.align import exact, grpo_loss
from mathlm.align.exact import World, standard_world

from .exact_world import BETA, closeness

CLOSE = 0.02  # nats: how near to the optimum a policy has to end
NEAR = 0.06  # nats: within it the end of a known mistake is recognized


def grade(
    advantages: Callable, loss: Callable | None = None, train: Callable | None = None
) -> Report:
    """Test a reader's GRPO, part by part; a later part waits until the earlier ones are right.

    Args:
        advantages: ``advantages(rewards)``, from (G, N) to (G, N): centered by group and in
            units of its (population) standard deviation.
        loss: ``loss(logp, logp_old, logp_ref, advantages, mask, clip, beta)``, the published
            loss of each completion, (B,).
        train: ``train(world, seed)`` trains ``world.reference()`` on samples with a corrected
            loss and returns the model, which has to end within 0.02 nats of the optimum.

    Returns:
        A report that prints itself.
    """
    return grade_parts(PARTS, advantages, loss, train)


@contextmanager
def precision(dtype: torch.dtype) -> Iterator[None]:
    """New tensors and worlds have this dtype; then it is as it was."""
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def _named(found: Tensor, right: Tensor, mistakes: dict[str, Tensor], what: str) -> str | None:
    """Which mistake gives what was found, or how far off it is."""
    if not isinstance(found, Tensor) or found.shape != right.shape:
        return f"{what} must be a tensor of shape {tuple(right.shape)}, got {_shape(found)}."
    if torch.allclose(found, right, rtol=1e-3, atol=1e-3):
        return None
    for said, wrong in mistakes.items():
        if wrong.shape == found.shape and torch.allclose(found, wrong, rtol=1e-3, atol=1e-3):
            return said
    if not found.isfinite().all():
        return f"{what} has {int((~found.isfinite()).sum())} entries that are not finite."
    return f"{what} is off by up to {(found - right).abs().max():.2g}."


def _shape(found: Any) -> str:
    return str(tuple(found.shape)) if isinstance(found, Tensor) else type(found).__name__


# --- part 1: advantages -----------------------------------------------------------------------


def _rewards() -> Tensor:
    draws = torch.Generator().manual_seed(0)
    return torch.randn(3, 4, generator=draws) * torch.tensor([[0.5], [1.0], [3.0]]) + 2


def _values(advantages: Callable) -> str | None:
    r = _rewards()
    centered = r - r.mean(1, keepdim=True)
    spread = centered.square().mean(1, keepdim=True).sqrt()
    alone = 4 / 3 * centered
    mistakes = {
        "the rewards are not centered: subtract the mean of their group.": r / spread,
        "the rewards are not divided by the spread of their group.": centered,
        "this is the leave-one-out baseline; the published form divides by the spread.": alone,
        "mean and spread are those of all groups together: each row has its own (dim=1, "
        "keepdim=True).": (r - r.mean()) / (r - r.mean()).square().mean().sqrt(),
        "mean and spread run over the prompts (dim=0); they must run over the samples of one "
        "prompt (dim=1).": (r - r.mean(0)) / (r - r.mean(0)).square().mean(0).sqrt(),
        "the spread is that of a sample (division by N - 1, the default of torch.std); here "
        "it is the root of the mean square: correction=0.": centered / r.std(1, keepdim=True),
        "the division is by the variance; divide by its root.": centered / spread**2,
    }
    return _named(advantages(r), centered / spread, mistakes, "the result")


def _equal(advantages: Callable) -> str | None:
    found = advantages(torch.tensor([[1.0, 1.0, 1.0], [0.0, 1.0, 2.0]]))
    if not found.isfinite().all():
        return "equal rewards give NaN (0/0): add a small number, such as 1e-4, to the spread."
    if found[0].any():
        return f"equal rewards must give advantages of 0, got {found[0].tolist()}."
    return None


def _kept(advantages: Callable) -> str | None:
    r = _rewards()
    advantages(r)
    return None if torch.equal(r, _rewards()) else "your code changes the rewards in place."


# --- part 2: the published loss ---------------------------------------------------------------


def _batch() -> dict[str, Tensor]:
    """Six completions of one to five tokens, with ratios on both sides of the clip."""
    draws = torch.Generator().manual_seed(1)
    names = ("logp", "logp_old", "logp_ref")
    drawn = {name: -torch.rand(6, 5, generator=draws) - 0.2 for name in names}
    drawn["advantages"] = torch.tensor([1.2, -0.7, 0.4, -1.5, 0.9, -0.3])
    drawn["mask"] = torch.arange(5) < torch.tensor([5, 3, 1, 4, 2, 5])[:, None]
    return drawn


def _mean(each: Tensor, mask: Tensor) -> Tensor:
    return (each * mask).sum(1) / mask.sum(1)


def _wrong_losses(clip: float, beta: float) -> dict[str, Tensor]:
    """Sentence -> the loss that this mistake gives."""
    logp, old, ref, A, mask = _batch().values()
    rho, u, A = (logp - old).exp(), logp - ref, A[:, None]
    cut = rho.clamp(1 - clip, 1 + clip)
    gain, k3 = torch.minimum(rho * A, cut * A), torch.expm1(-u) + u
    of_text = ((logp - old) * mask).sum(1, keepdim=True).exp().expand_as(rho)
    to_ref = u.exp()
    right = beta * k3 - gain
    tokens = {
        "the divergence is missing: add β k₃ of each token.": -gain,
        "the divergence is subtracted; a loss must rise with it.": -gain - beta * k3,
        "the sign of the gain is wrong: descent on this makes good tokens rarer.": gain
        + beta * k3,
        "k₃ is the wrong way up: on samples of π it is exp(-u) - 1 + u with u = log π/π_ref.": (
            beta * (torch.expm1(u) - u) - gain
        ),
        "the estimate is k₁ = log π/π_ref; the published loss has k₃.": beta * u - gain,
        "the estimate is k₂; the published loss has k₃.": beta * u.square() / 2 - gain,
        "the ratio is not clipped.": beta * k3 - rho * A,
        "the ratio is clipped and the minimum is missing: a token that went the wrong way has "
        "no gradient then.": beta * k3 - cut * A,
        "the maximum is taken; it must be the minimum of both gains.": beta * k3
        - torch.maximum(rho * A, cut * A),
        "the ratio is that of π to the reference; it must be that to the policy that wrote.": (
            beta * k3 - torch.minimum(to_ref * A, to_ref.clamp(1 - clip, 1 + clip) * A)
        ),
        "the ratio is that of the whole completion; each token has its own.": beta * k3
        - torch.minimum(of_text * A, of_text.clamp(1 - clip, 1 + clip) * A),
    }
    wrong = {said: _mean(each, mask) for said, each in tokens.items()}
    return wrong | {
        "the tokens are added up; the published loss is their mean.": (right * mask).sum(1),
        "padding counts: apply the mask before the mean.": right.mean(1),
        "the sum is divided by the width of the batch; divide by the tokens that count.": (
            (right * mask).sum(1) / 5
        ),
        "all tokens of the batch have one mean; each completion has its own.": (
            ((right * mask).sum() / mask.sum()).expand(6)
        ),
    }


def _loss_values(loss: Callable) -> str | None:
    batch = _batch()
    right = grpo_loss(**batch, clip=0.2, beta=0.5)
    return _named(loss(*batch.values(), 0.2, 0.5), right, _wrong_losses(0.2, 0.5), "the loss")


def _no_beta(loss: Callable) -> str | None:
    batch = _batch()
    right = grpo_loss(**batch, clip=0.4, beta=0.0)
    said = _named(loss(*batch.values(), 0.4, 0.0), right, {}, "the loss")
    return said and f"with clip=0.4 and beta=0 {said} Are both arguments used?"


def _gradient(loss: Callable) -> str | None:
    batch = _batch()
    learned = {n: x.requires_grad_(True) for n, x in batch.items() if n != "mask"}
    loss(*batch.values(), 0.2, 0.5).sum().backward()
    for name in ("logp_old", "logp_ref", "advantages"):
        grad = learned[name].grad
        if grad is not None and grad.any():
            return f"a gradient reaches {name}: detach it, it is a number and not the policy."
    found, logp = learned["logp"].grad, batch["logp"].detach().requires_grad_(True)
    if found is None:
        return "no gradient reaches logp."
    grpo_loss(**{**batch, "logp": logp}, clip=0.2, beta=0.5).sum().backward()
    return _named(found, logp.grad, {}, "the gradient in logp")  # type: ignore[arg-type]


# --- part 3: where it ends --------------------------------------------------------------------


def _end(train: Callable) -> str | None:
    world = _small_world()
    before = copy.deepcopy(world.model)
    policy = train(world, 0)
    if not isinstance(policy, nn.Module):
        return f"train must return the trained model, it returned {_shape(policy)}."
    if not _same(world.model, before):
        return "your code trains world.model itself; train the copy from world.reference()."
    away = closeness(world, policy)["kl"]
    if away < CLOSE:
        return None
    logp = world.log_probabilities(policy).detach()
    return f"it ends {away:.3f} nats from the optimum. {_diagnosis(world, logp)}"


def _same(model: Any, other: Any) -> bool:
    pairs = zip(model.parameters(), other.parameters(), strict=True)
    return all(torch.equal(a, b) for a, b in pairs)


def _diagnosis(world: World, logp: Tensor) -> str:
    """Which mistake ends there: the ends of this page, calculated."""
    if float(world.kl(logp).mean()) < NEAR:
        return "It has hardly left the reference: is the sign right, and the step large enough?"
    ends = {said: world.kl(logp, end.to(logp)).mean() for said, end in _known_ends().items()}
    nearest = min(ends, key=ends.__getitem__)
    if float(ends[nearest]) < NEAR:
        return nearest
    if float(-world.expectation(logp, logp).mean()) < 0.1:
        return (
            "It says one thing only: no divergence acts on it. As a loss k₁ has a gradient of "
            "mean zero, and a k that is detached has none."
        )
    other = _own_beta(world, logp)
    if other is not None:
        return other
    return "That is no end this grader knows: try larger groups, more steps or a smaller rate."


def _small_world() -> World:
    return standard_world(vocabulary=4, prompts=2)


@functools.cache
def _known_ends() -> dict[str, Tensor]:
    """Sentence -> where its mistake leads, calculated in float64."""
    with precision(torch.float64):
        world = _small_world()
    tilts = {
        "k₃ of tokens": exact.reverse_tilt,
        "k₂ of tokens": exact.forward_tilt,
    }
    ends = {
        f"That is where {name} leads without the group's spread: a token's estimate leaves out "
        "what later tokens will be charged; use k₂ of whole completions, or put k₁ of them "
        "into the reward.": exact.token_tilted(world, world.rewards, BETA, tilt)
        for name, tilt in tilts.items()
    }
    published = exact.at_own_spread(
        lambda r: exact.token_tilted(world, r, BETA, exact.reverse_tilt),
        world.rewards,
        world.logp_ref,
    )
    said = (
        "That is where the published loss ends: the spread of the group and k₃ of tokens solve "
        "another problem. Take both back."
    )
    return ends | {said: published}


def _own_beta(world: World, logp: Tensor) -> str | None:
    """Whether each prompt is at the optimum of some other β."""
    betas = torch.logspace(-1.5, 1.5, 121).tolist()
    away = torch.stack([world.kl(logp, world.optimum(b).logp) for b in betas])
    nearest, place = away.min(0)
    if float(nearest.max()) > NEAR:
        return None
    found = [betas[int(i)] for i in place]
    if max(found) < 1.2 * min(found):
        return f"That is the optimum for β = {sum(found) / len(found):.2f}; here β is {BETA}."
    listed = ", ".join(f"{b:.2f}" for b in found)
    return (
        f"Each prompt is at the optimum of a β of its own ({listed}): division by the spread "
        "of the group rescales the reward of each prompt."
    )


def _part(
    place: int, tests: dict[str, Callable[..., str | None]], *earlier: Case
) -> tuple[Case, ...]:
    """Cases of one of the three functions; all wait for earlier parts and for the first."""

    def run(test: Callable) -> Callable[..., str | None]:
        def in_float32(*code: Callable) -> str | None:
            with precision(torch.float32):
                return test(code[place])

        return in_float32

    names = [f"{NAMES[place]}: {name}" for name in tests]
    before = tuple(case.name for case in earlier)
    return tuple(
        Case(name, run(test), before if name == names[0] else (*before, names[0]))
        for name, test in zip(names, tests.values(), strict=True)
    )


NAMES = ("advantages", "loss", "train")
ADVANTAGES = _part(0, {"three groups": _values, "equal rewards": _equal, "its argument": _kept})
LOSS = _part(
    1, {"values": _loss_values, "clip and beta": _no_beta, "gradient": _gradient}, *ADVANTAGES
)
END = _part(2, {"within 0.02 nats of the optimum": _end}, *ADVANTAGES, *LOSS)
PARTS = dict(zip(NAMES, (ADVANTAGES, LOSS, END), strict=True))
