"""Steps of our optimizers against those of torch in their fastest form, over GPT-2's sizes."""

from collections.abc import Callable, Iterable
from functools import partial

import torch
from torch import nn

from mathlm.models import GPT
from mathlm.optim import SGD, Adam, AdamW, Muon, RMSProp, clip_grad_norm

from .gpt import OURS
from .timing import Row, compare

Make = Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer]
PAIRS: dict[str, tuple[str, Make, Make]] = {
    "sgd-step": (
        "torch.optim.SGD, fused",
        lambda p: SGD(p, lr=1e-3, momentum=0.9),
        lambda p: torch.optim.SGD(p, lr=1e-3, momentum=0.9, fused=True),
    ),
    "rmsprop-step": (
        "torch.optim.RMSprop, foreach",
        RMSProp,
        lambda p: torch.optim.RMSprop(p, foreach=True),
    ),
    "adam-step": ("torch.optim.Adam, fused", Adam, lambda p: torch.optim.Adam(p, fused=True)),
    "adamw-step": (
        "torch.optim.AdamW, fused",
        AdamW,
        lambda p: torch.optim.AdamW(p, fused=True),
    ),
    "muon-step": ("torch.optim.Muon", Muon, torch.optim.Muon),
}


def parameters(device: str, small_matrices: bool) -> list[nn.Parameter]:
    """Parameters of the model of the other benchmarks, each with a gradient.

    Muon's products run in bfloat16, which is slow on most CPUs: its row takes two projections.
    """
    params = list(GPT(OURS).to(device).parameters())
    if small_matrices:
        params = [p for p in params if p.ndim == 2 and p.numel() <= 2**16][:2]
    for p in params:
        p.grad = torch.randn_like(p)
    return params


def row(name: str, device: str) -> Row:
    """One optimizer, ours and torch's, over equal parameters.

    Ours is told that the gradients are finite, as the trainer tells it after the norm; torch's
    does not look.
    """
    peer, ours, theirs = PAIRS[name]
    a, b = (make(parameters(device, name == "muon-step")) for make in (ours, theirs))
    repeats = 2 if name == "muon-step" else 10
    step = partial(a.step, finite=True)
    return compare(name, peer, step, b.step, work=1, unit="steps/s", repeats=repeats)


def clip_and_step(device: str) -> Row:
    """The norm, which also looks for what is not finite, and the step after it."""
    a, b = parameters(device, False), parameters(device, False)
    ours, theirs = AdamW(a), torch.optim.AdamW(b, fused=True)

    def clipped() -> None:
        clip_grad_norm(a, 1.0)
        ours.step(finite=True)

    def peer() -> None:
        nn.utils.clip_grad_norm_(b, 1.0, error_if_nonfinite=True)
        theirs.step()

    return compare(
        "clip-adamw-step", "torch, with its look", clipped, peer,
        work=1, unit="steps/s", repeats=10,
    )  # fmt: skip


BENCHMARKS: dict[str, Callable[[str], Row]] = {
    **{name: partial(row, name) for name in PAIRS},
    "clip-adamw-step": clip_and_step,
}
