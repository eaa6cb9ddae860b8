"""What students learn from, on text and models of a few tokens."""

import numpy as np
import pytest
import torch

from lab.distillation import glosses, students, study
from mathlm.functional import distillation_loss
from mathlm.models import GPT, GPTConfig

SIZES = {"vocab_size": 12, "context": 20, "d_model": 8, "n_layers": 1, "n_heads": 2}


def test_only_definitions_of_frequent_tokens_are_left():
    """7 stands before each; 9 and 4 are frequent, 5 is not."""
    ids = np.array([7, 9, 4, 7, 5, 9, 7, 4])
    text, vocabulary = glosses.closed_text(ids, newline=7, count=3)
    assert vocabulary.tolist() == [4, 7, 9]
    assert text.tolist() == [1, 2, 0, 1, 0]


def test_a_cut_vocabulary_is_the_renormalized_teacher():
    model = GPT(GPTConfig(tie_embeddings=True, **SIZES)).eval()
    kept = torch.tensor([1, 4, 5, 9])
    ids = torch.tensor([[0, 3, 2, 1]])
    with torch.no_grad():
        p = model(kept[ids]).softmax(-1)[..., kept]
        cut = glosses.cut_vocabulary(model, kept)(ids).softmax(-1)
    torch.testing.assert_close(cut, p / p.sum(-1, keepdim=True))


@pytest.mark.parametrize("temperature", [1, 3])
def test_a_soft_cross_entropy_has_the_gradient_of_the_divergence(temperature):
    teacher, targets = torch.randn(2, 3, 5), torch.zeros(2, 3, dtype=torch.int64)
    way = students.Way(temperature=temperature)
    found = []
    for loss in (
        lambda s: way.loss(s, targets, (teacher / temperature).softmax(-1)),
        lambda s: distillation_loss(s, teacher, temperature),
    ):
        student = torch.linspace(-1, 1, 30).view(2, 3, 5).requires_grad_(True)
        loss(student).sum().backward()
        found.append(student.grad)
    torch.testing.assert_close(*found)


def test_a_prompt_is_no_target():
    rows = torch.randint(12, (6, 9))
    model = GPT(GPTConfig(**SIZES))
    reading = students.Reading(rows, first=3)
    found = students.loss_on_rows(model, reading, students.WAYS["plain"], torch.arange(6))
    each = students.cross_entropy(model(rows[:, :-1]), rows[:, 1:])
    torch.testing.assert_close(found, each[:, 3:].mean())
    assert len(reading.head(15).rows) == 3  # of 5 targets each


def test_own_samples_lower_the_divergence_on_own_samples():
    torch.manual_seed(0)
    teacher, student = (GPT(GPTConfig(**SIZES)).eval() for _ in range(2))
    with torch.no_grad():
        teacher.head.weight.mul_(20)
    prompts = torch.randint(12, (8, 4))

    def own():
        written = students.generate(student, prompts, 12, seed=3)[:, :-1]
        with torch.no_grad():
            return students.divergences(student(written), teacher(written))["reverse"]

    before = own()
    students.on_policy(student, teacher, prompts, 3e-2, 0, steps=15, new_tokens=12)
    assert own() < 0.7 * before


def test_distinct_runs_by_hand():
    rows = torch.tensor([[1, 2, 1, 2], [1, 2, 3, 3]])
    assert students.distinct(rows, 2) == pytest.approx(4 / 6)  # 12 21 23 33


def test_a_part_that_is_there_is_not_run_again(tmp_path):
    file = tmp_path / "record.json"
    study.Study(file, tmp_path).part("one", lambda: 1)
    again = study.Study(file, tmp_path)
    assert again.part("one", lambda: 2) == 1
    again.tensor("x", lambda: torch.zeros(2))
    assert again.tensor("x", lambda: torch.ones(2)).tolist() == [0, 0]
