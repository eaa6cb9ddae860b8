"""The project's grader: the solution passes, and each planted fault is named in a sentence."""

import inspect

import numpy as np
import pytest

from lab.training_at_scale import project, project_solution

SOURCE = inspect.getsource(project_solution)


def planted(old, new):
    """The solution with one piece of its text changed."""
    assert SOURCE.count(old) == 1, old
    space = {}
    exec(SOURCE.replace(old, new), space)
    return space["zero_step"]


FAULTS = {
    "different weights": (
        "[w[:size] for w in ring.all_gather(parts)]",
        "[np.r_[w[: len(p) * r], p, w[len(p) * (r + 1) :]][:size] "
        "for r, (w, p) in enumerate(zip(weights, parts))]",
    ),
    "not corrected for their start": ("m / (1 - beta1**t), v / (1 - beta2**t)", "m, v"),
    "do not move": ("own - lr", "own - 0 * lr"),
    "are not those of Adam": (
        "beta2 * v + (1 - beta2) * g**2",
        "beta2 * v + (1 - beta2) * abs(g)",
    ),
    "means of ranks are averaged": (
        "whole = [np.pad(g, (0, padded - size)) for g in gradients]",
        "whole = [np.pad(g / c * sum(targets) / n, (0, padded - size)) "
        "for g, c in zip(gradients, targets)]",
    ),
    "are not updated": (
        "new.append((m, v))",
        "new.append((m, 0 * v)) if t == 2 else new.append((m, v))",
    ),
    "a rank sends": (
        "sums = ring.reduce_scatter(whole)",
        "sums = np.split(ring.all_reduce(whole)[0], n)",
    ),
    "less is sent": ("sums = ring.reduce_scatter(whole)", "sums = np.split(sum(whole), n)"),
    "do not divide by 4 ranks: pad": ("padded = -(-size // n) * n", "padded = size"),
    "return (weights, moments)": (", new\n", "\n"),
}


def test_the_solution_passes():
    report = project.grade(project_solution.zero_step)
    assert report.passed, report


def whole_moments(weights, moments, gradients, targets, ring, t, lr):
    """Every rank updates everything; right, and nothing is saved."""
    g = ring.all_reduce(gradients)[0] / sum(targets)
    new = []
    for m, v in moments:
        m, v = (np.resize(x, len(g)) if t == 1 else x for x in (m, v))
        new.append((0.9 * m + 0.1 * g, 0.95 * v + 0.05 * g**2))
    m, v = new[0]
    step = lr * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.95**t)) + 1e-8)
    return [w - step for w in weights], new


def test_moments_of_everything_are_named():
    report = project.grade(whole_moments)
    assert any("it owns 4 of 8 weights" in fault for fault in report.faults), report


@pytest.mark.parametrize("sentence", FAULTS)
def test_a_planted_fault_is_named(sentence):
    report = project.grade(planted(*FAULTS[sentence]))
    assert any(sentence in fault for fault in report.faults), report
