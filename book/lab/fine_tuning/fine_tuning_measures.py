"""What a tuned model gained, and what it forgot: three measures of one model.

Gained is measured on held-out answers, forgotten on text of the kind that the base learned, and
on text that the base itself writes: there the divergence needs no corpus.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

from mathlm.functional import token_cross_entropy
from mathlm.models import GPT
from mathlm.train.objectives import IGNORED, Batch, read_causal

from .fine_tuning_own_texts import OwnTexts, Row


@torch.no_grad()
def answer_loss(model: GPT, batches: Sequence[Batch], end: int) -> Row:
    """Surprise of held-out answers; of their text and of the token that ends them apart.

    Computes::

        answers = Σ ℓₜ / n,   answers_se² = Σ_c (Σ_{t in c} ℓₜ - answers · n_c)² / n²

    The error counts conversations c as independent, not tokens.

    Args:
        model: The model.
        batches: With ``documents``, which say of which conversation a token is.
        end: Token that ends an answer.

    Returns:
        Means over tokens [nats/token], and the standard error of the first.
    """
    parts = []
    for batch in batches:
        loss = token_cross_entropy(read_causal(model, batch), batch["targets"]).double()
        asked = batch["targets"] != IGNORED
        columns = (loss, batch["targets"] == end, batch["documents"])
        parts.append([column[asked] for column in columns])
    loss, ends, of = (torch.cat(column) for column in zip(*parts, strict=True))
    mean = loss.mean()
    excess = torch.zeros(int(of.max()) + 1, dtype=loss.dtype)
    error = excess.index_add(0, of, loss - mean).norm() / len(loss)
    return {
        "answers": float(mean),
        "answers_se": float(error),
        "text": float(loss[~ends].mean()),
        "end": float(loss[ends].mean()),
    }


@torch.no_grad()
def old_loss(model: GPT, windows: Sequence[Batch], size: int) -> float:
    """Surprise of text of the old kind, of which ``size`` bytes are asked [bits/byte]."""
    total = 0.0
    for batch in windows:
        total += float(token_cross_entropy(model(batch["ids"]), batch["targets"]).sum())
    return total / (size * math.log(2))


@dataclass(frozen=True, eq=False)
class Measures:
    """All that is measured of a model.

    Args:
        choice: Held-out answers by which step sizes are chosen.
        report: Other held-out answers, which are reported.
        end: Token that ends an answer.
        old: Windows of held-out text of the old kind.
        old_bytes: Bytes that the targets of these windows stand for.
        own: What the base writes.
    """

    choice: Sequence[Batch]
    report: Sequence[Batch]
    end: int
    old: Sequence[Batch]
    old_bytes: int
    own: OwnTexts

    def __call__(self, model: GPT) -> Row:
        """Every measure by name."""
        model.eval()
        choice = answer_loss(model, self.choice, self.end)["answers"]
        old = old_loss(model, self.old, self.old_bytes)
        answers = answer_loss(model, self.report, self.end)
        return {"choice": choice, **answers, "old": old, **self.own.divergence(model)}
