"""The Trainer against a bare loop, memory of a step, and GPT-2 small in bfloat16 on a GPU."""

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from transformers import GPT2LMHeadModel

from mathlm.errors import DeviceError
from mathlm.models import GPT, GPTConfig
from mathlm.optim import AdamW, clip_grad_norm, warmup_cosine
from mathlm.scaling import flop_utilization, flops_per_token
from mathlm.train import (
    TokenWindows,
    Trainer,
    TrainerConfig,
    checkpoint_activations,
    next_token,
)
from mathlm.train.memory import LiveBytes

from .gpt import GPT2, OURS, THEIRS, B, V, models
from .timing import Row, compare

STEPS = 4  # of the loop, in one turn
BIG, BIG_BATCH = GPTConfig(), 16  # GPT-2 small
PEAKS = {"H200": 989e12, "H100": 989e12, "A100": 312e12, "L40S": 362e12, "L4": 121e12}
Data = Callable[[int], dict[str, Tensor]]


def bare_loop(model: nn.Module, data: Data) -> Callable[[], float]:
    """What the Trainer does in its steps, as a user would write it; gives the last loss."""
    optimizer, schedule = AdamW(model.parameters()), warmup_cosine(1e-3, 1, STEPS)

    def run() -> float:
        for step in range(STEPS):
            batch = data(step)
            for group in optimizer.param_groups:
                group["lr"] = schedule(step)
            loss, count = next_token(model, batch)
            (loss / count).backward()
            clip_grad_norm(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
        return loss.item() / count

    return run


def train_overhead(
    device: str, shape: GPTConfig = OURS, batch: int = B, rounds: int = 15
) -> Row:
    """``Trainer.fit`` and the same steps without it, which must come to the same loss."""
    ids = torch.randint(V, (STEPS * batch * shape.context + 1,)).numpy()
    data = TokenWindows(ids, context=shape.context, batch_size=batch, vocab_size=V)
    ours = GPT(shape).to(device)
    theirs = copy.deepcopy(ours)
    schedule = warmup_cosine(1e-3, 1, STEPS)
    config = TrainerConfig(steps=STEPS, schedule=schedule, device="auto")
    config = replace(config, device="cpu") if device == "cpu" else config
    trainer = Trainer(ours, next_token, data, AdamW(ours.parameters()), config)

    def fit() -> float:
        trainer.step = 0
        return float(trainer.fit()[-1]["loss"])

    loop = bare_loop(theirs, lambda step: {k: t.to(device) for k, t in data(step).items()})
    torch.testing.assert_close(fit(), loop(), rtol=1e-5, atol=0)
    work = STEPS * batch * shape.context
    return compare(
        "train-overhead", "the same steps in a bare loop", fit, loop,
        work=work, unit="tokens/s", rounds=rounds, repeats=1,
    )  # fmt: skip


def peak(step: Callable[[], object], device: str) -> int:
    """Most bytes that the second of two steps holds beyond what it found."""
    step()
    if device == "cpu":
        with LiveBytes() as memory:
            step()
        return memory.peak
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    step()
    return torch.cuda.max_memory_allocated() - before


def step_of(
    logits: Callable[[Tensor], Tensor],
    optimizer: torch.optim.Optimizer,
    ids: Tensor,
    half: bool = False,
) -> Callable[[], None]:
    """Forward, backward and a step of the optimizer; products in bfloat16 if ``half``."""
    x, y = ids[:, :-1], ids[:, 1:].flatten()

    def step() -> None:
        with torch.autocast(ids.device.type, torch.bfloat16, enabled=half):
            loss = F.cross_entropy(logits(x).flatten(0, 1), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def train_memory(device: str) -> Row:
    """Tensors that a training step holds at most; of a GPU, memory that was given out."""
    ours, theirs = models(device)
    ids = torch.randint(V, (B, OURS.context + 1), device=device)
    a, b = AdamW(ours.parameters()), torch.optim.AdamW(theirs.parameters())
    steps = (step_of(ours, a, ids), step_of(lambda x: theirs(x).logits, b, ids))
    sizes = [peak(step, device) / 1e6 for step in steps]
    ratio = round(sizes[1] / sizes[0], 3)
    return Row("train-memory", GPT2, round(sizes[0], 1), round(sizes[1], 1), "MB", ratio)


def checkpointing_memory(device: str) -> Row:
    """The same where both sides recompute their blocks instead of keeping their values."""
    ours, theirs = models(device)
    checkpoint_activations(ours)
    theirs.gradient_checkpointing_enable({"use_reentrant": False})
    theirs.train()
    ids = torch.randint(V, (B, OURS.context + 1), device=device)
    a, b = AdamW(ours.parameters()), torch.optim.AdamW(theirs.parameters())
    steps = (
        step_of(ours, a, ids),
        step_of(lambda x: theirs(x, use_cache=False).logits, b, ids),
    )
    sizes = [peak(step, device) / 1e6 for step in steps]
    ratio = round(sizes[1] / sizes[0], 3)
    words = f"{GPT2}, checkpointing"
    return Row(
        "checkpointing-memory", words, round(sizes[0], 1), round(sizes[1], 1), "MB", ratio
    )


def bfloat16_step(
    device: str,
    name: str = "train-step-gpt2",
    compiled: tuple[bool, bool] = (True, False),
    shape: GPTConfig = BIG,
    batch: int = BIG_BATCH,
) -> Row:
    """Training step of GPT-2 small in bfloat16; ours and theirs compiled or as they come."""
    ours = GPT(shape)
    options = {"n_positions": shape.context, "n_embd": shape.d_model, "n_layer": shape.n_layers}
    options |= {"n_head": shape.n_heads, "vocab_size": shape.vocab_size}
    theirs: nn.Module = GPT2LMHeadModel(type(THEIRS)(**THEIRS.to_diff_dict() | options))
    for model, wanted in zip((ours, theirs), compiled, strict=True):
        model.to(device)
        if wanted:
            model.compile()
    ids = torch.randint(shape.vocab_size, (batch, shape.context + 1), device=device)

    a, b = AdamW(ours.parameters()), torch.optim.AdamW(theirs.parameters())
    mine = step_of(ours, a, ids, half=True)
    peer = step_of(lambda x: theirs(x).logits, b, ids, half=True)
    words = f"{GPT2}, bfloat16" + (", compiled" if compiled[1] else "")
    return compare(
        name, words, mine, peer,
        work=batch * shape.context, unit="tokens/s",
    )  # fmt: skip


def utilization(device: str, row: Row | None = None, shape: GPTConfig = BIG) -> Row:
    """Share of the device's arithmetic that the model's operations use, both compiled."""
    row = row or bfloat16_step(device, compiled=(True, True))
    found = torch.cuda.get_device_name() if device != "cpu" else "CPU"
    peaks = [flops for name, flops in PEAKS.items() if name in found]
    if not peaks:
        raise DeviceError(f"the peak of {found} is not known; known: {', '.join(PEAKS)}")
    flops = flops_per_token(shape, shape.context, training=True)
    shares = [flop_utilization(flops * rate, 1.0, peaks[0]) for rate in (row.ours, row.theirs)]
    ours, theirs = (round(share, 3) for share in shares)
    return Row("train-utilization", row.peer, ours, theirs, "of peak", row.ratio)


BENCHMARKS: dict[str, Callable[[str], Row]] = {
    "train-overhead": train_overhead,
    "train-memory": train_memory,
    "checkpointing-memory": checkpointing_memory,
}
ON_CUDA: dict[str, Callable[[str], Row]] = {
    "train-step-gpt2": bfloat16_step,
    "train-step-gpt2-compiled": partial(
        bfloat16_step, name="train-step-gpt2-compiled", compiled=(True, True)
    ),
    "train-utilization": utilization,
}
