"""The project's grader: the solution passes, and each planted fault is named in a sentence."""

import math

import numpy as np
import pytest
import torch

from lab.notation import project, project_solution

RIGHT = project_solution.loss_and_gradients


def changed(change):
    """The solution, with one change to what it returns."""
    return lambda *args: change(*RIGHT(*args))


def transposed(X, y, W1, b1, W2, b2):
    if W1.shape[0] != W1.shape[1]:
        return RIGHT(X, y, W1, b1, W2, b2)
    return RIGHT(X, y, W1.T, b1, W2.T, b2)


def counts_all(X, y, *weights):
    return RIGHT(X, np.where(y == -100, 0, y), *weights)


def overflows(X, y, W1, b1, W2, b2):
    with np.errstate(all="ignore"):
        Z = np.maximum(X @ W1.T + b1, 0) @ W2.T + b2
        p = np.exp(Z) / np.exp(Z).sum(-1, keepdims=True)
        loss = -np.log(p)[np.flatnonzero(y != -100), y[y != -100]].sum()
    return (loss, *RIGHT(X, y, W1, b1, W2, b2)[1:])


def leaks(loss, n, g):
    return loss, n, (g[0] + 1e-9, *g[1:])


def in_place(X, *rest):
    X += 1
    return RIGHT(X, *rest)


def divides(*args):
    return 1 / 0


def unwritten(*args):
    raise NotImplementedError


FAULTS = {
    "it is in bits": changed(lambda loss, n, g: (loss / math.log(2), n, g)),
    "it is a mean": changed(lambda loss, n, g: (loss / n, n, g)),
    "the sign is wrong": changed(lambda loss, n, g: (-loss, n, g)),
    "the loss is": changed(lambda loss, n, g: (loss + 1, n, g)),
    "a weight lies the wrong way round": transposed,
    "each has the shape of its variable": changed(
        lambda loss, n, g: (loss, n, (g[0], g[1].T, *g[2:]))
    ),
    "return three things": changed(lambda loss, n, g: (loss, g)),
    "it is one number, a sum": changed(lambda loss, n, g: (np.full(2, loss), n, g)),
    "3 of 5 tokens count, your count is 5": counts_all,
    "a token that does not count sends a gradient": changed(leaks),
    "overflow": overflows,
    "the gradient in X is that of the mean": changed(
        lambda loss, n, g: (loss, n, tuple(x / n for x in g))
    ),
    "the gradient in W2 is off by": changed(
        lambda loss, n, g: (loss, n, (*g[:3], 2 * g[3], g[4]))
    ),
    "changes an argument in place": in_place,
    "of divides: division by zero": divides,
    "shapes: something is not written yet": unwritten,
}


@pytest.mark.parametrize("sentence", FAULTS)
def test_a_fault_is_named(sentence):
    report = project.grade(FAULTS[sentence])
    assert not report.passed
    assert len(report.faults) == 1
    assert sentence in repr(report)


def test_the_solution_passes():
    report = project.grade(RIGHT)
    assert report.passed
    assert repr(report).endswith("5 of 5 tests passed")


def test_the_solution_is_what_torch_computes(rng):
    shapes = ((7, 3), (6, 3), (6,), (4, 6), (4,))
    X, *weights = (rng.normal(size=shape) for shape in shapes)
    y = rng.integers(4, size=7)
    y[2] = -100
    loss, n, gradients = RIGHT(X, y, *weights)
    leaves = [torch.from_numpy(a).requires_grad_() for a in (X, *weights)]
    H = (leaves[0] @ leaves[1].T + leaves[2]).relu() @ leaves[3].T + leaves[4]
    total = torch.nn.functional.cross_entropy(H, torch.from_numpy(y), reduction="sum")
    total.backward()
    assert (n, loss) == (6, pytest.approx(total.item(), rel=1e-12))
    for ours, leaf in zip(gradients, leaves, strict=True):
        np.testing.assert_allclose(ours, leaf.grad, rtol=1e-10, atol=1e-12)
