"""How fast a device trains and writes, and what it needs in memory, next to what theory says.

    python tools/gpu_measure.py train --device cuda --report train.jsonl

GPT-2 small (124M) on a GPU; a model of two thin blocks on a CPU, which shows only that it runs.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch
from gpu_page import message, reporter, where

from benchmarks.training import BIG, PEAKS, peak, step_of
from mathlm.generate import IncrementalReader, stored_bytes
from mathlm.models import GPT, GPTConfig
from mathlm.optim import AdamW
from mathlm.scaling import flop_utilization, flops_per_token, training_memory

Figures = Iterator[tuple[str, dict]]
THIN = GPTConfig(vocab_size=512, context=64, d_model=64, n_layers=2, n_heads=4)


def seconds(run: Callable[[], object], device: str, turns: int = 10) -> float:
    """Median time of a call, each waited for, after three that do not count."""
    took = []
    for _ in range(turns + 3):
        start = time.perf_counter()
        run()
        if device != "cpu":
            torch.cuda.synchronize()
        took.append(time.perf_counter() - start)
    return statistics.median(took[3:])


def shape(device: str) -> tuple[GPTConfig, int]:
    """The model that is measured, and sequences in a batch."""
    return (THIN, 2) if device == "cpu" else (BIG, 16)


def datasheet(device: str) -> float | None:
    """Operations a second in bfloat16 that the vendor gives, where it is known."""
    name = torch.cuda.get_device_name() if device != "cpu" else "CPU"
    return next((flops for key, flops in PEAKS.items() if key in name), None)


def ceilings(device: str) -> Figures:
    """What no model exceeds: a large product in bfloat16, and a copy."""
    n = 8192 if device != "cpu" else 256
    a, b = torch.randn(2, n, n, device=device, dtype=torch.bfloat16)
    rate = 2 * n**3 / seconds(lambda: a @ b, device)
    source = torch.randn(16 * n, n, device=device)
    target = torch.empty_like(source)
    moved = 2 * source.nbytes / seconds(lambda: target.copy_(source), device)
    yield "product", {"flops_per_second": rate, "datasheet": datasheet(device)}
    yield "copy", {"bytes_per_second": moved}


def train(device: str) -> Figures:
    """A step of AdamW in bfloat16 by autocast, as it comes and compiled."""
    config, batch = shape(device)
    ids = torch.randint(config.vocab_size, (batch, config.context + 1), device=device)
    flops = flops_per_token(config, config.context, training=True)
    for name in ("plain", "compiled"):
        model = GPT(config).to(device)
        if name == "compiled":
            model.compile()
        step = step_of(model, AdamW(model.parameters()), ids, half=True)
        start = time.perf_counter()
        step()
        first = time.perf_counter() - start
        rate = batch * config.context / seconds(step, device)
        share = datasheet(device) and flop_utilization(flops * rate, 1.0, datasheet(device))
        said = {"tokens_per_second": rate, "flops_per_token": flops, "utilization": share}
        yield name, said | {"first_step_seconds": first, "batch": batch}
        del model, step


def memory(device: str) -> Figures:
    """What a step holds at most, gradients of the last one included, against the prediction."""
    config, batch = shape(device)
    ids = torch.randint(config.vocab_size, (batch, config.context + 1), device=device)
    for dtype in (torch.float32, torch.bfloat16):
        model = GPT(config).to(device, dtype)
        optimizer = AdamW(model.parameters())
        step_of(model, optimizer, ids)()
        for p in model.parameters():
            p.grad = torch.zeros_like(p)
        kept = [x for state in optimizer.state.values() for x in state.values()]
        numbers = [*model.parameters(), *kept, *(p.grad for p in model.parameters())]
        held = sum(x.nbytes for x in numbers if isinstance(x, torch.Tensor))
        more = peak(kept_gradients(model, ids), device)
        size = dtype.itemsize
        parts = training_memory(
            config, config.context, batch, bytes_per_number=size, state_bytes=size
        )
        predicted = sum(parts.values())
        said = {"bytes": held + more, "predicted": predicted, "parts": parts, "batch": batch}
        yield str(dtype).removeprefix("torch."), said | {"ratio": (held + more) / predicted}


def kept_gradients(model: GPT, ids: torch.Tensor) -> Callable[[], None]:
    """Forward and backward, into gradients that are there already."""
    x, y = ids[:, :-1], ids[:, 1:].flatten()

    def step() -> None:
        torch.nn.functional.cross_entropy(model(x).flatten(0, 1), y).backward()

    return step


@torch.no_grad()
def decode(device: str) -> Figures:
    """Tokens a second behind a prompt, one by one: as a graph and without, in bfloat16.

    The limit is that every weight is read for every token: the bytes over the measured copy,
    half of which is reading.
    """
    config, _ = shape(device)
    model = GPT(config).to(device, torch.bfloat16).eval()
    source = torch.ones(stored_bytes(model) // 4, device=device)
    limit = 1 / seconds(source.sum, device)
    for rows in (1, 32):
        ids = torch.randint(config.vocab_size, (rows, 16), device=device)
        for fixed in (False, True):
            reader = IncrementalReader(model, rows, 48, fixed=fixed)
            rate = rows * 32 / seconds(writing(reader, ids), device, turns=5)
            name = f"{rows} rows, " + ("fixed shapes" if fixed else "plain")
            yield name, {"tokens_per_second": rate, "limit_of_one_row": limit}


def writing(reader: IncrementalReader, ids: torch.Tensor) -> Callable[[], None]:
    """Read the prompt once, then 32 tokens behind it, again at each call."""
    reader.read(ids)

    def run() -> None:
        reader.rewind(ids.shape[1])
        for _ in range(32):
            reader.read(ids[:, :1])

    return run


def rows(device: str) -> Figures:
    """Rows of ``make bench`` for which all that is needed can be brought along."""
    from dataclasses import asdict

    from benchmarks.__main__ import ALL

    names = ["train-step", "optimizer-step", "attention", "block", "generate-small"]
    big = ["train-overhead", "train-memory", "train-step-gpt2", "train-step-gpt2-compiled"]
    for name in names + (big if device != "cpu" else []):
        yield name, asdict(ALL[name](device))


MEASURES = {f.__name__: f for f in (ceilings, train, memory, decode, rows)}


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("name", choices=MEASURES)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--report", type=Path, required=True)
    args = parser.parse_args(argv)
    note, start = reporter(args.report), time.perf_counter()
    torch.manual_seed(0)
    note(at=args.name)
    try:
        for name, figures in MEASURES[args.name](args.device):
            note(measured=name, **figures)
            print(name, figures, flush=True)
    except Exception as error:
        note(at=args.name, raised=message(error), where=where(error))
    note(ended=True, seconds=round(time.perf_counter() - start, 1))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
