"""The small GPT of chapter 19, as it starts and is trained when one ingredient is changed."""

import math
from dataclasses import dataclass
from typing import Literal, cast

import torch
from torch import nn

from mathlm.layers import Block
from mathlm.models import GPT, GPTConfig

CONTEXT = 128
SIZES = {"vocab_size": 256, "context": CONTEXT, "d_model": 96, "n_layers": 3, "n_heads": 4}
START = {"position": "rope", "activation": "swiglu", "bias": False}
STD = 0.02  # of the weights that GPT draws


@dataclass(frozen=True, kw_only=True)
class Ingredients:
    """How the model starts and is trained; the defaults are those of the chapter.

    Args:
        lr: Largest step size.
        warmup: Share of the steps until it is reached.
        schedule: What follows: half a cosine down to a tenth, or nothing.
        clip: Largest norm of the gradient; None only measures it.
        norm: Of the blocks and in front of the head.
        std: Of all weights at the start.
        scaled: Whether weights that write to the residual stream start √(2 L) times smaller.
        batch_size: Windows in a step.
        optimizer: SGD has the momentum 0.9; Muon moves the matrices of the blocks, AdamW what
            is left.
        weight_decay: λ; SGD has none.
        dropout: Probability of dropping an entry.
    """

    lr: float = 4e-3
    warmup: float = 0.1
    schedule: Literal["cosine", "constant"] = "cosine"
    clip: float | None = 1.0
    norm: Literal["rms", "layer", "none"] = "rms"
    std: float = STD
    scaled: bool = True
    batch_size: int = 4
    optimizer: Literal["adamw", "sgd", "muon"] = "adamw"
    weight_decay: float = 0.1
    dropout: float = 0.0


def build(ingredients: Ingredients, seed: int) -> GPT:
    """The model at its start; all variants of one seed draw the same numbers."""
    torch.manual_seed(seed)
    norm = "rms" if ingredients.norm == "none" else ingredients.norm
    options = SIZES | START | {"norm": norm, "dropout": ingredients.dropout}
    model = GPT(GPTConfig(**options))  # type: ignore[arg-type]
    residual = math.sqrt(2 * model.config.n_layers)
    with torch.no_grad():
        for name, p in model.named_parameters():
            if p.ndim == 2:
                writes = "W_o." in name or "W_out." in name
                larger = residual if writes and not ingredients.scaled else 1.0
                p.mul_(larger * ingredients.std / STD)
    if ingredients.norm == "none":
        for block in cast(list[Block], list(model.blocks)):
            block.attention_norm, block.feed_forward_norm = nn.Identity(), nn.Identity()
        model.final_norm = nn.Identity()
    return model
