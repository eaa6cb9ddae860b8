"""The project's grader: the solution passes, and each planted fault is named."""

import inspect

import pytest
import torch

from lab.features import project, project_solution
from lab.features.project_solution import my_code, my_training

SOURCE = inspect.getsource(my_code)


def planted(old, new):
    """The code with one piece of its text changed."""
    assert SOURCE.count(old) == 1
    space = {"torch": torch, "Tensor": torch.Tensor}
    exec(SOURCE.replace(old, new), space)
    return space["my_code"]


FAULTS = {
    "are negative": (".relu()", ""),
    "more than k": ("f * (f >= f.topk(k).values[:, -1:])", "f"),
    "subtracted before": ("(x - b)", "x"),
    "the bias c": ("@ W_e.T + c)", "@ W_e.T)"),
    "0 and 1": ("f = f * (f >=", "f = 1.0 * (f >="),
    "not the k largest": ("((x - b) @", "(2 * (x - b) @"),
    "added to the output": ("f @ W_d + b", "f @ W_d"),
    "not f W_d + b": ("f @ W_d + b", "f @ W_d - b"),
    "W_e gets no gradient": ("@ W_e.T", "@ W_e.detach().T"),
    "the features have shape": ("return f, f", "return f.T, f"),
}


def test_the_solution_passes():
    report = project.grade(my_code, my_training)
    assert report.passed, report


@pytest.mark.parametrize("sentence", FAULTS)
def test_a_planted_fault_is_named(sentence):
    report = project.grade(planted(*FAULTS[sentence]))
    assert any(sentence in fault for fault in report.faults), report


@pytest.mark.parametrize(
    ("sentence", "train"),
    {
        "of the known directions are found": lambda x, M, k: my_training(x, M, k, 1),
        "not of length 1": lambda x, M, k: 2 * my_training(x, M, k, 1),
        "the directions have shape": lambda x, M, k: my_training(x, M, k, 1).T,
    }.items(),
)
def test_a_training_that_fails_is_named(sentence, train):
    report = project.grade(my_code, train)
    assert any(sentence in fault for fault in report.faults), report


def test_without_a_training_the_report_says_so():
    assert "Not tested yet" in repr(project.grade(my_code))
    assert project_solution.my_code is my_code
