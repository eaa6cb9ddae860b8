"""What a masked model says of a symbol that is hidden, replaced, or left alone.

The three fates of 80/10/10, asked about one by one on plays that the model has not read: a
model is only good at those that its training asked it about.
"""

from typing import get_args

import numpy as np
import torch
from torch import Tensor, nn

from mathlm.train.objective_batches import Negatives

from .frozen_states import pairs
from .objective_bodies import BothWays
from .objective_probes import SIDE, excerpts, score
from .play_lines import MASK, SYMBOLS

NEGATIVES = get_args(Negatives)


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


@torch.no_grad()
def follows(model: nn.Module, count: int = 1000) -> dict[str, float]:
    """Share of pairs of lines that the model's own head judges rightly, by kind of negative."""
    told: dict[str, float] = {}
    for negatives in NEGATIVES:
        batch = pairs("held out", negatives, count)(0)
        _, logits = model.eval()(batch["ids"], mask=batch["mask"])
        told[f"{negatives} [right]"] = score(logits, batch["follows"]).right
    return told
