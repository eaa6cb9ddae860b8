"""Grader of the project of this page: SmolLM2 distilled into a tenth of its size."""

import math
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lab.grading import Case, FaultError, Report, grade_by
from mathlm.models import GPT

MakeStudent = Callable[..., Any]
Loss = Callable[..., Any]
TextLoss = Callable[..., Any]
NOTE = "Tested on toy sizes: your own text, and how much is gained on it, is up to you."


def grade(make_student: MakeStudent, loss: Loss, text_loss: TextLoss) -> Report:
    """Test the three parts of a distillation.

    Args:
        make_student: (vocab_size, parameters) to a GPT with at most so many.
        loss: (student, teacher, targets, real, temperature, share) to one number.
        text_loss: (student, teacher, ids, real, temperature, share) to one number.

    Returns:
        A report that prints itself.
    """
    return grade_by(TESTS, make_student, loss, text_loss, note=NOTE)


# --- the tests ------------------------------------------------------------------------------


def _student(make_student: MakeStudent, *rest: Any) -> None:
    for vocab_size, most in ((512, 200_000), (49_152, 13_451_500)):
        model = make_student(vocab_size, most)
        if not isinstance(model, GPT):
            raise FaultError("make_student must return a GPT.")
        if model.config.vocab_size != vocab_size:
            raise FaultError("the student has another vocabulary than its teacher.")
        if model.head.weight is not model.token_embedding.weight:
            raise FaultError(
                "the embedding is not tied: input and output each have a matrix of their own."
            )
        size = sum(p.numel() for p in model.parameters())
        if size > most:
            raise FaultError(f"the student has {size:,} parameters; {most:,} were allowed.")
        if size < most / 2:
            raise FaultError(
                f"the student has {size:,} parameters: use at least half of the {most:,}."
            )
        if any(p.is_meta for p in model.parameters()):
            raise FaultError("the student was built on the meta device: it has no numbers.")
        if not all(p.requires_grad for p in model.parameters()):
            raise FaultError("parameters of the student are frozen: all of them must learn.")


def sample() -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Logits of student and teacher (2, 3, 5), targets, and which are real."""
    draws = torch.Generator().manual_seed(0)
    student, teacher = torch.randn(2, 2, 3, 5, generator=draws, dtype=torch.float64)
    targets = torch.tensor([[1, 4, 0], [2, 3, 0]])
    real = torch.tensor([[True, True, True], [True, False, False]])
    return student, 2 * teacher, targets, real


def by_hand(
    s: Tensor, t: Tensor, targets: Tensor, tau: float, share: float, reverse: bool = False
) -> Tensor:
    """The loss at each position, from its definition."""
    p, q = (t / tau).softmax(-1), (s / tau).softmax(-1)
    a, b = (q, p) if reverse else (p, q)
    kl = (a * (a / b).log()).sum(-1)
    hard = -s.softmax(-1).gather(-1, targets[..., None])[..., 0].log()
    return share * tau**2 * kl + (1 - share) * hard


def _number(found: Any, name: str) -> float:
    if not isinstance(found, Tensor) or found.numel() != 1:
        raise FaultError(f"{name} must return one number, as a tensor.")
    return float(found.detach())


def _kl(make_student: MakeStudent, loss: Loss, *rest: Any) -> None:
    s, t, targets, real = sample()
    every = torch.ones_like(real)
    found = _number(loss(s, t, targets, every, 1.0, 1.0), "loss")
    mistakes = {
        float(by_hand(s, t, targets, 1.0, 1.0, reverse=True).mean()): (
            "the KL is the wrong way round: the teacher's probabilities are the weights."
        ),
        float(by_hand(s, t, targets, 1.0, 0.0).mean()): (
            "with share = 1 only the teacher counts: share and 1 - share are exchanged."
        ),
        float(by_hand(s, t, targets, 1.0, 1.0).sum()): (
            "the loss is a sum: divide by the number of real targets."
        ),
    }
    _compare(found, float(by_hand(s, t, targets, 1.0, 1.0).mean()), mistakes, "KL")


def _compare(found: float, right: float, mistakes: dict[float, str], what: str) -> None:
    for wrong, sentence in mistakes.items():
        if math.isclose(found, wrong, rel_tol=1e-6) and not math.isclose(wrong, right):
            raise FaultError(sentence)
    if not math.isclose(found, right, rel_tol=1e-6):
        raise FaultError(f"the {what} is {found:.4f}; by hand it is {right:.4f}.")


def _temperature(make_student: MakeStudent, loss: Loss, *rest: Any) -> None:
    s, t, targets, real = sample()
    every = torch.ones_like(real)
    found = _number(loss(s, t, targets, every, 4.0, 0.25), "loss")
    kl = float(by_hand(s, t, targets, 4.0, 1.0).mean())
    hard = float(by_hand(s, t, targets, 4.0, 0.0).mean())
    warm = float(F.cross_entropy((s / 4).mT, targets))
    mistakes = {
        (kl / 16 + 3 * hard) / 4: (
            "τ² is missing: at τ = 4 the teacher's part is sixteen times too small."
        ),
        (kl / 4 + 3 * hard) / 4: "the KL is multiplied by τ, not by its square.",
        (kl + 3 * 16 * hard)
        / 4: "τ² multiplies the cross-entropy too: it belongs to the KL alone.",
        (kl + 3 * warm) / 4: "the cross-entropy is taken at temperature τ: it has none.",
    }
    _compare(found, (kl + 3 * hard) / 4, mistakes, "mixture at τ = 4 with share = 1/4")


def _padding(make_student: MakeStudent, loss: Loss, *rest: Any) -> None:
    s, t, targets, real = sample()
    each = by_hand(s, t, targets, 2.0, 0.5)
    found = _number(loss(s, t, targets, real, 2.0, 0.5), "loss")
    rows = torch.stack([row[keep].mean() for row, keep in zip(each, real, strict=True)])
    mistakes = {
        float(each.mean()): "padding is counted: use the mean over the real targets alone.",
        float((each * real).mean()): (
            "the sum over real targets is divided by all targets: padding must not count there."
        ),
        float(rows.mean()): "short rows count too much: take one mean over all real targets.",
    }
    _compare(found, float(each[real].mean()), mistakes, "loss of a padded batch")


def _gradients(make_student: MakeStudent, loss: Loss, *rest: Any) -> None:
    s, t, targets, real = sample()
    s.requires_grad_(True)
    t.requires_grad_(True)
    result = loss(s, t, targets, real, 2.0, 0.5)
    if not result.requires_grad:
        raise FaultError("no gradient reaches the student: do not detach its logits.")
    result.backward()
    if t.grad is not None and bool(t.grad.any()):
        raise FaultError("a gradient reaches the teacher: detach its logits.")

    def right(share: float, part: float) -> Tensor:
        z = s.detach().requires_grad_(True)
        each = by_hand(z, t.detach(), targets, 2.0, share)[real]
        return part * torch.autograd.grad(each.mean(), z)[0]

    found = torch.zeros_like(s) if s.grad is None else s.grad
    if torch.allclose(found, right(0.0, 0.5)):
        raise FaultError("no gradient of the KL reaches the student: detach the teacher alone.")
    if torch.allclose(found, right(1.0, 0.5)):
        raise FaultError("no gradient of the cross-entropy reaches the student.")
    if not torch.allclose(found, right(0.5, 1.0)):
        raise FaultError("the gradient in the student's logits is not that of the loss.")


class Echo(nn.Module):
    """Logits that depend on the token that is read, after dropout; counts its calls."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        draws = torch.Generator().manual_seed(seed)
        weight = 2 * torch.randn(6, 6, generator=draws, dtype=torch.float64)
        self.weight = nn.Parameter(weight)
        self.dropout = nn.Dropout(0.5)
        self.recorded = self.dropped = False

    def forward(self, ids: Tensor) -> Tensor:
        """Logits (B, T, 6)."""
        self.recorded, self.dropped = torch.is_grad_enabled(), self.training
        return self.dropout(self.weight[ids])


def _text(make_student: MakeStudent, loss: Loss, text_loss: TextLoss) -> None:
    student, teacher = Echo(1), Echo(2)
    student.dropout.p = 0.0  # in training, as a student is, and yet exact
    ids = torch.tensor([[1, 2, 3, 4, 5], [3, 1, 4, 0, 0]])
    real = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    result = text_loss(student, teacher, ids, real, 2.0, 0.5)
    found = _number(result, "text_loss")
    s, t = student.weight[ids], teacher.weight[ids]
    s, t = s.detach(), t.detach()
    each = by_hand(s[:, :-1], t[:, :-1], ids[:, 1:], 2.0, 0.5)
    teacher_late = by_hand(s[:, :-1], t[:, 1:], ids[:, 1:], 2.0, 0.5)
    itself = by_hand(s, t, ids, 2.0, 0.5)
    inputs = each[real[:, :-1]]
    mistakes = {
        float(teacher_late[real[:, 1:]].mean()): (
            "the teacher's logits are shifted by one: at each position both models must have "
            "read the same tokens."
        ),
        float(itself[real].mean()): (
            "each position is asked for the token that it has read: the target is the next."
        ),
        float(inputs.mean()): (
            "a target counts where its input is real: it must count where it is real itself."
        ),
    }
    if teacher.dropped:
        raise FaultError("the teacher has dropout: call its eval() first.")
    _compare(found, float(each[real[:, 1:]].mean()), mistakes, "loss of a text")
    _modes(student, teacher, result)
    other = by_hand(s[:, :-1], t[:, :-1], ids[:, 1:], 1.0, 0.75)[real[:, 1:]].mean()
    found = _number(text_loss(student, teacher, ids, real, 1.0, 0.75), "text_loss")
    if not math.isclose(found, float(other), rel_tol=1e-6):
        raise FaultError("text_loss must hand on the temperature and share that it is given.")


def _modes(student: Echo, teacher: Echo, result: Tensor) -> None:
    """The student is in training and gets a gradient, the teacher records nothing."""
    if teacher.recorded:
        raise FaultError(
            "the teacher's forward pass records a graph that nobody needs: use torch.no_grad()."
        )
    if not student.training:
        raise FaultError("the student was set to eval(): it must keep the mode that it is in.")
    if result.requires_grad:
        result.backward()
    if student.weight.grad is None or not student.weight.grad.any():
        raise FaultError(
            "text_loss passes no gradient to the student: only the teacher runs in no_grad()."
        )


KL = "forward KL"
TESTS = (
    Case("student", _student),
    Case(KL, _kl),
    Case("temperature", _temperature, (KL,)),
    Case("padding", _padding, (KL, "temperature")),
    Case("gradients", _gradients, (KL, "temperature", "padding")),
    Case("text", _text, (KL, "temperature", "padding", "gradients")),
)
