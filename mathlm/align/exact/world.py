"""A world whose every completion can be listed, so that alignment in it can be judged."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor, nn

from ...errors import InputError
from ...shapes import Float, Int
from ...train.batches import Batch
from . import reading
from .drawing import draw_completions
from .frontiers import Frontier, reward_kl_frontier
from .gradients import policy_gradient
from .optimum import Optimum, divergence, expectation, regularized_reward, tilted_optimum
from .prefixes import Prefixes, prefixes_of


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
        return reading.token_table(model, self.prompts, self.prefixes, temperature)

    def value_table(self, model: nn.Module) -> Float[Tensor, "P N"]:
        """What a value model, from ids (B, T) to values (B, T), says of every prefix."""
        return reading.value_table(model, self.prompts, self.prefixes)

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
        return reading.as_batch(self.prompts, self.prefixes, prompt_index, completion_index)

    def read(
        self, model: nn.Module, batch: Batch, *, temperature: float | int = 1.0
    ) -> Float[Tensor, "B T"]:
        """:func:`mathlm.align.target_log_probabilities`, however many rows, at one price.

        The model reads every prefix of the world once and the rows look their numbers up.

        Raises:
            InputError: If a row is not a prompt of the world with a completion's beginning.
        """
        return self.look_up(self.token_table(model, temperature), batch)

    def look_up(self, table: Float[Tensor, "P N V"], batch: Batch) -> Float[Tensor, "B T"]:
        """Numbers of tokens at prefixes, read along rows; 0 where nothing is asked."""
        prompt, node = reading.locate(self.prompts, self.prefixes, batch)
        return reading.look_up(table, prompt, node, batch["targets"])

    def read_values(self, model: nn.Module, batch: Batch) -> Float[Tensor, "B T"]:
        """Values of a value model before each target, looked up likewise; 0 elsewhere."""
        prompt, node = reading.locate(self.prompts, self.prefixes, batch)
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
