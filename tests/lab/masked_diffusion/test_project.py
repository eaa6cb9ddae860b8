"""The project's grader: the solution passes, and each planted fault is named in a sentence."""

import numpy as np
import pytest

from lab.masked_diffusion import project, project_solution

HIDE, LOSS, CHOOSE = project_solution.hide, project_solution.loss, project_solution.choose


def changed(value=lambda v, x: v, gradient=lambda g, x: g):
    def loss(logits, x, hidden):
        v, g = LOSS(logits, x, hidden)
        return value(v, hidden), gradient(g, hidden)

    return loss


def everywhere(logits, x, hidden):
    return LOSS(logits, x, np.ones(len(x), bool))


def overflowing(logits, x, hidden):
    p = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
    value, _ = LOSS(logits, x, hidden)
    right = np.arange(p.shape[1]) == x[:, None]
    return value, len(x) / hidden.sum() * hidden[:, None] * (p - right)


def independent(x, k, rng):
    return rng.random(len(x)) < k / len(x)


def first(x, k, rng):
    return np.arange(len(x)) < k


def together(x, k, rng):
    return np.roll(np.arange(len(x)) < k, rng.integers(len(x)))


def rounded_down(p, hidden, passes):
    share = max(1, int(hidden.sum()) // passes)
    return hidden & (np.argsort(np.argsort(-np.where(hidden, p.max(-1), -1))) < share)


def visible_too(p, hidden, passes):
    return CHOOSE(p, np.ones(len(hidden), bool), passes)


def least_sure(p, hidden, passes):
    return CHOOSE(1 - p.max(-1, keepdims=True), hidden, passes)


FAULTS = [
    ((independent, LOSS, CHOOSE), "are hidden where k ="),
    ((first, LOSS, CHOOSE), "hidden with the shares"),
    ((together, LOSS, CHOOSE), "hidden together too often"),
    ((HIDE, changed(lambda v, h: v * h.mean()), CHOOSE), "without the weight T/k"),
    ((HIDE, changed(lambda v, h: -v), CHOOSE), "the sign is wrong"),
    ((HIDE, changed(lambda v, h: v / np.log(2)), CHOOSE), "in bits"),
    ((HIDE, everywhere, CHOOSE), "visible places count as well"),
    ((HIDE, changed(gradient=lambda g, h: g * h.mean()), CHOOSE), "gradient lacks the weight"),
    ((HIDE, changed(gradient=lambda g, h: -g), CHOOSE), "softmax minus one-hot"),
    ((HIDE, overflowing, CHOOSE), "overflow"),
    ((HIDE, LOSS, rounded_down), "rounded up"),
    ((HIDE, LOSS, visible_too), "would be overwritten"),
    ((HIDE, LOSS, least_sure), "least certain"),
]


def test_the_solution_passes():
    report = project.grade(HIDE, LOSS, CHOOSE)
    assert report.passed, report


@pytest.mark.parametrize(("submitted", "sentence"), FAULTS, ids=[s for _, s in FAULTS])
def test_a_planted_fault_is_named(submitted, sentence):
    report = project.grade(*submitted)
    assert not report.passed
    assert any(sentence in fault for fault in report.faults), report


def test_a_stub_is_told_so():
    def stub(*_):
        raise NotImplementedError

    assert not project.grade(stub, stub, stub).passed
