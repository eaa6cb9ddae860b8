"""Texts that a policy writes, as rows to train on."""

import logging
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast, runtime_checkable

import torch
from torch import Tensor, nn

from ...errors import ConfigError, InputError
from ...generate import generate_ragged
from ...models import GPT
from ...train.batches import Batch
from ...train.objective_batches import padded
from ...train.objectives import IGNORED

log = logging.getLogger(__name__)
Stop = Sequence[Sequence[int] | int]


@runtime_checkable
class RolloutSampler(Protocol):
    """What writes a completion for each prompt: :class:`TextSampler`, or a table of all texts.

    Row i is drawn with random numbers made of ``seed`` and ``first_row + i`` alone, so that
    several processes write what one would.
    """

    @property
    def temperature(self) -> float | int:
        """Divides the logits of a draw."""

    def __call__(
        self, policy: nn.Module, prompts: Sequence[Tensor], seed: int, first_row: int = 0
    ) -> Batch:
        """One row for each prompt, as :func:`rollout_batch` makes them."""


@dataclass(frozen=True)
class TextSampler:
    """Writes completions token by token: :func:`roll_out` with these options.

    Args:
        max_new_tokens: Tokens of a completion, at most, the end among them.
        temperature: Divides the logits; above 0.
        stop: Ids, or sequences of ids, that end a completion and are its last tokens. Without
            any, every completion has ``max_new_tokens`` tokens and is complete.

    Raises:
        ConfigError: If there is no token to write, or the temperature is not positive.
    """

    max_new_tokens: int
    temperature: float | int = 1.0
    stop: Stop = ()

    def __post_init__(self) -> None:
        if self.max_new_tokens < 1:
            raise ConfigError(f"max_new_tokens={self.max_new_tokens} must be positive")
        require_temperature(self.temperature)

    def __call__(
        self, policy: nn.Module, prompts: Sequence[Tensor], seed: int, first_row: int = 0
    ) -> Batch:
        """Rows of a prompt and its completion each."""
        return roll_out(
            policy,
            prompts,
            self.max_new_tokens,
            temperature=self.temperature,
            seed=seed,
            stop=self.stop,
            first_row=first_row,
        )


def roll_out(
    policy: nn.Module,
    prompts: Sequence[Tensor],
    max_new_tokens: int,
    *,
    temperature: float | int = 1.0,
    seed: int = 0,
    stop: Stop = (),
    first_row: int = 0,
) -> Batch:
    """Let a policy complete each prompt, once.

    Computes::

        y ~ π(· | x)   with p = softmax(logits / τ), until an end or n tokens

    Nothing but the temperature changes the draw: the tokens have the probabilities that
    :func:`target_log_probabilities` reads at the same temperature, which every estimate of a
    gradient relies on. The policy is in evaluation mode meanwhile, and no gradient passes.

    Args:
        policy: The language model.
        prompts: Ids (tokens,) of each; the longest and its completion must fit the context.
        max_new_tokens: Tokens of a completion, at most.
        temperature: Divides the logits; above 0.
        seed: Of the random numbers.
        stop: What ends a completion, and is its end.
        first_row: Number of the first prompt among those of all processes.

    Returns:
        What :func:`rollout_batch` returns.

    Raises:
        ConfigError: If the temperature is not positive and finite.
        InputError: As in :func:`mathlm.generate.generate`.
    """
    require_temperature(temperature)
    texts = generate_ragged(
        cast(GPT, policy),
        prompts,
        max_new_tokens,
        temperature,
        seed=seed,
        stop=stop or None,
        first_row=first_row,
    )
    completions = [text[len(p) :] for text, p in zip(texts, prompts, strict=True)]
    return rollout_batch(prompts, completions, [ended(y, stop) for y in completions])


def rollout_batch(
    prompts: Sequence[Tensor],
    completions: Sequence[Tensor],
    finished: Sequence[bool] | None = None,
) -> Batch:
    """Prompts and completions as rows in which the completions alone are asked for.

    Args:
        prompts: Ids (tokens,) of each, at least one.
        completions: Ids of each, at least one, any end among them.
        finished: Whether each is complete; None = all.

    Returns:
        ``ids`` (B, T), the text and filling behind it; ``targets`` (B, T), at t the token that
        follows, -100 where it is none of the completion; ``lengths`` (B,), tokens of the
        completion; ``finished`` (B,).

    Raises:
        InputError: If a prompt or completion has no token.
    """
    for name, texts in (("prompt", prompts), ("completion", completions)):
        for i, text in enumerate(texts):
            if not len(text):
                raise InputError(
                    f"{name} {i} has no token: a text needs one that begins it, and a "
                    "completion at least the one that ends it"
                )
    device = completions[0].device
    rows = [torch.cat(pair).cpu().numpy() for pair in zip(prompts, completions, strict=True)]
    ids = padded(rows, 0).to(device)
    lengths = torch.tensor([len(y) for y in completions], device=device)
    starts = torch.tensor([len(x) for x in prompts], device=device)
    following = torch.arange(1, ids.shape[1] + 1, device=device)
    asked = (following >= starts[:, None]) & (following < (starts + lengths)[:, None])
    targets = torch.where(asked, ids.roll(-1, 1), IGNORED)
    complete = torch.tensor([True] * len(rows) if finished is None else list(finished))
    return {
        "ids": ids,
        "targets": targets,
        "lengths": lengths,
        "finished": complete.to(device),
    }


def completions_of(batch: Batch) -> list[Tensor]:
    """Ids of the completion of each row."""
    mask = batch["targets"] != IGNORED
    return [row[asked] for row, asked in zip(batch["targets"], mask, strict=True)]


def ended(completion: Tensor, stop: Stop) -> bool:
    """Whether a completion is complete: it has an end, or there are none."""
    y, ends = completion.tolist(), [_sequence(end) for end in stop]
    return not ends or any(y[-len(end) :] == end for end in ends)


def without_end(completion: Tensor, stop: Stop) -> Tensor:
    """A completion without the sequence that ends it, if one does."""
    y = completion.tolist()
    lengths = [len(end) for end in map(_sequence, stop) if y[-len(end) :] == end]
    return completion[: len(y) - max(lengths, default=0)]


def fitting(policy: nn.Module, prompts: Sequence[Tensor], sampler: RolloutSampler) -> list[int]:
    """Numbers of the prompts that leave room for a completion; others are counted and logged.

    Raises:
        InputError: If there are none, or none fits.
    """
    if not prompts:
        raise InputError("there are no prompts: a policy needs one at least")
    context = getattr(getattr(policy, "config", None), "context", None)
    if not isinstance(sampler, TextSampler) or context is None:
        return list(range(len(prompts)))
    virtual = policy.virtual if isinstance(policy, GPT) else None
    room = context - sampler.max_new_tokens - (0 if virtual is None else virtual.shift)
    kept = [i for i, prompt in enumerate(prompts) if len(prompt) <= room]
    if len(kept) < len(prompts):
        words = (
            f"{len(prompts) - len(kept)} of {len(prompts)} prompts leave no room for "
            f"{sampler.max_new_tokens} new tokens in the context of {context} (the longest has "
            f"{max(map(len, prompts))})"
        )
        if not kept:
            raise InputError(f"{words}: shorten them, or write fewer tokens")
        log.warning("%s: dropped", words)
    return kept


def _sequence(end: Any) -> list[int]:
    return [int(i) for i in end] if hasattr(end, "__len__") else [int(end)]


def require_temperature(temperature: float | int) -> None:
    """Refuse temperatures at which there is no distribution to train."""
    if not 0 < temperature < math.inf:
        raise ConfigError(
            f"temperature={temperature} must be positive and finite: a policy is trained on "
            "what it draws, not on its likeliest text"
        )
