"""Groups of options that several commands share, as frozen dataclasses."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import tyro

from ..errors import ConfigError
from ..train.loggers import LoggerName
from .command import Maybe
from .more_steps import MoreSteps

LOGGERS = tyro.conf.arg(metavar="{jsonl,csv,tensorboard,wandb} ...")


@dataclass(frozen=True, kw_only=True)
class Machine:
    """Where the run computes, and in which numbers."""

    device: Literal["cpu", "cuda", "auto"] = "auto"
    """Where to run."""
    dtype: Literal["float32", "float64"] = "float32"
    """Of the weights."""
    precision: Literal["full", "bfloat16", "float16"] = "full"
    """Mixed precision: of the products."""
    compile: bool = False
    """Compile the model by torch.compile."""
    activation_checkpointing: bool = False
    """Forget activations and compute them again in the backward pass, to save memory."""
    parallel: Literal["sum", "ddp", "fsdp"] = "sum"
    """How processes share the work."""
    timeout: float = 60.0
    """Longest wait for another process [s]."""


@dataclass(frozen=True, kw_only=True)
class BaseModel:
    """The model that a run begins with, and how its conversations are written."""

    model: str = "smollm2"
    """'smollm2', a GGUF file, or a folder: of Hugging Face, or a result of these commands."""
    tokenizer: Maybe[str] = None
    """'bytes', a file of ByteBPE.save or a folder; the model's own if not given."""
    format: str = "auto"
    """Chat template: chatml or named; auto = by the tokenizer."""
    template: Maybe[str] = None
    """Chat template: a JSON file with the arguments of ChatFormat; None: as --format says."""

    def __post_init__(self) -> None:
        if self.format != "auto" and self.template is not None:
            raise ConfigError("--format or --template, not both")

    @property
    def form(self) -> str:
        """The chat template, by name or file."""
        return self.template or self.format


@dataclass(frozen=True, kw_only=True)
class Optimization:
    """AdamW, its step size and its gradient accumulation."""

    lr: Maybe[float] = None
    """Largest step size; if not given by command, method and width of the model."""
    warmup: Maybe[int] = None
    """Steps until the largest step size; a twentieth of all if not given."""
    weight_decay: float = 0.0
    """Decay of what is trained."""
    micro_batches: int = 1
    """Gradient accumulation: parts that a process cuts its share of a batch into."""
    ema: Maybe[float] = None
    """Decay of an exponential moving average of weights, judged and saved too; None: none."""
    seed: int = 0
    """Seed of everything that is drawn: held-out rows, order, dropout, texts."""


@dataclass(frozen=True, kw_only=True)
class Output:
    """What is written, and where. The same command resumes a run that was interrupted."""

    out: Maybe[Path] = None
    """Folder of the result and the checkpoints; if not given in runs/, named by the options."""
    record: Maybe[Path] = None
    """JSON file for options, history and results; None: none."""
    log_every: int = 10
    """Steps between log lines."""
    log: Annotated[Maybe[tuple[LoggerName, ...]], LOGGERS] = None
    """Write the log as numbers too, into the folder, in one form or several; None: in none."""
    save_every: Maybe[int] = None
    """Steps between checkpoints; if not given the last step only."""
    keep: int = 2
    """Newest checkpoints that stay."""
    allow_change: bool = False
    """Resume although the options differ."""
    more_steps: Maybe[MoreSteps] = None
    """What the learning rate does if a run that has ended gets more steps; None: refused."""
