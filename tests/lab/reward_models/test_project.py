"""The grader of the project: the solution passes, and each planted fault has its sentence."""

import numpy as np
import pytest

from lab.reward_models import project
from lab.reward_models import project_solution as solution
from mathlm.text import ratings

TRUE = (solution.read, solution.loss_and_gradient, solution.probe, solution.learn)


def gathered(column):
    return lambda states, mask: states[np.arange(len(states)), column(mask)]


def losses(loss, gradient):
    """A function of both, from functions of z, d."""
    return lambda w, d: (loss(d @ w), gradient(d @ w, d))


def good_loss(z):
    return np.logaddexp(0, -z).mean()


def good_gradient(z, d):
    return -(np.exp(-np.logaddexp(0, z))[:, None] * d).mean(0)


def sided(scores, length, pairs, width):
    kept = pairs[length[pairs[:, 0]] - length[pairs[:, 1]] <= width]
    return (np.sign(scores[kept[:, 0]] - scores[kept[:, 1]]) + 1).mean() / 2


def plain(d, d_length):
    return solution.learn(d, 0 * d_length)


def few(d, d_length):
    return solution.learn(d[:120], d_length[:120])


def with_length(d, d_length):
    return solution.learn(np.column_stack((d, d_length)), 0 * d_length)


READS = {
    "the last column": lambda states, mask: states[:, -1],
    "the first token": lambda states, mask: states[:, 0],
    "the mean over": lambda s, m: (s * m[..., None]).sum(1) / m.sum(1, keepdims=True),
    "another place": gathered(lambda mask: mask.argmax(1) + 1),
    "counts the real tokens": gathered(lambda mask: mask.sum(1) - 1),
    "padding on the left changes": gathered(
        lambda mask: mask.sum(1) - 1 if mask[:, 0].all() else mask.argmax(1)
    ),
    "has the shape": lambda states, mask: states,
    "not written yet": lambda states, mask: (_ for _ in ()).throw(NotImplementedError),
}
LOSSES = {
    "the loss is a sum": losses(lambda z: np.logaddexp(0, -z).sum(), good_gradient),
    "the loss has the wrong sign": losses(lambda z: -good_loss(z), good_gradient),
    "the loss prefers what was rejected": losses(lambda z: good_loss(-z), good_gradient),
    "in bits": losses(lambda z: good_loss(z) / np.log(2), good_gradient),
    "not the mean of": losses(lambda z: (z**2).mean(), good_gradient),
    "gradient has the wrong sign": losses(good_loss, lambda z, d: -good_gradient(z, d)),
    "gradient is that of the sum": losses(good_loss, lambda z, d: len(d) * good_gradient(z, d)),
    "that of the other one": losses(good_loss, lambda z, d: good_gradient(-z, d)),
    "compare it with central differences": losses(good_loss, lambda z, d: -d.mean(0)),
    "is not finite": losses(lambda z: -np.log(1 / (1 + np.exp(-z))).mean(), good_gradient),
    "not 1000": losses(lambda z: np.log1p(np.exp(np.minimum(-z, 30))).mean(), good_gradient),
    "the gradient is not 1000": losses(
        good_loss, lambda z, d: good_gradient(z, d) * (np.abs(z).max() < 500)
    ),
    "two things": lambda w, d: good_loss(d @ w),
}
PROBES = {
    "it counts all pairs": lambda s, length, p, w: solution.probe(s, 0 * length, p, w),
    "the worse one scores higher": lambda s, length, p, w: solution.probe(-s, length, p, w),
    "only one side": sided,
    "where 2 of 3 are right": lambda s, length, p, w: 0.9,
    "equal scores count one half": lambda s, length, p, w: solution.probe(
        s + 1e-9 * np.arange(len(s)), length, p, w
    ),
    "by the width at most count": lambda s, length, p, w: solution.probe(s, length, p, 0.6 * w),
    "1 of 2 is right": lambda s, length, p, w: solution.probe(s, length, p, w - 1e-12),
    "of 3 are right": lambda s, length, p, w: solution.probe(
        s, length, np.arange(len(s)).reshape(-1, 2), w
    ),
}
WAYS = {
    "twice the length and nothing else": plain,
    "9 weights for 8 features": with_length,
    "the weights are noisy": few,
    "it prefers what was rejected": lambda d, x: -solution.learn(d, x),
    "all 0, or not finite": lambda d, x: np.zeros(8),
}
FAULTS = [
    (said, ((*TRUE[:part], wrong, *TRUE[part + 1 :])[: max(2, part + 1)]))
    for part, wrongs in enumerate((READS, LOSSES, PROBES, WAYS))
    for said, wrong in wrongs.items()
]


def test_the_solution_passes_and_what_is_missing_is_named():
    assert project.grade(*TRUE).passed
    half = project.grade(*TRUE[:2])
    assert half.passed
    assert "Not tested yet: probe, learn." in repr(half)


@pytest.mark.parametrize(("said", "submitted"), FAULTS, ids=[said for said, _ in FAULTS])
def test_a_planted_fault_is_named(said, submitted):
    report = project.grade(*submitted)
    assert any(said in fault for fault in report.faults), report


def test_pairs_of_equal_length_are_a_way_too():
    def equal(d, d_length):
        kept = np.abs(d_length) < 0.2
        return solution.learn(d[kept], 0 * d_length[kept])

    assert project.grade(*TRUE[:3], equal).passed


def has_ratings():
    try:
        return bool(ratings.load())
    except Exception:
        return False


@pytest.mark.slow
@pytest.mark.skipif(not has_ratings(), reason="chitchat-dataset is not installed")
def test_on_people_the_solution_is_less_of_length_than_plain_fitting():
    found = project.on_people(solution.learn, solution.probe)
    assert found["plain"][1] > 0.9 > found["yours"][1]
    assert found["yours"][0] > found["plain"][0]
