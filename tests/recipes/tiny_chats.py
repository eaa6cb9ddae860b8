"""A small model of bytes in a folder, a few conversations, and the tuning script on them."""

import json

import torch

from mathlm.models import GPT, GPTConfig, save_pretrained
from mathlm.recipes import sft

THINGS = ("rain", "snow", "wind", "fire", "love", "time", "bread")
PAIRS = [(f"What is {a}?", f"{a} is {a}.") for a in THINGS]
OPTIONS = "--device cpu --epochs 2 --batch-size 3 --lr 1e-2 --log-every 1"


def save_base(folder, seed=0, **choices):
    """A model that any text of bytes can be read by."""
    torch.manual_seed(seed)
    sizes = {"vocab_size": 256, "context": 64, "d_model": 16, "n_layers": 2, "n_heads": 2}
    rest = {"norm": "rms", "activation": "swiglu", "position": "rope", "bias": False}
    return save_pretrained(GPT(GPTConfig(**sizes | rest | choices)).float(), folder)


def save_data(path, pairs=PAIRS):
    lines = [json.dumps({"prompt": ask, "response": answer}) for ask, answer in pairs]
    path.write_text("\n".join(lines) + "\n")
    return path


def tune(folder, options="", out="out"):
    """Run the script on the folder's base and data; its record."""
    record = folder / "record.json"
    shared = f"{OPTIONS} --data {folder / 'my.jsonl'} --model {folder / 'base'}"
    found = sft.main(f"{shared} --out {folder / out} --record {record} {options}".split())
    return json.loads(record.read_text()), found


def make(folder):
    """A folder with both."""
    save_base(folder / "base")
    save_data(folder / "my.jsonl")
    return folder
