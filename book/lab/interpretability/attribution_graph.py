"""Edges between the parts of a model of attention alone, and how much each one carries."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from mathlm import functional as F
from mathlm.errors import InputError
from mathlm.interpret import path_patch, record, recovered, stream_contributions
from mathlm.interpret.causal_tracing import attend_terms
from mathlm.models import GPT

Edge = tuple[str, str]  # from a part to the input of another, such as ("0.0", "1.0.k")
Metric = Callable[[Tensor], Tensor]  # of logits (B, T, V): one number a row, (B,)


def direct_edges(model: GPT, ids: Tensor, metric: Metric) -> dict[Edge, float]:
    """The graph of one text, with the attention weights and the norms of its run held fixed.

    What is left of the model is linear, so the edges into the logits add up to the metric if
    that is linear in the logits. No edge ends at a query or a key: they only make weights.

    Args:
        model: A GPT of attention alone, with RMS norms and without biases.
        ids: One text (1, T).
        metric: Linear in the logits.
    """
    _, slopes = _slopes(model, _embedded(model, ids), metric, record(model, ids))
    return _products(_writes(model, ids), slopes)


def difference_edges(
    model: GPT, clean: Tensor, corrupt: Tensor, metric: Metric, steps: int = 1
) -> dict[Edge, float]:
    """Estimated effect of handing one part's change over to one input of another.

    Computes, for each sender s and each input x of a receiver::

        Σ_t (w_s of clean - w_s of corrupt)_t · mean over α of ∂m/∂x_t

    with the gradient taken where the embeddings are corrupt + α (clean - corrupt). ``steps=1``
    takes α = 0, the corrupt run alone: edge attribution patching. More steps take midpoints.

    Args:
        model: As in :func:`direct_edges`.
        clean: A text (1, T).
        corrupt: Another of the same length.
        metric: As in :mod:`mathlm.interpret`; any function of the logits.
        steps: Gradients in the mean.

    References:
        Syed et al. (2023), arXiv:2310.10348; Hanna et al. (2024), arXiv:2403.17806.
    """
    if steps < 1:
        raise InputError(f"steps={steps} gradients: expected 1 or more")
    start, end = _embedded(model, corrupt), _embedded(model, clean)
    places = [0.0] if steps == 1 else [(i + 0.5) / steps for i in range(steps)]
    runs = [_slopes(model, start + a * (end - start), metric)[1] for a in places]
    mean = {name: torch.stack([run[name] for run in runs]).mean(0) for name in runs[0]}
    ours, theirs = _writes(model, clean), _writes(model, corrupt)
    return _products({name: ours[name] - theirs[name] for name in ours}, mean)


def patched_edges(
    model: GPT, clean: Tensor, corrupt: Tensor, metric: Metric, edges: Sequence[Edge]
) -> dict[Edge, float]:
    """The same effects, measured by patching one path at a time: a run for each edge."""
    ends = metric(model(corrupt)).sum()
    found = {}
    for sender, receiver in edges:
        layer, head, name = [*receiver.split("."), ""][:3] if "." in receiver else ("", "", "")
        at = f"blocks.{layer}.attention.{name}" if name else "logits"
        heads = [int(head)] if name else None
        z = path_patch(model, corrupt, clean, [_long(sender)], at, heads)
        found[sender, receiver] = float(metric(z).sum() - ends)
    return found


def shares(edges: Mapping[Edge, float], whole: float) -> dict[Edge, float]:
    """Edges as shares of the change that is to be explained, the largest first."""
    if whole == 0:
        raise InputError("the two runs do not differ in the metric: there is nothing to share")
    order = sorted(edges, key=lambda edge: -abs(edges[edge]))
    return {edge: float(recovered(edges[edge], whole, 0.0)) for edge in order}


def _long(sender: str) -> str:
    """The name of a sender in :func:`mathlm.interpret.stream_contributions`."""
    if sender in ("token", "position"):
        return f"{sender}_embedding"
    layer, head = sender.split(".")
    return f"blocks.{layer}.attention.heads.{head}"


def _writes(model: GPT, ids: Tensor) -> dict[str, Tensor]:
    """What embeddings and heads write to the stream, (1, T, D) under their short names."""
    found = {}
    for name, value in stream_contributions(model, ids).items():
        if name.endswith("_embedding"):
            found[name.removesuffix("_embedding")] = value
        elif ".heads." in name:
            parts = name.split(".")
            found[f"{parts[1]}.{parts[4]}"] = value
    return found


def _embedded(model: GPT, ids: Tensor) -> Tensor:
    """The stream in front of block 0, (1, T, D)."""
    return record(model, ids)["blocks.0.resid_pre"]


def _slopes(
    model: GPT, stream: Tensor, metric: Metric, fixed: Mapping[str, Tensor] | None = None
) -> tuple[Tensor, dict[str, Tensor]]:
    """The metric, and its gradient in the input of each head's q, k and v and of the logits.

    Args:
        model: As in :func:`direct_edges`.
        stream: What stands before block 0, (1, T, D).
        metric: Of the logits.
        fixed: Taps of a run whose attention weights and norms are held; None = nothing is.
    """
    stream, inputs = stream.detach(), {}

    def heard(name: str, x: Tensor) -> Tensor:
        inputs[name] = torch.zeros_like(x).requires_grad_()
        return x + inputs[name]

    def norm(layer, x: Tensor) -> Tensor:
        square = x.square().mean(-1, keepdim=True)
        square = square if fixed is None else square.detach()
        return x * (square + layer.eps).rsqrt() * layer.gamma

    with torch.enable_grad():
        block: Any
        for i, block in enumerate(model.blocks):
            attention, out = block.attention, torch.zeros_like(stream)
            K, terms = attention.d_head, attend_terms(model, stream.shape[1])
            maps = (("q", attention.W_q), ("k", attention.W_k), ("v", attention.W_v))
            for h in range(model.config.n_heads):
                rows = slice(h * K, (h + 1) * K)
                q, k, v = (
                    norm(block.attention_norm, heard(f"{i}.{h}.{c}", stream)) @ W.weight[rows].T
                    for c, W in maps
                )
                if terms.get("rotation") is not None:
                    q, k = (F.rotate_half_split(x, *terms["rotation"]) for x in (q, k))
                scores = q @ k.mT / K**0.5
                ahead = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
                weights = scores.masked_fill(ahead.to(scores.device), -torch.inf).softmax(-1)
                if fixed is not None:
                    weights = fixed[f"blocks.{i}.attention.weights"][:, h]
                out = out + weights @ v @ attention.W_o.weight[:, rows].T
            stream = stream + out
        logits = model.head(norm(model.final_norm, heard("logits", stream)))
        value = metric(logits).sum()
    found = torch.autograd.grad(value, [*inputs.values()], allow_unused=True)
    slopes = {
        name: torch.zeros_like(x) if g is None else g
        for (name, x), g in zip(inputs.items(), found, strict=True)
    }
    return value.detach(), slopes


def _products(writes: Mapping[str, Tensor], slopes: Mapping[str, Tensor]) -> dict[Edge, float]:
    """Write times gradient, for each sender and each receiver above it."""
    found = {}
    for receiver, slope in slopes.items():
        layer = float("inf") if receiver == "logits" else int(receiver.split(".")[0])
        for sender, write in writes.items():
            if "." not in sender or int(sender.split(".")[0]) < layer:
                found[sender, receiver] = float((write * slope).sum())
    return found
