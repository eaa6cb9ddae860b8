"""The grader of the project: the solution passes, and each planted mistake is named."""

import numpy as np
import pytest

from lab.current_models import project
from lab.current_models.project_solution import attend
from mathlm import functional as F


def planted(how):
    def wrong(q, k, v, scale, window=None, cap=None, sinks=None):
        names = ("scale", "window", "cap", "sinks")
        options = dict(zip(names, (scale, window, cap, sinks), strict=True))
        return project.changed(q, k, v, options, how)

    return wrong


def test_the_solution_passes():
    report = project.grade(attend)
    assert report.passed, report


@pytest.mark.parametrize("how", project.SENTENCES)
def test_each_planted_mistake_is_named(how):
    report = project.grade(planted(how))
    assert project.SENTENCES[how] in report.faults


def test_nothing_planted_is_right():
    assert project.grade(planted("nothing")).passed


def test_arguments_changed_in_place_wrong_shapes_and_overflow_are_named():
    def in_place(q, k, v, scale, window=None, cap=None, sinks=None):
        y = attend(q, k, v, scale, window, cap, sinks)
        q *= 2
        return y

    def naive(q, k, v, scale, window=None, cap=None, sinks=None):
        z = scale * q @ np.repeat(k, len(q) // len(k), 0).mT
        z = z if cap is None else cap * np.tanh(z / cap)
        T, S = z.shape[1:]
        ahead = np.arange(S) - np.arange(T)[:, None] - S + T
        e = np.exp(z) * ((ahead <= 0) & (ahead > -(window or S)))
        b = 0.0 if sinks is None else np.exp(sinks)[:, None, None]
        return e / (b + e.sum(-1, keepdims=True)) @ np.repeat(v, len(q) // len(v), 0)

    def ungrouped(q, k, v, **options):
        return attend(q, k, v, **options) if len(q) == len(k) else q @ k.mT

    assert "in place" in project.grade(in_place).faults[0]
    assert "has shape" in project.grade(lambda q, *a, **o: attend(q, *a, **o)[0]).faults[0]
    assert any("give NaN" in fault for fault in project.grade(naive).faults)
    assert any("np.repeat" in fault for fault in project.grade(ungrouped).faults)


def test_the_solution_is_the_package(rng):
    import torch

    q, k, v = project.draw(T=7)
    sinks, mask = rng.normal(size=4), F.causal_mask(7, 7, 3)
    z = F.soft_cap(0.5 * torch.tensor(q) @ torch.tensor(np.repeat(k, 2, 0)).mT, 2.0)
    right = F.sink_softmax(z, torch.tensor(sinks), mask) @ torch.tensor(np.repeat(v, 2, 0))
    found = attend(q, k, v, 0.5, 3, 2.0, sinks)
    np.testing.assert_allclose(found, right, rtol=1e-12, atol=1e-13)
