"""Judge every checkpoint of a pretraining run on held-out text, in bits per byte."""

import json
import logging
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
import tyro

from ..errors import CheckpointError, HashMismatchError
from ..functional import token_cross_entropy
from ..generate import generate
from ..models import GPT
from ..text import Bytes, count_bytes
from ..text.tokenizers.named import Tokenizer, load_tokenizer
from ..train import (
    TokenizedWindows,
    checkpoints,
    load_checkpoint,
    resolve_device,
    write_record,
)
from ..train.distributed import DeviceName
from ..train.log_line import number
from ..train.record import device_name
from .command import execute, parse
from .export import new_model
from .pretrain import Text
from .result import Row, places, say

PROMPT = "KING HENRY IV:\n"
SAMPLE = 200  # tokens, if the context has room for them
log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class JudgeConfig:
    """Judge every checkpoint of a pretraining run on held-out text, and record it.

    For each checkpoint: bits per byte of the held-out text, mean bits per byte of the training
    batches logged since the one before, if there are any, and a sample. For the last one also
    the cost by position in the window. Windows tile the text: a token is predicted from 1 to
    context tokens before it. Give the text and the tokenizer that the run was trained with.

        mathlm judge runs/shakespeare --record shakespeare.json
        mathlm judge runs/mine --data my-texts --record mine.json
    """

    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """Folder of the checkpoints."""
    record: Path
    """JSON file to write."""
    device: DeviceName = "auto"
    """Where to run."""
    text: Text = field(default_factory=Text)


@torch.no_grad()
def bits_by_position(model: GPT, windows: TokenizedWindows) -> tuple[float, list[float]]:
    """Bits per byte of the whole text, and of what stands at each position of the windows."""
    T, bits_of_nats = windows.context, 1 / math.log(2) / windows.bytes_per_target
    nats, count = torch.zeros(T, dtype=torch.float64), torch.zeros(T)
    device = next(model.parameters()).device
    for batch in windows:
        targets = batch["targets"].to(device)
        loss = token_cross_entropy(model(batch["ids"].to(device)), targets)  # (B, T)
        nats += loss.sum(0).double().cpu()
        count += (targets >= 0).sum(0).cpu()
    bits = [round(b, 5) for b in (nats / count * bits_of_nats).tolist()]
    return (nats.sum() / count.sum()).item() * bits_of_nats, bits


def sample(model: GPT, tokenizer: Tokenizer) -> str:
    """What the model writes after the prompt, of which a short context takes the beginning.

    The random numbers are the same every time.
    """
    ids = tokenizer.encode(PROMPT)[: model.config.context - 1]
    prompt = torch.tensor([ids], device=next(model.parameters()).device)
    room = min(SAMPLE, model.config.context - prompt.shape[1])
    written = generate(model, prompt, room, temperature=0.8, seed=0)[0].tolist()
    return tokenizer.decode(written)


def judge(
    run: Path, ids: np.ndarray, tokenizer: Tokenizer, device: torch.device
) -> dict[str, Any]:
    """The record of a run: configuration, a line for each checkpoint, cost by position."""
    lines: list[dict[str, Any]] = []
    for path in checkpoints(run):
        model = new_model(path).to(device)
        config = json.loads((path / "state.json").read_text())["config"]
        trained = config["data"].get("tokenizer_sha256", Bytes.sha256)
        if tokenizer.sha256 != trained:
            raise HashMismatchError(f"--tokenizer is {tokenizer.sha256}, expected {trained}")
        state = load_checkpoint(path, model)
        T = model.config.context
        windows = TokenizedWindows(ids, tokenizer, context=T, batch_size=32)
        bits, positions = bits_by_position(model.eval(), windows)
        since = lines[-1]["step"] if lines else 0
        recent = [r["loss"] for r in state["history"] if r["step"] > since]
        line = {"step": state["step"], "bits_per_byte": bits}
        line["sample"] = sample(model, tokenizer)
        line["tokens"] = line["step"] * config["data"]["batch_size"] * T
        if recent:
            nats = np.mean(recent).item()
            line["training_bits_per_byte"] = nats / math.log(2) / windows.bytes_per_target
        lines.append(line)
        log.info("step %d: %.4f bits/byte", line["step"], bits)
    if not lines:
        raise CheckpointError(f"{run} holds no checkpoint: train with recipes.pretrain --out")
    return {"config": config, "evaluations": lines, "bits_by_position": positions}


def run(config: JudgeConfig) -> dict[str, Any]:
    """Judge and record; returns the record."""
    start, device = time.perf_counter(), resolve_device(config.device)
    tokenizer = load_tokenizer(config.text.tokenizer)
    ids = config.text.load(tokenizer)[1]
    record = judge(config.run, ids, tokenizer, device)
    record |= {"device": device_name(device), "held_out_bytes": count_bytes(ids, tokenizer)}
    write_record(config.record, **record)
    say_result(config, record, time.perf_counter() - start)
    return record


def say_result(config: JudgeConfig, record: dict[str, Any], seconds: float) -> None:
    """The table at the end: every checkpoint, and where the record is."""
    head = ("checkpoint", "held out [bits/byte]", "training [bits/byte]")
    names = ("bits_per_byte", "training_bits_per_byte")
    rows: list[Row] = [
        (f"step {x['step']:,}", *(number(x[name]) if name in x else "" for name in names))
        for x in record["evaluations"]
    ]
    size = [("held out", f"{record['held_out_bytes']:,} bytes")]
    say([head, *rows], size, places(seconds, record=config.record))


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """The command ``mathlm judge``."""
    return run(parse(JudgeConfig, argv, prog="mathlm judge"))


if __name__ == "__main__":
    execute(main)
