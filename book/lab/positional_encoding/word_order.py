"""Which questions about a sequence can a transformer answer that is told no positions?

A sequence holds a few copies of the symbols A and B among others. "order" asks whether the
first of them is an A, "count" whether A is the more frequent one. The model has one block, a
mean over positions and one logit.
"""

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from mathlm.errors import ConfigError
from mathlm.functional import mean_pool
from mathlm.layers import Block, FeedForward, LayerNorm, SelfAttention, SinusoidalPosition
from mathlm.optim import AdamW

A, B, SYMBOLS = 0, 1, 8
QUESTIONS = ("order", "count")


class Classifier(nn.Module):
    """One block, the mean over positions, one logit.

    Args:
        causal: Whether a position sees only itself and those before it.
        positions: Whether a sinusoidal encoding is added to the tokens' vectors.
        length: Longest sequence [tokens].
        width: Of the residual stream.
    """

    def __init__(self, causal: bool, positions: bool, length: int = 16, width: int = 32):
        super().__init__()
        self.embedding = nn.Embedding(SYMBOLS, width)
        self.position = SinusoidalPosition(length, width) if positions else None
        attention, network = (
            SelfAttention(width, 4, causal=causal),
            FeedForward(width, 4 * width),
        )
        self.block = Block(LayerNorm(width), attention, LayerNorm(width), network)
        self.head = nn.Linear(width, 1)

    def forward(self, ids: Tensor) -> Tensor:
        """Logits of "yes", one for each sequence."""
        x = self.embedding(ids)
        if self.position is not None:
            x = x + self.position(torch.arange(ids.shape[1], device=ids.device))
        return self.head(mean_pool(self.block(x))).squeeze(-1)


def sequences(question: str, count: int, length: int, seed: int) -> tuple[Tensor, Tensor]:
    """Sequences (2 count, length) and answers; row i + count is row i with A and B exchanged.

    The exchange turns the answer around. For "order" both symbols occur equally often, so that
    the two sequences of a pair hold the same symbols in another order.
    """
    if question not in QUESTIONS or length < 5 or count < 1:
        raise ConfigError(f"{question=} must be one of {QUESTIONS}, {length=} 5 or more")
    rng = np.random.default_rng(seed)
    ids = rng.integers(2, SYMBOLS, (count, length))
    for row in ids:
        pair = [A, A, B, B] if question == "order" else rng.permutation([A, A, A, B, B])
        row[np.sort(rng.choice(length, len(pair), replace=False))] = rng.permutation(pair)
    swapped = np.where(ids == A, B, np.where(ids == B, A, ids))
    both = np.concatenate((ids, swapped))
    is_a, is_b = both == A, both == B
    first, more = is_a.argmax(1) < is_b.argmax(1), is_a.sum(1) > is_b.sum(1)
    return torch.from_numpy(both), torch.from_numpy(first if question == "order" else more)


def study(
    question: str = "order",
    *,
    causal: bool = False,
    positions: bool = False,
    length: int = 10,
    steps: int = 60,
    batch: int = 64,
    seed: int = 0,
    device: str = "cpu",
) -> float:
    """Train one classifier; return its share of right answers on 1000 new sequences.

    The new sequences come in pairs as :func:`sequences` makes them, and a logit of exactly 0
    counts as half a right answer.
    """
    if min(steps, batch) < 1:
        raise ConfigError(f"steps={steps} and batch={batch} must be at least 1")
    torch.manual_seed(seed)
    model = Classifier(causal, positions, length).to(device)
    optimizer = AdamW(model.parameters(), lr=3e-3, weight_decay=0.0)
    for step in range(steps):
        ids, answers = (x.to(device) for x in sequences(question, batch, length, step + 1))
        loss = binary_cross_entropy_with_logits(model(ids), answers * 1.0)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    ids, answers = (x.to(device) for x in sequences(question, 500, length, 0))
    with torch.inference_mode():
        sides = torch.where(answers, model(ids), -model(ids))
    return (0.5 * (sides.sign() + 1)).mean().item()
