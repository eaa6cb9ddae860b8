"""The project's grader: the solution passes, and each planted fault is named."""

import inspect

import numpy as np
import pytest

from lab.preference_optimization import project, project_solution

SOURCE = inspect.getsource(project_solution)


def planted(name, old, new):
    """A function of the solution, with one piece of the module's text changed."""
    assert SOURCE.count(old) == 1
    space = {}
    exec(SOURCE.replace(old, new), space)
    return space[name]


def graded(name, function):
    """The report on the solution up to one of its parts, with that part replaced."""
    parts = []
    for part in ("dpo", "largest_error", "train"):
        parts.append(function if part == name else getattr(project_solution, part))
        if part == name:
            break
    return project.grade(*parts)


MARGIN = "beta * ((logp_w - ref_w) - (logp_l - ref_l))"
LOSS = "loss = np.logaddexp(0, -m)"
RETURN = "return loss, -beta * weight, beta * weight"
DPO = {
    "the reference is missing": (MARGIN, "beta * (logp_w - logp_l)"),
    "β is missing in the margin": (MARGIN, "((logp_w - ref_w) - (logp_l - ref_l))"),
    "the margin is divided by β": (MARGIN, "((logp_w - ref_w) - (logp_l - ref_l)) / beta"),
    "the reference has the wrong sign": (MARGIN, "beta * (logp_w + ref_w - logp_l - ref_l)"),
    "chosen and rejected are exchanged": (MARGIN, "beta * (logp_l - ref_l - logp_w + ref_w)"),
    "a ratio of log-probabilities": (MARGIN, "beta * (logp_w / ref_w - logp_l / ref_l)"),
    "the sign is missing": (LOSS, "loss = -np.logaddexp(0, -m)"),
    "the logarithm is missing": (LOSS, "loss = -1 / (1 + np.exp(-m))"),
    "the losses are off by up to": (LOSS, "loss = np.logaddexp(0.1, -m)"),
    "the exponential overflows": (LOSS, "loss = np.log(1 + np.exp(-m))"),
    "the loss has shape ()": (LOSS, "loss = np.logaddexp(0, -m).mean()"),
    "return three arrays": (RETURN, "return loss"),
    "the weight is σ(m)": ("np.exp(-np.logaddexp(0, m))", "np.exp(-np.logaddexp(0, -m))"),
    "β is missing in the derivatives": (RETURN, "return loss, -weight, weight"),
    "β stands twice": (RETURN, "return loss, -(beta**2) * weight, beta**2 * weight"),
    "the derivatives have the wrong sign": (
        RETURN,
        "return loss, beta * weight, -beta * weight",
    ),
    "divided by the number of pairs": (
        RETURN,
        "return loss, -beta * weight / len(m), beta * weight / len(m)",
    ),
    "that in logp_l is its negative": (RETURN, "return loss, -beta * weight, -beta * weight"),
    "the derivative in logp_w is off by": (RETURN, "return loss, -0.7 * weight, 0.7 * weight"),
    "write σ(-m) with logaddexp": (
        "weight = np.exp(-np.logaddexp(0, m))",
        "weight = np.exp(-m) / (1 + np.exp(-m))",
    ),
    "they must be -1 and 0": (
        "np.exp(-np.logaddexp(0, m))",
        "np.exp(-np.logaddexp(0, m)).clip(1e-3, 0.999)",
    ),
}
CHECK = {
    "the check changes x": ("up, down = x.copy(), x.copy()", "up, down = x, x.copy()"),
    "a right gradient gets the error": ("/ (2 * h)", "/ h"),
    "f is asked to one side of x only": ("(f(up) - f(down)) / (2 * h)", "(f(up) - f(x)) / h"),
    "take absolute values": ("float(np.abs(gradient(x.copy()) - slopes).max() /",
                             "float(-np.abs(gradient(x.copy()) - slopes).max() /"),
    "with the wrong sign passes": (
        "np.abs(gradient(x.copy()) - slopes)",
        "np.abs(np.abs(gradient(x.copy())) - np.abs(slopes))",
    ),
    "that is wrong in its last entry passes": (
        "np.abs(gradient(x.copy()) - slopes).max()",
        "np.abs(gradient(x.copy()) - slopes).flat[:-1].max()",
    ),
    "with the wrong sign has the relative error 2": (
        "np.abs(gradient(x.copy()) - slopes).max()",
        "np.abs((gradient(x.copy()) - slopes).max())",
    ),
    "divide by the largest numerical slope": ("/ np.abs(slopes).max()", "/ 4.0"),
    "return one number": (
        "float(np.abs(gradient(x.copy()) - slopes).max() / np.abs(slopes).max())",
        "np.abs(gradient(x.copy()) - slopes) / np.abs(slopes).max()",
    ),
}  # fmt: skip
PAIR = "dpo(z[first], z[second], ref_w, ref_l, beta)"
SHARE = "share = win[first, second] / win[first, second].sum()"
TRAIN = {
    "the probabilities sum to": ("return z - np.logaddexp.reduce(z)", "return z"),
    "train returns shape": (
        "return z - np.logaddexp.reduce(z)",
        "return (z - np.logaddexp.reduce(z))[:2]",
    ),
    "where a uniform reference would": (PAIR, "dpo(z[first], z[second], 0, 0, beta)"),
    "β is missing in the margin": (PAIR, "dpo(z[first], z[second], ref_w, ref_l, 1.0)"),
    "r̂ is β log π/π_ref": (PAIR, "dpo(z[first], z[second], ref_w, ref_l, 1 / beta)"),
    "π_ref e^{-r/β}": (SHARE, "share = win[second, first] / win.sum()"),
    "is the margin counted twice": (PAIR, "dpo(z[first], z[second], ref_w, ref_l, 2 * beta)"),
    "still at the reference": ("range(2000)", "range(0)"),
    "nearly all probability is on one": (SHARE, "share = (win[first, second] > 0.5) / 15"),
    "nats from the optimum": ("range(2000)", "range(10)"),
    "the log-probabilities are not finite": (
        "return z - np.logaddexp.reduce(z)",
        "return z + np.inf",
    ),
}


def test_the_solution_passes():
    solution = project_solution
    assert project.grade(solution.dpo, solution.largest_error, solution.train).passed


@pytest.mark.parametrize(
    ("name", "sentence", "old", "new"),
    [
        (name, sentence, *change)
        for name, faults in (("dpo", DPO), ("largest_error", CHECK), ("train", TRAIN))
        for sentence, change in faults.items()
    ],
)
def test_a_planted_fault_is_named(name, sentence, old, new):
    report = graded(name, planted(name, old, new))
    assert any(sentence in fault for fault in report.faults), report


def test_parts_that_are_not_given_are_not_tested():
    report = project.grade(project_solution.dpo)
    assert report.note == "Not tested yet: the gradient check."
    assert [r.ran for r in report.results] == 4 * [True] + 5 * [False]


def test_the_derivatives_of_the_solution_are_those_of_autograd():
    torch = pytest.importorskip("torch")
    pairs = [torch.tensor(x, requires_grad=True) for x in project._pairs()]
    won, lost, ref_w, ref_l = pairs
    loss = -torch.nn.functional.logsigmoid(0.3 * (won - ref_w - lost + ref_l))
    up, down = torch.autograd.grad(loss.sum(), (won, lost))
    found = project_solution.dpo(*project._pairs(), 0.3)
    for ours, theirs in zip(found, (loss.detach(), up, down), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12)
