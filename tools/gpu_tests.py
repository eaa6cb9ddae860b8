"""A plugin of pytest that runs the tests with the tensors on a GPU.

    python -m pytest -p gpu_tests --on cuda --report tests.jsonl tests/optim

A test makes its tensors without naming a device. Under this plugin they are made on ``--on``,
as with ``torch.set_default_device``, with these exceptions:

* what is drawn with a generator is drawn where the generator is, and moved there for a test;
* a test may read a tensor of the GPU with NumPy, and bring an array there; mathlm may not;
* a model that a test loads goes there, and a ``TrainerConfig`` that names no
  device trains there;
* what a test finds on the GPU may be compared with what the CPU computed.

``--on pretended`` takes tensors of the CPU that refuse what those of a GPU refuse. Each failure
and each skip leaves a line in the report at once.
"""

from __future__ import annotations

import functools
import re
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from gpu_page import LONG, reporter
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._device import _device_constructors
from torch.utils._pytree import tree_leaves

ROOT = Path(__file__).resolve().parents[1]
TESTS, PACKAGE = str(ROOT / "tests"), str(ROOT / "mathlm")
READS = {Tensor.numpy, Tensor.__array__}
MIXED = "computes on the CPU whatever the default device is"
NOT_HERE = {  # tests that cannot run so, and why
    "layers/test_quantization.py::test_the_kernel_agrees": "is about a kernel of the CPU",
    "adapt/test_retention_replay.py::": "joins batches of the CPU with its own",
    "lab/generation/test_conditioning.py::": MIXED,
    "generate/test_constraint_regex.py::test_what_is_generated": MIXED,
    "lab/features/test_capacity.py::": MIXED,
    "interpret/test_probes_control_tasks.py::": MIXED,
}
LACKING = re.compile(r"No module named '(?!mathlm)|DataNotFoundError")


def from_a_test() -> bool:
    """Whether the project's innermost line that runs now is one of a test."""
    frame = sys._getframe(1)
    while frame is not None and not frame.f_code.co_filename.startswith((TESTS, PACKAGE)):
        frame = frame.f_back  # type: ignore[assignment]
    return frame is not None and frame.f_code.co_filename.startswith(TESTS)


class MadeOn(TorchFunctionMode):
    """Makes tensors on a device if no other is named."""

    def __init__(self, device: str) -> None:
        super().__init__()
        self.device, self.makers = device, _device_constructors()

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run a function of torch."""
        kwargs = kwargs or {}
        if func in READS and args[0].is_cuda and from_a_test():
            return func(args[0].detach().cpu(), *args[1:], **kwargs)
        if func not in self.makers or kwargs.get("device") or kwargs.get("out") is not None:
            return func(*args, **kwargs)
        if kwargs.get("generator") is None:
            return func(*args, **kwargs | {"device": self.device})
        drawn = func(*args, **kwargs)
        return drawn.to(self.device) if from_a_test() else drawn


def brought(from_numpy: Any, device: str) -> Any:
    """``torch.from_numpy``, which makes tensors of the GPU where a test calls it."""

    @functools.wraps(from_numpy)
    def bring(array: Any) -> Tensor:
        return from_numpy(array).to(device) if from_a_test() else from_numpy(array)

    return bring


def lenient(assert_close: Any) -> Any:
    """``torch.testing.assert_close``, which takes an expectation that the CPU computed."""

    @functools.wraps(assert_close)
    def close(actual: Any, expected: Any, **options: Any) -> None:
        leaves = [x for x in tree_leaves(actual) if isinstance(x, Tensor)]
        options.setdefault("check_device", not all(x.is_cuda for x in leaves))
        assert_close(actual, expected, **options)

    return close


def moved(from_pretrained: Any, device: str) -> Any:
    """``from_pretrained``, whose model goes to the GPU where a test calls it."""

    @functools.wraps(from_pretrained)
    def load(*args: Any, **kwargs: Any) -> Any:
        model = from_pretrained(*args, **kwargs)
        return model.to(device) if from_a_test() else model

    return load


def pytest_addoption(parser: pytest.Parser) -> None:
    """Where to run, and where to report."""
    parser.addoption("--on", default="cuda", choices=["cpu", "cuda", "pretended"])
    parser.addoption("--report", type=Path, required=True)


def pytest_configure(config: pytest.Config) -> None:
    """Put every tensor on the device from here on."""
    config.pluginmanager.register(Report(config.option.report))
    from mathlm import models
    from mathlm.train import TrainerConfig

    device = config.option.on
    if device == "cpu":
        return
    if device == "pretended":
        from recipes.pretended_cuda import pretended_cuda

        config.pretended = pretended_cuda()  # type: ignore[attr-defined]
        config.pretended.__enter__()  # type: ignore[attr-defined]
        device = "cuda"
    torch.from_numpy = brought(torch.from_numpy, device)
    torch.testing.assert_close = lenient(torch.testing.assert_close)
    for family in (models.GPT, models.Bert):
        family.from_pretrained = staticmethod(moved(family.from_pretrained, device))  # type: ignore[method-assign]
    TrainerConfig.__init__.__kwdefaults__["device"] = "cuda"  # type: ignore[index]
    MadeOn(device).__enter__()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip what cannot run on a GPU."""
    for item in items if config.option.on != "cpu" else []:
        for start, why in NOT_HERE.items():
            if item.nodeid.removeprefix("tests/").startswith(start):
                item.add_marker(pytest.mark.skip(reason=why))


class Report:
    """Notes what failed, what was skipped and how many passed."""

    def __init__(self, path: Path) -> None:
        self.note, self.passed, self.seconds = reporter(path), 0, 0.0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One phase of one test."""
        self.passed += report.passed and report.when == "call"
        self.seconds += report.duration
        if report.outcome != "passed":
            self.tell(report)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """One file that was read."""
        if report.outcome != "passed":
            self.tell(report)

    def tell(self, report: Any) -> None:
        """One line about a test or a file that did not pass."""
        text = report.longreprtext.strip()
        last = [line for line in text.splitlines() if line.startswith("E  ")] or [text]
        if report.outcome == "skipped" or LACKING.search(text):
            why = report.longrepr[2] if report.outcome == "skipped" else last[-1]
            self.note(at=report.nodeid, passed=str(why)[-LONG:])
        else:
            self.note(at=report.nodeid, raised=last[0][4:LONG].strip(), where=text[-LONG:])

    def pytest_sessionfinish(self) -> None:
        """The last line."""
        self.note(ended=True, passed_tests=self.passed, seconds=round(self.seconds, 1))
