"""Grader of the project of this page: a KL coefficient from a few honest scores.

from lab.reward_hacking.project import grade
grade(tilted, worth)           # parts 1 and 2
grade(tilted, worth, choose)   # all of it
"""

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from lab.grading import Case, FaultError, Report, grade_by
from mathlm.align.exact import standard_world

BETAS = tuple(10 * 0.1 ** (i / 6) for i in range(13))  # from 10 down to 0.1 [reward/nat]
BUDGET, WANTED = 40, 0.9  # honest scores for each case; share of the gain that is to be had
SELDOM = 0.1  # share of overrated answers below which the proxy is not tested


class Scored(NamedTuple):
    """One prompt: a reference, a flawed reward of each answer, and the reward that is meant.

    Args:
        logp_ref: log π_ref of each answer, (Y,).
        proxy: The flawed reward, (Y,).
        gold: The reward that is meant, (Y,).
    """

    logp_ref: Tensor
    proxy: Tensor
    gold: Tensor


class Asked:
    """Hands out the gold reward of answers, and counts.

    Args:
        gold: Of each answer, (Y,).
        budget: How many scores there are.
    """

    def __init__(self, gold: Tensor, budget: int = BUDGET) -> None:
        self.gold, self.left, self.seen = gold, budget, list[int]()

    def __call__(self, answers: Any) -> Tensor:
        """The gold reward of answers, given by their numbers."""
        at = torch.as_tensor(answers, dtype=torch.long).flatten()
        self.left -= len(at)
        if self.left < 0:
            raise FaultError(
                f"more than {BUDGET} scores were asked for; an answer that comes twice counts "
                "twice."
            )
        self.seen += at.tolist()
        return self.gold[at].clone()


def cases() -> Iterator[Scored]:
    """Four prompts under five judges, each with a blind spot of its own."""
    world = standard_world()
    y = world.completions
    spots = torch.stack([(y[:, 0] == k) & (y[:, 2] == k) for k in range(5)]).double()
    gold = world.rewards.double() - 2 * spots.amax(0)
    for spot in spots:
        yield from map(Scored, world.logp_ref.double(), gold + 4 * spot, gold)


def grade(tilted: Callable, worth: Callable, choose: Callable | None = None) -> Report:
    """Test a reader's choice of a KL coefficient, part by part.

    Args:
        tilted: ``tilted(logp_ref, proxy, beta)`` -> log-probabilities of the best policy, (Y,).
        worth: ``worth(logp, logp_drawn, answers, scores)`` -> mean score under ``logp``,
            estimated from answers that were drawn from ``logp_drawn``.
        choose: ``choose(logp_ref, proxy, ask, budget, betas, seed)`` -> one of ``betas``.

    Returns:
        A report that prints itself.
    """
    tests = [
        Case("the tilted policy", lambda t, w, c: _tilt(t)),
        Case("an estimate from its own samples", lambda t, w, c: _plain(w)),
        Case("an estimate from other samples", lambda t, w, c: _weighted(w)),
        Case("probabilities of any size", lambda t, w, c: _large(w)),
    ]
    if choose is None:
        return grade_by(tests, tilted, worth, choose, note="Not tested yet: choose.")
    before = tuple(test.name for test in tests)
    tests.append(Case("the coefficient", lambda t, w, c: _chosen(c), before))
    return grade_by(tests, tilted, worth, choose)


def _numbers(found: Any, right: Tensor, what: str) -> Tensor:
    """What was returned as numbers, or the fault that it is none."""
    found = torch.as_tensor(found).double()
    if found.shape != right.shape:
        raise FaultError(
            f"{what} has the shape {tuple(found.shape)}, not {tuple(right.shape)}."
        )
    return found


def _named(found: Any, right: Tensor, mistakes: dict[str, Tensor], what: str) -> str | None:
    """Which mistake gives what was found, or how far off it is."""
    found = _numbers(found, right, what)
    if torch.allclose(found, right, rtol=1e-4, atol=1e-6):
        return None
    for said, wrong in mistakes.items():
        if torch.allclose(found, wrong, rtol=1e-4, atol=1e-6):
            return said
    if not found.isfinite().all():
        return f"{what} is not finite."
    return f"{what} is off by up to {(found - right).abs().max():.2g}."


def _tilt(tilted: Callable) -> str | None:
    logp, r, beta = torch.tensor([0.5, 0.3, 0.2]).double().log(), torch.tensor([0.0, 1, 3]), 0.5
    right = (logp + r / beta).log_softmax(0)
    mistakes = {
        "the probabilities do not sum to 1: subtract log Z.": logp + r / beta,
        "these are probabilities; their logarithms are asked for.": right.exp(),
        "the reward is multiplied by β: a small β must tilt more, so divide.": (
            logp + r * beta
        ).log_softmax(0),
        "the reference is missing: this is the softmax of the reward alone.": (
            r.double() / beta
        ).log_softmax(0),
    }
    return _named(tilted(logp.clone(), r.double(), beta), right, mistakes, "the log-policy")


def _drawn(n: int = 40) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Two policies, answers drawn from the second, and their scores."""
    dice = torch.Generator().manual_seed(0)
    logp, other = torch.randn(2, 12, generator=dice).double().log_softmax(-1)
    answers = torch.multinomial(other.exp(), n, True, generator=dice)
    return logp, other, answers, torch.randn(12, generator=dice).double()[answers]


def _plain(worth: Callable) -> str | None:
    logp, _, answers, scores = _drawn()
    mistakes = {
        "the answers were drawn from the policy itself, and are weighted by its probabilities "
        "once more.": (logp[answers].softmax(0) * scores).sum(),
        "this is a sum over the answers; a mean is asked for.": scores.sum(),
    }
    return _named(worth(logp, logp, answers, scores), scores.mean(), mistakes, "the estimate")


def _weighted(worth: Callable) -> str | None:
    logp, other, answers, scores = _drawn()
    u = (logp - other)[answers]
    mistakes = {
        "this is the plain mean: it estimates the policy that the answers were drawn "
        "from.": scores.mean(),
        "the ratio is the wrong way up: it must be the wanted policy over the one that was "
        "drawn from.": ((-u).softmax(0) * scores).sum(),
        "the weights are not divided by their sum: then equal scores of 1 need not have the "
        "mean 1.": (u.exp() * scores).mean(),
        "the weights are π(y), without the policy that was drawn from: frequent answers count "
        "twice.": (logp[answers].softmax(0) * scores).sum(),
    }
    right = (u.softmax(0) * scores).sum()
    return _named(worth(logp, other, answers, scores), right, mistakes, "the estimate")


def _large(worth: Callable) -> str | None:
    logp, other = torch.tensor([-800.0, 0.0]).double(), torch.tensor([0.0, -800.0]).double()
    answers, scores = torch.tensor([0, 0, 0]), torch.tensor([1.0, 2.0, 3.0]).double()
    found = worth(logp, other, answers, scores)
    if not math.isfinite(float(found)):
        return (
            "weights of e^-800 are 0 in floating point, and 0/0 is NaN: subtract the largest "
            "log-ratio first, as softmax does."
        )
    return _named(found, scores.mean(), {}, "the estimate")


def _chosen(choose: Callable) -> str | None:
    gained, there, fooled, at = 0.0, 0.0, [], []
    for seed, case in enumerate(cases()):
        ask = Asked(case.gold)
        beta = choose(case.logp_ref.clone(), case.proxy.clone(), ask, BUDGET, BETAS, seed)
        if beta not in BETAS:
            return f"{beta!r} was chosen, which is none of the coefficients offered."
        worths = gold_by_coefficient(case)
        start = float((case.logp_ref.exp() * case.gold).sum())
        at.append(BETAS.index(beta))
        gained, there = gained + worths[at[-1]] - start, there + max(worths) - start
        fooled += (case.proxy > case.gold + 1)[ask.seen].tolist()
    return _judgment(gained / there, sum(fooled) / max(1, len(fooled)), at)


def gold_by_coefficient(case: Scored) -> list[float]:
    """Mean gold reward of the policy tilted by the proxy, for each coefficient."""
    tilts = [(case.logp_ref + case.proxy / beta).log_softmax(0) for beta in BETAS]
    return [float((logp.exp() * case.gold).sum()) for logp in tilts]


def _judgment(share: float, overrated: float, at: list[int]) -> str | None:
    """A sentence on choices that gain too little."""
    if share >= WANTED:
        return None
    said = f"your coefficients have {share:.0%} of the gain that was to be had, of {WANTED:.0%}"
    if set(at) == {len(BETAS) - 1}:
        return f"{said}: the smallest coefficient is always chosen, which trusts the proxy."
    if len(set(at)) == 1:
        return f"{said}: the same coefficient is chosen for every judge and prompt."
    if overrated < SELDOM:
        return (
            f"{said}: of the answers that were scored, only {overrated:.0%} are answers that "
            "the proxy overrates. Draw them from the policies between which you choose."
        )
    return (
        f"{said}: the estimates are too noisy. Let each score serve the estimate at every "
        "coefficient."
    )
