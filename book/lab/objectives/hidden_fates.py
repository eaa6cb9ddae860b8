"""What a masked model says of a symbol that is hidden, replaced, or left alone.

The three fates of 80/10/10, asked about one by one on plays that the model has not read: a
model is only good at those that its training asked it about.
"""

import numpy as np
import torch
from torch import Tensor

from .objective_bodies import BothWays
from .objective_probes import SIDE, excerpts, score
from .play_lines import MASK, SYMBOLS


def treated(text: Tensor, fate: str) -> Tensor:
    """The texts with the symbol in the middle hidden, replaced by another, or left alone."""
    ids = text.clone()
    if fate == "hidden":
        ids[:, SIDE] = MASK
    if fate == "replaced":
        others = np.random.default_rng(2).integers(1, len(SYMBOLS), len(ids))
        ids[:, SIDE] = (ids[:, SIDE] + torch.from_numpy(others)) % len(SYMBOLS)
    return ids


@torch.no_grad()
def fates(model: BothWays, count: int = 1000) -> dict[str, float]:
    """Surprise [bits] and share right, of the symbol in the middle, for each fate.

    Of a replaced symbol also how often the model takes what it reads for right.
    """
    text = excerpts("held out", count, 2 * SIDE + 1)
    told: dict[str, float] = {}
    for fate in ("hidden", "replaced", "left alone"):
        ids = treated(text, fate)
        logits = model.eval().gpt.head(model.hidden(ids)[:, SIDE])
        bits, right = score(logits, text[:, SIDE])
        told |= {f"{fate} [bits]": bits, f"{fate} [right]": right}
        told[f"{fate} [believed]"] = score(logits, ids[:, SIDE]).right
    return told
