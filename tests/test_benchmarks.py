"""The rows that need a GPU or much time, at a size that needs neither."""

from importlib.metadata import version

import pytest
import torch

from benchmarks import alignment, timing, training
from benchmarks.__main__ import ALL
from benchmarks.timing import Row
from mathlm.errors import DeviceError
from mathlm.models import GPTConfig

TINY = GPTConfig(vocab_size=256, context=16, d_model=16, n_layers=1, n_heads=2)


@pytest.fixture(autouse=True)
def float32():
    torch.set_default_dtype(torch.float32)


def test_the_trainer_and_the_bare_loop_do_the_same_work():
    row = training.train_overhead("cpu", TINY, batch=2, rounds=1)
    assert (row.name, row.unit) == ("train-overhead", "tokens/s")
    assert 0 < row.ratio < 2


def test_the_trainer_is_refused_if_it_does_other_work(monkeypatch):
    monkeypatch.setattr(training, "clip_grad_norm", lambda p, most: [q.grad.zero_() for q in p])
    with pytest.raises(AssertionError, match="Scalars are not close"):
        training.train_overhead("cpu", TINY, batch=2, rounds=1)


def test_a_peak_counts_what_a_step_makes_and_not_what_was_there():
    """1000 doubles and their double, while another 1000 exist: 16,000 bytes."""
    there = torch.zeros(1000, dtype=torch.float64)
    assert training.peak(lambda: (there + 1) * 2, "cpu") == 16_000


def test_a_step_in_bfloat16_is_timed_on_both_sides():
    row = training.bfloat16_step("cpu", compiled=(False, False), shape=TINY, batch=2)
    assert (row.name, row.peer) == ("train-step-gpt2", "transformers GPT-2, bfloat16")
    assert row.ours > 0
    assert row.theirs > 0


def test_utilization_is_the_models_operations_over_the_peak(monkeypatch):
    """A matrix of one million entries at 6 operations a token; 10⁶ tokens/s of 10¹³ FLOP/s."""
    row = Row("step", "peer", 1e6, 5e5, "tokens/s", 2.0)
    monkeypatch.setattr(
        training, "flops_per_token", lambda *a, training: 6e6 if training else 0
    )
    monkeypatch.setattr(training, "PEAKS", {"CPU": 1e13})
    found = training.utilization("cpu", row, TINY)
    assert (found.ours, found.theirs, found.ratio) == (0.6, 0.3, 2.0)
    monkeypatch.setattr(training, "PEAKS", {"H200": 989e12})
    with pytest.raises(DeviceError, match="the peak of CPU is not known; known: H200"):
        training.utilization("cpu", row, TINY)


def test_steps_of_alignment_that_differ_are_not_timed():
    alignment.require_equal("losses", [0.5, 1.0], [0.5, 1.00001])
    with pytest.raises(AssertionError, match="the losses differ"):
        alignment.require_equal("losses", [0.5, 1.0], [0.5, 1.001])


def test_every_row_has_a_name_of_its_own():
    assert {"train-step", "train-overhead", "train-memory", "train-step-gpt2"} <= set(ALL)
    assert {"dpo-step", "grpo-step"} <= set(ALL)
    assert set(training.ON_CUDA) <= set(ALL)


def test_a_row_says_how_far_its_rounds_lie_apart(monkeypatch):
    """Rounds in which the peer takes 2, 1 and 3 times as long as ours; one more goes before."""
    times = iter([9.0, 9.0, 1.0, 2.0, 1.0, 1.0, 1.0, 3.0])
    monkeypatch.setattr(timing, "seconds", lambda run, repeats: next(times))
    row = timing.compare("x", "peer", int, int, work=1, unit="calls/s", rounds=3)
    assert (row.ratio, row.spread) == (2.0, (1.0, 3.0))


def test_a_row_names_the_package_of_its_peer_and_its_version():
    peers = {"transformers, same weights": "transformers", "torch.optim.SGD, fused": "torch"}
    for peer, package in peers.items():
        row = Row("x", peer, 1.0, 1.0, "calls/s", 1.0)
        assert row.version == f"{package} {version(package)}"
    assert Row("x", "size of the file", 1.0, 1.0, "MB", 1.0).version == ""
