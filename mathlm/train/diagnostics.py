"""Diagnostics of a run: errors told with step, rank and samples, and speed for the log."""

import logging
import math
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import (
    ConfigError,
    InputError,
    InputTypeError,
    NonFiniteLossError,
    OutOfMemoryError,
)
from .distributed import all_sum, rank, ranks
from .objectives import Batch, name_samples

log = logging.getLogger(__name__)
SIGNS = ("out of memory", "can't allocate memory", "not enough memory")


def checked(result: Any) -> tuple[Tensor, int]:
    """What an objective returned, if it is a sum and the number of its terms.

    Raises:
        InputTypeError: If it is something else, or the sum was rounded to 16 bits.
        InputError: If the sum is not one number.
    """
    if not (isinstance(result, tuple) and len(result) == 2):
        raise InputTypeError(
            "an objective returns (loss summed over targets, number of targets), got "
            f"{type(result).__name__}"
        )
    loss, count = result
    if not isinstance(loss, Tensor):
        raise InputTypeError(f"the loss must be a tensor, got {type(loss).__name__}")
    if loss.ndim:
        raise InputError(f"the loss must be one number, got shape {tuple(loss.shape)}")
    if loss.dtype in (torch.float16, torch.bfloat16):
        raise InputTypeError(
            f"the loss must be summed in float32 or float64, got {loss.dtype}, which keeps "
            "fewer than 4 digits: call .float() before the sum"
        )
    return loss, int(count)


@contextmanager
def memory_advice(rows: int, batch: Batch, micro_batches: int) -> Iterator[None]:
    """Turn a failed allocation into advice.

    Args:
        rows: Rows of the whole batch of this rank.
        batch: The micro-batch at hand.
        micro_batches: How many parts the batch is cut into.
    """
    try:
        yield
    except RuntimeError as error:
        if not any(sign in str(error).lower() for sign in SIGNS):
            raise
        size = "×".join(map(str, (rows, *next(iter(batch.values())).shape[1:])))
        if micro_batches < rows:
            parts = min(2 * micro_batches, rows)
            advice = (
                f"try micro_batches={parts} (parts of {-(-rows // parts)} rows, same result)"
            )
        else:
            advice = (
                "each micro-batch is one row already: take a shorter context or a smaller model"
            )
        raise OutOfMemoryError(
            f"out of memory at batch {size}; {advice}; micro_batches is {micro_batches} now "
            "and no step was done"
        ) from error


def refuse_non_finite(
    total: float, sums: list[Tensor], micro_batches: list[Batch], step: int
) -> None:
    """Raise if a loss is NaN or infinite, on every rank, and name where it came from.

    Raises:
        NonFiniteLossError: With step, rank, micro-batch and, on that rank, the samples.
    """
    if torch.tensor(total).isfinite():
        return
    bad = [m for m, loss in enumerate(sums) if not loss.isfinite()]
    first = torch.zeros(ranks(), dtype=torch.int64, device=sums[0].device if sums else None)
    first[rank()] = bad[0] + 1 if bad else 0
    place = all_sum(first, f"at step {step}")
    where = int(place.nonzero()[0]) if place.any() else rank()
    samples = name_samples(micro_batches[bad[0]]) if bad else f"are named by rank {where}"
    raise NonFiniteLossError(
        f"non-finite loss at step {step}, rank {where}, micro-batch {int(place[where]) - 1} "
        f"(samples {samples}): the sum is {total}; the weights are those of step {step - 1}"
    )


def require_finite_evaluation(loss: float, step: int) -> None:
    """Refuse to go on from weights with which held-out batches have no finite loss."""
    if not math.isfinite(loss):
        raise NonFiniteLossError(
            f"the held-out loss after step {step} is {loss}: the weights have diverged, and "
            "are not saved; go back to a checkpoint, and take a smaller step size"
        )


def gradient_error(
    error: NonFiniteLossError, micro_batches: list[Batch], step: int
) -> NonFiniteLossError:
    """``error`` about a gradient, told with the step, the rank and the samples."""
    samples = ", ".join(name_samples(batch) for batch in micro_batches)
    return NonFiniteLossError(
        f"non-finite gradient at step {step}, rank {rank()} (samples {samples}): {error}; the "
        f"weights are those of step {step - 1}"
    )


def require_loss_of_weights(loss: Tensor, model: nn.Module, where: str) -> None:
    """Refuse a loss through which no gradient can flow.

    Raises:
        ConfigError: If it depends on no parameter that requires a gradient.
    """
    if loss.requires_grad:
        return
    trained = sum(p.requires_grad for p in model.parameters())
    raise ConfigError(
        f"the loss {where} depends on no trained parameter, so there is nothing to train: "
        f"{trained} of the {len(list(model.parameters()))} parameters of the model have "
        "requires_grad=True. Unfreeze some or add an adapter, and compute the loss without "
        "no_grad and detach"
    )


def require_gradient(model: nn.Module, parameters: list[nn.Parameter], where: str) -> None:
    """Refuse a step that would leave every weight where it is.

    Args:
        model: The model that is trained.
        parameters: What the optimizer holds.
        where: The step, in words.

    Raises:
        ConfigError: If none of ``parameters`` got a gradient.
    """
    if any(p.grad is not None for p in parameters):
        return
    trained = [p for p in model.parameters() if p.requires_grad]
    held = len({id(p) for p in parameters} & {id(p) for p in trained})
    raise ConfigError(
        f"no parameter of the optimizer has a gradient {where}: of the {len(trained)} trained "
        f"parameters of the model it holds {held}. Make the optimizer of the parameters that "
        "require a gradient, after the model has its adapters: "
        "AdamW(p for p in model.parameters() if p.requires_grad)"
    )


def say_zero_gradient(number: int, where: str) -> None:
    """Say once that the gradient vanishes; that is no error, as when all rewards are equal."""
    if rank() == 0:
        log.warning(
            "the gradient of all %d parameters is exactly 0 %s: the loss does not change with "
            "them there (equal rewards, a loss at its bound, a weight of 0 that multiplies "
            "all). Steps of this kind teach nothing; this is said once",
            number,
            where,
        )


class Speed:
    """Targets per second of training since the rate was last read, and how long it takes."""

    def __init__(self) -> None:
        self.targets, self.seconds = 0.0, 0.0
        self.began, self.steps = math.nan, 0

    @contextmanager
    def timing(self) -> Iterator[None]:
        """Count the time of the block, which is a step."""
        start = time.perf_counter()
        if self.steps == 0:
            self.began = start
        yield
        self.seconds += time.perf_counter() - start
        self.steps += 1

    def left(self, steps: int) -> float:
        """Time of further ``steps``, evaluations and checkpoints as often as so far [s]."""
        return (time.perf_counter() - self.began) / self.steps * steps if self.steps else 0.0

    def read(self) -> float:
        """The rate [targets/s]; the count begins anew."""
        rate = self.targets / self.seconds if self.seconds else 0.0
        self.targets = self.seconds = 0.0
        return rate
