"""A teacher of order two and a student of order one, in a world of 256 sequences.

Everything is an exact sum over all sequences of four tokens, so that where a way of teaching
ends is a fact of its loss and of nothing else.
"""

from collections.abc import Callable
from functools import cache

import torch
from numpy import ndarray
from scipy.optimize import root
from torch import Tensor

from mathlm.align.exact import Prefixes, all_completions, prefixes_of
from mathlm.shapes import Float, Int

LETTERS = "abcd"
LENGTH = 4
SPREAD = 2.0  # standard deviation of the teacher's logits
RARE = -7.0  # log p of a sequence that the teacher hardly ever says
NEVER = -40.0  # a logit for 0, so that divergences stay finite

Objective = Callable[[Float[Tensor, "U V"]], Tensor]


@cache
def tree() -> Prefixes:
    """The prefixes of all sequences; 85 of them, the empty one first."""
    return prefixes_of(all_completions(len(LETTERS), LENGTH))


def words() -> list[str]:
    """The sequences as words."""
    return ["".join(LETTERS[i] for i in row) for row in tree().token.tolist()]


@cache
def previous(back: int) -> Int[Tensor, " N"]:
    """The token so many places before the end of each prefix; V where there is none."""
    last = torch.full((len(tree().next),), len(LETTERS))
    for node, after in enumerate(tree().next.tolist()):
        for v, new in enumerate(after):
            if new >= 0:
                last[new] = v if back == 1 else previous(back - 1)[node]
    return last


def teacher_table(seed: int) -> Float[Tensor, "N V"]:
    """Log p(v | s), which depends on the last two tokens, its logits drawn at random."""
    draws = torch.Generator().manual_seed(seed)
    V = len(LETTERS)
    z = SPREAD * torch.randn(V + 1, V + 1, V, generator=draws, dtype=torch.float64)
    return z[previous(1), previous(2)].log_softmax(-1)


def student_table(z: Float[Tensor, "U V"]) -> Float[Tensor, "N V"]:
    """Log q(v | s), which depends on the last token alone: a row of logits for each."""
    return z[previous(1)].log_softmax(-1)


def of_sequences(table: Float[Tensor, "N V"]) -> Float[Tensor, " Y"]:
    """Log q(y) of every sequence."""
    return tree().along(table[None])[0].sum(-1)


def reached(table: Float[Tensor, "N V"]) -> Float[Tensor, " N"]:
    """Probability that a sequence begins with each prefix."""
    return tree().sums(of_sequences(table).exp()[None])[0]


def token_kl(a: Float[Tensor, "N V"], b: Float[Tensor, "N V"]) -> Float[Tensor, " N"]:
    """KL of the next token at each prefix."""
    return (a.exp() * (a - b)).sum(-1)


# --- what is made small -------------------------------------------------------------------


def forward_kl(p: Float[Tensor, "N V"]) -> Objective:
    """KL(p ‖ q) of whole sequences."""
    return lambda z: reached(p) @ token_kl(p, student_table(z))


def reverse_kl(p: Float[Tensor, "N V"]) -> Objective:
    """KL(q ‖ p) of whole sequences."""

    def loss(z: Tensor) -> Tensor:
        q = student_table(z)
        return reached(q) @ token_kl(q, p)

    return loss


def on_own(p: Float[Tensor, "N V"], forward: bool = False) -> Objective:
    """A KL at every prefix, weighted by how often the student reaches it, as a constant."""

    def loss(z: Tensor) -> Tensor:
        q = student_table(z)
        return reached(q.detach()) @ (token_kl(p, q) if forward else token_kl(q, p))

    return loss


def on_text(p: Float[Tensor, "N V"], text: Float[Tensor, " N"]) -> Objective:
    """The forward KL at every prefix, weighted by how often a text has it."""
    return lambda z: text @ token_kl(p, student_table(z))


def settle(
    objective: Objective,
    start: Float[Tensor, "U V"],
    rate: float = 0.5,
    steps: int = 150,
    close: float = 1e-9,
) -> Float[Tensor, "U V"]:
    """Follow the gradient of an objective, and solve for where it vanishes.

    Computes::

        z ← z - η ∂loss/∂z / c,   c_u = how often the student comes to a row of its table

    and from where that leads, Newton's method. What an objective holds constant is constant
    in its gradient alone, so the end need not be a minimum of anything.

    Raises:
        ValueError: If the gradient does not vanish there.
    """

    def gradient_at(z: Tensor) -> Tensor:
        z = z.detach().requires_grad_(True)
        return torch.autograd.grad(objective(z), z)[0]

    def level(z: ndarray) -> ndarray:  # the mean of a row of logits is free: hold it at 0
        rows = torch.from_numpy(z).view_as(start)
        return (gradient_at(rows) + rows.mean(-1, keepdim=True)).flatten().numpy()

    z = start.clone()
    for _ in range(steps):
        visits = torch.zeros(len(z), dtype=z.dtype)
        visits.index_add_(0, previous(1), reached(student_table(z)))
        z = z - rate * gradient_at(z) / visits.clamp_min(1e-2)[:, None]
        z = z - z.mean(-1, keepdim=True)
    z = torch.from_numpy(root(level, z.flatten().numpy(), tol=1e-13).x).view_as(start)
    if (worst := gradient_at(z).abs().max()) > close:
        raise ValueError(f"the gradient is {worst:.1e} at the end: lower rate={rate}")
    return z


def matched(p: Float[Tensor, "N V"], chance: Float[Tensor, " Y"]) -> Float[Tensor, "U V"]:
    """The student in which each token is followed by what follows it in a set of sequences.

    Computes::

        q(v | u) = E[count of v after u] / E[count of u before a token]

    Args:
        p: Only for its dtype.
        chance: Of each sequence, (Y,).
    """
    V = len(LETTERS)
    before = previous(1)[tree().node].flatten()
    counts = torch.zeros((V + 1) * V, dtype=p.dtype)
    weight = chance[:, None].expand(-1, LENGTH).flatten()
    counts.index_add_(0, before * V + tree().token.flatten(), weight)
    rows = counts.view(V + 1, V)
    blank = rows.sum(-1, keepdim=True) == 0
    return torch.where(blank, 0.0, rows.log())


def greedy_sequence(p: Float[Tensor, "N V"]) -> int:
    """Number of the sequence that takes the likeliest token each time."""
    node = 0
    for _ in range(LENGTH - 1):
        node = int(tree().next[node, p[node].argmax()])
    return int(tree().leaf[node, p[node].argmax()])


def best_of(
    objective: Objective, starts: int = 12, seed: int = 0
) -> list[Float[Tensor, "U V"]]:
    """The different ends from several random starts, the best first."""
    draws = torch.Generator().manual_seed(seed)
    found: list[tuple[float, Tensor]] = []
    for _ in range(starts):
        start = torch.randn(5, 4, generator=draws, dtype=torch.float64)
        z = settle(objective, start)
        value = float(objective(z))
        if all(abs(value - other) > 1e-6 for other, _ in found):
            found.append((value, z))
    return [z for _, z in sorted(found, key=lambda pair: pair[0])]


# --- gradients from samples ---------------------------------------------------------------


def scores(table: Float[Tensor, "N V"]) -> Float[Tensor, "Y n U V"]:
    """Gradient of log q(y_t | s_t) in the student's logits, for each token of each sequence."""
    V = len(LETTERS)
    node, token = tree().node, tree().token
    step = torch.eye(V, dtype=table.dtype)[token] - table.exp()[node]
    rows = torch.eye(V + 1, dtype=table.dtype)[previous(1)[node]]
    return rows[..., None] * step[..., None, :]


def forward_estimates(
    z: Float[Tensor, "U V"], p: Float[Tensor, "N V"]
) -> dict[str, Float[Tensor, "Y U V"]]:
    """The gradient of KL(p ‖ q) from one sequence of the teacher: by its tokens, by its logits.

    Computes::

        -Σ_t ∇log q(y_t | s_t)   and   Σ_t ∇KL(p(· | s_t) ‖ q(· | s_t)),   y ~ p
    """
    q = student_table(z)
    node = tree().node
    rows = torch.eye(len(z), dtype=z.dtype)[previous(1)[node]]
    whole = rows[..., None] * (q.exp() - p.exp())[node][..., None, :]
    return {"its tokens": -scores(q).sum(1), "its logits": whole.sum(1)}


def reverse_estimates(
    z: Float[Tensor, "U V"], p: Float[Tensor, "N V"]
) -> dict[str, Float[Tensor, "Y U V"]]:
    """The gradient of KL(q ‖ p) from one sequence of the student, in four ways.

    With r_t = log q(y_t | s_t) - log p(y_t | s_t) and K_t its mean over y_t, in order::

        ∇log q(y) Σ_k r_k
        Σ_t ∇log q(y_t | s_t) Σ_{k ≥ t} r_k
        Σ_t ∇K_t + Σ_t ∇log q(y_t | s_t) Σ_{k > t} K_k
        Σ_t ∇K_t                                            the last one is biased
    """
    q = student_table(z)
    node = tree().node
    score = scores(q)
    ratio = tree().along((q - p)[None])[0]  # r_t, (Y, n)
    step = token_kl(q, p)[node]  # K_t, (Y, n)
    slope = (q.exp() * (q - p - token_kl(q, p)[:, None]))[node]
    rows = torch.eye(len(z), dtype=z.dtype)[previous(1)[node]]
    own = (rows[..., None] * slope[..., None, :]).sum(1)
    later = step.flip(1).cumsum(1).flip(1) - step
    to_go = ratio.flip(1).cumsum(1).flip(1)

    def weighted(values: Tensor) -> Tensor:
        return (score * values[..., None, None]).sum(1)

    return {
        "whole": weighted(ratio.sum(1, keepdim=True).expand_as(ratio)),
        "to go": weighted(to_go),
        "full steps": own + weighted(later),
        "steps alone": own,
    }


def mean_and_variance(
    estimates: Float[Tensor, "Y U V"], table: Float[Tensor, "N V"]
) -> tuple[Float[Tensor, "U V"], float]:
    """Exact mean of an estimate over sequences of a table, and the sum of its variances."""
    chance = of_sequences(table).exp()[:, None, None]
    mean = (chance * estimates).sum(0)
    return mean, float((chance * (estimates - mean).square()).sum())


# --- what a student has become ------------------------------------------------------------


def measured(q: Float[Tensor, "N V"], p: Float[Tensor, "N V"]) -> dict[str, float | str]:
    """Both divergences, the entropy, and the likeliest sequence with both probabilities."""
    log_q, log_p = of_sequences(q), of_sequences(p)
    top = int(log_q.argmax())
    return {
        "forward": float(reached(p) @ token_kl(p, q)),
        "reverse": float(reached(q) @ token_kl(q, p)),
        "entropy": float(-(log_q.exp() * log_q).sum()),
        "likeliest": words()[top],
        "q": float(log_q[top].exp()),
        "p": float(log_p[top].exp()),
        "rare": float(log_q.exp()[log_p < RARE].sum()),
    }


def ends(seed: int, starts: int = 6) -> dict[str, Float[Tensor, "U V"]]:
    """Where each way of teaching leads the student of a teacher: its logits."""
    p = teacher_table(seed)
    greedy = torch.zeros(len(words()), dtype=p.dtype)
    greedy[greedy_sequence(p)] = 1.0
    return {
        "logits or samples": matched(p, of_sequences(p).exp()),
        "greedy answers": matched(p, greedy).clamp_min(NEVER),
        "own samples, forward": best_of(on_own(p, forward=True), starts)[0],
        "own samples, reverse": best_of(on_own(p), starts)[0],
        "reverse KL": best_of(reverse_kl(p), starts)[0],
    }
