"""One small GPT, one budget, several ways to tell it where a token stands; loss by position.

    cd book
    python -m lab.positional_encoding.position_study --record position-study.json

Trained on 128 bytes, read on 1024: half an hour on one core. Runs in the record are not redone.
"""

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import torch

from mathlm.errors import ConfigError
from mathlm.functional import RopeScaling, cross_entropy, token_cross_entropy
from mathlm.models import GPT, GPTConfig
from mathlm.optim import AdamW, clip_grad_norm, warmup_cosine
from mathlm.text import corpus
from mathlm.train import TokenWindows
from mathlm.train.record import device_name, write_record

SCHEMES = ("none", "learned", "sinusoidal", "rope", "alibi", "relative")
TRAINED, LONGEST, BIN = 128, 1024, 16  # bytes
SIZES = {"vocab_size": 256, "d_model": 64, "n_layers": 3, "n_heads": 4, "tie_embeddings": False}
TOKEN_STD = {"sinusoidal": 0.5**0.5}  # as large as the sinusoids; elsewhere 0.02, as GPT has it
SCALINGS = (
    RopeScaling(kind="linear", factor=LONGEST / TRAINED),
    RopeScaling(kind="ntk", factor=LONGEST / TRAINED),
    RopeScaling(kind="yarn", factor=LONGEST / TRAINED, original_context=TRAINED),
)


def train(scheme: str, ids: np.ndarray, steps: int, seed: int, peak: float = 3e-3) -> GPT:
    """A model of one scheme; batches depend on the seed alone."""
    torch.manual_seed(seed)
    sizes = SIZES | {"context": TRAINED, "norm": "rms", "bias": False}
    model = GPT(GPTConfig(position=scheme, **sizes))  # type: ignore[arg-type]
    if scheme in TOKEN_STD:
        torch.nn.init.normal_(model.token_embedding.weight, std=TOKEN_STD[scheme])
    data = TokenWindows(ids, context=TRAINED, batch_size=16, vocab_size=256, seed=seed)
    optimizer = AdamW(model.parameters(), lr=peak, betas=(0.9, 0.95), weight_decay=0.1)
    rate = warmup_cosine(peak, min(50, steps - 1), steps, final=peak / 10)
    for step in range(steps):
        batch, optimizer.param_groups[0]["lr"] = data(step), rate(step)
        optimizer.zero_grad()
        loss, count = cross_entropy(model(batch["ids"]), batch["targets"])
        (loss / count).backward()
        clip_grad_norm(model.parameters(), 1.0)
        optimizer.step()
    return model.eval()


def longer(model: GPT, context: int, scaling: RopeScaling | None = None) -> GPT:
    """The same weights with room for a longer text, and rope's frequencies scaled."""
    if model.config.position == "learned":
        raise ConfigError(f"learned positions end with the context {model.config.context}")
    other = GPT(replace(model.config, context=context, rope_scaling=scaling))
    other.load_state_dict(model.state_dict())
    return other.eval()


@torch.inference_mode()
def loss_by_position(model: GPT, ids: np.ndarray, length: int, windows: int) -> torch.Tensor:
    """Mean loss at each position [nats/byte]; windows of any length start alike."""
    starts = np.linspace(0, len(ids) - LONGEST - 1, windows).astype(int)
    tokens = torch.from_numpy(ids[starts[:, None] + np.arange(length + 1)].astype(np.int64))
    losses = [token_cross_entropy(model(x[:, :-1]), x[:, 1:]) for x in tokens.split(8)]
    return torch.cat(losses).mean(0)


def readings(model: GPT) -> dict[str, GPT]:
    """The models that are examined, by name, each with the longest context that it can have."""
    scheme: str = model.config.position  # no learned vector stands beyond the trained ones
    if scheme == "learned":
        return {scheme: model}
    scaled = SCALINGS if scheme == "rope" else ()
    found = {f"rope, {s.kind}": longer(model, LONGEST, s) for s in scaled}
    return {scheme: longer(model, LONGEST)} | found


def by_position(record: dict) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Middle of each bin [bytes], and losses (seeds, bins) of each scheme [bits/byte]."""
    config, found = record["config"], dict[str, list]()
    for row in record["results"]:
        found.setdefault(row["scheme"], []).append(np.array(row["loss"]) / np.log(2))
    centers = config["bin"] * (np.arange(config["longest"] // config["bin"]) + 0.5)
    return centers, {scheme: np.array(rows) for scheme, rows in found.items()}


def octaves(record: dict, first: int = TRAINED // 2) -> dict[str, np.ndarray]:
    """Losses (seeds, octaves) of each scheme [bits/byte], from ``first`` bytes on.

    A scheme that ends within the octaves has NaN beyond its end.
    """
    centers, losses = by_position(record)
    count = int(np.log2(record["config"]["longest"] / first))
    found = {}
    for scheme, rows in losses.items():
        whole = np.full((len(rows), len(centers)), np.nan)
        whole[:, : rows.shape[1]] = rows
        edges = [first * 2**n for n in range(count + 1)]
        spans = [(low < centers) & (centers < high) for low, high in pairwise(edges)]
        found[scheme] = np.stack([whole[:, span].mean(1) for span in spans], 1)
    return found


def run(scheme: str, seed: int, steps: int, windows: int) -> list[dict]:
    """Train one model and examine it in each way: one row a way, loss by bins of positions."""
    start, texts = time.process_time(), corpus.split("shakespeare")
    training, held_out = (np.frombuffer(text.encode(), np.uint8) for text in texts)
    model, rows = train(scheme, training, steps, seed), []
    for name, reader in readings(model).items():
        losses = loss_by_position(reader, held_out, reader.config.context, windows)
        row = {"scheme": name, "seed": seed, "cpu_seconds": time.process_time() - start}
        rows.append(row | {"loss": losses.unflatten(0, (-1, BIN)).mean(-1).tolist()})
    return rows


def main(argv: Sequence[str] | None = None) -> list[dict]:
    """Train and examine every scheme and seed; returns, and may record, the results."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", type=Path)
    for name, default in (("steps", 900), ("seeds", 3), ("windows", 96)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args, rows, cpu = parser.parse_args(argv), [], device_name(torch.device("cpu"))
    config = {"steps": args.steps, "windows": args.windows, "trained": TRAINED, "bin": BIN}
    config |= {"longest": LONGEST, "token_std": TOKEN_STD, **SIZES}
    if args.record and args.record.is_file():
        before = json.loads(args.record.read_text())
        if before["config"] != config:
            raise ConfigError(f"{args.record} holds another study: {before['config']}")
        rows = before["results"]
    for scheme, seed in [(scheme, seed) for seed in range(args.seeds) for scheme in SCHEMES]:
        if not any((row["scheme"], row["seed"]) == (scheme, seed) for row in rows):
            rows += run(scheme, seed, args.steps, args.windows)
            if args.record:
                write_record(args.record, config=config, results=rows, device=cpu)
    return rows


if __name__ == "__main__":
    main()
