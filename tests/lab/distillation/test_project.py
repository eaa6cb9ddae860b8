"""The project's grader: the solution passes, and each planted fault is named in a sentence."""

import inspect

import pytest
import torch

from lab.distillation import project, project_solution
from mathlm.generate import generate
from mathlm.models import GPT, GPTConfig

PARTS = ("make_student", "loss", "text_loss")
SOURCE = "\n\n".join(inspect.getsource(getattr(project_solution, name)) for name in PARTS)


@pytest.fixture(autouse=True)
def annotations(unchecked):
    """Faults hand over what they should not."""


def planted(old, new):
    """The solution with one piece of its text changed."""
    assert SOURCE.count(old) == 1
    space = dict(vars(project_solution))
    exec(SOURCE.replace(old, new), space)
    return [space[name] for name in PARTS]


KL = "distillation_loss(student, teacher, temperature)"
OPEN = "(temperature**2 * ((teacher / temperature).softmax(-1) * ((teacher / temperature)"
MEAN = "(share * kl + (1 - share) * hard)[real].mean()"
FAULTS = {
    "must return a GPT": ("return GPT(config(", "return (config("),
    "another vocabulary": ("vocab_size=vocab_size, **", "vocab_size=vocab_size + 1, **"),
    "is not tied": ('"tie_embeddings": True', '"tie_embeddings": False'),
    "were allowed": ("(widths, parameters,", "(widths, 1.3 * parameters,"),
    "use at least half": (
        "return GPT(config(widths[fitting - 1]))",
        "return GPT(config(widths[fitting // 4]))",
    ),
    "must return one number": (MEAN, "(share * kl + (1 - share) * hard)[real]"),
    "the wrong way round": (KL, KL.replace("student, teacher", "teacher.detach(), student")),
    "are exchanged": (MEAN, "((1 - share) * kl + share * hard)[real].mean()"),
    "the KL is": (KL, KL + " / 2"),
    "τ² is missing": (KL, KL + " / temperature**2"),
    "not by its square": (KL, KL + " / temperature"),
    "multiplies the cross-entropy too": (
        MEAN,
        "(share * kl + (1 - share) * temperature**2 * hard)[real].mean()",
    ),
    "at temperature τ: it has none": ("(student.mT,", "(student.mT / temperature,"),
    "padding is counted": (MEAN, MEAN.replace("[real]", "")),
    "divided by all targets": (MEAN, "((share * kl + (1 - share) * hard) * real).mean()"),
    "short rows count too much": (
        MEAN,
        "torch.stack([r[k].mean() for r, k in zip(share * kl + (1 - share) * hard, real)])"
        ".mean()",
    ),
    "the loss is a sum": (MEAN, MEAN.replace(".mean()", ".sum()")),
    "no gradient reaches the student": (
        KL,
        KL.replace("(student,", "(student.detach(),") + "; student = student.detach()",
    ),
    "a gradient reaches the teacher": (
        KL,
        OPEN + ".log_softmax(-1) - (student / temperature).log_softmax(-1))).sum(-1))",
    ),
    "the loss of a padded batch is": (
        MEAN,
        MEAN.replace(".mean()", ".sum() / max(real.sum(), 5)"),
    ),
    "the loss of a text is": (
        "said = teacher(ids[:, :-1])",
        "said = teacher(ids[:, :-1]).roll(1, 1)",
    ),
    "shifted by one: at each position": (
        "said = teacher(ids[:, :-1])",
        "said = teacher(ids[:, 1:])",
    ),
    "that it has read": (
        "return loss(student(ids[:, :-1]), said, ids[:, 1:], real[:, 1:], temperature, share)",
        "return loss(student(ids), teacher(ids).detach(), ids, real, temperature, share)",
    ),
    "where its input is real": ("real[:, 1:]", "real[:, :-1]"),
    "the teacher has dropout": ("teacher.eval()\n", "pass\n"),
    "records a graph": ("with torch.no_grad():", "if True:"),
    "on the meta device": (
        "return GPT(config(widths[fitting - 1]))",
        'with torch.device("meta"):\n        return GPT(config(widths[fitting - 1]))',
    ),
    "are frozen": (
        "return GPT(config(widths[fitting - 1]))",
        "return GPT(config(widths[fitting - 1])).requires_grad_(False)",
    ),
    "with share = 1/4": ("(1 - share) * hard", "min(share, 1 - share) * hard"),
    "no gradient of the KL": (KL, KL.replace("(student,", "(student.detach(),")),
    "no gradient of the cross-entropy": ("(student.mT,", "(student.detach().mT,"),
    "is not that of the loss": (MEAN, "(value := " + MEAN + ") * 2 - value.detach()"),
    "was set to eval()": ("teacher.eval()\n", "teacher.eval(), student.eval()\n"),
    "passes no gradient to the student": (
        "return loss(student(ids[:, :-1]),",
        "return loss(student(ids[:, :-1]).detach(),",
    ),
    "must hand on": ("real[:, 1:], temperature, share)", "real[:, 1:], 2.0, 0.5)"),
}


def test_the_solution_passes():
    report = project.grade(*(getattr(project_solution, name) for name in PARTS))
    assert report.passed, report


@pytest.mark.parametrize("sentence", FAULTS)
def test_a_planted_fault_is_named(sentence):
    report = project.grade(*planted(*FAULTS[sentence]))
    assert any(sentence in fault for fault in report.faults), report


@pytest.mark.parametrize(("vocab_size", "most"), [(512, 20_000), (512, 1_000), (64, 10**8)])
def test_a_size_that_no_width_has_is_refused(vocab_size, most):
    """Widths are multiples of 8 up to 512: too coarse, too wide or too narrow for these."""
    with pytest.raises(ValueError, match="no width up to 512"):
        project_solution.make_student(vocab_size, most)


def test_a_teacher_may_get_back_the_mode_it_had():
    def text_loss(student, teacher, *rest):
        mode = teacher.training
        found = project_solution.text_loss(student, teacher, *rest)
        teacher.train(mode)
        return found

    functions = {name: getattr(project_solution, name) for name in PARTS}
    report = project.grade(*(functions | {"text_loss": text_loss}).values())
    assert report.passed, report


def test_the_solution_brings_a_student_nearer_to_its_teacher():
    """At toy size: on text of the teacher's, the divergence from it falls by half."""
    torch.manual_seed(0)
    sizes = {"vocab_size": 16, "context": 12, "n_layers": 1, "n_heads": 2}
    teacher = GPT(GPTConfig(d_model=32, **sizes)).eval()
    with torch.no_grad():
        teacher.head.weight.mul_(20)
    student = GPT(GPTConfig(d_model=16, **sizes))
    ids = generate(teacher, torch.zeros(64, 1, dtype=torch.int64), 11, seed=0)
    real = torch.ones_like(ids, dtype=torch.bool)
    adam = torch.optim.AdamW(student.parameters(), 1e-2)
    losses = []
    for _ in range(60):
        adam.zero_grad()
        value = project_solution.text_loss(student, teacher, ids, real, 2.0, 1.0)
        value.backward()
        adam.step()
        losses.append(value.item())
    assert losses[-1] < losses[0] / 2
