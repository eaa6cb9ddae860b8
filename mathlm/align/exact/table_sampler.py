"""Rollouts in a world: what a sampler of texts would write, without its cost."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ...errors import InputError
from ...shapes import Int
from ...train.batches import Batch
from ..policy.rollouts import require_temperature
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
