"""The project's grader: the solution passes, and each planted fault is named in a sentence."""

import pytest
import torch

from lab.architectures import project, project_solution
from lab.architectures.silent_mistakes import Mistake, drawn_head, with_mistake

RIGHT = project_solution.load


@pytest.fixture(autouse=True)
def single_precision():
    torch.set_default_dtype(torch.float32)


def test_the_solution_passes():
    report = project.grade(RIGHT)
    assert report.passed, report
    assert repr(report).endswith("4 of 4 tests passed")


def spoiled(model, mistake):
    wrong = with_mistake(model, mistake)
    if wrong.config.tie_embeddings:
        wrong.head.weight = wrong.token_embedding.weight
    return wrong


def with_fault(mistake):
    return lambda file, meta: spoiled(RIGHT(file, meta), mistake)


@pytest.mark.parametrize("sentence", project.WRONG)
def test_weights_that_load_and_are_wrong_are_named(sentence):
    report = project.grade(with_fault(project.WRONG[sentence]))
    assert report.faults == [sentence]


FIELDS = {"norm_eps": 1e-5, "rope_base": 10_000.0}


@pytest.mark.parametrize("field", ["norm_eps", "rope_base"])
def test_a_number_that_is_no_weight_is_named(field):
    fault = with_fault(Mistake(config={field: FIELDS[field]}))
    report = project.grade(fault)
    assert f"{field} is {FIELDS[field]}" in report.faults[0]
    assert "no weight depends on it" in report.faults[0]


def test_a_head_of_its_own_is_named():
    fault = with_fault(Mistake(config={"tie_embeddings": False}, edit=drawn_head))
    assert "the head is the embedding" in project.grade(fault).faults[0]


def test_a_head_that_only_equals_the_embedding_is_named():
    def copied(file, meta):
        model = RIGHT(file, meta)
        model.head.weight = torch.nn.Parameter(model.head.weight.clone())
        return model

    assert "is another tensor" in project.grade(copied).faults[0]


def test_a_file_that_is_changed_is_named():
    def careless(file, meta):
        model = RIGHT(file, meta)
        file["output_norm"] += 1
        return model

    assert project.grade(careless).faults[0] == "your code changes the file."


def test_what_works_for_one_size_only_is_named():
    def fixed(file, meta):
        fault = Mistake() if meta["block_count"] == 2 else next(iter(project.WRONG.values()))
        return spoiled(RIGHT(file, meta), fault)

    assert project.grade(fixed).faults == [
        "it works for one size and not for three blocks of six heads."
    ]


def test_another_mistake_is_measured():
    def off(file, meta):
        return RIGHT(file | {"token_embd": 2 * file["token_embd"]}, meta)

    assert "logits are off by up to" in project.grade(off).faults[0]


def test_what_is_returned_must_be_a_model():
    assert "must return a GPT" in project.grade(lambda file, meta: file).faults[0]


def test_a_name_that_is_missing_is_explained():
    def wrong(file, meta):
        model = RIGHT(file, meta)
        model.load_state_dict({"x": torch.zeros(1)})

    assert "Print the names and shapes" in project.grade(wrong).faults[0]
