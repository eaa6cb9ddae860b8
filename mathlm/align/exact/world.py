"""A world whose every completion can be listed, so that alignment in it can be judged."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from torch import Tensor, nn

from ...errors import InputError
from ...generate.decoding import evaluating
from ...generate.sampling import draw
from ...shapes import Float, Int
from ...train.objectives import Batch
from ..answers import answer_logits
from .optimum import (
    Optimum,
    divergence,
    expectation,
    policy_gradient,
    regularized_reward,
    tilted_optimum,
)
from .prefixes import NOTHING, Prefixes, prefixes_of


def draw_completions(
    table: Float[Tensor, "P N V"],
    prefixes: Prefixes,
    prompt_index: Int[Tensor, " B"],
    seed: int,
    first_row: int = 0,
) -> Int[Tensor, " B"]:
    """Number of the completion that each row draws, token by token.

    Row i has its own stream of random numbers, made from the seed and ``first_row + i``, as in
    :func:`mathlm.generate.generate`: the completions are those that it would write.

    Args:
        table: Log-probability of each token at each prefix [nats].
        prefixes: Of the completions.
        prompt_index: The prompt of each row.
        seed: Of the random numbers.
        first_row: Number of the first row.

    Example:
        >>> prefixes = prefixes_of(torch.tensor([[0], [1]]))
        >>> table = torch.tensor([[[-torch.inf, 0.0]]])  # always the second
        >>> draw_completions(table, prefixes, torch.tensor([0, 0]), seed=0)
        tensor([1, 1])
    """
    p, n = table.exp(), prefixes.node.shape[1]
    u = uniform_numbers(seed, len(prompt_index), n, first_row)
    node, drawn = torch.zeros_like(prompt_index), torch.full_like(prompt_index, -1)
    for t in range(n):
        token = draw(p[prompt_index, node], u[:, t])
        ends = prefixes.leaf[node, token].where(drawn < 0, -1)
        drawn = drawn.where(ends < 0, ends)
        node = prefixes.next[node, token].clamp_min(0)  # behind an end: no matter which
    return drawn


def uniform_numbers(
    seed: int, rows: int, length: int, first_row: int = 0
) -> Float[Tensor, "B n"]:
    """Uniform numbers below 1, exact in float32; each row from a stream of its own."""
    streams = (np.random.default_rng((seed, first_row + i)) for i in range(rows))
    return torch.from_numpy(np.stack([s.random(length, dtype=np.float32) for s in streams]))


@dataclass(frozen=True, eq=False)
class Frontier:
    """The most reward at each divergence, as points of optima.

    Attributes:
        betas: β of each point, (K,) [reward/nat].
        reward: E[r], (K, P).
        kl: KL(π* ‖ π_ref), (K, P) [nats]; the smaller β, the larger.
        value: E[r] - β KL, (K, P).
    """

    betas: Float[Tensor, " K"]
    reward: Float[Tensor, "K P"]
    kl: Float[Tensor, "K P"]
    value: Float[Tensor, "K P"]


def reward_kl_frontier(
    logp_ref: Float[Tensor, "P Y"],
    rewards: Float[Tensor, "P Y"],
    betas: Sequence[float | int],
) -> Frontier:
    """The optima for many prices β: no policy has more reward at the same divergence.

    Computes::

        (KL(π*_β ‖ π_ref), E_{π*_β}[r])   for each β;   dE[r] / dKL = β along the curve

    Args:
        logp_ref: log π_ref(y) [nats].
        rewards: r(y).
        betas: From 0, where only the best rewards are left, to ∞, where the reference is.

    Raises:
        InputError: If there is no β, or as in :func:`tilted_optimum`.

    Example:
        >>> logp_ref, rewards = torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[1.0, 3.0]])
        >>> frontier = reward_kl_frontier(logp_ref, rewards, [0.0, torch.inf])
        >>> frontier.reward.round(decimals=4).tolist()  # the best alone; π_ref
        [[3.0], [2.0]]
    """
    if not len(betas):
        raise InputError("betas is empty: give at least one")
    optima = [tilted_optimum(logp_ref, rewards, beta) for beta in betas]
    return Frontier(
        torch.tensor([o.beta for o in optima], dtype=rewards.dtype),
        torch.stack([o.reward for o in optima]),
        torch.stack([o.kl for o in optima]),
        torch.stack([o.value for o in optima]),
    )


def texts_to_read(prompts: Int[Tensor, "P n"], prefixes: Prefixes) -> Int[Tensor, "B T"]:
    """Each prompt before each row of prefixes: all that must be read, P R texts."""
    P, R = len(prompts), len(prefixes.rows)
    rows = prefixes.rows.to(prompts.device).repeat(P, 1)
    return torch.cat([prompts.repeat_interleave(R, 0), rows], 1)


def at_prefixes(
    read: Float[Tensor, "B T *rest"], prompts: Int[Tensor, "P n"], prefixes: Prefixes
) -> Float[Tensor, "P N *rest"]:
    """What a model said of every text, picked out at the last token of every prefix."""
    by_prompt = read.unflatten(0, (len(prompts), len(prefixes.rows)))
    return by_prompt[:, prefixes.row, prompts.shape[1] - 1 + prefixes.depth]


def token_table(
    model: nn.Module,
    prompts: Int[Tensor, "P n"],
    prefixes: Prefixes,
    temperature: float | int = 1.0,
) -> Float[Tensor, "P N V"]:
    """Log-probability of every token at every prefix, each prefix read once."""
    ids = texts_to_read(prompts, prefixes)
    read = answer_logits(model, {"ids": ids, "targets": ids}, temperature)
    logits = at_prefixes(read, prompts, prefixes)
    V = prefixes.next.shape[1]
    if logits.shape[-1] != V:
        raise InputError(
            f"the model has {logits.shape[-1]} tokens and the completions have {V}: every "
            "token must have its completions"
        )
    return logits.log_softmax(-1)


def value_table(
    model: nn.Module, prompts: Int[Tensor, "P n"], prefixes: Prefixes
) -> Float[Tensor, "P N"]:
    """What a value model, from ids (B, T) to values (B, T), says of every prefix."""
    with evaluating(model):
        values = model(texts_to_read(prompts, prefixes))
    return at_prefixes(values, prompts, prefixes)


def as_batch(
    prompts: Int[Tensor, "P n"],
    prefixes: Prefixes,
    prompt_index: Int[Tensor, " B"],
    completion_index: Int[Tensor, " B"],
) -> Batch:
    """Prompts with completions as a model reads them, and what is asked of it."""
    token, real = prefixes.token[completion_index], prefixes.real[completion_index]
    asked = token.masked_fill(~real, NOTHING)
    before = prompts[prompt_index]
    nothing = torch.full_like(before[:, 1:], NOTHING)
    return {
        "ids": torch.cat([before, token[:, :-1]], 1),
        "targets": torch.cat([nothing, asked], 1),
        "prompt_index": prompt_index,
        "completion_index": completion_index,
    }


def locate(
    prompts: Int[Tensor, "P n"], prefixes: Prefixes, batch: Batch
) -> tuple[Int[Tensor, " B"], Int[Tensor, "B T"]]:
    """The prompt of each row, and the node before each target; -1 where nothing is asked.

    Raises:
        InputError: If a row is no prompt of the world with the beginning of a completion.
    """
    ids, targets, start = batch["ids"], batch["targets"], prompts.shape[1] - 1
    same = (ids[:, None, : start + 1] == prompts).all(-1)
    if not same.any(1).all():
        row = int((~same.any(1)).nonzero()[0])
        raise InputError(f"row {row} begins with {ids[row].tolist()}: no prompt of the world")
    nodes, node = torch.full_like(targets, -1), torch.zeros_like(targets[:, 0])
    for t in range(start, targets.shape[1]):
        asked = targets[:, t] != NOTHING
        if (lost := asked & (node < 0)).any():
            row = int(lost.nonzero()[0])
            raise InputError(f"row {row} asks for a token behind the end of its completion")
        nodes[:, t] = node.where(asked, -1)
        behind = prefixes.next[node.clamp_min(0), targets[:, t].clamp_min(0)]
        node = behind.where(asked, -1)
    return same.int().argmax(1), nodes


def look_up(
    table: Float[Tensor, "P N V"],
    prompt: Int[Tensor, " B"],
    node: Int[Tensor, "B T"],
    token: Int[Tensor, "B T"],
) -> Float[Tensor, "B T"]:
    """Entries of a table; 0 where the node is -1."""
    _, N, V = table.shape
    place = (prompt[:, None] * N + node.clamp_min(0)) * V + token.clamp_min(0)
    found = table.flatten().index_select(0, place.flatten()).view_as(place)
    return found.masked_fill(node < 0, 0.0)


@dataclass(frozen=True, eq=False)
class World:
    """Prompts, all completions, what a reference thinks of them and what they are worth.

    Everything that alignment estimates from samples is a finite sum here.

    Args:
        prompts: Ids, (P, n), no two equal.
        completions: Ids, (Y, m), -100 behind the end of a shorter one; the same for each
            prompt, and complete: see :func:`prefixes_of`.
        logp_ref: log π_ref(y | x), (P, Y) [nats]; -∞ where the reference never goes.
        rewards: r(x, y), (P, Y), finite.
        model: The reference as a model, or None where there is only its table.

    Raises:
        InputError: If shapes do not fit, prompts are equal, the completions are not complete,
            a reward is not finite or the reference does not sum to 1.
        InputTypeError: If ids are not int64.

    Example:
        >>> prompts, completions = torch.tensor([[0]]), torch.tensor([[0], [1]])
        >>> logp_ref = torch.tensor([[0.5, 0.5]]).log()
        >>> rewards = torch.tensor([[1.0, 3.0]]).log()
        >>> best = World(prompts, completions, logp_ref, rewards).optimum(beta=1.0)
        >>> best.logp.exp(), best.value  # as 1 to 3, and ln 2
        (tensor([[0.2500, 0.7500]]), tensor([0.6931]))
    """

    prompts: Int[Tensor, "P n"]
    completions: Int[Tensor, "Y m"]
    logp_ref: Float[Tensor, "P Y"]
    rewards: Float[Tensor, "P Y"]
    model: nn.Module | None = None

    def __post_init__(self) -> None:
        shape = (len(self.prompts), len(self.completions))
        for name in ("logp_ref", "rewards"):
            if (found := tuple(getattr(self, name).shape)) != shape:
                raise InputError(
                    f"{name} has shape {found}, expected {shape}: prompts, completions"
                )
        if not self.prompts.shape[1] or len(self.prompts.unique(dim=0)) < len(self.prompts):
            raise InputError("prompts must have a token or more, and no two be equal")
        if not self.rewards.isfinite().all():
            raise InputError("a reward is NaN or infinite: give finite ones")
        total, eps = self.logp_ref.logsumexp(-1), torch.finfo(self.logp_ref.dtype).eps
        if not (total.abs() <= eps**0.5).all():
            raise InputError(
                f"exp(logp_ref) sums to {total.exp().tolist()} over the completions, not to 1"
            )
        _ = self.prefixes  # says what is wrong with the completions

    @cached_property
    def prefixes(self) -> Prefixes:
        """The prefixes of the completions."""
        return prefixes_of(self.completions)

    def reference(self) -> nn.Module:
        """A fresh copy of the reference model, trainable: where a policy starts.

        Raises:
            InputError: If the world has a table of the reference only.
        """
        if self.model is None:
            raise InputError("this world has no reference model, only its probabilities")
        return copy.deepcopy(self.model).requires_grad_(True)

    def token_table(
        self, model: nn.Module, temperature: float | int = 1.0
    ) -> Float[Tensor, "P N V"]:
        """Log-probability of every token at every prefix; gradients pass."""
        return token_table(model, self.prompts, self.prefixes, temperature)

    def value_table(self, model: nn.Module) -> Float[Tensor, "P N"]:
        """What a value model, from ids (B, T) to values (B, T), says of every prefix."""
        return value_table(model, self.prompts, self.prefixes)

    def log_probabilities(
        self, model: nn.Module, temperature: float | int = 1.0
    ) -> Float[Tensor, "P Y"]:
        """Logarithm of π(y | x); every prefix is read once, and gradients pass."""
        return self.prefixes.along(self.token_table(model, temperature)).sum(-1)

    def optimum(self, beta: float | int) -> Optimum:
        """The policy that maximizes E[r] - β KL; see :func:`tilted_optimum`."""
        return tilted_optimum(self.logp_ref, self.rewards, beta)

    def frontier(self, betas: Sequence[float | int]) -> Frontier:
        """The optima for many prices; see :func:`reward_kl_frontier`."""
        return reward_kl_frontier(self.logp_ref, self.rewards, betas)

    def policy_gradient(self, model: nn.Module, beta: float | int) -> dict[str, Tensor]:
        """Exact gradient of the mean objective in each weight; see :func:`policy_gradient`."""
        objective = self.objective(self.log_probabilities(model), beta).mean()
        return policy_gradient(objective, model)

    def expectation(
        self, logp: Float[Tensor, "P Y"], f: Float[Tensor, "P Y"]
    ) -> Float[Tensor, " P"]:
        """Exact mean of f over completions, for each prompt."""
        return expectation(logp, f)

    def kl(
        self, logp: Float[Tensor, "P Y"], other: Float[Tensor, "P Y"] | None = None
    ) -> Float[Tensor, " P"]:
        """Exact KL(π ‖ other) [nats] of each prompt; other = None is the reference."""
        return divergence(logp, self.logp_ref if other is None else other)

    def objective(self, logp: Float[Tensor, "P Y"], beta: float | int) -> Float[Tensor, " P"]:
        """E[r] - β KL(π ‖ π_ref) of each prompt; see :func:`regularized_reward`."""
        return regularized_reward(logp, self.logp_ref, self.rewards, beta)

    def batch(
        self, prompt_index: Int[Tensor, " B"], completion_index: Int[Tensor, " B"]
    ) -> Batch:
        """Rows with these prompts and completions: ``ids`` and ``targets``, and the indices."""
        return as_batch(self.prompts, self.prefixes, prompt_index, completion_index)

    def read(
        self, model: nn.Module, batch: Batch, *, temperature: float | int = 1.0
    ) -> Float[Tensor, "B T"]:
        """:func:`mathlm.align.target_log_probabilities`, however many rows, at one β.

        The model reads every prefix of the world once and the rows look their numbers up.

        Raises:
            InputError: If a row is not a prompt of the world with a completion's beginning.
        """
        return self.look_up(self.token_table(model, temperature), batch)

    def look_up(self, table: Float[Tensor, "P N V"], batch: Batch) -> Float[Tensor, "B T"]:
        """Numbers of tokens at prefixes, read along rows; 0 where nothing is asked."""
        prompt, node = locate(self.prompts, self.prefixes, batch)
        return look_up(table, prompt, node, batch["targets"])

    def read_values(self, model: nn.Module, batch: Batch) -> Float[Tensor, "B T"]:
        """Values of a value model before each target, looked up likewise; 0 elsewhere."""
        prompt, node = locate(self.prompts, self.prefixes, batch)
        found = self.value_table(model)[prompt[:, None], node.clamp_min(0)]
        return found.masked_fill(node < 0, 0.0)

    def sample(
        self,
        table: Float[Tensor, "P N V"],
        prompt_index: Int[Tensor, " B"],
        seed: int,
        first_row: int = 0,
    ) -> Int[Tensor, " B"]:
        """Completions drawn as :func:`mathlm.generate.generate` would with this seed.

        Args:
            table: Of :meth:`token_table`.
            prompt_index: The prompt of each row.
            seed: Of the rows' random numbers.
            first_row: Number of the first row.

        Returns:
            The number of the completion of each row.
        """
        return draw_completions(table.detach(), self.prefixes, prompt_index, seed, first_row)

    def with_rewards(self, rewards: Float[Tensor, "P Y"]) -> "World":
        """The same world with other rewards, such as a flawed stand-in for the true ones."""
        return World(self.prompts, self.completions, self.logp_ref, rewards, self.model)


def all_completions(vocabulary: int, length: int, end: int | None = None) -> Int[Tensor, "Y n"]:
    """Every completion of so many tokens at most, in the order of a dictionary.

    Args:
        vocabulary: V, number of tokens.
        length: n, tokens at which a completion is cut off.
        end: The token that ends one before; None = all have n tokens.

    Returns:
        Ids (Y, n), -100 behind an end; V^n without one.

    Raises:
        InputError: If a size is below 1, or the end is no token.

    Example:
        >>> all_completions(vocabulary=2, length=2).tolist()
        [[0, 0], [0, 1], [1, 0], [1, 1]]
        >>> all_completions(vocabulary=2, length=2, end=0).tolist()
        [[0, -100], [1, 0], [1, 1]]
    """
    if vocabulary < 1 or length < 1 or not (end is None or 0 <= end < vocabulary):
        raise InputError(f"vocabulary={vocabulary}, length={length}, end={end} do not fit")
    texts: list[Sequence[int]] = [()]
    for _ in range(length):
        texts = [
            longer
            for y in texts
            for longer in ([y] if end in y else [(*y, v) for v in range(vocabulary)])
        ]
    return torch.tensor([[*y, *[-100] * (length - len(y))] for y in texts])
