"""The project of the second page: its solution passes, and planted faults are named."""

import numpy as np
import pytest

from lab.initialization.project import PHI, grade
from lab.initialization.project_solution import orthogonal, start, variance


def test_the_solution_passes_every_test():
    report = grade(variance, orthogonal, start)
    assert report.passed, str(report)
    assert str(report).endswith("16 of 16 tests passed")


def test_parts_are_tested_one_by_one():
    assert grade(variance).passed
    assert "Parts 2 and 3 were not tested" in str(grade(variance))
    assert grade(variance, orthogonal).passed
    assert "Part 3 was not tested" in str(grade(variance, orthogonal))


def test_the_expected_variances_are_those_of_many_draws():
    z = np.random.default_rng(0).normal(size=400_000)
    for phi, expected in PHI.values():
        assert abs(1 / (phi(z) ** 2).mean() / expected - 1) < 0.02


def test_a_stub_is_told_what_is_missing():
    def stub(phi):
        raise NotImplementedError

    report = grade(stub)
    assert [r.passed for r in report.results] == [False] * 5
    assert "NotImplementedError was raised" in str(report)


def spread(phi):
    z = np.linspace(-8, 8, 4001)
    weight = np.exp(-(z**2) / 2)
    weight = weight / weight.sum()
    return 1 / (weight @ phi(z) ** 2 - (weight @ phi(z)) ** 2)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (lambda phi: variance(phi) ** 0.5, "not the standard deviation"),
        (lambda phi: 1 / variance(phi), "the mean square itself"),
        (spread, "uses the variance of φ(z)"),
        (lambda phi: 1 / (phi(np.linspace(-8, 8, 4001)) ** 2).mean(), "over a range of z"),
        (lambda phi: 1.7, "variance of ReLU is 1.7, expected 2 within one percent"),
    ],
)
def test_a_planted_fault_in_part_1_is_named(wrong, sentence):
    assert sentence in str(grade(wrong))


def raw_qr(rng, n_out, n_in):
    Q, _ = np.linalg.qr(rng.normal(size=(max(n_out, n_in), min(n_out, n_in))))
    return Q if n_out >= n_in else Q.T


def fixed(rng, n_out, n_in):
    return orthogonal(np.random.default_rng(0), n_out, n_in)


def unseeded(rng, n_out, n_in):
    return orthogonal(np.random.default_rng(), n_out, n_in)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (raw_qr, "Multiply each column of Q by the sign"),
        (fixed, "Two draws from one generator are the same"),
        (unseeded, "Two generators of one seed give two"),
        (lambda rng, o, i: orthogonal(rng, i, o), r"weights are (out, in)"),
        (lambda rng, o, i: 2 * orthogonal(rng, o, i), "have length 2 and not 1"),
        (lambda rng, o, i: rng.normal(size=(o, i)), "are not orthonormal"),
    ],
)
def test_a_planted_fault_in_part_2_is_named(wrong, sentence):
    assert sentence in str(grade(variance, wrong))


def not_measured(rng, x, widths, phi):
    sizes = [x.shape[1], *widths]
    return [variance(phi) ** 0.5 * orthogonal(rng, o, i) for i, o in zip(sizes, widths)]  # noqa: B905


def not_in_order(rng, x, widths, phi):
    """Scales every layer by what the unscaled ones before it give."""
    weights, h = [], x
    for width in widths:
        W = orthogonal(rng, width, h.shape[1])
        z = h @ W.T
        weights.append(W / np.sqrt((z**2).mean()))
        h = phi(z)
    return weights


def after_the_activation(rng, x, widths, phi):
    weights, h = [], x
    for width in widths:
        W = orthogonal(rng, width, h.shape[1])
        size = np.sqrt((phi(h @ W.T) ** 2).mean())
        weights.append(W / size)
        h = phi(h @ W.T / size)
    return weights


def mean_square_itself(rng, x, widths, phi):
    weights, h = [], x
    for width in widths:
        W = orthogonal(rng, width, h.shape[1])
        z = h @ W.T
        weights.append(W / (z**2).mean())
        h = phi(z / (z**2).mean())
    return weights


def changes_the_batch(rng, x, widths, phi):
    x /= 3
    return start(rng, x, widths, phi)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        (not_measured, "Measure z on the batch as it comes"),
        (not_in_order, "The layers before it are right"),
        (after_the_activation, "The activations have 1"),
        (mean_square_itself, "not by the mean square itself"),
        (changes_the_batch, "changes the batch x in place"),
        (lambda *a: start(*a)[:-1], "start returned 29 matrices"),
    ],
)
def test_a_planted_fault_in_part_3_is_named(wrong, sentence):
    assert sentence in str(grade(variance, orthogonal, wrong))
