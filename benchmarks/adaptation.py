"""A training step of low-rank updates against peft: time, and memory."""

import tempfile
from collections.abc import Callable
from functools import partial

import peft
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from transformers import LlamaConfig, LlamaForCausalLM

from mathlm.adapt import add_lora, trainable
from mathlm.layers import LoRALinear
from mathlm.models import GPT
from mathlm.train.memory import LiveBytes

from .timing import Row, compare

LLAMA = LlamaConfig(
    vocab_size=512,
    hidden_size=128,
    intermediate_size=352,
    num_hidden_layers=4,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=256,
    tie_word_embeddings=False,
)
RANK, B, T = 8, 8, 128
THEIRS = {"W_q": "q_proj", "W_v": "v_proj"}
Step = Callable[[], float]


def step_of(model: torch.nn.Module, parameters: list, logits: Callable, ids: Tensor) -> Step:
    """Forward pass, backward pass and AdamW; gives the loss."""
    optimizer = torch.optim.AdamW(parameters, lr=1e-3)

    def step() -> float:
        loss = cross_entropy(logits(model(ids[:, :-1])).flatten(0, 1), ids[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        return loss.item()

    return step


def steps(device: str) -> tuple[Step, Step]:
    """Ours and peft's, of the same weights and updates; their first losses agree."""
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        base = LlamaForCausalLM(LLAMA)
        base.save_pretrained(folder)
        ours = GPT.from_pretrained(folder).to(device).train()
    add_lora(ours, RANK, 2 * RANK, tuple(THEIRS), seed=0)
    config = peft.LoraConfig(r=RANK, lora_alpha=2 * RANK, target_modules=[*THEIRS.values()])
    theirs = peft.get_peft_model(base.to(device), config).train()
    for name, layer in ours.named_modules():
        if isinstance(layer, LoRALinear):
            number, last = name.split(".")[1], THEIRS[name.split(".")[-1]]
            other = theirs.get_submodule(
                f"base_model.model.model.layers.{number}.self_attn.{last}"
            )
            other.lora_A["default"].weight.data.copy_(layer.A["default"])
    ids = torch.randint(LLAMA.vocab_size, (B, T + 1), device=device)
    own = step_of(ours, list(trainable(ours).values()), lambda y: y, ids)
    trained = [p for p in theirs.parameters() if p.requires_grad]
    call = partial(theirs.forward, use_cache=False)
    other_step = step_of(call, trained, lambda y: y.logits, ids)  # type: ignore[arg-type]
    pair = own(), other_step()
    if abs(pair[0] - pair[1]) > 1e-4:
        raise AssertionError(f"the losses of the first step differ: {pair}")
    return own, other_step


def lora_step(device: str) -> Row:
    """Tokens in a second."""
    ours, theirs = steps(device)
    return compare("lora-step", "peft", ours, theirs, work=B * T, unit="tokens/s")


def lora_memory(device: str) -> Row:
    """Most that a step holds besides the model and the optimizer's state."""
    peaks = []
    for step in steps(device):
        with LiveBytes() as memory:
            step()
        peaks.append(memory.peak / 1e6)
    ours, theirs = (round(peak, 2) for peak in peaks)
    return Row("lora-memory", "peft", ours, theirs, "MB", round(theirs / ours, 3))


BENCHMARKS = {"lora-step": lora_step, "lora-memory": lora_memory}
