"""The line through measured steps."""

import pytest

from lab.serving.scheduler import StepCost
from lab.serving.step_study import fit

PLACES = [(1, 17), (2, 34), (8, 2056), (64, 64), (256, 256)]


def rows(cost, factor=lambda i: 1.0):
    """Steps that cost ``cost``, each times a factor of its own."""
    a, b, c = vars(cost).values()
    return [
        {"new": n, "cached": s, "seconds": factor(i) * (a + b * n + c * s)}
        for i, (n, s) in enumerate(PLACES)
    ]


def test_steps_on_a_line_give_its_numbers():
    cost, off = fit(rows(StepCost(0.07, 0.005, 2e-6)))
    assert list(vars(cost).values()) == pytest.approx([0.07, 0.005, 2e-6], rel=1e-6)
    assert off == pytest.approx(0, abs=1e-9)


def test_errors_are_relative_to_the_measured_time():
    """All but one step on the line, and that one twice as slow: it is half too low at most."""
    _, off = fit(rows(StepCost(0.07, 0.005, 2e-6), lambda i: 1.0 + (i == 4)))
    assert 0 < off <= 0.5 / len(PLACES) ** 0.5
