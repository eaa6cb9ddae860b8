"""The training loop: gradient accumulation, evaluation, checkpoints; one for every model."""

import logging
import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import ConfigError, InputError, NonFiniteLossError
from ..optim import clip_grad_norm
from ..optim.clipping import local
from ..optim.update import step_finite
from ..progress import Progress
from .checkpoint import Stateful, load_checkpoint, newest_checkpoint, save_checkpoint
from .config import TrainerConfig, options_of, run_identity, scheduled
from .diagnostics import (
    Speed,
    checked,
    gradient_error,
    memory_advice,
    refuse_non_finite,
    require_finite_evaluation,
    require_gradient,
    require_loss_of_weights,
    say_zero_gradient,
)
from .distributed import all_sum, answering, rank, ranks, resolve_device, share_from_first
from .early_stopping import Best
from .ema import Averages
from .folders import check_writable, locked, remove_unfinished
from .interrupt import Interruption
from .log_line import log_line
from .objectives import Batch, Idle, Objective, check_rows, split
from .parallel import (
    apply,
    check_kind,
    dealt,
    gradient_sync,
    kind_of,
    passes,
    reduce_gradients,
    reshard,
    unwrap,
)
from .precision import Scaling, WideSum, compile_model, computing_in
from .state import kept_rng, seed_torch


def check_folder(folder: Path | None, step: int) -> None:
    """Refuse a folder that cannot be written, or that holds another run than one at ``step``.

    Raises:
        CheckpointError: If it cannot be written.
        ConfigError: If it holds checkpoints, and no step has been done.
    """
    if folder is None or rank() != 0:
        return
    check_writable(folder)
    newest = newest_checkpoint(folder)
    if newest is not None and step == 0:
        raise ConfigError(
            f"output directory {folder} holds {newest.name} of an earlier run: call "
            "resume() to continue it, or choose another folder"
        )


log = logging.getLogger(__name__)
Record = dict[str, int | float]


class Trainer:
    """Minimize the mean of an objective over all its targets.

    The mean is over the targets of a step: it does not depend on how the batch is cut into
    micro-batches or shared among the ranks of a distributed run. Data and random draws are
    functions of the seed and the step, so a resumed run equals an unbroken one bit for bit.

    Args:
        model: Model to train, moved to the device; with ``config.parallel`` other than ``sum``,
            what :func:`mathlm.train.distribute` returned.
        objective: Model and batch to the sum of losses and their number.
        data: Step to the batch of that step: a dict of tensors with one row for each sample. A
            pure function, or one whose state (``state_dict``) then is part of a checkpoint.
            ``index``, if there, numbers the samples for messages.
        optimizer: Its optimizer.
        config: How long and how to train.
        held_out: Batches to evaluate on; iterated over anew each time.

    Attributes:
        step: Steps done: updates of the weights, and steps that were skipped because a scaled
            gradient overflowed.
        skipped: How many of these were skipped; the schedule does not count them.
        history: One record for each logged step.
        averages: Running mean of the weights, or None.
        scaling: The loss scale, or None.
        best: The weights of the best evaluation, or None without patience.

    Raises:
        ConfigError: If the model is not distributed as ``config.parallel`` says, or cannot be
            compiled, or there is patience but nothing to evaluate on.

    Example:
        >>> from mathlm.models import GPT, GPTConfig
        >>> from mathlm.optim import AdamW
        >>> from mathlm.text import Bytes
        >>> from mathlm.train import TokenizedWindows, next_token
        >>> tokenizer = Bytes()
        >>> ids = tokenizer.encode("to be or not to be, that is the question; " * 20)
        >>> data = TokenizedWindows(ids, tokenizer, context=16, batch_size=8)
        >>> sizes = dict(vocab_size=256, context=16, d_model=16, n_layers=1, n_heads=2)
        >>> model = GPT(GPTConfig(**sizes))
        >>> optimizer = AdamW(model.parameters(), lr=0.01)
        >>> history = Trainer(model, next_token, data, optimizer, TrainerConfig(steps=30)).fit()
        >>> bool(abs(history[0]["loss"] - np.log(256)) < 0.2)  # before anything is learned
        True
        >>> history[-1]["loss"] < 4
        True
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
        check_kind(model, config.parallel)
        if config.patience is not None and held_out is None:
            raise ConfigError(f"patience={config.patience} needs held-out batches to judge by")
        self.device = resolve_device(config.device)
        self.model, self.objective, self.data = model.to(self.device), objective, data
        self.optimizer, self.config, self.held_out = optimizer, config, held_out
        self.parameters = [p for group in optimizer.param_groups for p in group["params"]]
        self.options = options_of(optimizer)
        self.averages = Averages(model, config.ema) if config.ema is not None else None
        half = config.precision == "float16"
        self.scaling = Scaling(config.loss_scale) if half else None
        self.best = Best(model, config.patience) if config.patience is not None else None
        self.folder = Path(config.folder) if config.folder is not None else None
        self.step = 0
        self.skipped = 0
        self.history: list[Record] = []
        self.saved = 0  # step of the last checkpoint
        self.speed = Speed()
        self.interruption = Interruption()
        self.stopping = False
        self.moved = True  # whether every gradient so far had an entry other than 0
        if config.compile:
            compile_model(unwrap(model))

    def fit(self) -> list[Record]:
        """Train until ``config.steps``, or until patience ends; returns the history.

        Ctrl-C and SIGTERM let the step finish and save it, then raise SystemExit with the
        status 130 or 143.

        A gradient that is exactly 0 is said once in the log: it teaches nothing.

        Raises:
            CheckpointError: If the folder cannot be written, or another process trains into
                it, before the first step.
            ConfigError: If the loss depends on no trained parameter, or on none that the
                optimizer holds, as when it was made before the model was given an adapter.
            NonFiniteLossError: If a loss or gradient is NaN or infinite; the weights stay. So
                it is if a held-out loss is, unless there is patience.
                Under ``float16`` a step whose gradient overflows is skipped; 20 in a row are
                an error.
            OutOfMemoryError: If a micro-batch does not fit; the weights stay.
            InputError: If a step has no target.
        """
        check_folder(self.folder, self.step)
        share_from_first(iter(self.model.state_dict().values()))
        self.forget()
        bar = Progress(self.config.steps, "train", self.step, shown=rank() == 0)
        lock = locked(self.folder if rank() == 0 else None)
        with lock, kept_rng(self.device), self.interruption, bar:
            while not self.finished:
                with self.speed.timing():
                    loss, norm = self.train_step()
                self.record(loss, norm)
                self.save_if_due()
                bar.update(loss=loss)
                self.stop_if_asked()
        if self.best:
            self.best.restore(self.step)
        return self.history

    def forget(self) -> None:
        """Drop gradients from before the run; a mean begins at the weights of its start."""
        self.optimizer.zero_grad()
        self.model.zero_grad()
        if self.averages and self.step == 0:
            self.averages.restart()

    @property
    def finished(self) -> bool:
        """Whether all steps are done, or none was better for too long."""
        return self.step >= self.config.steps or (self.best is not None and self.best.is_over)

    def train_step(self) -> tuple[float, float]:
        """One step of the optimizer; returns the loss and the norm of the gradient."""
        self.model.train()
        self.set_lr()
        seed_torch(self.config.seed, self.step, rank())
        try:
            micro_batches = self.micro_batches()
            loss = self.accumulate_gradient(micro_batches)
            norm = self.clip(micro_batches)
            self.update(norm)
        finally:
            self.optimizer.zero_grad()
            self.model.zero_grad()  # also of parameters that the optimizer does not hold
        self.step += 1
        return loss, norm

    def accumulate_gradient(self, micro_batches: list[Batch]) -> float:
        """Gradient accumulation: leave the gradient of the step's mean loss; returns that loss.

        Implements eq-token-mean::

            g = Σₘ ∇Lₘ / Σₘ nₘ   over micro-batches and ranks m

        Gradients of weights of 16 bits are summed in float32 on this rank, and rounded once.
        """
        wide = WideSum(self.parameters if kind_of(self.model) == "sum" else [])
        sums, count, scale = [], 0, self.scaling.scale if self.scaling else 1.0
        rows = sum(check_rows(batch, self.now) for batch in micro_batches)
        for m, batch in enumerate(micro_batches, 1):
            with (
                gradient_sync(self.model, m == len(micro_batches), self.now),
                memory_advice(rows, batch, self.config.micro_batches),
            ):
                batch_sum, batch_count = self.loss_of(batch)
                require_loss_of_weights(batch_sum, self.model, self.now)
                (batch_sum * scale).backward()  # frees this micro-batch before the next
            if len(micro_batches) > 1:
                wide.take()
            sums.append(batch_sum.detach())
            count += batch_count
        loss_sum, targets = self.over_ranks(sums, count)
        self.refuse(loss_sum, sums, micro_batches)
        wide.give()
        reduce_gradients(self.model, self.parameters, self.now)
        require_gradient(self.model, self.parameters, self.now)
        self.scale_gradients(1 / (targets * scale))
        return loss_sum / targets

    def loss_of(self, batch: Batch) -> tuple[Tensor, int]:
        """Sum of the losses of ``batch`` and their number; both 0 if another rank counts it."""
        with computing_in(self.config.precision, self.device):
            loss, count = checked(apply(self.model, self.objective, batch))
        return (0 * loss, 0) if isinstance(batch, Idle) else (loss, count)

    def over_ranks(self, sums: list[Tensor], count: int) -> tuple[float, float]:
        """Loss and number of targets of the step over all ranks; learns who was interrupted."""
        loss_sum = sum((float(x) for x in sums), 0.0)
        asked = self.interruption.signal != 0
        values = torch.tensor([loss_sum, count, asked], dtype=torch.float64, device=self.device)
        loss_sum, total, stop = all_sum(values, self.now).tolist()
        if total == 0:
            raise InputError(f"no target token contributes to the loss {self.now}")
        self.stopping = stop > 0
        self.speed.targets += total
        return loss_sum, total

    def refuse(self, loss_sum: float, sums: list[Tensor], micro_batches: list[Batch]) -> None:
        """Stop before the weights change, and show the loss in the log, if it is not finite."""
        if not math.isfinite(loss_sum):
            self.history.append({"step": self.step + 1, "loss": loss_sum})
            log.error("step %d: loss %s", self.step + 1, loss_sum)
            refuse_non_finite(loss_sum, sums, micro_batches, self.step + 1)

    def scale_gradients(self, factor: float) -> None:
        """Multiply every gradient by ``factor``, all in one call."""
        gradients = [local(p.grad) for p in self.parameters if p.grad is not None]
        if gradients:
            torch._foreach_mul_(gradients, factor)

    def clip(self, micro_batches: list[Batch]) -> float:
        """Clip the gradient; returns its norm, infinite if its scaled form overflowed."""
        try:
            return clip_grad_norm(self.parameters, self.config.clip or math.inf).item()
        except NonFiniteLossError as error:
            if self.scaling:
                return math.inf
            raise gradient_error(error, micro_batches, self.step + 1) from error

    def update(self, norm: float) -> None:
        """Move the weights and what follows them, unless the gradient overflowed."""
        if norm == 0 and self.moved:
            self.moved = False
            say_zero_gradient(len(self.parameters), self.now)
        if math.isfinite(norm):
            step_finite(self.optimizer)
            if self.averages:
                self.averages.update()
        else:
            self.skipped += 1
        if self.scaling:
            self.scaling.adapt(math.isfinite(norm), self.step + 1)

    def micro_batches(self) -> list[Batch]:
        """This rank's share of the batch of this step; as many parts as any other's."""
        batch = self.data(self.step)
        rows = check_rows(batch, self.now)
        batch = batch if "index" in batch else batch | {"index": torch.arange(rows)}
        parts = split(batch, rows, ranks() * self.config.micro_batches)
        own = [(self.to_device(part), weight) for part, weight in passes(self.model, parts)]
        return [part if weight else Idle(part) for part, weight in own]

    def to_device(self, batch: Batch) -> Batch:
        """``batch`` where the model is."""
        return {name: tensor.to(self.device) for name, tensor in batch.items()}

    def set_lr(self) -> None:
        """Give every parameter group the step size of this update, times its ``lr_scale``."""
        if self.config.schedule is not None:
            lr = scheduled(self.config.schedule, self.step - self.skipped)
            for group in self.optimizer.param_groups:
                group["lr"] = lr * group.get("lr_scale", 1.0)

    @property
    def now(self) -> str:
        """The step being done, in words; steps count from 1 in messages and records."""
        return f"at step {self.step + 1}"

    @torch.no_grad()
    def evaluate(self) -> float:
        """Mean loss over every target held out; each batch counts on one rank."""
        was_training, where = self.model.training, f"in the evaluation after step {self.step}"
        self.model.eval()
        try:
            with kept_rng(self.device), answering(where, only_network=True):
                loss_sum, count = self.sum_held_out()
        finally:
            reshard(self.model)
            self.model.train(was_training)
        values = torch.tensor([loss_sum, count], dtype=torch.float64, device=self.device)
        total, targets = all_sum(values, where).tolist()
        if targets == 0:
            raise InputError("no target token contributes to the loss of the held-out batches")
        return total / targets

    def sum_held_out(self) -> tuple[float, int]:
        """Loss and number of targets of the held-out batches that this rank counts."""
        loss_sum, count = 0.0, 0
        for i, batch, counted in dealt(self.held_out or ()):
            seed_torch(self.config.seed, i)
            batch_sum, batch_count = self.loss_of(self.to_device(batch))
            if counted:
                loss_sum, count = loss_sum + batch_sum.item(), count + batch_count
        return loss_sum, count

    def evaluate_averages(self) -> float:
        """What :meth:`evaluate` finds with the running mean in place of the weights.

        Raises:
            ConfigError: If ``config.ema`` is None.
        """
        if self.averages is None:
            raise ConfigError("no running mean to evaluate: ema is None")
        with self.averages.swapped():
            return self.evaluate()

    def record(self, loss: float, norm: float) -> None:
        """Add the step just done to the history, if it is due or was skipped."""
        skipped = not math.isfinite(norm)
        record: Record = {"step": self.step, "loss": loss}
        record |= {"skipped": 1} if skipped else {"grad_norm": norm}
        record["lr"] = self.optimizer.param_groups[0]["lr"]
        if self.scaling:
            record["loss_scale"] = self.scaling.scale
        if self.held_out is not None and self.is_due(self.config.eval_every):
            record["held_out_loss"] = self.evaluate()
            if self.best:
                self.best.consider(record["held_out_loss"], self.step)
            else:  # patience ends with finite weights in any case
                require_finite_evaluation(record["held_out_loss"], self.step)
            if self.averages:
                record["held_out_loss_ema"] = self.evaluate_averages()
        if "held_out_loss" in record or skipped or self.is_due(self.config.log_every):
            self.history.append(record)
            self.say(record)
        elif self.step == 1:
            self.say(record)

    def say(self, record: Record) -> None:
        """Tell the log and the loggers, from the first rank; the history has no speed."""
        steps, speed = self.config.steps, self.speed.read()
        left = self.speed.left(steps - self.step)
        if rank() == 0:
            log.info("%s", log_line(record, steps, speed, left, self.config.lines))
            timed = {f"{self.config.lines.unit}_per_second": speed}
            for logger in self.config.loggers:
                logger(record | timed)

    def is_due(self, every: int | None) -> bool:
        """Whether this step is a multiple of ``every``, or the run's last."""
        return self.finished or (every is not None and self.step % every == 0)

    def save_if_due(self) -> None:
        """Write a checkpoint, if there is a folder for it and this step is one to save."""
        if self.is_due(self.config.save_every):
            self.save()

    def save(self) -> None:
        """Write a checkpoint of the step just done; all ranks give, the first writes."""
        if self.folder is not None and self.saved != self.step:
            save_checkpoint(
                self.folder,
                self.step,
                self.model,
                self.optimizer,
                config=self.describe(),
                history=self.history,
                keep=self.config.keep,
                parts=self.parts,
            )
        self.saved = self.step

    @property
    def parts(self) -> dict[str, Stateful | None]:
        """What a run carries beside the model and the optimizer."""
        data = self.data if isinstance(self.data, Stateful) else None
        kept: dict[str, Stateful | None] = {"averages": self.averages, "best": self.best}
        return kept | {"loss_scale": self.scaling, "data": data}

    def stop_if_asked(self) -> None:
        """Save and leave, if a signal came; all ranks leave after the same step."""
        if self.stopping or (ranks() == 1 and self.interruption.signal):
            self.save()
            kept = "checkpoint saved" if self.folder else "no folder, so nothing saved"
            log.warning("interrupted at step %d; %s", self.step, kept)
            raise SystemExit(self.interruption.exit_code)

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
        plural = "" if removed == 1 else "s"
        note = f"; removed {removed} unfinished checkpoint{plural}" if removed else ""
        path = path or (newest_checkpoint(self.folder) if self.folder else None)
        if path is None and self.folder is None:
            return 0
        if path is None:
            log.info("no checkpoint in %s, the run starts at step 0%s", self.folder, note)
            return 0
        state = load_checkpoint(
            path,
            self.model,
            self.optimizer,
            config=self.describe(),
            allow_change=allow_change,
            parts=self.parts,
        )
        for group, own in zip(self.optimizer.param_groups, self.options, strict=True):
            group.update(own)  # they differ from the saved ones only where that is allowed
        if self.averages and state["config"].get("ema") is None:
            self.averages.restart()  # the saved run kept no mean, and the change is allowed
        self.step = self.saved = state["step"]
        self.history = state["history"]
        self.skipped = sum(int(record.get("skipped", 0)) for record in self.history)
        log.info("resumed from step %d (checkpoint %s)%s", self.step, path, note)
        return self.step

    def describe(self) -> dict[str, Any]:
        """What decides the weights after each step, as JSON data."""
        return run_identity(
            self.model, self.objective, self.data, self.optimizer, self.options, self.config
        )
