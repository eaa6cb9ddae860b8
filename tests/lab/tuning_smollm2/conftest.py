"""A chat model that is small enough for a test."""

import pytest
import torch

from mathlm.chat.model import ChatModel
from mathlm.models import GPT, GPTConfig
from mathlm.text import Bytes, ChatFormat


def make(seed=0):
    """A GPT of three blocks that reads bytes."""
    torch.manual_seed(seed)
    format = ChatFormat.named()
    tokenizer = Bytes(format.special)
    config = GPTConfig(
        vocab_size=tokenizer.vocab_size, context=128, d_model=24, n_layers=3, n_heads=3,
        n_kv_heads=1, norm="rms", activation="swiglu", position="rope", bias=False,
    )  # fmt: skip
    model = GPT(config).float()
    model.token_embedding.weight.data.mul_(20)  # logits that an update can move
    return ChatModel(model=model, tokenizer=tokenizer, format=format)


@pytest.fixture
def small():
    """What makes one."""
    return make
