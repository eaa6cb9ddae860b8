"""Reference solution of the project: a masked language model for one's own text."""

import numpy as np
import torch
from numpy import ndarray
from numpy.random import Generator
from torch import Tensor, nn


def corrupt(ids: ndarray, mask_id: int, rng: Generator) -> tuple[ndarray, ndarray]:
    """What is read, and the targets.

    Args:
        ids: Tokens (T,), each from 0 to mask_id - 1.
        mask_id: Id of the mask.
        rng: Source of the randomness.
    """
    chosen = rng.permutation(len(ids))[: max(1, round(0.15 * len(ids)))]
    read, targets = ids.copy(), np.full(len(ids), -100)
    targets[chosen] = ids[chosen]
    fate = rng.random(len(chosen))
    read[chosen[fate < 0.8]] = mask_id
    replaced = chosen[(fate >= 0.8) & (fate < 0.9)]
    read[replaced] = rng.integers(0, mask_id, len(replaced))
    return read, targets


def loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean negative log-likelihood of the targets [nats].

    Args:
        logits: (B, T, V).
        targets: (B, T); -100 where nothing is asked.
    """
    asked = targets != -100
    logp = logits[asked].log_softmax(-1)  # (targets, V)
    return -logp.gather(1, targets[asked][:, None]).mean()


@torch.no_grad()
def fill(model: nn.Module, ids: ndarray, place: int, mask_id: int) -> ndarray:
    """Probabilities of the tokens 0 to mask_id - 1 at a place, given the rest of the row.

    Args:
        model: Logits (1, T, mask_id + 1) for token ids (1, T).
        ids: The row (T,).
        place: Which token is asked for; it is not read.
        mask_id: Id of the mask.
    """
    read = ids.copy()
    read[place] = mask_id
    logits = model(torch.from_numpy(read)[None])[0, place]
    return logits[:mask_id].softmax(-1).numpy()
