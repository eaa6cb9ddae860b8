"""Texts that a model writes, on which another one is compared with it."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from mathlm.generate import generate
from mathlm.models import GPT
from mathlm.shapes import Float

Row = dict[str, float]


@dataclass(frozen=True, eq=False)
class OwnTexts:
    """Texts that a model wrote, and its log-probabilities for each next token.

    Args:
        ids: Texts (N, T + 1), the first token given.
        logp: Of the model that wrote them, (N, T, V).
    """

    ids: Tensor
    logp: Float[Tensor, "N T V"]

    @classmethod
    @torch.no_grad()
    def of(cls, model: GPT, first: int, number: int, length: int, seed: int = 0) -> "OwnTexts":
        """So many texts at temperature 1, each behind one given token."""
        ids = generate(model, torch.full((number, 1), first), length, seed=seed)
        rows = [model(row[None, :-1])[0].log_softmax(-1) for row in ids]
        return cls(ids, torch.stack(rows))

    @torch.no_grad()
    def divergence(self, model: GPT) -> Row:
        """How far a model is from the writer, and the standard error over the texts.

        Implements eq-tune-own::

            KL = 1/(N T) Σₙ Σₜ Σ_v p(v | xₙ,≤ₜ) log(p(v | xₙ,≤ₜ) / q(v | xₙ,≤ₜ)),   x ~ p

        The texts are drawn from p, so this is an unbiased estimate of the divergence of two
        texts of T tokens, divided by T [nats/token].
        """
        rows = []
        for ids, logp in zip(self.ids, self.logp, strict=True):
            logq = model(ids[None, :-1])[0].log_softmax(-1)
            rows.append((logp.exp() * (logp - logq)).sum(-1).mean())
        means = torch.stack(rows).double()
        error = means.std() / math.sqrt(len(means))
        return {"kl": float(means.mean()), "kl_se": float(error)}
