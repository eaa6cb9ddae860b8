"""Grader of the project of this page, LoRA from scratch, and a run of it on SmolLM2."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from lab.grading import Case, FaultError, Report, grade_by
from mathlm.align import ChatBatches, encode_chats
from mathlm.models import GPT
from mathlm.text import ByteBPE, Bytes, ChatFormat, instructions, pretrained
from mathlm.train import next_token

Layer = Callable[[nn.Linear, int, float], Any]
OUT, IN, RANK, ALPHA = 6, 5, 2, 3.0


def grade(layer: Layer) -> Report:
    """Test an implementation of LoRA for one linear map.

    Args:
        layer: ``layer(base, rank, alpha)`` is a module around ``base``, an ``nn.Linear``. Its
            parameters A (r, k) and B (d, r) are trained; ``merged()`` is the matrix W + sBA.

    Returns:
        A report: print it, or read ``passed`` and ``faults``.
    """
    usual = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        return grade_by(TESTS, layer)
    finally:
        torch.set_default_dtype(usual)


def tune(
    layer: Layer,
    model: GPT,
    tokenizer: Bytes | ByteBPE,
    format: ChatFormat,
    conversations: Sequence,
    rank: int = 8,
    steps: int = 20,
    step_size: float = 1e-3,
) -> dict[str, float]:
    """Put a reader's layer on every linear map of the blocks, and train on conversations.

    Args:
        layer: The reader's.
        model: Changed in place.
        tokenizer: Of the model.
        format: How conversations are written.
        conversations: To learn from; the loss on them is returned.
        rank: Of each update; alpha is the same number.
        steps: Of AdamW, one row of conversations each.
        step_size: Of AdamW.

    Returns:
        Loss before and after [nats/token], and how many numbers were trained.
    """
    context = min(model.config.context, 192)
    encoded = encode_chats(conversations, format, tokenizer, context)
    data = ChatBatches(encoded, 1)
    model.requires_grad_(False)
    for block in model.blocks:
        for parent in list(block.modules()):
            for name, child in list(parent.named_children()):
                if isinstance(child, nn.Linear):
                    setattr(parent, name, layer(child, rank, float(rank)))
    weights = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(weights, step_size, weight_decay=0.0)
    before = _mean(model, data)
    for step in range(steps):
        loss, count = next_token(model, data(step))
        optimizer.zero_grad()
        (loss / count).backward()
        optimizer.step()
    trained = sum(p.numel() for p in weights)
    return {"before": before, "after": _mean(model, data), "trained": trained}


def smollm2(layer: Layer, file: str | Path, steps: int = 20) -> dict[str, float]:
    """:func:`tune` on SmolLM2 with the conversations of a JSON lines file."""
    path = pretrained.find("smollm2")
    model, tokenizer = GPT.from_pretrained(path), ByteBPE.from_gguf(path)
    lines = instructions.read(Path(file))
    return tune(layer, model, tokenizer, ChatFormat.chatml(), lines, steps=steps)


@torch.no_grad()
def _mean(model: GPT, data: ChatBatches) -> float:
    """Mean loss over a few rows of conversations [nats/token]."""
    rows = [next_token(model, data(step)) for step in range(min(data.rows, 4))]
    return sum(float(loss) for loss, _ in rows) / sum(count for _, count in rows)


def _made(layer: Layer, dtype: torch.dtype = torch.float32, trained: bool = False) -> Any:
    """A reader's module around a map, its pair drawn at random if asked for."""
    torch.manual_seed(0)
    module = layer(nn.Linear(IN, OUT).to(dtype), RANK, ALPHA)
    for name, shape in (("A", (RANK, IN)), ("B", (OUT, RANK))):
        matrix = getattr(module, name, None)
        if not isinstance(matrix, nn.Parameter):
            raise FaultError(f"self.{name} is to be an nn.Parameter of shape {shape}.")
        if tuple(matrix.shape) != shape:
            raise FaultError(f"{name} has shape {tuple(matrix.shape)}; it must have {shape}.")
        if trained:
            matrix.data = torch.randn(shape).to(matrix.dtype)
    return module


def _base() -> tuple[Tensor, Tensor]:
    """Weight and bias of the map that :func:`_made` wraps."""
    torch.manual_seed(0)
    map_ = nn.Linear(IN, OUT)
    return map_.weight.detach().clone(), map_.bias.detach().clone()


def _start(layer: Layer) -> str | None:
    x, (W, b) = torch.randn(4, IN), _base()
    module = _made(layer)
    if torch.equal(module(x), nn.functional.linear(x, W)):
        return "the bias of the base is lost."
    if not torch.equal(module(x), nn.functional.linear(x, W, b)):
        return "the outputs are not those of the base before training: one of A, B starts at 0."
    if not (module.A.any() or module.B.any()):
        return "A and B are both 0: neither ever gets a gradient. Draw A at random."
    return None


def _trained(layer: Layer) -> str | None:
    module = _made(layer)
    numbers = sum(p.numel() for p in module.parameters() if p.requires_grad)
    if numbers > RANK * (IN + OUT):
        return f"{numbers} numbers are trained, not r(d + k) = {RANK * (IN + OUT)}: freeze W."
    module(torch.randn(4, IN)).square().sum().backward()
    if module.A.grad is None or module.B.grad is None:
        return "a factor gets no gradient: is it used under no_grad, or as .data?"
    return None


def _update(layer: Layer) -> str | None:
    module, x, (W, b) = _made(layer, trained=True), torch.randn(4, IN), _base()
    pair = x @ module.A.mT @ module.B.mT
    scales = {
        "": ALPHA / RANK,
        "the scale is missing: s = α/r.": 1.0,
        "the scale is α: divide it by r.": ALPHA,
        "the scale is α/√r; this project takes α/r.": ALPHA / RANK**0.5,
        "the scale is applied twice.": (ALPHA / RANK) ** 2,
    }
    for said, s in scales.items():
        if torch.allclose(module(x), x @ W.mT + b + s * pair, atol=1e-5):
            return said or _through(module, x, W)
    return "the outputs are not Wx + b + sBAx."


def _through(module: Any, x: Tensor, W: Tensor) -> str | None:
    """What is wrong with the gradient that earlier layers get."""
    x = x.detach().requires_grad_()
    module(x).sum().backward()
    wanted = (W + ALPHA / RANK * module.B @ module.A).detach().sum(0)
    if x.grad is None or not torch.allclose(x.grad, wanted.expand_as(x), atol=1e-2):
        return "earlier layers get another gradient than (W + sBA)ᵀdy: is x detached?"
    return None


def _merged(layer: Layer) -> str | None:
    module, (W, _) = _made(layer, trained=True), _base()
    found = module.merged()
    if tuple(np.shape(found)) != (OUT, IN):
        return f"merged() has shape {tuple(np.shape(found))}; it must have {(OUT, IN)}."
    pair = (module.B @ module.A).detach()
    if torch.allclose(found, W + pair, atol=1e-5):
        return "merged() leaves out the scale α/r, so that another model comes out."
    if not torch.allclose(found, W + ALPHA / RANK * pair, atol=1e-5):
        return "merged() is not W + sBA."
    again = module.merged()
    return None if torch.equal(found, again) else "merged() changes W each time it is called."


def _rounding(layer: Layer) -> str | None:
    module, (W, _) = _made(layer, torch.bfloat16, trained=True), _base()
    pair = (module.B.float() @ module.A.float()).detach()
    exact = W.bfloat16().float() + ALPHA / RANK * pair
    found = module.merged()
    if found.dtype != torch.bfloat16:
        return f"merged() is {found.dtype}; it is to have the format of W, bfloat16."
    if not torch.equal(found, exact.bfloat16()):
        return "merged() rounds more than once: multiply and add in float32; round the sum."
    return None


def _training(layer: Layer) -> str | None:
    module, (W, b) = _made(layer), _base()
    x = torch.randn(64, IN)
    y = nn.functional.linear(x, W, b) + x @ torch.randn(IN, 1) @ torch.randn(1, OUT)
    optimizer = torch.optim.Adam([p for p in module.parameters() if p.requires_grad], 0.03)
    losses = []
    for _ in range(300):
        loss = (module(x) - y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    if losses[-1] > 0.05 * losses[0]:
        return f"300 steps lower the loss from {losses[0]:.2f} to {losses[-1]:.2f} only."
    module.A.data.zero_()
    if not torch.allclose(module(x), nn.functional.linear(x, W, b), atol=1e-6):
        return "training changed the base."
    return None


TESTS = (
    Case("start", _start),
    Case("what is trained", _trained),
    Case("update and scale", _update, ("start",)),
    Case("merging", _merged, ("update and scale",)),
    Case("merging in bfloat16", _rounding, ("merging",)),
    Case("training", _training, ("what is trained", "update and scale")),
)
