"""Which token stood three places back? A tiny task that is nothing but positions.

A sequence is a mark and random symbols; the answer at each place is the symbol a few places
back. Trained at one length, examined at longer ones.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from mathlm.errors import ConfigError
from mathlm.functional import cross_entropy
from mathlm.models import GPT, GPTConfig
from mathlm.optim import AdamW, warmup_cosine

from .position_study import TOKEN_STD, longer

SYMBOLS = 8
MARK, VOCABULARY = SYMBOLS, SYMBOLS + 1


@dataclass(frozen=True, kw_only=True)
class LookBackConfig:
    """One training run.

    Args:
        scheme: A position of :class:`mathlm.models.GPTConfig`.
        back: Places between a symbol and its answer.
        length: Symbols of a training sequence.
        layers: Blocks of the model.
        seed: Of the weights and the sequences.
    """

    scheme: str = "rope"
    back: int = 3
    length: int = 16
    layers: int = 1
    width: int = 32
    steps: int = 150
    batch: int = 32
    lr: float = 1e-2
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.back < self.length:
            raise ConfigError(f"need 0 <= back < length, got {self.back} and {self.length}")
        if min(self.layers, self.width, self.batch) < 1 or self.steps < 2:
            raise ConfigError("layers, width and batch must be at least 1, steps at least 2")


def sequences(
    length: int, back: int, count: int, key: tuple[int, ...]
) -> tuple[Tensor, Tensor]:
    """Sequences (count, length + 1) with a mark first; answers, -100 where there is none."""
    if not 0 <= back < length:
        raise ConfigError(f"need 0 <= back < length, got {back} and {length}")
    symbols = np.random.default_rng(key).integers(SYMBOLS, size=(count, length))
    ids = torch.full((count, length + 1), MARK)
    ids[:, 1:] = torch.from_numpy(symbols)
    answers = torch.full_like(ids, -100)
    answers[:, 1 + back :] = ids[:, 1 : length + 1 - back]
    return ids, answers


def train(config: LookBackConfig) -> GPT:
    """A small GPT that has learned, or not, to look back."""
    torch.manual_seed(config.seed)
    sizes = {"vocab_size": VOCABULARY, "context": config.length + 1, "d_model": config.width}
    sizes |= {"n_layers": config.layers, "n_heads": 2, "tie_embeddings": False}
    model = GPT(GPTConfig(position=config.scheme, norm="rms", **sizes))  # type: ignore[arg-type]
    if config.scheme in TOKEN_STD:
        torch.nn.init.normal_(model.token_embedding.weight, std=TOKEN_STD[config.scheme])
    optimizer = AdamW(model.parameters(), lr=config.lr, weight_decay=0.0)
    rate = warmup_cosine(config.lr, min(20, config.steps - 1), config.steps)
    for step in range(config.steps):
        key = (config.seed, step)
        ids, answers = sequences(config.length, config.back, config.batch, key)
        optimizer.param_groups[0]["lr"] = rate(step)
        loss, count = cross_entropy(model(ids), answers)
        optimizer.zero_grad()
        (loss / count).backward()
        optimizer.step()
    return model.eval()


@torch.inference_mode()
def accuracy(model: GPT, length: int, back: int, count: int = 64) -> Tensor:
    """Share of right answers at each place that has one, (length - back,).

    Raises:
        ConfigError: If the model learned one vector a position and the length needs more, or
            no place of that length has an answer.
    """
    if length + 1 > model.config.context:
        model = longer(model, length + 1)
    ids, answers = sequences(length, back, count, (2**31, length))
    right = model(ids).argmax(-1) == answers
    return right[:, 1 + back :].double().mean(0)
