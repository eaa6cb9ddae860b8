"""The project of chapter 2: its solution passes, and planted faults are named in sentences."""

import re

import numpy as np
import pytest

from lab.calculus import project_solution as solution
from lab.calculus.project import grade
from lab.calculus.project_solution import Tensor, gradients, hvp
from mathlm.reference import Variable, pull_back


def test_the_solution_passes_every_test():
    report = grade(Tensor, gradients, hvp)
    assert report.passed, str(report)
    assert str(report).endswith("28 of 28 tests passed")


def test_without_hvp_part_1_is_tested_alone():
    report = grade(Tensor, gradients)
    assert report.passed
    assert "call grade(Tensor, gradients, hvp)" in repr(report)


def test_a_stub_is_told_what_is_missing():
    class Stub:
        def __init__(self, value):
            self.value = np.asarray(value)

        def __add__(self, other):
            raise NotImplementedError

    report = grade(Stub, gradients)
    assert sum(not result.passed for result in report.results) > 10
    assert "NotImplementedError was raised" in str(report)


def test_gradients_of_the_solution_are_those_of_the_package(rng):
    arrays = [rng.normal(size=s) for s in ((4, 3), (2, 3), (2,))]

    def f(X, W, b):
        return ((X @ W.T + b) * (X @ W.T)).sum()

    ours, theirs = [Tensor(a) for a in arrays], [Variable(a) for a in arrays]
    for a, b in zip(gradients(f(*ours), ours), pull_back(f(*theirs), theirs), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def named(sentence, report):
    assert not report.passed
    assert any(re.search(sentence, fault) for fault in report.faults), str(report)


def wrong_product(self, other):
    b = solution.lifted(other)
    edges = [(self, lambda dy: dy * self.value), (b, lambda dy: dy * b.value)]
    return Tensor(self.value * b.value, edges)


def wrong_matmul(self, other):
    b = solution.lifted(other)
    edges = [(self, lambda dy: dy @ b.value.T), (b, lambda dy: np.ones_like(self.value.T) @ dy)]
    return Tensor(self.value @ b.value, edges)


def sum_of_ones(self, axis=None, keepdims=False):
    y = self.value.sum(axis=axis, keepdims=keepdims)
    return Tensor(y, [(self, lambda dy: np.ones_like(self.value))])


def sum_of_rows(self, axis=None, keepdims=False):
    y = self.value.sum(axis=axis, keepdims=keepdims)
    return Tensor(y, [(self, lambda dy: np.broadcast_to(dy, self.value.shape))])


usual_sum = Tensor.sum
OPERATIONS = {
    "factors of a product exchanged": ("__mul__", wrong_product, r"gradient of a in a \* b "),
    "a product that forgets a factor": ("__matmul__", wrong_matmul, r"gradient of b in a @ b"),
    "a sum that forgets what arrives": ("sum", sum_of_ones, r"arrives is random, not all ones"),
    "a sum along the wrong axis": ("sum", sum_of_rows, r"in a\.sum\(axis=1\) differs"),
    "a sum that keeps its axis": (
        "sum",
        lambda self, axis=None, keepdims=False: usual_sum(self, axis, axis is not None),
        r"value of a\.sum\(axis=0\) has shape \(1, 3\), expected \(3,\)",
    ),
    "no array on the left": (
        "__array_ufunc__",
        object.__repr__,
        r"array . tensor does not give",
    ),
    "no number on the left": ("__radd__", None, r"2 \+ tensor does not give"),
}


@pytest.mark.parametrize("fault", OPERATIONS)
def test_a_planted_fault_in_an_operation_is_named(fault, monkeypatch):
    name, method, sentence = OPERATIONS[fault]
    monkeypatch.setattr(Tensor, name, method)
    named(sentence, grade(Tensor, gradients))


def without_sums(y, inputs):
    d = {id(y): np.ones_like(y.value)}
    for node in reversed(solution.topological_order(y)):
        for parent, pull in node.edges:
            d[id(parent)] = d.get(id(parent), 0) + pull(d[id(node)])
    return [d.get(id(x), np.zeros_like(x.value)) for x in inputs]


def overwriting(y, inputs):
    d = {id(y): np.ones_like(y.value)}
    for node in reversed(solution.topological_order(y)):
        for parent, pull in node.edges:
            d[id(parent)] = solution.summed(pull(d[id(node)]), parent.value.shape)
    return [d.get(id(x), np.zeros_like(x.value)) for x in inputs]


def in_place(y, inputs):
    """Adds into arrays that other nodes hold too."""
    d = {id(y): np.ones_like(y.value)}
    for node in reversed(solution.topological_order(y)):
        for parent, pull in node.edges:
            dx = pull(d[id(node)])
            if dx.shape != parent.value.shape or not dx.flags.writeable:
                dx = np.array(solution.summed(dx, parent.value.shape))
            if id(parent) in d:
                d[id(parent)] += dx
            else:
                d[id(parent)] = dx
    return [d.get(id(x), np.zeros_like(x.value)) for x in inputs]


def unordered(y, inputs):
    """Walks down every path, which is right for trees and sums, but sends shares on twice."""
    d = {}

    def visit(node, dy):
        d[id(node)] = d.get(id(node), 0) + dy
        for parent, pull in node.edges:
            visit(parent, solution.summed(pull(d[id(node)]), parent.value.shape))

    visit(y, np.ones_like(y.value))
    return [d.get(id(x), np.zeros_like(x.value)) for x in inputs]


def recursive(y, inputs):
    order, seen = [], set()

    def visit(node):
        if id(node) not in seen:
            seen.add(id(node))
            for parent, _ in node.edges:
                visit(parent)
            order.append(node)

    visit(y)
    d = {id(y): np.ones_like(y.value)}
    for node in reversed(order):
        for parent, pull in node.edges:
            dx = solution.summed(pull(d[id(node)]), parent.value.shape)
            d[id(parent)] = d.get(id(parent), 0) + dx
    return [d.get(id(x), np.zeros_like(x.value)) for x in inputs]


KEPT = {}


def accumulating(y, inputs):
    new = gradients(y, inputs)
    for x, g in zip(inputs, new, strict=True):
        KEPT[id(x)] = (x, KEPT.get(id(x), (x, 0))[1] + g)  # x is kept alive with its gradient
    return [KEPT[id(x)][1] for x in inputs]


SWEEPS = {
    "no sums over what was copied": (
        without_sums,
        r"gradient of b in a \+ b with a bias b has shape \(4, 3\), and b has \(3,\): what was",
    ),
    "gradients that overwrite": (overwriting, r"must add what comes back along every path"),
    "arrays changed in place": (in_place, r"Write d = d \+ new"),
    "no order": (unordered, r"reverse topological order"),
    "a walk that calls itself": (
        recursive,
        r"RecursionError .* Collect the tensors with a list",
    ),
    "gradients kept from call to call": (accumulating, r"second call of gradients"),
    "nothing for an unused input": (
        lambda y, inputs: [g for g in gradients(y, inputs) if np.any(g)] + [None] * 2,
        r"zeros of its shape",
    ),
}


@pytest.mark.parametrize("fault", SWEEPS)
def test_a_planted_fault_in_the_sweep_is_named(fault):
    sweep, sentence = SWEEPS[fault]
    named(sentence, grade(Tensor, sweep))


def by_differences(f, x, t, h=1e-6):
    ends = [Tensor(x + s * t) for s in (h, -h)]
    up, down = (gradients(f(end), [end])[0] for end in ends)
    return (up - down) / (2 * h)


def dropping(f, x, t):
    moved = Tensor((x + 1e-30j * t).real)
    return gradients(f(moved), [moved])[0].imag / 1e-30


PRODUCTS = {
    "a difference quotient": (by_differences, r"that is a difference quotient"),
    "the imaginary part dropped": (dropping, r"hvp returned zeros"),
    "half of the product": (lambda *a: hvp(*a) / 2, r"a factor of 2 was lost"),
    "complex numbers": (lambda *a: hvp(*a) + 0j, r"hvp returned complex numbers"),
    "another shape": (lambda *a: hvp(*a).ravel()[:2], r"hvp returned the shape \(2,\)"),
    "wrong in a matrix alone": (
        lambda f, x, t: hvp(f, x, t) * (2 if x.shape == (2, 3) else 1),
        r"hvp in a matrix W is wrong",
    ),
}


@pytest.mark.parametrize("fault", PRODUCTS)
def test_a_planted_fault_in_part_2_is_named(fault):
    product, sentence = PRODUCTS[fault]
    named(sentence, grade(Tensor, gradients, product))
