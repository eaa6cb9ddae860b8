"""The project's grader: the solution passes, and each planted fault is named in a sentence."""

import numpy as np
import pytest

from lab.mixture_of_experts import project, project_solution

RIGHT = (project_solution.mixture, project_solution.mixture_backward, project_solution.step)


def test_the_solution_passes():
    report = project.grade(*RIGHT)
    assert report.passed, report
    assert repr(report).endswith("7 of 7 tests passed")


def wrong(which, **change):
    """A layer whose entry ``which`` of (y, dx, dW_router, dW) has a known mistake."""

    def forward(x, R, b, W, k):
        k = change.get("k", k)
        options = {n: v for n, v in change.items() if n != "k"}
        y = project.right(x, R, b, W, np.ones_like(x), k, **options)[0]
        return (y, (x, R, b, W, k)) if which == 0 else RIGHT[0](x, R, b, W, k)

    def backward(dy, cache):
        if which == 0:
            return (0, 0, 0)
        x, R, b, W, dy = project.draw()
        found = list(project.right(x, R, b, W, dy)[1:])
        found[which - 1] = project.right(x, R, b, W, dy, **change)[which]
        return found

    return forward, backward, RIGHT[2]


def negated(dy, cache):
    dx, dR, dW = RIGHT[1](dy, cache)
    return dx, -dR, dW


def in_place(x, *args):
    x += 1
    return RIGHT[0](x, *args)


FAULTS = {
    "not divided by their sum": wrong(0, total="one"),
    "come from a softmax": wrong(0, gates="softmax"),
    "every expert is used": wrong(0, k=5),
    "one expert fewer than k": wrong(0, k=1),
    "the bias changes the gates": wrong(0, gates="biased"),
    "the bias has no effect": wrong(0, choose="plain"),
    "its NaN reached y": wrong(0),
    "treated as a constant": wrong(2, total="held"),
    "lacks the way through the router": wrong(1, path="experts"),
    "wrong sign": (RIGHT[0], negated, RIGHT[2]),
    "changes one of its arguments": (in_place, *RIGHT[1:]),
    "must return the pair": (lambda *args: RIGHT[0](*args)[0], *RIGHT[1:]),
    "must return dx, dW_router and dW": (RIGHT[0], lambda dy, c: dy, RIGHT[2]),
    "it has shape": (lambda *a: (RIGHT[0](*a)[0][:1], None), *RIGHT[1:]),
    "off by up to": (lambda *a: (RIGHT[0](*a)[0] + 1, None), *RIGHT[1:]),
    "an overloaded expert must fall": (*RIGHT[:2], lambda b, m, r: RIGHT[2](b, m, -r)),
    "only its sign counts": (*RIGHT[:2], lambda b, m, r: b + r * (m.mean() - m)),
    "the bias before the step is lost": (*RIGHT[:2], lambda b, m, r: RIGHT[2](0 * b, m, r)),
}


@pytest.mark.parametrize("sentence", FAULTS)
def test_a_planted_fault_is_named(sentence):
    report = project.grade(*FAULTS[sentence])
    assert any(sentence in fault for fault in report.faults), report


def test_a_step_in_place_is_named():
    def step(bias, load, rate):
        bias += rate * np.sign(load.mean() - load)
        return bias.copy()

    assert any("in place" in f for f in project.grade(*RIGHT[:2], step).faults)
