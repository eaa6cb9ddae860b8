"""SmolLM2-135M: loading it and reading with it, against transformers on the same weights."""

import subprocess
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import torch
import transformers
from torch import Tensor

from mathlm.models import GPT, save_pretrained
from mathlm.models.files.gpt import LLAMA_PARTS, their_name
from mathlm.text import open_gguf, pretrained

from .timing import Row, compare

T = 256
MEMORY = """
import sys
from pathlib import Path
from mathlm.models import GPT

def peak():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

before = peak()
model = GPT.from_pretrained(sys.argv[1])
print(peak() - before)
"""
START = """
import sys
import torch
from transformers import AutoModelForCausalLM

model = AutoModelForCausalLM.from_pretrained(sys.argv[1], dtype=torch.float32).eval()
ids = torch.arange(30)[None]
model.generate(ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=1)
"""


@cache
def folder() -> tempfile.TemporaryDirectory:
    """The weights of the installed GGUF file as transformers writes them, in float32."""
    ours = GPT.from_pretrained(pretrained.find("smollm2"))
    c = ours.config
    config = transformers.LlamaConfig(
        vocab_size=c.vocab_size, hidden_size=c.d_model, intermediate_size=c.ff_width,
        num_hidden_layers=c.n_layers, num_attention_heads=c.n_heads,
        num_key_value_heads=c.kv_heads, max_position_embeddings=c.context,
        rms_norm_eps=c.norm_eps, tie_word_embeddings=True,
        rope_parameters={"rope_type": "default", "rope_theta": c.rope_base},
    )  # fmt: skip
    theirs = transformers.LlamaForCausalLM(config)
    named = ours.named_parameters()
    state = {f"model.{their_name(name, LLAMA_PARTS)}": p.detach() for name, p in named}
    theirs.load_state_dict(state | {"lm_head.weight": ours.token_embedding.weight})
    made = tempfile.TemporaryDirectory()
    theirs.save_pretrained(made.name)
    return made


def their_model(path: str) -> torch.nn.Module:
    """What a user of transformers writes."""
    return transformers.AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32).eval()


def load_weights(device: str) -> Row:
    """A folder with ``config.json`` and 538 MB of float32; no accelerator is used."""
    path = folder().name
    return compare(
        "load-weights", "transformers, same folder",
        lambda: GPT.from_pretrained(path), lambda: their_model(path),
        work=1, unit="models/s", rounds=7, repeats=1,
    )  # fmt: skip


def load_gguf(device: str) -> Row:
    """A GGUF file of 4 to 32 bits a number, against writing out its tensors and no more."""
    from gguf import dequantize

    path = pretrained.find("smollm2")

    def tensors() -> list[np.ndarray]:
        return [dequantize(t.data, t.tensor_type) for t in open_gguf(path).tensors]

    return compare(
        "load-gguf", "gguf, tensors only",
        lambda: GPT.from_pretrained(path), tensors,
        work=1, unit="models/s", rounds=7, repeats=1,
    )  # fmt: skip


def load_memory(device: str) -> Row:
    """Peak of a process that loads the folder, beyond what it had; as Linux counts it."""
    path = folder().name
    run = [sys.executable, "-c", MEMORY, path]
    printed = subprocess.run(run, capture_output=True, text=True, check=True).stdout
    peak = int(printed) * 1024 / 1e6
    size = (Path(path) / "model.safetensors").stat().st_size / 1e6
    ratio = round(size / peak, 3)
    return Row("load-memory", "size of the file", round(peak, 1), round(size, 1), "MB", ratio)


def save_weights(device: str) -> Row:
    """SmolLM2 written as a folder of Hugging Face; no accelerator is used."""
    path = folder().name
    ours, theirs = GPT.from_pretrained(path), their_model(path)
    with tempfile.TemporaryDirectory() as made:
        return compare(
            "save-weights", "transformers, same weights",
            lambda: save_pretrained(ours, tempfile.mkdtemp(dir=made) + "/ours"),
            lambda: theirs.save_pretrained(tempfile.mkdtemp(dir=made) + "/theirs"),
            work=1, unit="models/s", rounds=7, repeats=1,
        )  # fmt: skip


def chat_start(device: str) -> Row:
    """From the command to the end of an answer of one token, in a new process.

    The peer is a script that loads the same weights and generates from ids: it has no
    tokenizer and no chat to load.
    """
    ours = "chat --model smollm2 --prompt Hi --max-new-tokens 1 --temperature 0 --device cpu"

    def run(*arguments: str) -> None:
        subprocess.run([sys.executable, *arguments], capture_output=True, check=True)

    return compare(
        "chat-start", "transformers, no tokenizer",
        lambda: run("-m", "mathlm", *ours.split()), lambda: run("-c", START, folder().name),
        work=1, unit="starts/s", rounds=7, repeats=1,
    )  # fmt: skip


@torch.no_grad()
def forward(device: str) -> Row:
    """Logits of all positions of one text, without a cache."""
    path = folder().name
    ours, theirs = (make(path).to(device) for make in (GPT.from_pretrained, their_model))
    ids = torch.arange(T, device=device)[None] * 97 % 49_152

    def read(ids: Tensor) -> Tensor:
        with torch.no_grad():
            return theirs(ids, use_cache=False).logits

    torch.testing.assert_close(ours(ids), read(ids), rtol=1e-3, atol=1e-3)
    return compare(
        "forward-smollm2", "transformers, same weights",
        torch.no_grad()(lambda: ours(ids)), lambda: read(ids),
        work=T, unit="tokens/s", rounds=7, repeats=1,
    )  # fmt: skip


BENCHMARKS: dict[str, Callable[[str], Row]] = {
    "load-weights": load_weights,
    "load-memory": load_memory,
    "load-gguf": load_gguf,
    "save-weights": save_weights,
    "chat-start": chat_start,
    "forward-smollm2": forward,
}
