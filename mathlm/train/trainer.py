"""One loop for every model."""

import logging
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import ConfigError, InputError, InputTypeError, NonFiniteLossError
from ..optim import clip_grad_norm
from ..progress import Progress
from .batches import Batch, check_rows, name_samples, split
from .checkpoint import load_checkpoint, newest_checkpoint, save_checkpoint
from .config import TrainerConfig
from .device import resolve_device
from .distributed import all_sum, rank, ranks, share_from_first, sum_gradients
from .faults import memory_advice, refuse_non_finite
from .folders import check_writable, remove_unfinished
from .interrupt import Interruption
from .objectives import Objective
from .record import describe
from .rng import kept_rng, seed_torch

log = logging.getLogger(__name__)
Record = dict[str, int | float]
NOT_OPTIONS = {"params", "differentiable"}  # torch adds the second when a state is loaded


class Trainer:
    """Minimize the mean of an objective over all its targets.

    The mean is over the targets of a step: it does not depend on how the batch is cut into
    micro-batches or shared among the ranks of a distributed run. Data and random draws are
    functions of the seed and the step, so a resumed run equals an unbroken one bit for bit.

    Args:
        model: Model to train; it is moved to the device.
        objective: Model and batch to the sum of losses and their number.
        data: Step to the batch of that step: a dict of tensors with one row for each sample. A
            pure function. ``index``, if there, numbers the samples for messages.
        optimizer: Its optimizer.
        config: How long and how to train.
        held_out: Batches to evaluate on; iterated over anew each time.

    Attributes:
        step: Optimizer steps done.
        history: One record for each logged step.
    """

    def __init__(
        self,
        model: nn.Module,
        objective: Objective,
        data: Callable[[int], Batch],
        optimizer: torch.optim.Optimizer,
        config: TrainerConfig,
        held_out: Iterable[Batch] | None = None,
    ) -> None:
        self.device = resolve_device(config.device)
        self.model, self.objective, self.data = model.to(self.device), objective, data
        self.optimizer, self.config, self.held_out = optimizer, config, held_out
        self.parameters = [p for group in optimizer.param_groups for p in group["params"]]
        self.options = [
            {name: value for name, value in group.items() if name not in NOT_OPTIONS}
            for group in optimizer.param_groups
        ]
        self.folder = Path(config.folder) if config.folder is not None else None
        self.step = 0
        self.history: list[Record] = []
        self.saved = 0  # step of the last checkpoint
        self.interruption = Interruption()
        self.stopping = False

    def fit(self) -> list[Record]:
        """Train until ``config.steps``; returns the history.

        Ctrl-C and SIGTERM let the step finish and save it, then raise SystemExit with the
        status 130 or 143.

        Raises:
            CheckpointError: If the folder cannot be written, before the first step.
            NonFiniteLossError: If a loss or gradient is NaN or infinite; the weights stay.
            OutOfMemoryError: If a micro-batch does not fit; the weights stay.
            InputError: If a step has no target.
        """
        self.check_folder()
        share_from_first(iter(self.model.state_dict().values()))
        bar = Progress(self.config.steps, "train", self.step)
        with kept_rng(self.device), self.interruption, bar:
            while self.step < self.config.steps:
                loss, norm = self.train_step()
                self.record(loss, norm)
                self.save_if_due()
                bar.update(loss=loss)
                self.stop_if_asked()
        return self.history

    def train_step(self) -> tuple[float, float]:
        """One step of the optimizer; returns the loss and the norm of the gradient."""
        self.model.train()
        self.set_lr()
        seed_torch(self.config.seed, self.step, rank())
        try:
            micro_batches = self.micro_batches()
            loss = self.accumulate_gradient(micro_batches)
            norm = self.clip(micro_batches)
            self.optimizer.step()
        finally:
            self.optimizer.zero_grad()
        self.step += 1
        return loss, norm

    def accumulate_gradient(self, micro_batches: list[Batch]) -> float:
        """Leave the gradient of the mean loss over the step's targets; returns that loss.

        Implements eq-token-mean::

            g = Σₘ ∇Lₘ / Σₘ nₘ   over micro-batches and ranks m
        """
        sums, count = [], 0
        rows = sum(check_rows(batch, self.now) for batch in micro_batches)
        for batch in micro_batches:
            with memory_advice(rows, batch, self.config.micro_batches):
                batch_sum, batch_count = self.loss_of(batch)
                batch_sum.backward()  # frees this micro-batch before the next
            sums.append(batch_sum.detach())
            count += batch_count
        loss_sum, targets = self.over_ranks(sums, count)
        self.refuse(loss_sum, sums, micro_batches)
        sum_gradients(self.parameters, self.now)
        self.scale_gradients(1 / targets)
        return loss_sum / targets

    def loss_of(self, batch: Batch) -> tuple[Tensor, int]:
        """Sum of the losses of ``batch`` and their number."""
        result = self.objective(self.model, batch)
        if not (isinstance(result, tuple) and len(result) == 2):
            raise InputTypeError(
                "an objective returns (loss summed over targets, number of targets), got "
                f"{type(result).__name__}"
            )
        loss, count = result
        if loss.ndim:
            raise InputError(f"the loss must be one number, got shape {tuple(loss.shape)}")
        return loss, int(count)

    def over_ranks(self, sums: list[Tensor], count: int) -> tuple[float, float]:
        """Loss and number of targets of the step over all ranks; learns who was interrupted."""
        loss_sum = sum((float(x) for x in sums), 0.0)
        asked = self.interruption.signal != 0
        values = torch.tensor([loss_sum, count, asked], dtype=torch.float64, device=self.device)
        loss_sum, total, stop = all_sum(values, self.now).tolist()
        if total == 0:
            raise InputError(f"no target token contributes to the loss {self.now}")
        self.stopping = stop > 0
        return loss_sum, total

    def refuse(self, loss_sum: float, sums: list[Tensor], micro_batches: list[Batch]) -> None:
        """Stop before the weights change, and show the loss in the log, if it is not finite."""
        if not math.isfinite(loss_sum):
            self.history.append({"step": self.step + 1, "loss": loss_sum})
            log.error("step %d: loss %s", self.step + 1, loss_sum)
            refuse_non_finite(loss_sum, sums, micro_batches, self.step + 1)

    def clip(self, micro_batches: list[Batch]) -> float:
        """Clip the gradient; returns its norm."""
        try:
            return clip_grad_norm(self.parameters, self.config.clip or math.inf).item()
        except NonFiniteLossError as error:
            samples = ", ".join(name_samples(batch) for batch in micro_batches)
            raise NonFiniteLossError(
                f"non-finite gradient {self.now}, rank {rank()} (samples {samples}): {error}; "
                f"the weights are those of step {self.step}"
            ) from error

    def scale_gradients(self, factor: float) -> None:
        """Multiply every gradient by ``factor``."""
        for p in self.parameters:
            if p.grad is not None:
                p.grad.mul_(factor)

    def micro_batches(self) -> list[Batch]:
        """This rank's share of the batch of this step."""
        batch = self.data(self.step)
        rows = check_rows(batch, self.now)
        batch = batch if "index" in batch else batch | {"index": torch.arange(rows)}
        parts = split(batch, rows, ranks() * self.config.micro_batches)
        return [self.to_device(part) for part in parts[rank() :: ranks()]]

    def to_device(self, batch: Batch) -> Batch:
        """``batch`` where the model is."""
        return {name: tensor.to(self.device) for name, tensor in batch.items()}

    def set_lr(self) -> None:
        """Give every parameter group the step size of this step."""
        if self.config.schedule is not None:
            for group in self.optimizer.param_groups:
                group["lr"] = self.config.schedule(self.step)

    @property
    def now(self) -> str:
        """The step being done, in words; steps count from 1 in messages and records."""
        return f"at step {self.step + 1}"

    @torch.no_grad()
    def evaluate(self) -> float:
        """Mean loss over every target held out; each batch is seen by one rank."""
        was_training = self.model.training
        self.model.eval()
        loss_sum, count = 0.0, 0
        with kept_rng(self.device):
            for i, batch in enumerate(self.held_out or ()):
                if i % ranks() == rank():
                    seed_torch(self.config.seed, i)
                    batch_sum, batch_count = self.loss_of(self.to_device(batch))
                    loss_sum, count = loss_sum + batch_sum.item(), count + batch_count
        self.model.train(was_training)
        values = torch.tensor([loss_sum, count], dtype=torch.float64, device=self.device)
        total, targets = all_sum(values, f"in the evaluation after step {self.step}").tolist()
        if targets == 0:
            raise InputError("no target token contributes to the loss of the held-out batches")
        return total / targets

    def record(self, loss: float, norm: float) -> None:
        """Add the step just done to the history, if it is due."""
        record: Record = {"step": self.step, "loss": loss, "grad_norm": norm}
        record["lr"] = self.optimizer.param_groups[0]["lr"]
        if self.held_out is not None and self.is_due(self.config.eval_every):
            record["held_out_loss"] = self.evaluate()
        if "held_out_loss" in record or self.is_due(self.config.log_every):
            self.history.append(record)
            log.info("%s", ", ".join(f"{name} {value:.6g}" for name, value in record.items()))

    def is_due(self, every: int | None) -> bool:
        """Whether this step is a multiple of ``every``, or the last."""
        return self.step == self.config.steps or (every is not None and self.step % every == 0)

    def save_if_due(self) -> None:
        """Write a checkpoint, if there is a folder for it and this step is one to save."""
        if self.is_due(self.config.save_every):
            self.save()

    def save(self) -> None:
        """Write a checkpoint of the step just done; rank 0 does it for all."""
        if self.folder is not None and self.saved != self.step and rank() == 0:
            save_checkpoint(
                self.folder,
                self.step,
                self.model,
                self.optimizer,
                config=self.describe(),
                history=self.history,
                keep=self.config.keep,
            )
        self.saved = self.step

    def stop_if_asked(self) -> None:
        """Save and leave, if a signal came; all ranks leave after the same step."""
        if self.stopping or (ranks() == 1 and self.interruption.signal):
            self.save()
            kept = "checkpoint saved" if self.folder else "no folder, so nothing saved"
            log.warning("interrupted at step %d; %s", self.step, kept)
            raise SystemExit(self.interruption.exit_code)

    def check_folder(self) -> None:
        """Refuse a folder that cannot be written or that holds another run."""
        if self.folder is None or rank() != 0:
            return
        check_writable(self.folder)
        newest = newest_checkpoint(self.folder)
        if newest is not None and self.step == 0:
            raise ConfigError(
                f"output directory {self.folder} holds {newest.name} of an earlier run: call "
                "resume() to continue it, or choose another folder"
            )

    def resume(self, path: Path | str | None = None, allow_change: bool = False) -> int:
        """Continue from a checkpoint.

        Args:
            path: The checkpoint; None takes the newest in ``config.folder``, if there is one.
            allow_change: Whether a run with another configuration or other data may go on.

        Returns:
            The step from which the run goes on; 0 if there is no checkpoint.

        Raises:
            CheckpointCorruptError: If the checkpoint's bytes changed.
            CheckpointMismatchError: If it is of another model, run or format.
        """
        removed = remove_unfinished(self.folder) if self.folder and rank() == 0 else 0
        note = f"removed {removed} unfinished checkpoint{'' if removed == 1 else 's'}"
        path = path or (newest_checkpoint(self.folder) if self.folder else None)
        if path is None and self.folder is None:
            return 0
        if path is None:
            log.info("no checkpoint in %s, the run starts at step 0; %s", self.folder, note)
            return 0
        state = load_checkpoint(
            path,
            self.model,
            self.optimizer,
            config=self.describe(),
            allow_change=allow_change,
        )
        for group, own in zip(self.optimizer.param_groups, self.options, strict=True):
            group.update(own)  # they differ from the saved ones only where that is allowed
        self.step = self.saved = state["step"]
        self.history = state["history"]
        log.info("resumed from step %d (checkpoint %s); %s", self.step, path, note)
        return self.step

    def describe(self) -> dict[str, Any]:
        """What decides the weights after each step, as JSON data."""
        config = self.config
        data = self.data.describe() if hasattr(self.data, "describe") else describe(self.data)
        return {
            "data_sha256": getattr(self.data, "sha256", None),
            "data": data,
            "model": describe(getattr(self.model, "config", type(self.model))),
            "objective": describe(self.objective),
            "optimizer": {"class": type(self.optimizer).__name__} | self.describe_options(),
            "schedule": describe(config.schedule),
            "clip": config.clip,
            "micro_batches": config.micro_batches,
            "seed": config.seed,
            "ranks": ranks(),
        }

    def describe_options(self) -> dict[str, Any]:
        """Options of each group of the optimizer; not the step size, if a schedule sets it."""
        hidden = set() if self.config.schedule is None else {"lr"}
        return {
            f"group {i}": describe({k: v for k, v in own.items() if k not in hidden})
            for i, own in enumerate(self.options)
        }
