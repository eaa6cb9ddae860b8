"""Texts that a policy writes, as rows to train on."""

import logging
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast, runtime_checkable

import torch
from torch import Tensor, nn

from ...errors import ConfigError, InputError
from ...generate import generate_ragged
from ...models import GPT
from ...shapes import Float
from ...train import unwrap
from ...train.distributed import all_sum, is_distributed, rank, ranks
from ...train.objective_batches import padded
from ...train.objectives import IGNORED, Batch
from ..answers import LogProbabilities, target_log_probabilities
from ..reference_model import Reference
from ..reward.functions import RewardFunction, judged
from ..value_model import target_values
from .read_once import ReadOnce

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

    Example:
        >>> from mathlm.models import GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=1, n_heads=2)
        >>> policy, prompts = GPT(GPTConfig(**sizes)), [torch.tensor([72, 105])]
        >>> TextSampler(max_new_tokens=4)(policy, prompts, seed=0)["lengths"]
        tensor([4])
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

    Example:
        >>> from mathlm.models import GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=1, n_heads=2)
        >>> policy, prompts = GPT(GPTConfig(**sizes)), [torch.tensor([72, 105])]
        >>> roll_out(policy, prompts, max_new_tokens=4)["lengths"]
        tensor([4])
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

    Example:
        >>> batch = rollout_batch([torch.tensor([1, 2])], [torch.tensor([3, 4])])
        >>> batch["targets"].tolist(), batch["lengths"].tolist()
        ([[-100, 3, 4, -100]], [2])
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
    """Ids of the completion of each row.

    Example:
        >>> batch = rollout_batch([torch.tensor([1, 2])], [torch.tensor([3, 4])])
        >>> completions_of(batch)
        [tensor([3, 4])]
    """
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


FILL = {"targets": IGNORED}  # behind the end of a row; elsewhere 0


def joined(parts: Sequence[Batch]) -> Batch:
    """Batches one below the other, each as wide as the widest."""
    width = max(part["ids"].shape[1] for part in parts)
    names = parts[0]
    return {
        name: torch.cat([_wide(name, part[name], width) for part in parts]) for name in names
    }


def pieces(rows: int, at_once: int | None) -> list[range]:
    """The rows in turn, at most ``at_once`` of them together."""
    size = rows if at_once is None else at_once
    return [range(start, min(start + size, rows)) for start in range(0, rows, size)]


def share_rows(
    make: Callable[[int, int], Batch], rows: int, where: str, device: torch.device
) -> Batch:
    """Let each process make its share of the rows; all then have all of them.

    An error of one process ends the others too, which otherwise would wait for it.

    Args:
        make: From the first row and the one behind the last to a batch of them on the CPU.
        rows: Of all processes.
        where: When it is, for messages.
        device: Where the processes can add tensors.

    Raises:
        ConfigError: If there are fewer rows than processes.
        InputError: If another process had an error.
    """
    if not is_distributed():
        return make(0, rows)
    if rows < ranks():
        raise ConfigError(f"{rows} rollouts for {ranks()} processes: give at least one each")
    first, last = (rows * (rank() + i) // ranks() for i in (0, 1))
    failure: Exception | None = None
    try:
        share = make(first, last)
    except Exception as error:
        failure = error
    failed = torch.zeros(ranks(), device=device)
    failed[rank()] = failure is not None
    failed = all_sum(failed, where)
    if failure is not None:
        raise failure
    if failed.any():
        raise InputError(
            f"rank {int(failed.nonzero()[0])} could not write its rollouts {where}"
        )
    return _gathered(share, first, rows, where, device)


def _gathered(share: Batch, first: int, rows: int, where: str, device: torch.device) -> Batch:
    """The rows of all processes: each adds its own to zeros, which changes no bit."""
    widths = torch.zeros(ranks(), dtype=torch.int64, device=device)
    widths[rank()] = share["ids"].shape[1]
    width = int(all_sum(widths, where).max())
    whole = {}
    for name in sorted(share):
        own = _wide(name, share[name], width)
        full = torch.zeros(rows, *own.shape[1:], dtype=own.dtype)
        full[first : first + len(own)] = own
        exact = full.long() if own.dtype == torch.bool else full
        whole[name] = all_sum(exact.to(device), where).to("cpu", own.dtype)
    return {name: whole[name] for name in share}


def _wide(name: str, x: Tensor, width: int) -> Tensor:
    """Columns added behind, for tensors that have some."""
    if x.ndim < 2 or x.shape[1] == width:
        return x
    return torch.nn.functional.pad(x, (0, width - x.shape[1]), value=FILL.get(name, 0))


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

    Example:
        >>> from mathlm.models import GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=1, n_heads=2)
        >>> def length(prompts, completions):
        ...     return [float(len(ids)) for ids in completions]
        >>> policy, sampler = GPT(GPTConfig(**sizes)), TextSampler(max_new_tokens=4)
        >>> RolloutWriter(policy=policy, reward=length, sampler=sampler).device
        device(type='cpu')
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
        rewards = judged(self.reward, self.asked(here), self.texts(written), first=first)
        batch |= {"rewards": rewards.to(self.device)}
        batch["temperature"] = torch.full_like(batch["rewards"], self.sampler.temperature)
        batch |= self._opinions(batch)
        return {name: column.cpu() for name, column in batch.items()}

    def asked(self, prompts: Sequence[Tensor]) -> list[Any]:
        """What the reward reads of prompts: ids, or text."""
        return [row.cpu() if self.decode is None else self.decode(row) for row in prompts]

    def texts(self, completions: Sequence[Tensor]) -> list[Any]:
        """What the reward reads of completions: ids with their end, or text without it."""
        stop = () if self.decode is None else getattr(self.sampler, "stop", ())
        return self.asked([without_end(row, stop) for row in completions])

    def logp(self, batch: Batch) -> Float[Tensor, "B T"]:
        """What the policy says of rollouts by now [nats], on the CPU."""
        return self._read_all(batch, lambda part: {"logp": self._logp(part)})["logp"].cpu()

    def _opinions(self, batch: Batch) -> Batch:
        """What the models say of the rollouts."""
        rows = len(batch["ids"])

        def read(part: Batch) -> Batch:
            found = {"logp_old": self._logp_old(part, whole=len(part["ids"]) == rows)}
            if self.reference is not None:
                temperature = self.sampler.temperature
                found["logp_ref"] = self.reference.log_probabilities(
                    part, temperature=temperature
                )
            if self.value is not None:
                found["values"] = self.read_values(unwrap(self.value), part)
            return found

        return self._read_all(batch, read)

    def _logp_old(self, part: Batch, whole: bool) -> Tensor:
        """What the policy says, for the loss too if one process reads all rows at once."""
        if is_distributed() or not (whole and isinstance(self.read, ReadOnce)):
            return self._logp(part)
        return self.read.ahead(self.policy, part, temperature=self.sampler.temperature)

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
