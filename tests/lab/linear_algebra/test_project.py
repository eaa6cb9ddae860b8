"""The project of chapter 1: its solution passes, and planted faults are named in sentences."""

import re

import numpy as np
import pytest

from lab.linear_algebra.project import grade
from lab.linear_algebra.project_solution import fit_pca, nearest, neighbors_kept


def test_the_solution_passes_every_test():
    report = grade(fit_pca, nearest, neighbors_kept)
    assert report.passed, str(report)
    assert repr(report).endswith("16 of 16 tests passed")


def test_parts_that_are_missing_are_named():
    assert "call grade(fit_pca, nearest)" in repr(grade(fit_pca))
    assert "call grade(fit_pca, nearest, neighbors_kept)" in repr(grade(fit_pca, nearest))


def test_a_stub_is_told_that_something_is_missing():
    def stub(*args):
        raise NotImplementedError

    report = grade(stub, stub, stub)
    said = "something is not written yet: NotImplementedError was raised."
    assert report.faults == [said] * 3  # one of each part
    assert repr(report).count("(not run yet)") == 13


def by_eigh(X, k):
    values, vectors = np.linalg.eigh(np.cov(X, rowvar=False))
    return X.mean(axis=0), values, vectors


def uncentered(X, k):
    _, sigma, Vt = np.linalg.svd(X, full_matrices=False)
    return X.mean(axis=0), Vt[:k], sigma[:k] ** 2 / (len(X) - 1)


def rising(X, k):
    mean, values, vectors = by_eigh(X, k)
    return mean, vectors[:, :k].T, values[:k]


def axes_as_columns(X, k):
    mean, axes, values = fit_pca(X, k)
    return mean, axes.T, values


def rows_of_eigh(X, k):
    mean, values, vectors = by_eigh(X, k)
    return mean, vectors[::-1][:k] * np.arange(1, k + 1)[::-1, None] ** 0.1, values[::-1][:k]


def rows_as_vectors(X, k):
    mean, values, vectors = by_eigh(X, k)
    return mean, vectors[:k], values[::-1][:k]


def least_axes(X, k):
    mean, values, vectors = by_eigh(X, k)
    return mean, vectors[:, :k].T, values[::-1][:k]


def in_place(X, k):
    found = fit_pca(X, k)
    X -= found[0]
    return found


def with_variances(change):
    def faulty(X, k):
        mean, axes, variances = fit_pca(X, k)
        return mean, axes, change(variances, X)

    return faulty


PCA_FAULTS = {
    "no centering": (uncentered, "points to the mean of the cloud"),
    "the smallest first": (rising, "The variances do not fall"),
    "columns": (axes_as_columns, r"shape \(6, 4\), expected \(4, 6\)\. The axes are rows"),
    "lengths": (rows_of_eigh, "not of length 1"),
    "rows for columns": (rows_as_vectors, "not eigenvectors of the covariance"),
    "axes of least variance": (least_axes, "those of the least variance"),
    "two results": (lambda X, k: fit_pca(X, k)[:2], "must return three things"),
    "mean of a row": (
        lambda X, k: (np.full(X.shape[1], X.mean()), *fit_pca(X, k)[1:]),
        "average over axis 0",
    ),
    "N": (with_variances(lambda v, X: v * (len(X) - 1) / len(X)), "divided by N;"),
    "sigma": (with_variances(lambda v, X: np.sqrt(v * (len(X) - 1))), "square them and divide"),
    "sums": (with_variances(lambda v, X: v * (len(X) - 1)), "sums of squares"),
    "deviations": (with_variances(lambda v, X: np.sqrt(v)), "standard deviations"),
    "shares": (with_variances(lambda v, X: v / v.sum()), "shares of the whole"),
    "another number": (with_variances(lambda v, X: v * 1.1), "largest variance is"),
    "in place": (in_place, "changes X"),
}


@pytest.mark.parametrize("fault", PCA_FAULTS)
def test_a_planted_fault_of_the_components_is_named(fault):
    function, sentence = PCA_FAULTS[fault]
    report = grade(function)
    assert any(re.search(sentence, text) for text in report.faults), str(report)


def test_axes_that_are_not_at_right_angles_are_named():
    def skewed(X, k):
        mean, axes, variances = fit_pca(X, k)
        return mean, axes + 0.1, variances

    assert "not orthonormal rows" in repr(grade(skewed))


def test_few_points_are_tried():
    def many_points_only(X, k):
        found = fit_pca(X, k)
        return found if len(X) > X.shape[1] else (found[0], found[1], 0 * found[2])

    assert "N may be less than D" in repr(grade(many_points_only))


def ranked(scores, rows, k, first=1):
    return np.argsort(-scores[rows], axis=1, kind="stable")[:, first : k + first]


def cosines(E):
    unit = E / np.linalg.norm(E, axis=1, keepdims=True)
    return unit @ unit.T


def by_dot(E, rows, k):
    scores = E @ E.T
    np.fill_diagonal(scores, -np.inf)
    return ranked(scores, rows, k, first=0)


def by_distance(E, rows, k):
    return ranked(-np.linalg.norm(E[:, None] - E[None], axis=-1), rows, k)


def centered_first(E, rows, k):
    return nearest(E - E.mean(axis=0), rows, k)


def normalizes_in_place(E, rows, k):
    found = nearest(E, rows, k)
    E /= np.linalg.norm(E, axis=1, keepdims=True)
    return found


NEAREST_FAULTS = {
    "itself": (lambda E, r, k: ranked(cosines(E), r, k, first=0), "among its own neighbors"),
    "first place dropped": (
        lambda E, r, k: ranked(cosines(E).round(9), r, k),
        "by its number",
    ),
    "dot product": (by_dot, "dot product"),
    "distance": (by_distance, "Euclidean distance"),
    "farthest": (lambda E, r, k: ranked(-cosines(E), r, k, first=0), "the farthest"),
    "centering": (centered_first, "not those of the largest cosines"),
    "order": (lambda E, r, k: nearest(E, r, k)[:, ::-1], "wrong order"),
    "one row": (lambda E, r, k: nearest(E, r, k)[0], r"shape \(5,\), expected \(3, 5\)"),
    "floats": (lambda E, r, k: nearest(E, r, k) * 1.0, "numbers of rows"),
    "in place": (normalizes_in_place, "changes E"),
}


@pytest.mark.parametrize("fault", NEAREST_FAULTS)
def test_a_planted_fault_of_the_neighbors_is_named(fault):
    function, sentence = NEAREST_FAULTS[fault]
    report = grade(fit_pca, function)
    assert any(re.search(sentence, text) for text in report.faults), str(report)


def without_mean(E, rows, k, dims):
    before, (_, axes, _) = nearest(E, rows, k), fit_pca(E, dims)
    after = nearest((E - E.mean(axis=0)) @ axes.T, rows, k)
    both = [len(set(a) & set(b)) for a, b in zip(before, after, strict=True)]
    return float(np.mean(both)) / k


def last_axes(E, rows, k, dims):
    C = E - E.mean(axis=0)
    axes = fit_pca(E, E.shape[1])[1][-dims:]
    pairs = zip(nearest(C, rows, k), nearest(C @ axes.T, rows, k), strict=True)
    return float(np.mean([len(set(a) & set(b)) for a, b in pairs])) / k


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (without_mean, "subtract the mean before"),
        (last_axes, "project the centered vectors on the first axes"),
        (lambda *args: 5 * neighbors_kept(*args), "a share, not a number of words"),
    ],
)
def test_a_planted_fault_of_the_share_is_named(function, sentence):
    report = grade(fit_pca, nearest, function)
    assert sentence in repr(report), str(report)


def test_what_a_function_raises_is_said():
    said = r"raised ZeroDivisionError in line \d+ of <lambda>: division by zero"
    assert re.search(said, repr(grade(lambda X, k: 1 / 0)))


@pytest.mark.parametrize("fault", PCA_FAULTS)
def test_a_fault_of_the_components_has_one_sentence(fault):
    assert len(grade(PCA_FAULTS[fault][0]).faults) == 1


@pytest.mark.parametrize("fault", NEAREST_FAULTS)
def test_a_fault_of_the_neighbors_has_one_sentence(fault):
    assert len(grade(fit_pca, NEAREST_FAULTS[fault][0]).faults) == 1
