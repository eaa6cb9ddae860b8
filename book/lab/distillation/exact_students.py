"""A teacher of order two and a student of order one, in a world of 256 sequences.

Everything is an exact sum over all sequences of four tokens, so that where a way of teaching
ends is a fact of its loss and of nothing else.
"""

from collections.abc import Callable
from functools import cache

import torch
from numpy import ndarray
from scipy.optimize import minimize, root
from torch import Tensor

from mathlm.align.exact import Prefixes, all_completions, prefixes_of
from mathlm.shapes import Float, Int

LETTERS = "abcd"
LENGTH = 4
SPREAD = 2.0  # standard deviation of the teacher's logits
RARE = -7.0  # log p of a sequence that the teacher hardly ever says
NEVER = -40.0  # a logit for 0, so that divergences stay finite
DROPPED = 1e-9  # below it a student has dropped a token, and its gradient is nearly 0 there

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


def gradient_of(objective: Objective, z: Float[Tensor, "U V"]) -> Float[Tensor, "U V"]:
    """Gradient of an objective in the logits."""
    z = z.detach().requires_grad_(True)
    return torch.autograd.grad(objective(z), z)[0]


def solved(
    objective: Objective, z: Float[Tensor, "U V"], close: float = 1e-9
) -> Float[Tensor, "U V"]:
    """Newton's method to where the gradient of an objective vanishes.

    Raises:
        ValueError: If the gradient does not vanish there.
    """

    def level(flat: ndarray) -> ndarray:  # the mean of a row of logits is free: hold it at 0
        rows = torch.from_numpy(flat).view_as(z)
        return (gradient_of(objective, rows) + rows.mean(-1, keepdim=True)).flatten().numpy()

    end = torch.from_numpy(root(level, z.flatten().numpy(), tol=1e-13).x).view_as(z)
    if (worst := gradient_of(objective, end).abs().max()) > close:
        raise ValueError(f"the gradient is {worst:.1e} at the end: start nearer to it")
    return end


def settle(
    objective: Objective, start: Float[Tensor, "U V"], rate: float = 0.5, steps: int = 150
) -> Float[Tensor, "U V"]:
    """Follow the gradient of an objective, and solve for where it vanishes.

    Computes::

        z ← z - η ∂loss/∂z / c,   c_u = how often the student comes to a row of its table

    and from where that leads, Newton's method. What an objective holds constant is constant
    in its gradient alone, so the end need not be a minimum of anything.

    Raises:
        ValueError: If the gradient does not vanish there.
    """
    z = start.clone()
    for _ in range(steps):
        visits = torch.zeros(len(z), dtype=z.dtype)
        visits.index_add_(0, previous(1), reached(student_table(z)))
        z = z - rate * gradient_of(objective, z) / visits.clamp_min(1e-2)[:, None]
        z = z - z.mean(-1, keepdim=True)
    return solved(objective, z)


def minimum(objective: Objective, start: Float[Tensor, "U V"]) -> Float[Tensor, "U V"]:
    """Where L-BFGS comes to from a start, for an objective that is the loss itself."""

    def loss(flat: ndarray) -> tuple[float, ndarray]:
        z = torch.from_numpy(flat).view_as(start)
        return float(objective(z)), gradient_of(objective, z).flatten().numpy()

    options = {"maxiter": 2000, "maxfun": 4000, "gtol": 1e-8, "ftol": 1e-15}
    found = minimize(
        loss, start.flatten().numpy(), jac=True, method="L-BFGS-B", options=options
    )
    z = torch.from_numpy(found.x).view_as(start)
    return z - z.mean(-1, keepdim=True)


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


def random_starts(count: int, seed: int = 0) -> Float[Tensor, "n U V"]:
    """Logits of students to start from, standard normal."""
    draws = torch.Generator().manual_seed(seed)
    V = len(LETTERS)
    return torch.randn(count, V + 1, V, generator=draws, dtype=torch.float64)


def common_end(objective: Objective, starts: int) -> tuple[Float[Tensor, "U V"], int]:
    """Where :func:`settle` ends from random starts, and from how many of them.

    An end with a dropped token is none: the gradient is nearly 0 there because the token is
    nearly never said, and not because nothing is gained by saying it.

    Raises:
        ValueError: If there is more than one end, or none.
    """
    found = [settle(objective, start) for start in random_starts(starts)]
    kept = [z for z in found if z.softmax(-1).min() > DROPPED]
    if not kept or any((z - kept[0]).abs().max() > 1e-6 for z in kept):
        raise ValueError(f"{len(kept)} starts do not share one end: list their ends")
    return kept[0], len(kept)


def least(objective: Objective, starts: int) -> tuple[Float[Tensor, "U V"], int]:
    """The lowest minimum from random starts, and how many of them came to it."""
    found = [minimum(objective, start) for start in random_starts(starts)]
    values = [float(objective(z)) for z in found]
    lowest = min(values)
    reached_it = sum(value < lowest + 1e-4 for value in values)
    return solved(objective, found[values.index(lowest)]), reached_it


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


def ends(seed: int, starts: int = 6) -> tuple[dict[str, Float[Tensor, "U V"]], dict[str, int]]:
    """Where each way of teaching leads the student of a teacher.

    Returns:
        The student's logits by way; and of each way that is searched for, how many of the
        random starts came there.
    """
    p = teacher_table(seed)
    greedy = torch.zeros(len(words()), dtype=p.dtype)
    greedy[greedy_sequence(p)] = 1.0
    searched = {
        "own samples, forward": common_end(on_own(p, forward=True), starts),
        "own samples, reverse": common_end(on_own(p), starts),
        "reverse KL": least(reverse_kl(p), starts),
    }
    closed = {
        "logits or samples": matched(p, of_sequences(p).exp()),
        "greedy answers": matched(p, greedy).clamp_min(NEVER),
    }
    return (
        closed | {way: z for way, (z, _) in searched.items()},
        {way: count for way, (_, count) in searched.items()},
    )
