"""Rollouts in a world that can be listed, drawn all at once and read in one pass."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.functional import pad

from ...train.batches import Batch
from . import World, next_token_table


class ListedReader:
    """Log-probabilities and values of rows of a world that know their completion's number.

    As ``World.read``, which finds a row's place by its ids; here it is looked up.

    Args:
        world: Whose rows are read.
    """

    def __init__(self, world: World) -> None:
        self.world, self.before = world, world.prompts.shape[1] - 1

    def along(self, table: Tensor) -> Tensor:
        """A number of each token at each prefix as rows (P, Y, T), zeros in the prompt."""
        return pad(self.world.prefixes.along(table), (self.before, 0))

    def __call__(
        self, model: nn.Module, batch: Batch, *, temperature: float | int = 1.0
    ) -> Tensor:
        """Log-probabilities (B, T) of what is asked."""
        rows = self.along(self.world.token_table(model, temperature))
        return rows[batch["prompt_index"], batch["completion_index"]]

    def values(self, model: nn.Module, batch: Batch) -> Tensor:
        """Values (B, T) before each token of the completions."""
        rows = self.world.prefixes.before(self.world.value_table(model))
        return pad(rows, (self.before, 0))[batch["prompt_index"], batch["completion_index"]]


class ListedRollouts:
    """Completions drawn from the listed probabilities of a policy, as the data of a trainer.

    A batch has what :class:`mathlm.align.PolicyBatches` would give, for completions drawn
    from the same distribution. Nothing is done text by text: a thousand of them cost no more
    than ten.

    Args:
        world: Whose prompts are asked.
        policy: Writes.
        credit: From rewards to advantages.
        group_size: Completions of each prompt.
        epochs: Steps on what was written before the policy writes again.
        value: Gives values, or None.
        seed: Of the draws.
    """

    def __init__(
        self,
        world: World,
        policy: nn.Module,
        credit: Callable[[Batch, int], Batch],
        *,
        group_size: int,
        epochs: int = 1,
        value: nn.Module | None = None,
        seed: int = 0,
    ) -> None:
        self.world, self.policy, self.value, self.credit = world, policy, value, credit
        self.group_size, self.epochs = group_size, epochs
        self.read = ListedReader(world)
        self.reference = self.read.along(next_token_table(world, world.logp_ref))
        self.draws = torch.Generator().manual_seed(seed)
        self.batch: Batch = {}

    def __call__(self, step: int) -> Batch:
        """The batch of a step; at the first of an iteration the policy writes."""
        if step % self.epochs == 0:
            self.batch = self._written()
        return self.batch

    @torch.no_grad()
    def _written(self) -> Batch:
        logp = self.read.along(self.world.token_table(self.policy))
        chance, N = logp.sum(-1).exp(), self.group_size
        drawn = torch.multinomial(chance, N, replacement=True, generator=self.draws).flatten()
        asked = torch.arange(len(chance)).repeat_interleave(N)
        batch = self.world.batch(asked, drawn) | {
            "rewards": self.world.rewards[asked, drawn],
            "lengths": self.world.prefixes.real.sum(1)[drawn],
            "temperature": torch.ones(len(drawn)),
            "finished": torch.ones(len(drawn), dtype=torch.bool),
            "logp_old": logp[asked, drawn],
            "logp_ref": self.reference[asked, drawn],
        }
        if self.value is not None:
            batch["values"] = self.read.values(self.value, batch)
        return batch | self.credit(batch, N)
