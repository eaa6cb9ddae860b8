"""Rollouts and comparisons in a world, drawn afresh for each batch and looked up."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from ...errors import ConfigError, InputError
from ...shapes import Float, Int
from ...train import unwrap
from ...train.objectives import Batch
from ..policy.rollouts import require_temperature
from .values import next_token_table
from .world import World


@dataclass(frozen=True, eq=False)
class TableSampler:
    """Writes completions in a world: every prefix is read once and tokens are looked up.

    It takes the place of :class:`mathlm.align.TextSampler` and writes the same rows, at a
    price that does not depend on how many there are.

    Args:
        world: Whose prompts are asked.
        temperature: Divides the logits; above 0.

    Raises:
        ConfigError: If the temperature is not positive and finite.

    Example:
        >>> from mathlm.align.exact import standard_world
        >>> world = standard_world(vocabulary=3, length=2, prompts=2)
        >>> model = torch.nn.Sequential(torch.nn.Embedding(3, 4), torch.nn.Linear(4, 3))
        >>> batch = TableSampler(world)(model, list(world.prompts), seed=0)
        >>> batch["lengths"]
        tensor([2, 2])
    """

    world: World
    temperature: float | int = 1.0

    def __post_init__(self) -> None:
        require_temperature(self.temperature)

    @torch.no_grad()
    def __call__(
        self, policy: nn.Module, prompts: Sequence[Tensor], seed: int, first_row: int = 0
    ) -> Batch:
        """One row for each prompt: ``ids``, ``targets``, ``lengths``, ``finished``, indices.

        Raises:
            InputError: If a prompt is none of the world's.
        """
        asked = prompt_numbers(self.world, prompts)
        table = self.world.token_table(policy, self.temperature)
        drawn = self.world.sample(table, asked, seed, first_row)
        prefixes = self.world.prefixes
        ends = {"lengths": prefixes.real.sum(1)[drawn], "finished": prefixes.finished[drawn]}
        return self.world.batch(asked, drawn) | ends


def prompt_numbers(world: World, prompts: Sequence[Tensor]) -> Int[Tensor, " B"]:
    """Which prompt of the world each of these is.

    Raises:
        InputError: If one is none of them.
    """
    number = {tuple(prompt): i for i, prompt in enumerate(world.prompts.tolist())}
    asked = [tuple(prompt.tolist()) for prompt in prompts]
    if unknown := [list(prompt) for prompt in asked if prompt not in number]:
        raise InputError(
            f"the prompt {unknown[0]} is none of the world's: {list(map(list, number))}"
        )
    return torch.tensor([number[prompt] for prompt in asked])


DRAWS, ORDER = range(2)  # what random numbers are for
Credit = Callable[[Batch, int], Batch]


class WorldRollouts:
    """Completions by a policy as it is, judged: :class:`mathlm.align.PolicyBatches` of a world.

    An iteration has ``epochs · minibatches`` steps, and all of them see the same completions.
    Every prefix is read once an iteration, so thousands of completions cost what one does.

    A batch has ``ids, targets, logp_old, logp_ref`` (B, T), ``rewards, lengths, finished,
    temperature, prompt_index, completion_index`` (B,), ``values`` (B, T) if there is a value
    model, and what the credit gives.

    Args:
        world: Where it happens; its rewards are given.
        policy: The language model that is trained.
        credit: From rewards to advantages, such as :class:`mathlm.align.GroupCredit`.
        samples: Completions of each prompt in an iteration.
        value: From ids (B, T) to values (B, T); None = none.
        epochs: Passes over the completions of an iteration.
        minibatches: Steps in such a pass.
        seed: Of everything that is drawn.

    Raises:
        ConfigError: If a size is not positive, or the minibatches are more than the rows.

    Example:
        >>> from mathlm.align import GroupCredit
        >>> from mathlm.align.exact import standard_world
        >>> world = standard_world(vocabulary=3, length=2, prompts=2)
        >>> model = torch.nn.Sequential(torch.nn.Embedding(3, 4), torch.nn.Linear(4, 3))
        >>> batch = WorldRollouts(world, model, GroupCredit(), samples=4)(0)
        >>> batch["advantages"].unflatten(0, (2, 4)).sum(1).abs() < 1e-5  # compared by prompt
        tensor([True, True])
    """

    def __init__(
        self,
        world: World,
        policy: nn.Module,
        credit: Credit,
        *,
        samples: int,
        value: nn.Module | None = None,
        epochs: int = 1,
        minibatches: int = 1,
        seed: int = 0,
    ) -> None:
        rows = len(world.prompts) * samples
        if min(samples, epochs, minibatches) < 1 or minibatches > rows:
            raise ConfigError(
                f"samples={samples}, epochs={epochs}, minibatches={minibatches} must be "
                f"positive, and no more minibatches than the {rows} rows"
            )
        self.world, self.policy, self.credit, self.value = world, policy, credit, value
        self.samples, self.epochs, self.minibatches = samples, epochs, minibatches
        self.seed, self.rollouts, self.iteration = seed, Batch(), -1
        self.reference = next_token_table(world, world.logp_ref)

    def __call__(self, step: int) -> Batch:
        """The batch of a step; at the first of an iteration, the policy writes.

        Raises:
            InputError: If the step is within an iteration whose first one was not asked for
                last: its rollouts were written by weights that are gone.
        """
        iteration, inner = divmod(step, self.epochs * self.minibatches)
        if inner == 0:
            self.rollouts, self.iteration = self.written(iteration), iteration
        elif iteration != self.iteration:
            raise InputError(
                f"step {step} is within iteration {iteration}, whose rollouts are not at hand "
                f"(those of {self.iteration} are): begin at its first step"
            )
        if self.minibatches == 1:
            return self.rollouts
        epoch, i = divmod(inner, self.minibatches)
        draws = stream(self.seed, ORDER, iteration * self.epochs + epoch)
        rows = torch.randperm(len(self.rollouts["ids"]), generator=draws)
        chosen = rows.tensor_split(self.minibatches)[i]
        return {name: column[chosen] for name, column in self.rollouts.items()}

    @torch.no_grad()
    def written(self, iteration: int) -> Batch:
        """The completions of an iteration, with all that is known of them."""
        world, table = self.world, self.world.token_table(unwrap(self.policy))
        logp = world.prefixes.along(table).sum(-1)
        drawn = draw_samples(logp, self.samples, stream(self.seed, DRAWS, iteration))
        prompt = torch.arange(len(drawn)).repeat_interleave(self.samples)
        batch = rewarded_batch(world, prompt, drawn.flatten())
        batch["logp_old"] = world.look_up(table, batch)
        batch["logp_ref"] = world.look_up(self.reference, batch)
        if self.value is not None:
            batch["values"] = world.read_values(unwrap(self.value), batch)
        return batch | self.credit(batch, self.samples)


class WorldPairs:
    """Fresh comparisons in every step: two completions, the chosen one by Bradley and Terry.

    Computes::

        y, y' ~ q(· | x) independently,   P(y is chosen) = σ(r(x, y) - r(x, y'))

    A batch is that of :class:`mathlm.align.PairBatches` with a reference, as many rows for each
    prompt.

    Args:
        world: Where it happens.
        pairs: Comparisons in a step, a multiple of the number of prompts.
        logq: log q(y | x), from which both are drawn (P, Y); None = all alike. Any will do that
            comes to every completion: which is chosen depends on the rewards alone.
        seed: Of everything that is drawn.

    Raises:
        ConfigError: If the pairs are not a positive multiple of the number of prompts.

    Example:
        >>> from mathlm.align.exact import standard_world
        >>> batch = WorldPairs(standard_world(vocabulary=3, length=2, prompts=2), pairs=4)(0)
        >>> batch["chosen_logp_ref"].shape
        torch.Size([4])
    """

    def __init__(
        self,
        world: World,
        pairs: int,
        *,
        logq: Float[Tensor, "P Y"] | None = None,
        seed: int = 0,
    ) -> None:
        P = len(world.prompts)
        if pairs < P or pairs % P:
            raise ConfigError(f"pairs={pairs} must be a positive multiple of {P} prompts")
        uniform = torch.zeros_like(world.rewards).log_softmax(-1)
        self.world, self.each, self.seed = world, pairs // P, seed
        self.logq = uniform if logq is None else logq

    def __call__(self, step: int) -> Batch:
        """The comparisons of a step."""
        draws, world = stream(self.seed, DRAWS, step), self.world
        drawn = draw_samples(self.logq, 2 * self.each, draws)
        margin = world.rewards.gather(1, drawn[:, : self.each])
        margin = margin - world.rewards.gather(1, drawn[:, self.each :])
        u = torch.rand(margin.shape, generator=draws, dtype=margin.dtype)
        pair = torch.stack(drawn.chunk(2, 1))
        sides = torch.where(u < margin.sigmoid(), pair, pair.flip(0)).flatten(1)
        prompt = torch.arange(len(drawn)).repeat_interleave(self.each)
        rows = [world.batch(prompt, side) for side in sides]
        batch = {f"chosen_{k}": rows[0][k] for k in ("ids", "targets")}
        batch |= {f"rejected_{k}": rows[1][k] for k in ("ids", "targets")}
        for name, side in zip(("chosen", "rejected"), sides, strict=True):
            batch[f"{name}_logp_ref"] = world.logp_ref[prompt, side]
        return batch


def rewarded_batch(
    world: World, prompt_index: Int[Tensor, " B"], completion_index: Int[Tensor, " B"]
) -> Batch:
    """Rows with their rewards, lengths and ends, as rollouts have them."""
    batch = world.batch(prompt_index, completion_index)
    batch["rewards"] = world.rewards[prompt_index, completion_index]
    batch["lengths"] = world.prefixes.real.sum(1)[completion_index]
    batch["finished"] = world.prefixes.finished[completion_index]
    batch["temperature"] = torch.ones_like(batch["rewards"])
    return batch


def draw_samples(
    logp: Float[Tensor, "P Y"], samples: int, draws: torch.Generator
) -> Int[Tensor, "P N"]:
    """Completions of each prompt, independently."""
    return torch.multinomial(logp.exp(), samples, replacement=True, generator=draws)


def stream(seed: int, purpose: int, number: int) -> torch.Generator:
    """Random numbers that depend on these three alone."""
    word = np.random.SeedSequence((seed, purpose, number)).generate_state(1)[0]
    return torch.Generator().manual_seed(int(word))
