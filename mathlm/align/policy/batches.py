"""Rollouts as the data of a trainer: written anew when the ones at hand are used up."""

import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ...errors import CheckpointMismatchError, ConfigError, InputError
from ...train import unwrap
from ...train.distributed import rank
from ...train.objectives import Batch
from ...train.record import describe
from ...train.windows import epoch_order
from ..answers import LogProbabilities, target_log_probabilities
from ..reference_model import Reference
from ..reward.functions import RewardFunction, name_of
from ..value_model import target_values
from .credit import Credit, GroupCredit, TokenCredit
from .diagnostics import first_of, plain, rollout_record, said, update_record
from .rollouts import RolloutSampler, RolloutWriter, Values, completions_of, fitting, share_rows

log = logging.getLogger(__name__)
DRAWS, ORDER, PROMPTS = range(3)  # what random numbers are for


@dataclass(frozen=True, kw_only=True)
class RolloutSchedule:
    """How many rollouts an iteration has, and for how many steps they are used.

    Args:
        group_size: Completions of each prompt in an iteration; row b belongs to the group
            b // group_size.
        prompts_per_iteration: None = all of them each time.
        epochs: Passes over the rollouts of an iteration.
        minibatches: Steps in such a pass.
        seed: Of everything that is drawn.

    Raises:
        ConfigError: If a size is not positive, or the seed is negative.

    Example:
        >>> schedule = RolloutSchedule(group_size=4, minibatches=2)
        >>> schedule.epochs * schedule.minibatches  # steps of an iteration
        2
    """

    group_size: int = 1
    prompts_per_iteration: int | None = None
    epochs: int = 1
    minibatches: int = 1
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("group_size", "prompts_per_iteration", "epochs", "minibatches"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ConfigError(f"{name}={value} must be positive")
        if self.seed < 0:
            raise ConfigError(f"seed={self.seed} must not be negative")

    @property
    def steps_per_iteration(self) -> int:
        """Steps for which the same rollouts are used."""
        return self.epochs * self.minibatches


@dataclass(frozen=True, kw_only=True)
class RolloutReading:
    """How rollouts are read: by the reward, by the models, and how many at once.

    Args:
        decode: From ids to text, for the reward and the records; None = ids.
        logp: From model and batch to log-probabilities (B, T).
        values: From value model and batch to values (B, T).
        at_once: Rows that are written, and read, together; None = all.

    Raises:
        ConfigError: If no row is read at once.

    Example:
        >>> reading = RolloutReading(decode=lambda ids: bytes(ids.tolist()).decode())
        >>> reading.decode(torch.tensor([72, 105]))
        'Hi'
    """

    decode: Callable[[Tensor], str] | None = None
    logp: LogProbabilities = target_log_probabilities
    values: Values = target_values
    at_once: int | None = None

    def __post_init__(self) -> None:
        if self.at_once is not None and self.at_once < 1:
            raise ConfigError(f"at_once={self.at_once} must be positive, or None")


@dataclass(frozen=True, kw_only=True)
class RolloutLog:
    """What the history of an iteration keeps; it changes nothing else.

    Args:
        clip: ε for ``clip_share``, the share of tokens that PPO would clip.
        shown: Completions that are kept.

    Example:
        >>> RolloutLog(shown=0).clip
        0.2
    """

    clip: float | int = 0.2
    shown: int = 2


SCHEDULE, READING, RECORD = RolloutSchedule(), RolloutReading(), RolloutLog()


class PolicyBatches:
    """Rollouts: completions by a policy as it is, with all that an objective asks of them.

    The data of a :class:`mathlm.train.Trainer` whose model is, or holds, the policy. An
    iteration has ``epochs · minibatches`` steps, by its schedule. At its first step the policy
    completes prompts, ``group_size`` times each, and the reward judges them; log-probabilities
    of the policy and of the reference, values and advantages are computed once, without
    gradient. All its steps read these rollouts, each epoch in an order of its own.

    What is drawn depends on the seed, the iteration, the number of the row and the weights. The
    rollouts at hand are part of a checkpoint: a run that is resumed within an iteration equals
    the unbroken one bit for bit. Under ``torchrun`` each process writes and judges its share.

    A batch has ``ids, targets`` (B, T), ``lengths, finished, prompt_index, index, rewards,
    temperature`` (B,), ``logp_old`` (B, T), what the credit gives, and, if there is a reference
    or a value model, ``logp_ref`` and ``values`` (B, T).

    Args:
        policy: The language model that is trained.
        prompts: Ids (tokens,) of each. Those that leave no room for a completion are dropped;
            how many is logged and stands in ``dropped``.
        reward: Judges completions; see :class:`RewardFunction`.
        credit: From rewards to advantages.
        sampler: What writes completions.
        reference: Model to stay close to, a :class:`Reference` or a model; None = none.
        value: From ids (B, T) to values (B, T), trained along with the policy; None = none.
        schedule: Rollouts of an iteration, and steps for which they are used.
        reading: How reward and models read them.
        record: What the history keeps of them.

    Attributes:
        history: A record of each iteration: see :func:`rollout_record`; ``iteration``,
            ``samples``, and, if it had several steps, ``clip_share`` and ``moved``: the next
            iteration adds them, and :meth:`look_back` after the last one.
        dropped: Prompts left out.

    Raises:
        ConfigError: If the minibatches are more than the rows.
        InputError: If there are no prompts, none fits, the policy is its own reference, or a
            credit that compares the texts of a group would have one of each.

    Example:
        >>> from mathlm.align import GroupCredit, TextSampler
        >>> from mathlm.models import GPT, GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=1, n_heads=2)
        >>> policy, prompts = GPT(GPTConfig(**sizes)), [torch.tensor([72, 105])]
        >>> def length(prompts, completions):
        ...     return [float(len(ids)) for ids in completions]
        >>> rollouts = PolicyBatches(
        ...     policy, prompts, length, GroupCredit(), sampler=TextSampler(max_new_tokens=4),
        ...     schedule=RolloutSchedule(group_size=2),
        ... )
        >>> batch = rollouts(0)
        >>> batch["rewards"].tolist(), batch["advantages"].tolist()  # nobody stands out
        ([4.0, 4.0], [0.0, 0.0])
    """

    def __init__(
        self,
        policy: nn.Module,
        prompts: Sequence[Tensor],
        reward: RewardFunction,
        credit: GroupCredit | TokenCredit | Credit,
        *,
        sampler: RolloutSampler,
        reference: Reference | nn.Module | None = None,
        value: nn.Module | None = None,
        schedule: RolloutSchedule = SCHEDULE,
        reading: RolloutReading = READING,
        record: RolloutLog = RECORD,
    ) -> None:
        self.writer = RolloutWriter(
            policy=unwrap(policy),
            reward=reward,
            sampler=sampler,
            reference=_reference(unwrap(policy), reference, reading.logp),
            value=value,
            decode=reading.decode,
            read=reading.logp,
            read_values=reading.values,
            at_once=reading.at_once,
        )
        self.credit, self.record, self.given = credit, record, list(prompts)
        self.kept = fitting(unwrap(policy), self.given, sampler)
        self.prompts_per_iteration = schedule.prompts_per_iteration or len(self.kept)
        self.schedule = replace(schedule, prompts_per_iteration=self.prompts_per_iteration)
        if schedule.minibatches > self.rows:
            raise ConfigError(
                f"{self.rows} rollouts cannot be cut into {schedule.minibatches} minibatches"
            )
        if isinstance(credit, GroupCredit):  # which may not do with groups of one
            credit.baseline(torch.zeros(self.prompts_per_iteration, schedule.group_size))
        self.history: list[dict[str, Any]] = []
        self.rollouts: Batch = {}
        self.iteration = -1

    @property
    def dropped(self) -> int:
        """Prompts that left no room for a completion."""
        return len(self.given) - len(self.kept)

    @property
    def rows(self) -> int:
        """Rollouts of an iteration."""
        return self.prompts_per_iteration * self.schedule.group_size

    @property
    def steps_per_iteration(self) -> int:
        """Steps for which the same rollouts are used."""
        return self.schedule.steps_per_iteration

    def __call__(self, step: int) -> Batch:
        """The batch of ``step``; at the first of an iteration, the policy writes."""
        iteration, inner = divmod(step, self.steps_per_iteration)
        if inner == 0:
            self._renew(iteration)
        elif iteration != self.iteration:
            raise InputError(
                f"step {step} is within iteration {iteration}, whose rollouts are not at hand "
                f"(those of {self.iteration} are): begin at its first step, or resume from a "
                "checkpoint"
            )
        plan = self.schedule
        epoch, i = divmod(inner, plan.minibatches)
        if plan.minibatches == 1:
            return self.rollouts
        order = epoch_order(self.rows, _word(plan.seed, ORDER), iteration * plan.epochs + epoch)
        chosen = torch.from_numpy(np.array_split(order, plan.minibatches)[i].copy())
        return {name: column[chosen] for name, column in self.rollouts.items()}

    def _renew(self, iteration: int) -> None:
        """Write the rollouts of an iteration; nothing changes if that fails."""
        chosen, before = self._chosen(iteration), iteration * self.rows
        seed = _word(self.schedule.seed, DRAWS, iteration)

        def write(first: int, last: int) -> Batch:
            prompts = [self.given[i] for i in chosen[first:last]]
            return self.writer.write(prompts, seed, first, before + first)

        where = f"in iteration {iteration}"
        batch = share_rows(write, self.rows, where, self.writer.device)
        batch["prompt_index"] = torch.tensor(chosen)
        batch["index"] = torch.arange(before, before + self.rows)
        batch |= self.credit(batch, self.schedule.group_size)
        found = rollout_record(batch, self.schedule.group_size)
        record = {"iteration": iteration, "dropped": self.dropped, **found}
        self.look_back()
        samples = {"samples": self._samples(batch)}
        if rank() == 0:
            log.info("%s%s", said(record), first_of(samples["samples"]))
        self.history = [r for r in self.history if r["iteration"] < iteration]
        self.history.append(record | samples)
        self.rollouts, self.iteration = batch, iteration

    def _chosen(self, iteration: int) -> list[int]:
        """Number of the prompt of each row: all prompts once before any comes again."""
        P, N, numbers = self.prompts_per_iteration, len(self.kept), list[int]()
        seed = _word(self.schedule.seed, PROMPTS)
        for i in range(iteration * P, (iteration + 1) * P):
            epoch, place = divmod(i, N)
            order = np.arange(N) if P == N else epoch_order(N, seed, epoch)
            numbers += [self.kept[int(order[place])]] * self.schedule.group_size
        return numbers

    def look_back(self) -> None:
        """Add to the last record how far its steps have moved the policy by now.

        Each iteration does so for the one before; after the last, whoever trains must. Nothing
        is added where an iteration is one step, or nothing was written yet. Called again, it
        measures again.
        """
        if self.history and self.rollouts and self.steps_per_iteration > 1:
            logp = self.writer.logp({n: self.rollouts[n] for n in ("ids", "targets")})
            self.history[-1] |= update_record(self.rollouts, logp, self.record.clip)

    def _samples(self, batch: Batch) -> list[dict[str, Any]]:
        """The first completions of a batch, as JSON data."""
        shown = self.record.shown
        first = {name: batch[name][:shown] for name in ("ids", "targets")}
        prompts = [self.given[int(i)] for i in batch["prompt_index"][:shown]]
        written = self.writer.texts(completions_of(first))
        texts = zip(self.writer.asked(prompts), written, batch["rewards"], strict=False)
        return [
            {"prompt": plain(x), "completion": plain(y), "reward": float(r)}
            for x, y, r in texts
        ]

    def state_dict(self) -> dict[str, Any]:
        """The rollouts at hand and the history."""
        return {"iteration": self.iteration, "history": self.history, **self.rollouts}

    def require_state(self, state: Mapping[str, Any]) -> None:
        """Refuse a state that is not one of such data.

        Raises:
            CheckpointMismatchError: If it has other rows.
        """
        missing = {"iteration", "history"} - set(state)
        rows = {len(x) for x in state.values() if isinstance(x, Tensor)}
        if missing or not rows <= {self.rows}:
            raise CheckpointMismatchError(
                f"state does not fit the rollouts: it has {sorted(rows)} rows, expected "
                f"{self.rows}; missing {sorted(missing)}"
            )

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take what :meth:`state_dict` gave."""
        self.rollouts = {n: x for n, x in state.items() if isinstance(x, Tensor)}
        self.iteration, self.history = int(state["iteration"]), list(state["history"])

    @property
    def sha256(self) -> list[str]:
        """Hash of the prompts."""
        digest = hashlib.sha256()
        for prompt in self.given:
            digest.update(len(prompt).to_bytes(8, "little"))
            digest.update(prompt.cpu().numpy().astype("<i8").tobytes())
        return [digest.hexdigest()]

    def describe(self) -> dict[str, Any]:
        """What decides the batches, beside the prompts and the weights."""
        reference = self.writer.reference
        return asdict(self.schedule) | {
            "prompts": len(self.given),
            "reward": name_of(self.writer.reward),
            "credit": describe(self.credit),
            "sampler": describe(self.writer.sampler),
            "reference": None if reference is None else reference.sha256,
        }


def _reference(
    policy: nn.Module, reference: Reference | nn.Module | None, read: LogProbabilities
) -> Reference | None:
    """The reference, known to be another model."""
    if reference is None:
        return None
    if isinstance(reference, Reference):
        return Reference(reference.model, policy=policy, read=reference.read)
    return Reference(reference, policy=policy, read=read)


def _word(*place: int) -> int:
    """A seed that is a function of ``place``."""
    return int(np.random.SeedSequence(place).generate_state(1, np.uint32)[0])
