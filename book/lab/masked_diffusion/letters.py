"""The plays as lower-case letters and spaces, for a GPT and a masked diffusion model.

Both models give a probability to the same windows. The 28th symbol is the mask of the one and
the begin of text of the other, so that they have equally many parameters.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
import torch
from numpy import ndarray
from numpy.random import Generator
from torch import Tensor, nn

from mathlm.models import GPT, GPTConfig, MaskedDiffusion
from mathlm.text import corpus
from mathlm.train import (
    CorruptedWindows,
    MaskLevels,
    TokenWindows,
    masked_diffusion,
    next_token,
)

SYMBOLS = " abcdefghijklmnopqrstuvwxyz_"
MASK = len(SYMBOLS) - 1  # also the begin of text
WINDOW = 64
Kind = Literal["gpt", "diffusion"]


@lru_cache
def letters(part: Literal["training", "held out"] = "training") -> ndarray:
    """The letters of all plays of a part, words apart by one space."""
    documents = corpus.documents("shakespeare")
    plays = [x for i, x in enumerate(documents) if (i % 10 == 9) == (part == "held out")]
    return encode(re.sub("[^a-z]+", " ", " ".join(plays).lower()))


def encode(text: str) -> ndarray:
    """Numbers of the symbols; ``_`` is a mask."""
    return np.array([SYMBOLS.index(c) for c in text], np.int64)


def decode(ids: Tensor) -> str:
    """The text of some symbols."""
    return "".join(SYMBOLS[i] for i in ids.tolist())


def held_out(count: int) -> Tensor:
    """Windows of the plays that no model reads, evenly spaced, (count, WINDOW)."""
    text = letters("held out")
    starts = np.linspace(0, len(text) - WINDOW, count).astype(int)
    return torch.from_numpy(np.stack([text[s : s + WINDOW] for s in starts]))


@dataclass(frozen=True)
class Begin:
    """Shift a window to the right by a begin of text: a batch for ``next_token``."""

    def __call__(self, batch: dict, rng: Generator) -> dict:
        """``ids`` from the begin on, ``targets`` the whole window."""
        return {"ids": begun(batch["ids"]), "targets": batch["ids"]}


def begun(ids: Tensor) -> Tensor:
    """A begin of text, and all tokens but the last."""
    return torch.cat([torch.full_like(ids[:, :1], MASK), ids[:, :-1]], 1)


def build(kind: Kind, seed: int, width: int = 64, blocks: int = 2) -> nn.Module:
    """An untrained model; both kinds start from the same weights."""
    torch.manual_seed(seed)
    config = GPTConfig(
        vocab_size=len(SYMBOLS), context=WINDOW + 1, d_model=width, n_layers=blocks, n_heads=4,
        position="rope", norm="rms", activation="swiglu", bias=False,
    )  # fmt: skip
    return GPT(config) if kind == "gpt" else MaskedDiffusion(config)


def task(kind: Kind, batch: int, seed: int) -> tuple:
    """Objective and data of a kind; both read the same windows at the same step."""
    windows = TokenWindows(
        letters(), context=WINDOW, batch_size=batch, vocab_size=len(SYMBOLS), seed=seed
    )
    change = Begin() if kind == "gpt" else MaskLevels(mask_id=MASK)
    objective = next_token if kind == "gpt" else masked_diffusion
    return objective, CorruptedWindows(windows, change, seed=seed)
