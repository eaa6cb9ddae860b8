"""The project's grader: the solution passes, and each weak test function is told why."""

import numpy as np
import pytest

from lab.self_attention import planted_layers, project, project_solution
from lab.self_attention.planted_layers import CORRECT, FAULTS, HELD_BACK, LAYERS, sealed
from mathlm.reference import numerical_vjp


def fault_of(report, name):
    return {r.name: r.fault for r in report.results}[name]


def compare(problem):
    """A test function that compares the output for one problem."""

    def examine(layer):
        y, _ = layer.forward(*[a.copy() for a in problem])
        return np.allclose(y, project_solution.one_by_one(*problem))

    return examine


def test_the_solution_passes_every_test():
    report = project.grade(project_solution.examine)
    assert report.passed, report


def test_the_solution_catches_the_layers_that_were_held_back():
    assert not any(project_solution.examine(sealed(steps)) for steps in HELD_BACK.values())


@pytest.mark.parametrize("name", CORRECT)
def test_right_layers_have_the_gradients_of_their_outputs(name):
    *args, mask = next(project_solution.problems())
    y, cache = CORRECT[name].forward(*args, mask)
    dy = np.random.default_rng(0).normal(size=y.shape)
    numeric = numerical_vjp(lambda *a: CORRECT[name].forward(*a, mask)[0], tuple(args), dy)
    for ours, theirs in zip(CORRECT[name].backward(dy, cache), numeric, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-8)


def test_there_are_ten_faults_and_a_hint_for_each():
    assert len(FAULTS) == len(LAYERS) == len(project.HINTS) == 10


def test_one_problem_of_square_matrices_misses_nearly_everything():
    rng = np.random.default_rng(0)
    problem = (
        *(rng.normal(size=s) for s in ((1, 5, 4), *[(4, 4)] * 3)),
        np.tri(5, dtype=bool)[None],
    )
    report = project.grade(compare(problem))
    missed = [i for i in range(10) if fault_of(report, project.TEN[i])]
    assert missed == list(range(10))
    assert "square" in fault_of(report, project.TEN[1])


def test_outputs_alone_miss_the_faults_of_the_backward_pass():
    def examine(layer):
        return all(compare(problem)(layer) for problem in project_solution.problems())

    report = project.grade(examine)
    missed = [i for i in range(10) if fault_of(report, project.TEN[i])]
    assert missed == [6, 7, 8]
    assert "forward twice" in fault_of(report, project.TEN[8])


def test_equality_to_the_last_bit_is_too_much():
    problem = next(project_solution.problems())
    right = CORRECT["written plainly"].forward(*problem)[0]
    report = project.grade(lambda layer: bool((layer.forward(*problem)[0] == right).all()))
    assert "last bit" in fault_of(report, "the right layer with other roundings passes")


def test_a_function_that_rejects_everything_is_told():
    report = project.grade(lambda layer: False)
    assert "right layer fails" in report.faults[0]
    assert sum(r.ran for r in report.results) == 1


def test_a_failed_assertion_counts_as_rejection():
    def examine(layer):
        assert project_solution.examine(layer)
        return True

    assert project.grade(examine).passed


@pytest.mark.parametrize("answer", [None, "right", 3, np.array([True, False])])
def test_an_answer_that_is_neither_true_nor_false_is_told(answer):
    assert "True or False" in project.grade(lambda layer: answer).faults[0]


def test_code_that_is_not_written_yet_is_told():
    def examine(layer):
        raise NotImplementedError

    assert "not written yet" in project.grade(examine).faults[0]


def test_ten_known_layers_are_not_enough():
    """Whoever recognizes the ten layers misses those that were held back."""

    def examine(layer):
        return layer not in LAYERS

    report = project.grade(examine)
    assert "not been given" in fault_of(report, "layers that were held back are caught")


def test_sealed_layers_do_not_show_their_steps():
    assert not any(hasattr(layer, "weigh") for layer in LAYERS)
    assert planted_layers.Sealed._fields == ("forward", "backward")
