"""Judge every checkpoint of a pretraining run on held-out text, and record it.

    python -m mathlm.recipes.judge runs/shakespeare --record shakespeare.json

For each checkpoint: bits per byte of the held-out plays, mean bits per byte of the training
batches logged since the one before, and a sample. For the last one also the cost by position
in the window. Windows tile the text: a token is predicted from 1 to context tokens before it.
"""

import argparse
import json
import logging
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..errors import CheckpointError, HashMismatchError, MathLMError
from ..functional import token_cross_entropy
from ..generate import generate
from ..models import GPT, GPTConfig
from ..text import Bytes
from ..text.tokenizers.named import Tokenizer, load_tokenizer
from ..train import checkpoints, load_checkpoint, resolve_device, write_record
from ..train.record import device_name
from . import pretrain_data as read
from .pretrain_data import TokenizedWindows
from .pretrain_options import add_data

PROMPT = "KING HENRY IV:\n"
SAMPLE = 200  # tokens, if the context has room for them


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Options from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    add = parser.add_argument
    add("run", type=Path, help="folder of the checkpoints")
    add_data(parser)
    add("--device", default="auto", choices=["cpu", "cuda", "auto"], help="where to run")
    add("--record", type=Path, required=True, help="JSON file to write")
    return parser.parse_args(argv)


@torch.no_grad()
def bits_by_position(model: GPT, windows: TokenizedWindows) -> tuple[float, list[float]]:
    """Bits per byte of the whole text, and of what stands at each position of the windows."""
    T, bits_of_nats = windows.context, 1 / math.log(2) / read.bytes_per_target(windows)
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
    """What the model writes after the prompt; the same random numbers every time."""
    prompt = torch.tensor([tokenizer.encode(PROMPT)], device=next(model.parameters()).device)
    room = min(SAMPLE, model.config.context - prompt.shape[1])
    ids = generate(model, prompt, room, temperature=0.8, seed=0)[0].tolist()
    return tokenizer.decode(ids)


def judge(
    run: Path, ids: np.ndarray, tokenizer: Tokenizer, device: torch.device
) -> dict[str, Any]:
    """The record of a run: configuration, a line for each checkpoint, cost by position."""
    lines: list[dict[str, Any]] = []
    for path in checkpoints(run):
        config = json.loads((path / "state.json").read_text())["config"]
        trained = config["data"].get("tokenizer_sha256", Bytes.sha256)
        if tokenizer.sha256 != trained:
            raise HashMismatchError(f"--tokenizer is {tokenizer.sha256}, expected {trained}")
        sizes = {name: size for name, size in config["model"].items() if name != "class"}
        model = GPT(GPTConfig(**sizes)).to(device)
        state = load_checkpoint(path, model)
        T = sizes["context"]
        windows = TokenizedWindows(ids, tokenizer, context=T, batch_size=32)
        size = read.bytes_per_target(windows)
        bits, positions = bits_by_position(model.eval(), windows)
        since = lines[-1]["step"] if lines else 0
        recent = [r["loss"] for r in state["history"] if r["step"] > since]
        line = {"step": state["step"], "bits_per_byte": bits}
        line["sample"] = sample(model, tokenizer)
        line["tokens"] = line["step"] * config["data"]["batch_size"] * T
        line["training_bits_per_byte"] = np.mean(recent).item() / math.log(2) / size
        lines.append(line)
        logging.info("step %d: %.4f bits/byte", line["step"], bits)
    if not lines:
        raise CheckpointError(f"{run} holds no checkpoint: train with recipes.pretrain --out")
    return {"config": config, "evaluations": lines, "bits_by_position": positions}


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Judge and record."""
    args = parse(argv)
    device, tokenizer = resolve_device(args.device), load_tokenizer(args.tokenizer)
    ids = read.load(args, tokenizer)[1]
    record = judge(args.run, ids, tokenizer, device)
    record |= {"device": device_name(device), "held_out_bytes": read.bytes_of(ids, tokenizer)}
    write_record(args.record, **record)
    return record


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        main()
    except MathLMError as error:
        sys.exit(f"error: {error}")
