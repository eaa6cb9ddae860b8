"""A short run of a GPT as a process of its own; prints what came out."""

import hashlib
import json
import sys

import torch

from mathlm.models import GPT, GPTConfig
from mathlm.optim import AdamW, warmup_cosine
from mathlm.train import TokenWindows, Trainer, TrainerConfig, next_token

SHAPE = GPTConfig(
    vocab_size=40, context=16, d_model=48, n_layers=2, n_heads=4, norm="rms", dropout=0.1
)
IDS = [(i * i + i // 7) % 40 for i in range(3000)]


def run(dtype, steps=20):
    """Hash of all weights, last loss, and hash of the windows in the order they were read."""
    torch.set_default_dtype(dtype)  # the first weights, too, are drawn with kernels
    torch.manual_seed(0)
    model, read = GPT(SHAPE), hashlib.sha256()
    windows = TokenWindows(IDS, context=16, batch_size=12, vocab_size=40, seed=5)

    def data(step):
        batch = windows(step)
        read.update(batch["index"].numpy().tobytes())
        return batch

    config = TrainerConfig(steps=steps, schedule=warmup_cosine(3e-3, 3, steps))
    history = Trainer(model, next_token, data, AdamW(model.parameters()), config).fit()
    flat = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
    weights = hashlib.sha256(flat.numpy().tobytes()).hexdigest()
    return {"weights": weights, "loss": history[-1]["loss"], "order": read.hexdigest()}


if __name__ == "__main__":
    torch.set_num_threads(int(sys.argv[1]))
    found = {name: run(getattr(torch, name)) for name in ("float32", "float64")}
    kernels = torch.backends.cpu.get_cpu_capability()
    print(json.dumps(found | {"kernels": kernels, "threads": torch.get_num_threads()}))
