"""The project of chapter 5: its solution passes, and planted faults are named in sentences."""

import random
import re

import pytest

from lab.neural_networks.project import AND, INPUTS, grade
from lab.neural_networks.project_solution import Value, fit


@pytest.mark.slow
def test_the_solution_passes_every_test():
    report = grade(Value, fit)
    assert report.passed, str(report)
    assert str(report).endswith("20 of 20 tests passed")


def test_without_fit_part_1_is_tested_alone():
    report = grade(Value)
    assert report.passed
    assert "call grade(Value, fit)" in repr(report)


def test_a_stub_is_told_what_is_missing():
    class Stub:
        def __init__(self, data):
            self.data, self.grad = float(data), 0.0

        def __add__(self, other):
            raise NotImplementedError

    report = grade(Stub)
    assert report.results[0].passed
    assert not any(result.passed for result in report.results[1:])
    assert "NotImplementedError was raised" in str(report)
    assert "no attribute 'exp'" in str(report)


def faulty(**methods):
    """The solution with some of its methods replaced; all results are of the new class."""

    class Faulty(Value):
        def __init__(self, data, parents=(), slopes=()):
            super().__init__(data, parents, slopes)

    def keep(function):
        def kept(self, *args):
            result = function(self, *args)
            if isinstance(result, Value):
                result = Faulty(result.data, result.parents, result.slopes)
            return result

        return kept

    def lifted(function):
        def called(self, other):
            return function(self, other if isinstance(other, Value) else Faulty(other))

        return called

    for name in ("__add__", "__mul__"):
        setattr(Faulty, name, lifted(keep(methods.get(name, getattr(Value, name)))))
    for name in ("relu", "exp", "log"):
        setattr(Faulty, name, keep(methods.get(name, getattr(Value, name))))
    Faulty.__radd__, Faulty.__rmul__ = Faulty.__add__, Faulty.__mul__
    for name in set(methods) - {"__add__", "__mul__", "relu", "exp", "log"}:
        setattr(Faulty, name, methods[name])
    return Faulty


def test_the_copy_to_plant_faults_in_is_right():
    assert grade(faulty()).passed


def descend(self, assign=False):
    """A backward pass that calls itself: right for trees, wrong where paths meet."""
    for parent, slope in zip(self.parents, self.slopes, strict=True):
        parent.grad = slope * self.grad if assign else parent.grad + slope * self.grad
        descend(parent, assign)


def in_order_of_birth(self):
    """Passes gradients on from the oldest value to the youngest."""
    found, waiting = {self}, [self]
    while waiting:
        new = [p for p in waiting.pop().parents if p not in found]
        found.update(new)
        waiting += new
    self.grad = 1.0
    for node in sorted(found, key=lambda value: value.serial):
        for parent, slope in zip(node.parents, node.slopes, strict=True):
            parent.grad += slope * node.grad


def recursive(self):
    """Right, but deeper than the stack of Python in a long chain."""
    order, seen = [], set()

    def visit(node):
        if node not in seen:
            seen.add(node)
            for parent in node.parents:
                visit(parent)
            order.append(node)

    visit(self)
    self.grad = 1.0
    for node in reversed(order):
        for parent, slope in zip(node.parents, node.slopes, strict=True):
            parent.grad += slope * node.grad


def forgetful(self):
    """Right for one call: what an earlier one left behind is lost."""
    found, waiting = {self}, [self]
    while waiting:
        new = [p for p in waiting.pop().parents if p not in found]
        found.update(new)
        waiting += new
    for node in found:
        node.grad = 0.0
    Value.backward(self)


def silent_end(self):
    Value.backward(self)
    self.grad = 0.0


def assigning(self):
    self.grad = 1.0
    descend(self, assign=True)


def spreading(self):
    self.grad = 1.0
    descend(self)


FAULTS = {
    "a relu that is open on both sides": (
        {"relu": lambda self: Value(max(self.data, 0.0), (self,), (1.0,))},
        r"slope of a\.relu\(\) of a negative number in a at a = -2 is 1 by backward\(\) and 0",
    ),
    "a relu that is the identity": (
        {"relu": lambda self: Value(self.data, (self,), (1.0,))},
        r"Value\(-3\)\.relu\(\) has data -3, expected 0",
    ),
    "slopes of a product exchanged": (
        {
            "__mul__": lambda self, other: Value(
                self.data * other.data, (self, other), (self.data, other.data)
            )
        },
        r"slope of a \* b in a at a = 2, b = -3 is 2 by backward\(\) and -3",
    ),
    "a logarithm without its slope": (
        {"log": lambda self: Value(Value.log(self).data, (self,), (1.0,))},
        r"slope of a\.log\(\)",
    ),
    "no number on the left": ({"__radd__": None}, r"1 \+ a does not work .* define __radd__"),
    "gradients that overwrite": ({"backward": assigning}, r"must add up what comes back"),
    "gradients passed on too early": ({"backward": spreading}, r"reverse topological order"),
    "the wrong order": ({"backward": in_order_of_birth}, r"reverse topological order"),
    "gradients of earlier calls lost": ({"backward": forgetful}, r"expected 6 \+ 2 = 8"),
    "no slope of the end in itself": (
        {"backward": silent_end},
        r"expected 1 \(its own slope\)",
    ),
    "a backward pass that calls itself": (
        {"backward": recursive},
        r"RecursionError in line \d+ of visit: .* Collect the values with a list and a loop",
    ),
    "no backward pass": ({"backward": lambda self: None}, r"is 0 by backward\(\)"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_planted_fault_in_part_1_is_named(fault):
    methods, sentence = FAULTS[fault]
    report = grade(faulty(**methods))
    assert not report.passed
    assert any(_found(sentence, text) for text in report.faults), str(report)


def _found(sentence, text):
    return re.search(sentence, text)


def constant(inputs, targets, seed):
    return lambda x: 0.5


def constant_after_backward(inputs, targets, seed):
    Value(1.0).backward()
    return lambda x: 0.5


def draws_from_the_clock(inputs, targets, seed):
    Value(1.0).backward()
    wobble = random.SystemRandom().random()
    return lambda x: 0.5 + 0.1 * wobble


def learns_only_and(inputs, targets, seed):
    Value(1.0).backward()
    return lambda x: float(min(x))


def explodes(inputs, targets, seed):
    Value(1000.0).exp().backward()


def returns_a_number(inputs, targets, seed):
    Value(1.0).backward()
    return 0.5


def logits_as_probabilities(inputs, targets, seed):
    Value(1.0).backward()
    return lambda x: -3.0


@pytest.mark.parametrize(
    ("training", "sentence"),
    [
        (constant, "fit never called backward"),
        (constant_after_backward, "for the targets"),
        (explodes, r"OverflowError in line \d+ of exp: .* The numbers grew without bound"),
        (draws_from_the_clock, r"draw every number from random\.Random\(seed\)"),
        (learns_only_and, "Of 3 starts, 0 learn XOR"),
        (returns_a_number, "fit returned 0.5; it must return a function"),
        (logits_as_probabilities, "must be a probability"),
    ],
)
def test_a_planted_fault_in_part_2_is_named(training, sentence):
    report = grade(Value, training)
    assert any(_found(sentence, text) for text in report.faults), str(report)


def test_counting_calls_leaves_the_class_as_it_was():
    usual = Value.backward
    grade(Value, constant)
    assert Value.backward is usual


def test_the_solution_learns_and_with_other_seeds_too():
    for seed in (10, 11):
        predict = fit(INPUTS, AND, seed)
        assert [predict(x) > 0.5 for x in INPUTS] == [False, False, False, True]
