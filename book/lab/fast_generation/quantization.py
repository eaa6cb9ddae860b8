"""What few bits a weight cost a model: surprise, divergence and bytes.

Weights are rounded and written out again, so that any number of bits can be measured.
"""

import math
from collections.abc import Callable, Sequence
from copy import deepcopy
from functools import partial
from pathlib import Path

import torch
from torch import Tensor

from mathlm import functional as F
from mathlm.generate import input_scales
from mathlm.models import GPT
from mathlm.text import ByteBPE, Bytes, corpus, pretrained

Rule = Callable[[str, Tensor], Tensor]  # from a matrix's name and weights to rounded ones
PLAYS = Path("book/results/shakespeare-gpt")


def load(name: str, windows: int, width: int = 256) -> tuple[GPT, Tensor, Tensor]:
    """A model, windows of held-out plays for it, and eight of a training text for scales."""
    if name == "plays":
        model, encode = GPT.from_pretrained(PLAYS), Bytes().encode
    else:
        path = pretrained.find(name)
        model, encode = GPT.from_pretrained(path), ByteBPE.from_gguf(path).encode
    need = windows * width + 1
    parts = (part[: 8 * (need + 8 * width)] for part in corpus.split("shakespeare"))
    train, held_out = (torch.tensor(encode(part)) for part in parts)
    return model, held_out[:need].unfold(0, width + 1, width), train[: 8 * width].view(8, -1)


def rows(name: str, w: Tensor, bits: int) -> Tensor:
    """One grid around 0 for each row; eight bits outside the blocks."""
    bits = bits if name.startswith("blocks") else 8
    return F.symmetric_levels(w, bits).values()


def groups(name: str, w: Tensor, bits: int, group: int | None = 64) -> Tensor:
    """One grid between the least and the largest of each group, in the blocks."""
    if not name.startswith("blocks"):
        return rows(name, w, 8)
    return F.affine_levels(w, bits, group, torch.bfloat16).values(w.dtype)


def aware(name: str, w: Tensor, bits: int, scales: dict[str, Tensor]) -> Tensor:
    """The same with groups of 64 in columns that were scaled."""
    s = scales.get(name)
    return rows(name, w, 8) if s is None else F.aware_rounding(w, s, bits, 64, torch.bfloat16)


@torch.no_grad()
def rounded(model: GPT, rule: Rule) -> tuple[GPT, float]:
    """A copy with every matrix rounded, and how far the errors lie below the weights [dB]."""
    copy, signal, noise = deepcopy(model), 0.0, 0.0
    for name, p in copy.named_parameters():
        if p.ndim == 2 and not name.startswith("position"):
            w = rule(name.removesuffix(".weight"), p)
            signal += float(p.double().square().sum())
            noise += float((w - p).double().square().sum())
            p.copy_(w)
    return copy, 10 * math.log10(signal / noise) if noise else math.inf


@torch.no_grad()
def compare(
    model: Callable[[Tensor], Tensor], ids: Tensor, exact: Sequence[Tensor]
) -> dict[str, float]:
    """Surprise of the windows, and how far the predictions are from the exact ones."""
    nats = divergence = agree = 0.0
    for window, logp in zip(ids, exact, strict=True):
        logq = model(window[None, :-1])[0].log_softmax(-1)
        nats -= float(logq.gather(1, window[1:, None]).sum())
        divergence += float((logp.exp() * (logp - logq)).sum())
        agree += float((logp.argmax(-1) == logq.argmax(-1)).sum())
    n = ids[:, 1:].numel()
    means = {"nats": nats / n, "divergence": divergence / n, "agree": agree / n}
    return means | {"perplexity": F.perplexity(nats, n)}


def widths(model: GPT, ids: Tensor) -> dict[str, Rule]:
    """Rules of fewer and fewer bits; the last are of the same bits with aware scales."""
    scales = {b: input_scales(model, ids, b, 64) for b in (4, 3)}
    return {
        "16 bits": lambda name, w: w.bfloat16().to(w.dtype),
        **{f"{b} bits, rows": partial(rows, bits=b) for b in (8, 6, 5, 4)},
        **{f"4 bits, groups of {g}": partial(groups, bits=4, group=g) for g in (128, 64, 32)},
        **{f"{b} bits, groups of 64": partial(groups, bits=b) for b in (3, 2)},
        **{f"{b} bits, aware": partial(aware, bits=b, scales=scales[b]) for b in (4, 3)},
    }


@torch.no_grad()
def predictions(model: GPT, ids: Tensor) -> list[Tensor]:
    """Log-probabilities behind each token of each window but the last."""
    return [model(window[None, :-1])[0].log_softmax(-1) for window in ids]


def measures(model: GPT, ids: Tensor, text: Tensor) -> dict[str, dict[str, float]]:
    """Comparisons for each number of bits."""
    exact = predictions(model, ids)
    found = {"32 bits": compare(model, ids, exact)}
    for name, rule in widths(model, text).items():
        copy, ratio = rounded(model, rule)
        found[name] = compare(copy, ids, exact) | {"decibels": ratio}
    return found
