"""Rollouts with all that is known of them when they are written."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ...shapes import Float
from ...train import bare
from ...train.batches import Batch
from ..answers import LogProbabilities, target_log_probabilities
from ..reference_model import Reference
from ..reward.rewards import RewardFunction, judged
from ..value_model import target_values
from .rollout_rows import joined, pieces
from .rollouts import RolloutSampler, completions_of, without_end

Values = Callable[[nn.Module, Batch], Float[Tensor, "B T"]]


@dataclass(frozen=True, kw_only=True, eq=False)
class RolloutWriter:
    """Lets a policy write, and has what it wrote judged and read.

    Args:
        policy: The language model.
        reward: Judges completions.
        sampler: Writes them.
        reference: What the policy is compared with, or None.
        value: From ids (B, T) to values (B, T), or None.
        decode: From ids to text for the reward; None = it reads ids.
        read: From model and batch to log-probabilities (B, T).
        read_values: From value model and batch to values (B, T).
        at_once: Rows that are written, and read, together; None = all.
    """

    policy: nn.Module
    reward: RewardFunction
    sampler: RolloutSampler
    reference: Reference | None = None
    value: nn.Module | None = None
    decode: Callable[[Tensor], str] | None = None
    read: LogProbabilities = target_log_probabilities
    read_values: Values = target_values
    at_once: int | None = None

    @property
    def device(self) -> torch.device:
        """Where the policy is."""
        return next(self.policy.parameters()).device

    @torch.no_grad()
    def write(
        self, prompts: Sequence[Tensor], seed: int, first_row: int = 0, first: int = 0
    ) -> Batch:
        """One completion of each prompt, with its reward and what the models say of it.

        Args:
            prompts: Ids of each.
            seed: Of the random numbers.
            first_row: Number of the first row, for its random numbers.
            first: Number of the first sample, for messages.

        Returns:
            What the sampler gives, with ``rewards``, ``temperature`` (B,), ``logp_old``,
            ``logp_ref`` and ``values`` (B, T), on the CPU.
        """
        here, parts = [prompt.to(self.device) for prompt in prompts], []
        for rows in pieces(len(here), self.at_once):
            part = here[rows.start : rows.stop]
            parts.append(self.sampler(self.policy, part, seed, first_row + rows.start))
        batch = joined(parts)
        written = completions_of(batch)
        rewards = judged(self.reward, self.texts(here), self.texts(written), first=first)
        batch |= {"rewards": rewards.to(self.device)}
        batch["temperature"] = torch.full_like(batch["rewards"], self.sampler.temperature)
        batch |= self._opinions(batch)
        return {name: column.cpu() for name, column in batch.items()}

    def texts(self, ids: Sequence[Tensor]) -> list[Any]:
        """What the reward reads: ids with their end, or text without it."""
        if self.decode is None:
            return [row.cpu() for row in ids]
        stop = getattr(self.sampler, "stop", ())
        return [self.decode(without_end(row, stop)) for row in ids]

    def logp(self, batch: Batch) -> Float[Tensor, "B T"]:
        """What the policy says of rollouts by now [nats], on the CPU."""
        return self._read_all(batch, lambda part: {"logp": self._logp(part)})["logp"].cpu()

    def _opinions(self, batch: Batch) -> Batch:
        """What the models say of the rollouts."""

        def read(part: Batch) -> Batch:
            found = {"logp_old": self._logp(part)}
            if self.reference is not None:
                temperature = self.sampler.temperature
                found["logp_ref"] = self.reference.log_probabilities(
                    part, temperature=temperature
                )
            if self.value is not None:
                found["values"] = self.read_values(bare(self.value), part)
            return found

        return self._read_all(batch, read)

    def _logp(self, part: Batch) -> Tensor:
        return self.read(self.policy, part, temperature=self.sampler.temperature)

    @torch.no_grad()
    def _read_all(self, batch: Batch, read: Callable[[Batch], Batch]) -> Batch:
        """A few rows at a time."""
        here = {name: column.to(self.device) for name, column in batch.items()}
        parts = [
            read({name: column[rows.start : rows.stop] for name, column in here.items()})
            for rows in pieces(len(batch["ids"]), self.at_once)
        ]
        return {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
