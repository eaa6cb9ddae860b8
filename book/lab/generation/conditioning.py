"""What masking tokens does to the distribution of texts, exactly and by weights."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from mathlm.errors import InputError
from mathlm.generate.constraint import Constraint
from mathlm.generate.decoding import stream
from mathlm.models import GPT, Recurrent
from mathlm.shapes import Float, Int

MAX_TEXTS = 1_000_000  # that are held at once


class ConstrainedTexts(NamedTuple):
    """All texts that a constraint allows, under two distributions.

    Args:
        texts: Tokens of each, the start not among them.
        masked: Probability q with which masking draws it, (N,); sums to 1.
        conditional: Its probability under the model, given that the text is one of these,
            (N,); sums to 1.
        probability: That the model writes one of these, P.
    """

    texts: list[tuple[int, ...]]
    masked: Float[Tensor, " N"]
    conditional: Float[Tensor, " N"]
    probability: float


@torch.no_grad()
def constrained_texts(
    log_probabilities: Callable[[Tensor], Tensor],
    start: Int[Tensor, " T"],
    constraint: Constraint,
    max_new_tokens: int,
) -> ConstrainedTexts:
    """Enumerate what a constraint allows: masked token by token, and conditioned as a whole.

    Implements eq-gen-stepwise::

        Z_t = Σ p(v | y_<t) over the allowed tokens v
        q(y) = Π_t p(y_t | y_<t) / Z_t
        p(y | allowed) = Π_t p(y_t | y_<t) / P,   P = Σ_y Π_t p(y_t | y_<t)

    The two are equal only where Π_t Z_t is the same for all texts: masking does not ask how
    likely it is that a beginning goes on to an allowed text. For tiny worlds: all texts are
    held at once.

    Args:
        log_probabilities: From token ids (N, t) to the log-probabilities (N, V) of the token
            behind each row [nats].
        start: The tokens to continue, at least one.
        constraint: What may be written.
        max_new_tokens: Tokens of the longest text, at least 1.

    Raises:
        InputError: If there are more than a million texts, no text is short enough, or the
            model gives probability 0 to every token that is allowed.

    References:
        Park et al. (2024), arXiv:2405.21047.
    """
    _require_length(start, constraint, max_new_tokens)
    live, states = start.unsqueeze(0), [constraint.start()]
    logp = torch.zeros(1, 2, dtype=torch.float64, device=start.device)  # of model, masking
    texts: list[tuple[int, ...]] = []
    found = []
    for room in range(max_new_tokens, -1, -1):
        ends = [room == 0 or constraint.finished(state, room) for state in states]
        done = torch.tensor(ends, device=start.device)
        texts += [tuple(row[len(start) :]) for row in live[done].tolist()]
        found.append(logp[done])
        live, logp = live[~done], logp[~done]
        states = [state for state, end in zip(states, ends, strict=True) if not end]
        if not states:
            break
        live, logp, states = _extend(log_probabilities, live, logp, constraint, states, room)
        if len(live) + len(texts) > MAX_TEXTS:
            raise InputError(
                f"more than {MAX_TEXTS:,} texts of up to {max_new_tokens} tokens are allowed: "
                "enumerate a smaller world, or draw with weighted_texts"
            )
    p, q = torch.cat(found).exp().unbind(1)
    return ConstrainedTexts(texts, q, p / p.sum(), p.sum().item())


def _extend(
    log_probabilities: Callable[[Tensor], Tensor],
    live: Tensor,
    logp: Tensor,
    constraint: Constraint,
    states: list[Any],
    room: int,
) -> tuple[Tensor, Tensor, list[Any]]:
    """Each text by each allowed token of probability above 0."""
    step = log_probabilities(live).double()
    allowed = torch.stack([constraint.allowed(s, room) for s in states]).to(step.device)
    if allowed.shape != step.shape:
        raise InputError(
            f"log_probabilities gave shape {tuple(step.shape)} for {len(live)} texts, and the "
            f"constraint has {allowed.shape[1]} tokens; expected {tuple(allowed.shape)}"
        )
    kept = step.masked_fill(~allowed, -math.inf)
    mass = kept.logsumexp(1, keepdim=True)
    if not torch.isfinite(mass).all():
        row = int((~torch.isfinite(mass)).nonzero()[0, 0])
        raise InputError(
            f"behind {live[row].tolist()} all allowed tokens together have log-probability "
            f"{mass[row].item()}; it must be finite"
        )
    rows, tokens = (kept > -math.inf).nonzero(as_tuple=True)
    both = torch.stack((kept, kept - mass), -1)[rows, tokens]
    pairs = zip(rows.tolist(), tokens.tolist(), strict=True)
    after = [constraint.next(states[row], token) for row, token in pairs]
    return torch.cat((live[rows], tokens.unsqueeze(1)), 1), logp[rows] + both, after


@dataclass(frozen=True, eq=False)
class WeightedTexts:
    """Texts drawn by masking, and how much the model itself would rather have written them.

    Args:
        texts: New tokens of each.
        log_weights: log Π_t Z_t of each, (N,): the logarithm of p(y) / q(y), at
            most 0 up to rounding.
    """

    texts: list[tuple[int, ...]]
    log_weights: Float[Tensor, " N"]

    @property
    def weights(self) -> Float[Tensor, " N"]:
        """Weights that sum to 1: what is averaged with them is as if drawn from p(y | allowed).

        Exactly so only as the number of texts grows.
        """
        return self.log_weights.softmax(0)

    @property
    def probability(self) -> float:
        """Mean of Π_t Z_t: an unbiased estimate of P, that the model writes an allowed text."""
        return self.log_weights.exp().mean().item()

    @property
    def effective_count(self) -> float:
        """How many texts of equal weight would tell as much: 1 / Σ w²."""
        return 1.0 / self.weights.square().sum().item()

    def accepted(self, rng: np.random.Generator) -> list[tuple[int, ...]]:
        """Those that rejection keeps, each with probability Π_t Z_t.

        They are exact draws from p(y | allowed). The share P is kept: no more than if the model
        wrote freely and what is not allowed were thrown away.
        """
        u = rng.random(len(self.texts))
        keep = u < self.log_weights.exp().cpu().numpy()
        return [text for text, kept in zip(self.texts, keep.tolist(), strict=True) if kept]


def weighted_texts(
    model: GPT | Recurrent,
    prompt: Int[Tensor, " T"],
    max_new_tokens: int,
    constraint: Constraint,
    count: int,
    seed: int | None = None,
) -> WeightedTexts:
    """Draw texts by masking, at temperature 1, each with its weight.

    Implements eq-gen-weights::

        y ~ q,   w(y) = Π_t Z_t = p(y) / q(y),   E_q[w f] / E_q[w] = E_p[f | allowed]

    Args:
        model: The language model.
        prompt: Ids (T,), int64.
        max_new_tokens: Tokens of the longest text.
        constraint: What may be written.
        count: Texts to draw, at least 1.
        seed: Of the random numbers; None = fresh ones.

    Raises:
        InputError: If the count is below 1, or as in :func:`generate`.
    """
    if count < 1:
        raise InputError(f"count={count} must be at least 1")
    if prompt.ndim != 1:
        raise InputError(f"prompt has shape {tuple(prompt.shape)}: give (tokens,)")
    log_w = torch.zeros(count, dtype=torch.float64)
    texts: list[list[int]] = [[] for _ in range(count)]
    ids = prompt.expand(count, -1)
    for step in stream(model, ids, max_new_tokens, seed=seed, constraint=constraint):
        log_w += (step.log_probabilities - step.drawn_log_probabilities).double().cpu()
        for text, token, live in zip(texts, step.tokens.tolist(), step.live, strict=True):
            text += [token] * live
    return WeightedTexts([tuple(text) for text in texts], log_w)


def _require_length(start: Tensor, constraint: Constraint, max_new_tokens: int) -> None:
    if start.ndim != 1 or not len(start):
        raise InputError(f"start has shape {tuple(start.shape)}: give (tokens,), 1 or more")
    needed = constraint.tokens_needed(constraint.start())
    if max_new_tokens < max(needed, 1):
        raise InputError(
            f"max_new_tokens={max_new_tokens} is too few: the shortest text that the "
            f"constraint allows has {needed} tokens, and 1 is the least"
        )
