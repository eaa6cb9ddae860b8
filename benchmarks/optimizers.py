"""Steps of our optimizers against those of torch in their fastest form, over GPT-2's sizes."""

from collections.abc import Callable, Iterable

import torch
from torch import nn

from mathlm.models import GPT
from mathlm.optim import SGD, Adam, AdamW, Muon, RMSProp

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
    """One optimizer, ours and torch's, over equal parameters."""
    peer, ours, theirs = PAIRS[name]
    a, b = (make(parameters(device, name == "muon-step")) for make in (ours, theirs))
    repeats = 2 if name == "muon-step" else 10
    return compare(name, peer, a.step, b.step, work=1, unit="steps/s", repeats=repeats)


BENCHMARKS: dict[str, Callable[[str], Row]] = {
    name: lambda device, name=name: row(name, device)
    for name in PAIRS  # type: ignore[misc]
}
