"""Our recurrent language models against the same sizes of plain torch.nn layers."""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mathlm.models import Recurrent
from mathlm.optim import AdamW

from .timing import Row, compare

B, T, V, D, L = 16, 64, 256, 256, 2
LAYERS = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}


class Plain(nn.Module):
    """What a user of torch writes: embedding, recurrent layers, head."""

    def __init__(self, kind: str, width: int = D) -> None:
        super().__init__()
        self.embedding = nn.Embedding(V, width)
        self.layers = LAYERS[kind](width, width, L, batch_first=True)
        self.head = nn.Linear(width, V)

    def forward(self, ids: Tensor) -> Tensor:
        """Logits (B, T, V)."""
        return self.head(self.layers(self.embedding(ids))[0])


def recurrent_step(
    device: str, kind: str = "lstm", width: int = D, batch: tuple[int, int] = (B, T)
) -> Row:
    """Forward, backward and AdamW on one batch; both begin with the same weights."""
    ours = Recurrent(kind=kind, vocab_size=V, d_model=width, n_layers=L).to(device)
    theirs = Plain(kind, width).to(device)
    with torch.no_grad():
        for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
            b.copy_(a)
    ids = torch.randint(V, (batch[0], batch[1] + 1), device=device)
    x, y = ids[:, :-1], ids[:, 1:].flatten()
    a = AdamW(ours.parameters(), lr=1e-4)
    b = torch.optim.AdamW(theirs.parameters(), lr=1e-4, fused=True)

    def step(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
        F.cross_entropy(model(x).flatten(0, 1), y).backward()
        optimizer.step()
        optimizer.zero_grad()

    name = "recurrent-step" if kind == "lstm" else f"{kind}-step"
    return compare(
        name, f"torch.nn.{kind.upper()}, fused AdamW",
        partial(step, ours, a), partial(step, theirs, b),
        work=batch[0] * batch[1], unit="tokens/s",
    )  # fmt: skip


BENCHMARKS: dict[str, Callable[[str], Row]] = {
    "recurrent-step": recurrent_step,
    "gru-step": partial(recurrent_step, kind="gru"),
    "rnn-step": partial(recurrent_step, kind="rnn"),
}
