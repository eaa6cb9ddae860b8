"""Pretrain a GPT on a text of any size; run by ``mathlm pretrain`` or ``torchrun -m``."""

import logging
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch

from ..errors import ConfigError
from ..models import GPT, GPTConfig
from ..optim import AdamW, warmup_cosine
from ..text import ByteBPE, corpus, encode_corpus
from ..text.tokenizers.named import BPE, Tokenizer, load_tokenizer
from ..train import (
    LogLines,
    TokenizedWindows,
    Trainer,
    TrainerConfig,
    distribute,
    next_token,
    resolve_device,
    run_loggers,
)
from ..train.activation_checkpointing import checkpoint_activations
from ..train.distributed import process_group, rank
from ..train.loggers import LoggerName
from ..train.record import device_name, write_record
from .command import Maybe, execute, flat, parse
from .more_steps import MoreSteps, resume
from .options import LOGGERS, Machine
from .result import places, say, values

log = logging.getLogger(__name__)
Size = Literal["nano", "tiny", "small", "medium", "base", "gpt2"]
SIZES: dict[Size, dict[str, Any]] = {
    "nano": {"d_model": 32, "n_layers": 1, "n_heads": 2},
    "tiny": {"d_model": 64, "n_layers": 2, "n_heads": 4},
    "small": {"d_model": 128, "n_layers": 4, "n_heads": 4},
    "medium": {"d_model": 192, "n_layers": 4, "n_heads": 6},
    "base": {"d_model": 384, "n_layers": 6, "n_heads": 6},
    "gpt2": {"d_model": 768, "n_layers": 12, "n_heads": 12},
}


@dataclass(frozen=True, kw_only=True)
class Text:
    """What is read, and as which tokens."""

    data: Maybe[Path] = None
    """File (.txt, .md, .jsonl), folder, tokens of mathlm prepare; a tenth is held out.
    None: --corpus."""
    corpus: Literal["shakespeare", "glosses"] = "shakespeare"
    """Installed corpus, in place of --data; every tenth document is held out."""
    tokenizer: str = "bytes"
    """'bytes', a file of ByteBPE.save, or a folder with GPT-2's vocab.bpe."""
    held_out: Maybe[int] = None
    """Held-out tokens that are scored [tokens]; None: all."""

    def __post_init__(self) -> None:
        if self.held_out is not None and self.held_out < 2:
            raise ConfigError(f"--held-out {self.held_out} must be 2 tokens or more")

    def load(self, tokenizer: Tokenizer) -> tuple[np.ndarray, np.ndarray]:
        """Ids to train on and ids held out, at most as many as ``held_out`` says."""
        if self.data is not None:
            training, held_out = split(*encode_corpus(self.data, tokenizer))
        else:
            parts = corpus.split(self.corpus)
            training, held_out = (encode_corpus([text], tokenizer)[0] for text in parts)
        return training, held_out[: self.held_out]


def split(ids: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cut off the last tenth; where a document begins, if one does within half of a tenth."""
    cut, half = len(ids) - len(ids) // 10, len(ids) // 20
    near = starts[np.abs(starts - cut) <= half]
    if len(near):
        cut = int(near[np.abs(near - cut).argmin()])
    return ids[:cut], ids[cut:]


@dataclass(frozen=True, kw_only=True)
class Model:
    """The GPT: RMSNorm, SwiGLU, rotary positions, no biases."""

    size: Size = "tiny"
    """Width, layers and heads: from 32, 1, 2 of nano to 768, 12, 12 of gpt2."""
    context: int = 128
    """Context window [tokens]."""
    dropout: float = 0.0
    """Probability of dropping a unit."""

    def config(self, vocab_size: int) -> GPTConfig:
        """The configuration of the model."""
        sizes = SIZES[self.size] | {"context": self.context, "dropout": self.dropout}
        form: dict[str, Any] = {"norm": "rms", "activation": "swiglu", "position": "rope"}
        return GPTConfig(vocab_size=vocab_size, bias=False, **form, **sizes)


@dataclass(frozen=True, kw_only=True)
class Optimization:
    """AdamW, warmup and a cosine to a tenth of the learning rate."""

    steps: int = 500
    """Optimizer steps."""
    batch_size: int = 16
    """Windows in a step, over all processes."""
    micro_batches: int = 1
    """Gradient accumulation: parts that a process cuts its share of a batch into."""
    lr: float = 3e-3
    """Learning rate: the largest step size."""
    warmup: Maybe[int] = None
    """Steps until the largest step size; 20, at most half of --steps, if not given."""
    weight_decay: float = 0.1
    """Decay of all weights: a step shrinks them by this times the step size."""
    clip: float = 1.0
    """Gradient clipping: largest norm of the gradient."""
    ema: Maybe[float] = None
    """Decay of an exponential moving average of the weights, judged beside them; None: none."""
    seed: int = 0
    """Seed of weights, order and dropout."""

    @property
    def rise(self) -> int:
        """Steps until the largest step size, where they were not given, too."""
        return min(20, self.steps // 2) if self.warmup is None else self.warmup


@dataclass(frozen=True, kw_only=True)
class Output:
    """What is written, and when. The same command resumes a run that was interrupted."""

    out: Maybe[Path] = None
    """Folder of the checkpoints; a run found there is resumed. None: nothing is kept."""
    record: Maybe[Path] = None
    """JSON file for options, history and results; None: none."""
    log_every: int = 10
    """Steps between log lines."""
    log: Annotated[Maybe[tuple[LoggerName, ...]], LOGGERS] = None
    """Write the log as numbers too, into the folder, in one form or several; None: in none."""
    eval_every: Maybe[int] = None
    """Steps between evaluations, the last step apart; None: that one alone."""
    save_every: int = 100
    """Steps between checkpoints."""
    keep: Maybe[int] = None
    """Newest checkpoints that stay; None: all."""
    allow_change: bool = False
    """Resume although the options differ."""
    more_steps: Maybe[MoreSteps] = None
    """What the learning rate does if a run that has ended gets more steps; None: refused."""


@dataclass(frozen=True, kw_only=True)
class PretrainConfig:
    """Pretrain a GPT on a text of any size, on one processor or several.

    The result is in bits per byte, which does not depend on the tokenizer. Text is encoded into
    a file at the start, by every process for itself; a large one is better encoded once, by
    mathlm prepare, and given as that file.

        mathlm pretrain --data my-texts --size small --out runs/mine
        torchrun --nproc_per_node 2 -m mathlm.recipes.pretrain --parallel fsdp --out runs/both
    """

    text: Text = Text()
    model: Model = Model()
    optimization: Optimization = Optimization()
    output: Output = Output()
    machine: Machine = field(default_factory=Machine)


def windows(config: PretrainConfig) -> tuple[TokenizedWindows, TokenizedWindows]:
    """Windows to train on and windows held out."""
    tokenizer = load_tokenizer(config.text.tokenizer)
    sizes = {
        "context": config.model.context,
        "batch_size": config.optimization.batch_size,
        "seed": config.optimization.seed,
    }
    training, held_out = (
        TokenizedWindows(ids, tokenizer, **sizes) for ids in config.text.load(tokenizer)
    )
    if rank() == 0:
        counts = f"{len(training.ids):,} tokens to train on, {len(held_out.ids):,} held out"
        log.info("%s; a token stands for %.2f bytes", counts, held_out.bytes_per_target)
    return training, held_out


def trainer_config(config: PretrainConfig) -> TrainerConfig:
    """How long and how to train."""
    by, to, on = config.optimization, config.output, config.machine
    return TrainerConfig(
        steps=by.steps,
        schedule=warmup_cosine(by.lr, by.rise, by.steps, final=by.lr / 10),
        clip=by.clip,
        micro_batches=by.micro_batches,
        ema=by.ema,
        seed=by.seed,
        folder=to.out,
        log_every=to.log_every,
        loggers=run_loggers(to.log or (), to.out, flat(config)),
        eval_every=to.eval_every,
        save_every=to.save_every,
        keep=to.keep,
        device=on.device,
        precision=on.precision,
        parallel=on.parallel,
        compile=on.compile,
    )


def log_lines(vocab_size: int) -> LogLines:
    """How the log is worded: new weights know nothing and guess uniformly."""
    guess = math.log(vocab_size)
    return LogLines(unit="tokens", first_loss=guess, because=f"ln {vocab_size}")


def build(config: PretrainConfig) -> tuple[Trainer, TokenizedWindows]:
    """Trainer of a run, and its held-out windows."""
    plan = trainer_config(config)  # refuses wrong options before a long text is read
    training, held_out = windows(config)
    plan = replace(plan, lines=log_lines(training.vocab_size))
    torch.manual_seed(config.optimization.seed)
    shape = config.model.config(training.vocab_size)
    one = GPT(shape).to(getattr(torch, config.machine.dtype))
    if config.machine.activation_checkpointing:
        checkpoint_activations(one)
    model = distribute(one, config.machine.parallel, resolve_device(config.machine.device))
    decay = config.optimization.weight_decay
    optimizer = AdamW(model.parameters(), betas=(0.9, 0.95), weight_decay=decay)
    trainer = Trainer(model, next_token, training, optimizer, plan, held_out=held_out)
    return trainer, held_out


def evaluated(trainer: Trainer) -> dict[str, float]:
    """The last record; an evaluation, if it has none: of a run that is given fewer steps."""
    last = trainer.history[-1] if trainer.history else {}
    if "held_out_loss" in last:
        return last
    means = {"held_out_loss_ema": trainer.evaluate_averages()} if trainer.averages else {}
    return {"held_out_loss": trainer.evaluate()} | means


def results(trainer: Trainer, bytes_per_target: float) -> dict[str, float]:
    """What the last evaluation found, in nats per token and in bits per byte."""
    last, bits = evaluated(trainer), bytes_per_target * math.log(2)
    found = {name: x for name, x in last.items() if name.startswith("held_out_loss")}
    found["bits_per_byte"] = last["held_out_loss"] / bits
    if "held_out_loss_ema" in last:
        found["bits_per_byte_ema"] = last["held_out_loss_ema"] / bits
    found["parameters"] = sum(p.numel() for p in trainer.model.parameters())
    return found


def say_result(config: PretrainConfig, found: dict[str, float]) -> None:
    """The table at the end."""
    out, size = config.output.out, ("parameters", f"{found['parameters']:,}")
    following = [f"mathlm plot {out}", f"mathlm export {out} FOLDER"]
    if out is None:
        following = ["give --out FOLDER to keep the weights"]
    wrote = {"checkpoints": out, "record": config.output.record}
    say(values(found), [size], places(found["seconds"], following, **wrote))


def keep_tokenizer(config: PretrainConfig) -> None:
    """A copy of the tokenizer in the folder of the run, where mathlm export finds it."""
    tokenizer, out = load_tokenizer(config.text.tokenizer), config.output.out
    if isinstance(tokenizer, ByteBPE) and out is not None and rank() == 0:
        tokenizer.save(out / BPE)


def run(config: PretrainConfig) -> dict[str, float]:
    """Train, evaluate and record; returns the results."""
    with process_group(config.machine.device, timeout=config.machine.timeout):
        (trainer, held_out), start = build(config), time.perf_counter()
        resume(trainer, config.output.more_steps, config.output.allow_change)
        keep_tokenizer(config)
        trainer.fit()
        found = results(trainer, held_out.bytes_per_target)
        found |= {"seconds": time.perf_counter() - start}
        if rank() == 0:
            say_result(config, found)
            if config.output.record is not None:
                options = flat(config) | {"warmup": config.optimization.rise}
                parts = {"options": options, "history": trainer.history}
                parts |= {"config": trainer.describe(), "results": found}
                device = device_name(trainer.device)
                write_record(config.output.record, **parts, device=device)
        return found


def main(argv: Sequence[str] | None = None) -> dict[str, float]:
    """The command ``mathlm pretrain``."""
    return run(parse(PretrainConfig, argv, prog="mathlm pretrain"))


if __name__ == "__main__":
    execute(main)
