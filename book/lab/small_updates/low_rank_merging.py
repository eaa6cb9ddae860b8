"""What merging an update of low rank into its matrices loses, precision by precision."""

from collections.abc import Sequence
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor

from mathlm.layers.low_rank import LoRALinear
from mathlm.models import GPT
from mathlm.train.objectives import IGNORED, Batch, read_causal

from .low_rank_cuts import mean_loss

DTYPES = (torch.float32, torch.float16, torch.bfloat16)
FACTORS = (1.0, 1 / 4, 1 / 16, 1 / 64)  # of the update, to see what a smaller one loses


def low_rank_maps(model: GPT) -> dict[str, LoRALinear]:
    """The maps that have an update in use, by name."""
    return {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, LoRALinear) and module.active is not None
    }


def updates(model: GPT) -> dict[str, Tensor]:
    """The matrix s B A of every map with an update in use."""
    found = {}
    for name, layer in low_rank_maps(model).items():
        own = str(layer.active)
        A, B = layer.A[own].detach(), layer.B[own].detach()
        found[name] = layer.settings[own].scale * B @ A
    return found


@torch.no_grad()
def replaced(model: GPT, matrices: dict[str, Tensor], keep: bool) -> GPT:
    """A copy with other matrices, which keeps the updates beside them or not."""
    copy = deepcopy(model)
    for name, layer in low_rank_maps(copy).items():
        layer.numbers.copy_(matrices[name])
        layer.active = layer.active if keep else None
    return copy


@torch.no_grad()
def merging(model: GPT, batches: Sequence[Batch]) -> dict[str, Any]:
    """Losses of merging in each precision, against the update beside unrounded matrices.

    Only the adapted matrices are rounded; all else is computed as before. "beside" has rounded
    matrices with the update beside them, "smaller" the entries for a part of the update.
    """
    exact, delta = log_probabilities(model, batches), updates(model)
    W = {name: layer.numbers.detach() for name, layer in low_rank_maps(model).items()}
    found: dict[str, Any] = {}
    for dtype in DTYPES:
        base = {name: w.to(dtype) for name, w in W.items()}
        made = {name: (base[name] + d).to(dtype) for name, d in delta.items()}
        found[str(dtype).removeprefix("torch.")] = {
            "merged": compared(exact, replaced(model, made, keep=False), batches),
            "beside": compared(exact, replaced(model, base, keep=True), batches),
            "smaller": [{"factor": f} | entries(base, delta, f) for f in FACTORS],
        }
    sizes = {"W": W, "update": delta}
    return found | {"median": {n: float(flat(x).abs().median()) for n, x in sizes.items()}}


def flat(tensors: dict[str, Tensor]) -> Tensor:
    """All entries of some tensors."""
    return torch.cat([t.flatten() for t in tensors.values()])


def entries(base: dict[str, Tensor], delta: dict[str, Tensor], factor: float) -> dict:
    """Share of entries that merging changes, and the error of the update that arrives."""
    w, d = flat(base), factor * flat(delta)
    after = (w.float() + d).to(w.dtype)
    return {
        "changed": float((after != w).double().mean()),
        "error": float((after.double() - w.double() - d).norm() / d.norm()),
    }


@torch.no_grad()
def log_probabilities(model: GPT, batches: Sequence[Batch]) -> Tensor:
    """For every target of all batches, (N, V)."""
    model.eval()
    asked = ((read_causal(model, b), b["targets"] != IGNORED) for b in batches)
    return torch.cat([logits[where].double().log_softmax(-1) for logits, where in asked])


def compared(exact: Tensor, model: GPT, batches: Sequence[Batch]) -> dict[str, float]:
    """Loss, mean divergence [nats/target] from exact predictions, and equal first choices."""
    logq = log_probabilities(model, batches)
    return {
        "loss": mean_loss(model, batches),
        "divergence": float((exact.exp() * (exact - logq)).sum(-1).mean()),
        "agree": float((exact.argmax(-1) == logq.argmax(-1)).double().mean()),
    }
