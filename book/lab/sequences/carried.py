"""Evaluation of a recurrent model that never forgets: the state is carried through a text."""

import numpy as np
import torch

from mathlm.errors import DataError, InputError, InputTypeError
from mathlm.functional import cross_entropy
from mathlm.models import Recurrent


@torch.no_grad()
def carried_loss(
    model: Recurrent, ids: np.ndarray, rows: int = 64, chunk: int = 512
) -> tuple[float, int]:
    """Cross-entropy of a text that is read from end to end, with no window to run out of.

    The text is cut into ``rows`` equal parts that are read side by side, each from a state of
    zero; what the last part lacks is left out, fewer than ``rows`` tokens. The first token of
    each part is not a target. Nothing is dropped, whatever mode the model is in.

    Args:
        model: A recurrent language model.
        ids: Token ids of the text, integers in one dimension.
        rows: Parts; 1 carries one state through everything.
        chunk: Tokens read at a time; changes nothing but the memory needed.

    Returns:
        Loss [nats], summed over the targets, and their number.

    Raises:
        DataError: If the text does not give each part an input and a target.
        InputError: If ids do not have one dimension.
        InputTypeError: If ids are not integers.
    """
    ids = np.asarray(ids)
    if ids.ndim != 1:
        raise InputError(f"a text has one dimension, got ids of shape {ids.shape}")
    if ids.dtype.kind not in "iu":
        raise InputTypeError(f"token ids must be integers, got {ids.dtype}")
    width = len(ids) // max(rows, 1)
    if rows < 1 or chunk < 1 or width < 2:
        raise DataError(f"rows={rows}, chunk={chunk}: a text of {len(ids)} tokens is too short")
    device = next(model.parameters()).device
    parts = torch.from_numpy(ids[: rows * width].astype(np.int64)).to(device)
    parts, state, loss = parts.reshape(rows, width), None, 0.0
    was_training = model.training
    model.eval()
    for start in range(0, width - 1, chunk):
        stop = min(start + chunk, width - 1)
        logits, state = model.read(parts[:, start:stop], state)
        loss += cross_entropy(logits, parts[:, start + 1 : stop + 1])[0].item()
    model.train(was_training)
    return loss, rows * (width - 1)
