"""The grader of the project: the solution passes, and each planted fault has its sentence."""

import re

import pytest
import torch

from lab.reward_hacking import project_solution as solution
from lab.reward_hacking.project import BUDGET, Asked, cases, gold_by_coefficient, grade


def ratios(logp, drawn, answers):
    return (logp - drawn)[answers].exp()


TILTS = {
    "do not sum to 1": lambda q, r, b: q + r / b,
    "their logarithms": lambda q, r, b: (q + r / b).softmax(0),
    "multiplied by β": lambda q, r, b: (q + r * b).log_softmax(0),
    "reference is missing": lambda q, r, b: (r / b).log_softmax(0),
    "has the shape": lambda q, r, b: (q + r / b).logsumexp(0),
    "off by up to": lambda q, r, b: (q + r).log_softmax(0),
    "not written yet": lambda q, r, b: (_ for _ in ()).throw(NotImplementedError),
    "raised ZeroDivisionError": lambda q, r, b: 1 / 0,
}
WORTHS = {
    "plain mean": lambda p, q, y, s: s.mean(),
    "wrong way up": lambda p, q, y, s: ((q - p)[y].softmax(0) * s).sum(),
    "not divided by their sum": lambda p, q, y, s: (ratios(p, q, y) * s).mean(),
    "frequent answers count twice": lambda p, q, y, s: (p[y].softmax(0) * s).sum(),
    "its probabilities once more": lambda p, q, y, s: (p[y].softmax(0) * s).sum(),
    "this is a sum": lambda p, q, y, s: (ratios(p, q, y) * s).sum(),
    "0/0 is NaN": lambda p, q, y, s: (ratios(p, q, y) * s).sum() / ratios(p, q, y).sum(),
}


def from_the_reference(logp_ref, proxy, ask, budget, betas, seed):
    draws = torch.Generator().manual_seed(seed)
    answers = torch.multinomial(logp_ref.exp(), budget, True, generator=draws)
    scores = ask(answers)
    tilts = [solution.tilted(logp_ref, proxy, b) for b in betas]
    worths = [float(solution.worth(logp, logp_ref, answers, scores)) for logp in tilts]
    return betas[worths.index(max(worths))]


def one_at_a_time(logp_ref, proxy, ask, budget, betas, seed):
    draws, worths = torch.Generator().manual_seed(seed), []
    for beta in betas:
        p = solution.tilted(logp_ref, proxy, beta).exp()
        answers = torch.multinomial(p, budget // len(betas), True, generator=draws)
        worths.append(float(ask(answers).mean()))
    return betas[worths.index(max(worths))]


CHOICES = {
    "which trusts the proxy": lambda q, r, ask, n, betas, s: betas[-1],
    "for every judge and prompt": lambda q, r, ask, n, betas, s: betas[6],
    "answers that the proxy overrates": from_the_reference,
    "too noisy": one_at_a_time,
    "none of the coefficients": lambda q, r, ask, n, betas, s: 0.7,
    f"more than {BUDGET} scores": lambda q, r, ask, n, betas, s: ask(range(len(q)))[0],
}


def said(report, sentence):
    return any(re.search(re.escape(sentence), fault) for fault in report.faults)


@pytest.mark.parametrize("sentence", TILTS)
def test_a_fault_of_the_tilt_is_named(sentence):
    report = grade(TILTS[sentence], solution.worth)
    assert said(report, sentence), report


@pytest.mark.parametrize("sentence", WORTHS)
def test_a_fault_of_the_estimate_is_named(sentence):
    report = grade(solution.tilted, WORTHS[sentence])
    assert said(report, sentence), report


@pytest.mark.parametrize("sentence", CHOICES)
def test_a_fault_of_the_choice_is_named(sentence):
    report = grade(solution.tilted, solution.worth, CHOICES[sentence])
    assert said(report, sentence), report
    assert not report.passed


def test_the_solution_passes():
    assert grade(solution.tilted, solution.worth, solution.choose).passed


@pytest.mark.parametrize("shift", range(1, 6))
def test_the_solution_passes_with_other_draws(shift):
    def choose(*args):
        return solution.choose(*args[:-1], 1000 * shift + args[-1])

    assert grade(solution.tilted, solution.worth, choose).passed


def test_the_last_part_waits_for_the_others():
    report = grade(TILTS["multiplied by β"], solution.worth, solution.choose)
    assert not report.results[-1].ran
    assert not grade(solution.tilted, solution.worth).faults
    assert "Not tested yet: choose." in repr(grade(solution.tilted, solution.worth))


def test_scores_are_counted():
    ask = Asked(torch.tensor([1.0, 2.0]), 3)
    assert ask([1, 1]).tolist() == [2, 2]
    assert (ask.left, ask.seen) == (1, [1, 1])


def test_the_best_coefficient_lies_between_in_most_cases():
    worths = [gold_by_coefficient(case) for case in cases()]
    inner = [max(w[0], w[-1]) < max(w) for w in worths]
    assert sum(inner) > len(inner) / 2
