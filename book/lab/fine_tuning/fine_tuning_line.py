"""The straight line from a base to a tuned model, and the spectra of what separates them."""

import math
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from mathlm.models import GPT
from mathlm.train import next_token
from mathlm.train.objectives import Batch

from .fine_tuning_measures import Measures, Row

PLACES = (0.0, 0.1, 0.25, 0.5, 0.75, 0.9, 1.0, 1.25)
RANKS = (1, 2, 4, 8, 16, 32, 64, 128, 256)


@torch.no_grad()
def between(base: GPT, tuned: GPT, t: float) -> GPT:
    """The model at θ₀ + t (θ₁ - θ₀)."""
    model = deepcopy(base)
    ends = zip(model.parameters(), tuned.parameters(), strict=True)
    for p, end in ends:
        p.lerp_(end, t)
    return model


def line(base: GPT, tuned: GPT, measures: Measures, at: Sequence[float] = PLACES) -> list[Row]:
    """All measures at some places of the line; base and tuned model are at 0 and 1."""
    return [{"t": t, **measures(between(base, tuned, t))} for t in at]


def second_order(base: GPT, tuned: GPT, batches: Sequence[Batch]) -> Row:
    """Slope and curvature at the base along the line, of the mean loss [nats/token].

    Computes::

        slope = g·δ,   curvature = δ·Hδ,   δ = θ₁ - θ₀,   L(θ₀ + tδ) ≈ L + t g·δ + t² δ·Hδ / 2
    """
    model = deepcopy(base).requires_grad_(True)
    weights = list(model.parameters())
    pairs = zip(tuned.parameters(), base.parameters(), strict=True)
    delta = [(a - b).detach() for a, b in pairs]
    slope = curvature = 0.0
    count = 0
    for batch in batches:
        with sdpa_kernel(SDPBackend.MATH):  # the others have no second derivative
            loss, n = next_token(model, batch)
        g = torch.autograd.grad(loss, weights, create_graph=True)
        along = inner(g, delta)
        bend = torch.autograd.grad(along, weights)
        slope, curvature = slope + float(along.detach()), curvature + float(inner(bend, delta))
        count += n
    return {"slope": slope / count, "curvature": curvature / count}


def inner(a: Sequence[Tensor], b: Sequence[Tensor]) -> Tensor:
    """Scalar product of two lists of tensors."""
    return torch.stack([(x * y).sum() for x, y in zip(a, b, strict=True)]).sum()


@torch.no_grad()
def spectra(base: GPT, tuned: GPT) -> dict[str, dict[str, Any]]:
    """Singular values of the change of each matrix of the blocks, and what they amount to.

    Computes::

        energy(r) = Σ_{i≤r} σᵢ² / Σ σᵢ²,   effective rank = exp(-Σ pᵢ ln pᵢ),   p = σ / Σ σ
    """
    found = {}
    after = dict(tuned.blocks.named_parameters())
    for name, w in base.blocks.named_parameters():
        if w.ndim == 2:
            values = torch.linalg.svdvals((after[name] - w).double())
            share = values.square().cumsum(0) / values.square().sum()
            p = values / values.sum()
            found[f"blocks.{name}"] = {
                "shape": list(w.shape),
                "norm": float(values.norm()),
                "relative": float(values.norm() / w.double().norm()),
                "energy": {r: float(share[r - 1]) for r in RANKS if r <= len(share)},
                "effective_rank": math.exp(float(torch.special.entr(p).sum())),
            }
    return found
