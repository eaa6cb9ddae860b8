"""The project's grader: the solution passes, and each planted fault is named in a sentence."""

from pathlib import Path

import numpy as np
import pytest

from lab.sequences import project, project_solution
from mathlm.reference import numerical_gradient

FORWARD, BACKWARD = project_solution.forward, project_solution.backward
SAMPLE = project_solution.sample
SOURCE = Path(project_solution.__file__).read_text()


def report_of(*changes):
    """The grader's report on the solution with some of its lines changed."""
    source = SOURCE
    for old, new in changes:
        assert old in source, old
        source = source.replace(old, new)
    code = {}
    exec(source, code)
    return project.grade(code["forward"], code["backward"], code["sample"])


GATES = "i, f, g, o = np.split(x"
SQUASH = "i, f, g, o = _sigmoid(i), _sigmoid(f), np.tanh(g), _sigmoid(o)"
STATE = "return logits, (h, c), (p"
FAULTS = {
    "input and forget gate are exchanged": (GATES, "f, i, g, o = np.split(x"),
    "candidate and output gate are exchanged": (GATES, "i, f, o, g = np.split(x"),
    "passes through a sigmoid": (SQUASH, SQUASH.replace("np.tanh", "_sigmoid")),
    "applied to c itself": ("new_h = o * np.tanh(new_c)", "new_h = o * new_c"),
    "the bias b of the gates": (' + p["b"]', ""),
    "the bias a of the logits": (' + p["a"]', ""),
    "the first step starts from zero": ("h, c = state", "h, c = np.zeros((2, len(state[0])))"),
    "the old cell c is ignored": ("new_c = f * c + i * g", "new_c = i * g"),
    "the old state h is ignored": ("h @ p", "0 * h @ p"),
    "each step starts from the state": (
        f"        {GATES}",
        f"        h, c = state\n        {GATES}",
    ),
    "returned as (c, h)": (STATE, "return logits, (c, h), (p"),
    "not that after the last token": (STATE, "return logits, state, (p"),
    "must return three things": (STATE, "return logits, ((h, c), p"),
    "one row for each token, the first included": (
        "return logits, (h",
        "return logits[1:], (h",
    ),
    "must be the pair (h, c)": (STATE, "return logits, (h[None], c[None]), (p"),
    "with the keys E, U, W, b, A, a": ("return grads", "return list(grads.values())"),
    "it must be that of A": ("dlogits.T @ outputs", "outputs.T @ dlogits"),
    "a against central differences: it is off": ("dlogits.sum(0)", "dlogits.mean(0)"),
    "keep the last; add step by step": (
        'grads["E"][ids[t]] += da',
        'grads["E"][ids[t]] += (ids[t] not in ids[t + 1:]) * da',
    ),
    "overwrites what the other steps gave": (
        'grads["E"][ids[t]] += da',
        'grads["E"][ids[t]] = da',
    ),
    "nothing comes back through h": (
        'dh_later, dc_later = da @ p["W"]',
        "dh_later, dc_later = 0",
    ),
    "nothing comes back along the cell": (", dc * f\n", ", 0\n"),
    "each step is treated as the only one": ('= da @ p["W"], dc * f', "= 0, 0"),
    "multiplied by the state after the step": ("np.outer(da, h)", "np.outer(da, outputs[t])"),
    "goes back undiminished": (", dc * f\n", ", dc\n"),
    "the slope 1 - tanh²(c) is missing": (" * (1 - squashed**2)", ""),
    "your code changes h in place": ("h, c = state\n", "h, c = state; h *= 1.5\n"),
    "a second call of backward": (
        "return grads",
        "outputs *= 2\n    return grads",
    ),
    "divide by it": ("logits[-1] / temperature", "logits[-1] * temperature"),
    "the temperature is ignored": ("logits[-1] / temperature", "logits[-1]"),
    "always the likeliest id": (
        "int(rng.choice(len(weights), p=weights / weights.sum()))",
        "int(weights.argmax())",
    ),
    "only the last token of the prompt": ("np.array(prompt)", "np.array(prompt[-1:])"),
    "only the first token of the prompt": ("np.array(prompt)", "np.array(prompt[:1])"),
    "the state is lost after the first": ("drawn[-1:]), state)", "drawn[-1:]), (zero, zero))"),
    "is not read before the next": (
        "        logits, state, _ = forward(p, np.array(drawn[-1:]), state)\n",
        "",
    ),
    "without the prompt": ("return drawn", "return [*prompt, *drawn]"),
    "stored (outputs, inputs) as x @ U.T": ('x @ p["U"].T', 'x @ p["U"]'),
}


@pytest.mark.parametrize("sentence", FAULTS)
def test_a_fault_is_named(sentence):
    report = report_of(FAULTS[sentence])
    assert not report.passed
    assert sentence in repr(report)


def test_the_solution_passes():
    report = project.grade(FORWARD, BACKWARD, SAMPLE)
    assert report.passed, report
    assert repr(report).endswith("14 of 14 tests passed")


def test_what_is_not_written_yet_is_said_and_the_rest_is_put_off():
    def stub(*args):
        raise NotImplementedError

    report = project.grade(stub, stub, stub)
    assert report.faults == ["something is not written yet: NotImplementedError was raised."]
    assert repr(report).count("(not run yet)") == 13
    assert repr(project.grade(FORWARD, BACKWARD, stub)).count("✓ backward") == 7


def test_training_with_the_graded_functions_learns():
    text = b"all that glitters is not gold; " * 20
    p, alphabet, losses = project.train(FORWARD, BACKWARD, text, steps=60, width=16)
    assert alphabet == bytes(sorted(set(text)))
    assert losses[0] > 3.5
    assert np.mean(losses[-5:]) < 2.5
    drawn = SAMPLE(p, [0], 5, 1.0, np.random.default_rng(0))
    assert len(drawn) == 5


def test_the_gradient_of_the_loss_of_training_is_that_of_central_differences(rng):
    logits, targets = rng.normal(size=(3, 4)), np.array([0, 3, 3])
    found = project._loss(logits, targets)[1]
    right = numerical_gradient(lambda x: project._loss(x, targets)[0], logits)
    np.testing.assert_allclose(found, right, rtol=1e-6, atol=1e-9)
