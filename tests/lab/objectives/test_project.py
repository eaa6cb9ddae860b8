"""The project's grader: the solution passes, and each planted fault is named in a sentence."""

import inspect

import numpy as np
import pytest
import torch

from lab.objectives import project, project_solution

PARTS = ("corrupt", "loss", "fill")
SOURCE = "\n\n".join(inspect.getsource(getattr(project_solution, name)) for name in PARTS)


@pytest.fixture(autouse=True)
def single_precision(unchecked):
    torch.set_default_dtype(torch.float32)


@pytest.fixture
def no_training(monkeypatch):
    """The last test is left out where an earlier one must fail."""
    monkeypatch.setattr(project, "TESTS", project.TESTS[:-1])


def planted(old, new):
    """The solution with one piece of its text changed."""
    assert SOURCE.count(old) == 1
    space = vars(project_solution).copy()
    exec(SOURCE.replace(old, new), space)
    return [space[name] for name in PARTS]


FAULTS = {
    "every place is a target": ("np.full(len(ids), -100)", "ids.copy()"),
    "a target is not the token": (
        "    return read, targets",
        "    targets[chosen] = read[chosen]\n    return read, targets",
    ),
    "a place that is no target was changed": (
        "    return read, targets",
        "    read[:] = mask_id\n    return read, targets",
    ),
    "it should be 15 %": ("round(0.15 * len(ids))", "round(0.3 * len(ids))"),
    "some places are chosen much more often": (
        "rng.permutation(len(ids))[",
        "np.arange(len(ids))[",
    ),
    "every target is masked": ("rng.random(len(chosen))", "0 * rng.random(len(chosen))"),
    "it should be 80 %": ("fate < 0.8]", "fate < 0.6]"),
    "no target is replaced": ("rng.integers(0, mask_id, len(replaced))", "ids[replaced]"),
    "no target is left as it is": ("& (fate < 0.9)", ""),
    "are all the same: draw each": (
        "rng.integers(0, mask_id, len(replaced))",
        "rng.integers(0, mask_id)",
    ),
    "not drawn evenly": ("rng.integers(0, mask_id, len(replaced))", "7"),
    "corrupt changes its argument": ("targets = ids.copy(), np.", "targets = ids, np."),
    "the same rng gives two results": (
        "rng.random(len(chosen))",
        "np.random.default_rng().random(len(chosen))",
    ),
    "it is the sum": ("[:, None]).mean()", "[:, None]).sum()"),
    "divided by all places": ("[:, None]).mean()", "[:, None]).sum() / targets.numel()"),
    "the sign is wrong": ("return -logp", "return logp"),
    "use log_softmax": (
        "logits[asked].log_softmax(-1)",
        "logits[asked].softmax(-1).log()",
    ),
    "fill changes its argument": ("    read = ids.copy()", "    read = ids"),
    "the model reads the token": ("    read[place] = mask_id\n", ""),
    "the mask itself gets a probability": ("logits[:mask_id]", "logits"),
    "not the probabilities at the place": ("[0, place]", "[0, place - 1]"),
}


@pytest.mark.slow
def test_the_solution_passes():
    report = project.grade(*(getattr(project_solution, name) for name in PARTS))
    assert report.passed, report


@pytest.mark.parametrize("sentence", FAULTS)
def test_a_planted_fault_is_named(sentence, no_training):
    report = project.grade(*planted(*FAULTS[sentence]))
    assert any(sentence in fault for fault in report.faults), report


@pytest.mark.slow
def test_a_model_that_learns_nothing_is_named():
    corrupt, loss, fill = planted(
        "logits[asked].log_softmax", "(0 * logits[asked]).log_softmax"
    )
    with pytest.raises(project.FaultError, match="the frequencies of the characters alone"):
        project._learns(corrupt, loss, fill)


def test_bits_of_the_baseline_are_those_of_the_frequencies():
    """Two letters, one three times as often: 0.75 log2(4/3) + 0.25 log2 4 = 0.811 bits."""
    text = "aaab" * 3000
    found = project.train(text, project_solution.corrupt, project_solution.loss, steps=2)
    assert found.alphabet == "ab"
    assert found.baseline == pytest.approx(0.811, abs=0.06)


@pytest.mark.slow
def test_a_filled_place_is_read_from_both_sides():
    text = "abcd" * 1500
    model, alphabet, *_ = project.train(
        text, project_solution.corrupt, project_solution.loss, steps=120, width=32, lr=1e-2
    )
    ids = np.array([alphabet.index(c) for c in "abcd" * 16])
    p = project_solution.fill(model, ids, 30, len(alphabet))
    assert p.argmax() == ids[30]
