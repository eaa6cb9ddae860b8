"""The transformer by hand in NumPy, as it grows, against the same model in torch."""

from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from torch.nn import functional as F

from mathlm import reference as ref
from mathlm.models import Transformer, TransformerConfig

from .timing import Row, compare

V, B, S, T, L = 100, 16, 12, 14, 2
WIDTHS = (32, 64, 128, 256)


def row(device: str, width: int) -> Row:
    """Loss and all gradients of one batch, both in float64; no accelerator is used."""
    sizes = {"vocab_size": V, "context": 32, "d_model": width, "n_layers": L, "n_heads": 4}
    rng = np.random.default_rng(0)
    ours = ref.Transformer(ref.TransformerConfig(**sizes), rng)
    theirs = Transformer(TransformerConfig(**sizes)).double()
    state = {name: torch.from_numpy(w.copy()) for name, w in ours.weights.items()}
    theirs.load_state_dict(state, strict=False)
    source, target = (rng.integers(V, size=(B, n)) for n in (S, T + 1))
    x, y = torch.from_numpy(source), torch.from_numpy(target)

    def by_hand() -> tuple:
        loss, kept = ours.loss(source, target)
        return loss, ours.backward(kept)

    def by_autograd() -> torch.Tensor:
        loss = F.cross_entropy(theirs(x, y[:, :-1]).flatten(0, 1), y[:, 1:].flatten())
        theirs.zero_grad()
        loss.backward()
        return loss

    torch.testing.assert_close(float(by_hand()[0]), by_autograd().item(), rtol=1e-6, atol=0)
    return compare(
        f"reference-transformer-{width}", "models.Transformer, float64",
        by_hand, by_autograd, work=B * (S + T), unit="tokens/s", rounds=7, repeats=1,
    )  # fmt: skip


BENCHMARKS: dict[str, Callable[[str], Row]] = {
    f"reference-transformer-{width}": partial(row, width=width) for width in WIDTHS
}
