"""The project's grader: the solution passes, and each planted fault is named in a sentence."""

import inspect

import numpy as np
import pytest
import torch

from lab.perplexity import project, project_solution
from mathlm.functional import strided_likelihood

SOURCE = inspect.getsource(project_solution.evaluate)


def planted(*changes):
    """The solution with pieces of its text changed."""
    source = SOURCE
    for old, new in zip(changes[::2], changes[1::2], strict=True):
        assert source.count(old) == 1, old
        source = source.replace(old, new)
    space = {"np": np, "ndarray": np.ndarray}
    exec(source, space)
    return space["evaluate"]


TARGETS = "targets = ids[begin + 1 : begin + context + 1]"
NEW = "new = costs[counted - begin :]"
STOP = "        if counted == len(ids) - 1:\n            break\n"
FAULTS = {
    "not about token t": (TARGETS, "targets = window"),
    "nats are summed": ("return nats, counted", "return nats / counted, counted"),
    "these are bits": ("return nats, counted", "return nats / np.log(2), counted"),
    "the sign is wrong": ("costs = -logp", "costs = logp"),
    "is never predicted": (TARGETS, "targets = window[1:]", NEW, "new = costs", STOP, ""),
    "count it in the first": (NEW, "new = costs", STOP, ""),
    "the stride is not used": ("range(0, len(ids), stride)", "range(0, len(ids), context)"),
    "without the overlap": (
        "ids[begin : begin + context]", "ids[begin : begin + stride]",
        TARGETS, "targets = ids[begin + 1 : begin + stride + 1]",
    ),
    "the last window may be shorter": (
        "        z = logits_of",
        "        if len(window) < context and begin:\n            break\n        z = logits_of",
    ),
    "divide by the bytes": ("nats / np.log(2) / n_bytes", "nats / np.log(2) / counted"),
    "these are nats per byte": ("nats / np.log(2) / n_bytes", "nats / n_bytes"),
    "this is exp of bits": ("np.exp(nats / counted)", "np.exp(nats / np.log(2) / counted)"),
    "per token is asked for": ("np.exp(nats / counted)", "np.exp(nats / n_bytes)"),
    "exp of the sum": ("np.exp(nats / counted)", "np.exp(nats)"),
    "subtract their maximum": ("        z = z - z.max(-1, keepdims=True)\n", ""),
    "its window has 40": ("ids[begin : begin + context]", "ids[begin : begin + context + 1]"),
    "7 windows cover the text": (
        "logits_of(window)[:", "[logits_of(window) for _ in range(2)][0][:",
    ),
    "called 9 times": (STOP, ""),
    "return four numbers": (", np.exp(nats / counted)", ""),
    "changes ids in place": (
        "    nats, counted = 0.0, 0", "    ids[0] += 1\n    nats, counted = 0.0, 0",
    ),
}  # fmt: skip


def test_the_solution_passes():
    report = project.grade(project_solution.evaluate)
    assert report.passed, report


@pytest.mark.parametrize("sentence", FAULTS)
def test_a_planted_fault_is_named(sentence):
    report = project.grade(planted(*FAULTS[sentence]))
    assert any(sentence in fault for fault in report.faults), report


@pytest.mark.parametrize(
    ("length", "context", "stride"), [(50, 20, 20), (61, 20, 7), (9, 20, 3)]
)
def test_the_solution_is_the_function_of_the_package(length, context, stride):
    ids, model = project.text(length), project.Model()

    def rows(windows):
        return torch.stack([torch.from_numpy(model(row)) for row in windows.numpy()])

    nats, count = strided_likelihood(rows, torch.from_numpy(ids), context, stride)
    found = project_solution.evaluate(project.Model(), ids, context, stride, 1)
    assert found[:2] == (pytest.approx(float(nats)), count)
