"""What sft, reward, dpo, ppo and grpo share: methods such as LoRA, and what a run writes.

A command's configuration is a :class:`TuningConfig`. What depends on the model and the data is
computed once, into a :class:`Schedule`; nothing is written into the configuration.
"""

import logging
import math
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
import tyro
from torch import Tensor, nn

from .. import adapt
from ..chat import folder as chat_folder
from ..chat.model import ChatModel
from ..chat.special_tokens import set_aside, special_ids, train_special_tokens
from ..errors import ConfigError, NonFiniteLossError
from ..generate import quantize
from ..models import GPT, save_pretrained
from ..models.gpt_config import require_choices
from ..optim import warmup_cosine
from ..train import LogLines, Trainer, TrainerConfig, run_loggers
from ..train.config import LINES
from ..train.objectives import Batch, Objective
from ..train.record import device_name, write_record
from .command import Maybe, flat
from .options import BaseModel, Machine, Optimization, Output
from .result import Row, compared, left_out, places, say

log = logging.getLogger(__name__)
Method = Literal["full", "freeze", "lora", "adapters", "prefix", "prompt"]
OWN: dict[str, dict[str, Any]] = {  # options that a method alone has, with their defaults
    "full": {},
    "freeze": {"train": None},
    "lora": {"lora_rank": 16, "lora_alpha": None, "lora_dropout": 0.0}
    | {"lora_targets": ("all-linear",), "rslora": False},
    "adapters": {"width": 16},
    "prefix": {"length": 16},
    "prompt": {"length": 16},
}
STEP_SIZES = {  # of a model of width 576
    "full": 1e-4,
    "freeze": 3e-4,
    "lora": 1e-3,
    "adapters": 1e-3,
    "prefix": 1e-2,
    "prompt": 1e-2,
}


def flag(name: str) -> str:
    """An option as it is typed."""
    return "--" + name.replace("_", "-")


def own_options(
    group: Any, choice: str, table: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """The options that one choice has, with its defaults where they were not given.

    Args:
        group: Options; those not given are None, or False.
        choice: Field that holds the choice, such as "method".
        table: Options and defaults of each choice.

    Raises:
        ConfigError: If an option of another choice was given, or there is no such choice.
    """
    require_choices(group, {choice: list(table)})
    chosen = getattr(group, choice)
    own = table[chosen]
    for name in sorted({name for names in table.values() for name in names} - own.keys()):
        value = getattr(group, name)
        if value is not None and value is not False:
            raise ConfigError(f"{flag(name)} is no option of {flag(choice)} {chosen}")
    given = {name: getattr(group, name) for name in own}
    return {name: own[name] if value is None else value for name, value in given.items()}


def require_positive(group: Any, *names: str) -> None:
    """Refuse an option that is given and below 1."""
    for name in names:
        if (value := getattr(group, name)) is not None and value < 1:
            raise ConfigError(f"{flag(name)} {value} must be positive")


@dataclass(frozen=True, kw_only=True)
class Adaptation:
    """What of the model is trained; a method refuses the options of the others."""

    method: Method = "lora"
    """All weights, some of them, low-rank updates, bottleneck adapters, or virtual tokens."""
    lora_rank: Maybe[int] = None
    """Of lora: rank of the updates; 16 if not given."""
    lora_alpha: Maybe[float] = None
    """Of lora: scale of the updates, alpha / rank; the rank if not given."""
    lora_dropout: Maybe[float] = None
    """Of lora: share of the inputs that is dropped; 0 if not given."""
    lora_targets: Maybe[tuple[str, ...]] = None
    """Of lora: maps that are updated, such as W_q W_v; all-linear if not given."""
    rslora: bool = False
    """Of lora: scale alpha / sqrt(rank)."""
    width: Maybe[int] = None
    """Of adapters: width of the bottlenecks; 16 if not given."""
    length: Maybe[int] = None
    """Of prefix and prompt: virtual tokens; 16 if not given."""
    train: Maybe[tuple[str, ...]] = None
    """Of freeze: what is trained, such as blocks.3 final_norm; None: of other methods."""
    special_tokens: Annotated[
        Literal["auto", "train", "keep"], tyro.conf.arg(aliases=["--marks"])
    ] = "auto"
    """Embeddings of the template's special tokens; auto: trained if it never saw them."""
    merge: bool = False
    """Of lora: write a whole model in place of an adapter."""
    quantize: Maybe[Literal[4, 8]] = None
    """Bits of the frozen weights; not quantized if not given."""
    l2_sp: Maybe[float] = None
    """L2-SP: pull towards the first weights [nats/target], for sft; None: none."""

    def __post_init__(self) -> None:
        own_options(self, "method", OWN)
        sentences = {
            "--method freeze needs --train: the names of what is trained": (
                self.method == "freeze" and not self.train
            ),
            "--merge is for --method lora": self.merge and self.method != "lora",
            "--quantize is for adapters: codes are neither trained nor merged": (
                self.whole_result and self.quantize is not None
            ),
        }
        for sentence, holds in sentences.items():
            if holds:
                raise ConfigError(sentence)

    @property
    def whole_result(self) -> bool:
        """Whether a whole model is written, not an adapter."""
        return self.method in ("full", "freeze") or self.merge

    @property
    def options(self) -> dict[str, Any]:
        """The options of the method, with its defaults where they were not given."""
        return own_options(self, "method", OWN)

    def apply(self, model: GPT, seed: int) -> None:
        """Freeze the model, add what the method adds, and leave gradients where it trains."""
        own = self.options
        if self.method == "full":
            model.requires_grad_(True)
        elif self.method == "freeze":
            adapt.freeze(model, but=own["train"])
        elif self.method == "lora":
            targets = own["lora_targets"]
            adapt.add_lora(
                model,
                own["lora_rank"],
                own["lora_alpha"],
                "all-linear" if list(targets) == ["all-linear"] else targets,
                dropout=own["lora_dropout"],
                rank_stabilized=own["rslora"],
                seed=seed,
            )
        elif self.method == "adapters":
            adapt.add_adapters(model, own["width"], seed=seed)
        elif self.method == "prefix":
            adapt.add_prefix(model, own["length"], seed=seed)
        else:
            adapt.add_prompt(model, own["length"], seed=seed)


@dataclass(frozen=True, kw_only=True)
class TuningConfig:
    """Options that all commands have which train a pretrained model further."""

    base: BaseModel = field(default_factory=BaseModel)
    adaptation: Adaptation = field(default_factory=Adaptation)
    optimization: Optimization = field(default_factory=Optimization)
    output: Output = field(default_factory=Output)
    machine: Machine = field(default_factory=Machine)

    def __post_init__(self) -> None:
        if self.machine.parallel == "fsdp":
            raise ConfigError(
                "--parallel fsdp leaves a part of the weights on each rank, and one writes the "
                "result: take sum or ddp"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """What the folder of the result is named by, if no other is given."""
        raise NotImplementedError

    @property
    def folder(self) -> Path:
        """Of the result and the checkpoints."""
        out = self.output.out
        return Path("runs") / "-".join(self.names) if out is None else Path(out)

    @property
    def filled(self) -> dict[str, Any]:
        """All options by name, with the defaults of the choices that were made."""
        return flat(self) | self.adaptation.options

    @property
    def identity(self) -> dict[str, Any]:
        """What of the method decides a run: it is resumed with the same."""
        own = self.adaptation
        said = {"method": own.method, "quantize": own.quantize, "marks": own.special_tokens}
        return said | own.options | {"model": Path(self.base.model)}


@dataclass(frozen=True, kw_only=True)
class Passes:
    """How long, and by which batches."""

    epochs: int = 3
    """Passes over the data."""
    steps: Maybe[int] = None
    """Optimizer steps; None: as many as --epochs take."""
    batch_size: int = 8
    """Rows of an optimizer step, over all processes and gradient accumulation."""
    clip: float = 1.0
    """Largest norm of the gradient."""
    eval_every: Maybe[int] = None
    """Steps between evaluations; a tenth of the run if not given."""
    patience: Maybe[int] = None
    """Early stopping: evaluations without a new best that end the run; never if not given."""

    def __post_init__(self) -> None:
        require_positive(self, "epochs", "steps", "eval_every")


@dataclass(frozen=True, kw_only=True)
class DataConfig(TuningConfig):
    """Options of the commands that learn from a file of examples: sft, reward and dpo."""

    data: str
    """File of JSON lines."""
    context: Maybe[int] = None
    """Longest conversation [tokens]; 512, or what the model reads, if not given."""
    held_out: float = 0.1
    """Share of the prompts that is not learned from but evaluated on; 0 = none."""
    passes: Passes = Passes()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.held_out == 0 and self.passes.patience is not None:
            raise ConfigError("--patience needs --held-out")
        if not 0 <= self.held_out < 1:
            raise ConfigError(f"--held-out {self.held_out} must be at least 0 and below 1")


@dataclass(frozen=True, eq=False)
class Prepared:
    """A model with gradients where it is trained.

    Args:
        chat_model: The model, its tokenizer and its chat template.
        original_rows: Embeddings that its special tokens had; None if they are not trained.
    """

    chat_model: ChatModel
    original_rows: Tensor | None


def prepare(config: TuningConfig) -> Prepared:
    """The base model, loaded, quantized and adapted as the options say."""
    require_places(config)
    run_loggers(
        config.output.log or (), config.folder
    )  # a missing package is said before all else
    base, own = config.base, config.adaptation
    loaded = chat_folder.load_whole(base.model, tokenizer=base.tokenizer, form=base.form)
    model = loaded.model if own.quantize is None else quantize(loaded.model, own.quantize)
    model = model.to(getattr(torch, config.machine.dtype))
    own.apply(model, config.optimization.seed)
    chat_model = ChatModel(model=model, tokenizer=loaded.tokenizer, format=loaded.format)
    rows = train_special_tokens(chat_model, own.special_tokens)
    trained, every = adapt.count_trainable(model)
    trained -= 0 if rows is None else model.token_embedding.weight.numel() - rows.numel()
    log.info("training %d of %d numbers (%.2f %%)", trained, every, 100 * trained / every)
    return Prepared(chat_model, rows)


def require_places(config: TuningConfig) -> None:
    """Refuse a result in the place of another model."""
    model, out = config.base.model, config.folder
    if out.resolve() == Path(model).resolve():
        raise ConfigError(f"--out {out} is the model itself: give another folder")
    theirs = ("config.json", "adapter_config.json")
    if any((out / name).exists() for name in theirs) and chat_folder.read(out) is None:
        raise ConfigError(f"--out {out} holds another model: give another folder")


def step_size(method: Method, width: int) -> float:
    """Where to begin: a wider model sums more changes, and each is to be smaller."""
    return STEP_SIZES[method] * 576 / width


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Steps and step sizes of a run: the options, and what the data and the model decide."""

    steps: int
    lr: float
    warmup: int
    eval_every: int | None = None

    @classmethod
    def of(
        cls, config: TuningConfig, steps: int, width: int, *, slower: float = 1.0
    ) -> "Schedule":
        """Steps that are known; the usual step size divided by ``slower`` if none is given."""
        own = config.optimization
        usual = step_size(config.adaptation.method, width) / slower
        lr = usual if own.lr is None else own.lr
        warmup = steps // 20 if own.warmup is None else own.warmup
        return cls(steps=steps, lr=lr, warmup=warmup)

    @classmethod
    def of_passes(
        cls, config: DataConfig, per_epoch: int, width: int, *, slower: float = 1.0
    ) -> "Schedule":
        """Steps of passes over data of which some may be held out."""
        own = config.passes
        found = cls.of(config, own.steps or own.epochs * per_epoch, width, slower=slower)
        tenth = None if config.held_out == 0 else max(1, found.steps // 10)
        return replace(found, eval_every=own.eval_every or tenth)


@dataclass(frozen=True)
class Tuning:
    """An objective that says which method it tunes with: a run is resumed with the same."""

    objective: Objective
    method: dict[str, Any]

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        """Loss [nats], summed over targets, and their number."""
        return self.objective(model, batch)


def parameter_groups(
    config: TuningConfig, model: nn.Module, prepared: Prepared
) -> list[dict[str, Any]]:
    """What is trained; an embedding of which only some rows are trained does not decay."""
    special = prepared.original_rows is not None
    rows = [prepared.chat_model.model.token_embedding.weight] if special else []
    rest = [p for p in adapt.trainable(model).values() if all(p is not row for row in rows)]
    decay = [{"params": rest, "weight_decay": config.optimization.weight_decay}]
    return decay + ([{"params": rows, "weight_decay": 0.0}] if special else [])


def trainer_config(
    config: TuningConfig, schedule: Schedule, lines: LogLines = LINES
) -> TrainerConfig:
    """How the trainer runs, by the options and the schedule; ``lines`` words its log."""
    rest: dict[str, Any]
    rates = warmup_cosine(schedule.lr, schedule.warmup, schedule.steps, final=schedule.lr / 10)
    known = flat(config) | asdict(schedule)
    given = {f.name: known[f.name] for f in fields(TrainerConfig) if f.name in known}
    rest = {"schedule": rates, "folder": config.folder / "checkpoints", "lines": lines}
    rest |= {"loggers": run_loggers(config.output.log or (), config.folder, known)}
    return TrainerConfig(**given | rest)


FILES = ("data", "prompts", "model", "tokenizer", "template", "replay", "reward")


def finish(
    config: TuningConfig,
    schedule: Schedule,
    trainer: Trainer,
    prepared: Prepared,
    results: dict[str, Any],
    **more: Any,
) -> Path:
    """Write the record of a run, with ``more``, if there is to be one, and the result.

    The record says what was asked, done and found; of files it has the names.
    """
    if config.output.record is not None:
        options = config.filled | asdict(schedule)
        files = {name: Path(options[name]) for name in FILES if options.get(name) is not None}
        parts: dict[str, Any] = {"options": options | files | {"out": config.folder}, **more}
        parts |= {"history": trainer.history, "config": trainer.describe()}
        parts |= {"results": results, "device": device_name(trainer.device)}
        write_record(config.output.record, **parts)
    return write_result(config, prepared)


def say_result(
    config: TuningConfig, found: dict[str, Any], place: Path, following: str
) -> None:
    """The table at the end, with the command that comes next."""
    length = next(name for name in ("step", "iterations") if name in found)
    rows: list[Row] = [("steps" if length == "step" else length, f"{found[length]:,}")]
    rows += left_out(found["dropped"])
    wrote = {"written to": place, "record": config.output.record}
    ends = places(found["seconds"], [following], **wrote)
    say(compared(found.get("before", {}), found.get("after", {})), rows, ends)


def require_convergence(before: float, after: float, vocab_size: int) -> None:
    """Refuse to write a model that has diverged.

    Weights that are large enough overflow the variance that a norm divides by. Every logit is
    then 0, and the loss the logarithm of the vocabulary, which is finite.

    Args:
        before: Loss of a token before training [nats].
        after: That after it [nats].
        vocab_size: Tokens that a uniform guess would choose among.

    Raises:
        NonFiniteLossError: If the loss is not finite, or exactly that of a uniform guess, or
            above it and higher than before.
    """
    guess = math.log(vocab_size)
    worse = after > guess and after > 1.05 * before
    if math.isfinite(after) and abs(after - guess) > 1e-5 and not worse:
        return
    raise NonFiniteLossError(
        f"the run has diverged: a token costs {after:.4f} nats after it and {before:.4f} "
        f"before, where a uniform guess among {vocab_size} tokens costs {guess:.4f}. "
        "Nothing is written; take a smaller --lr"
    )


def write_result(config: TuningConfig, prepared: Prepared) -> Path:
    """Write the result beside its place, then move it there; its chat.json comes last."""
    own, out, name = config.adaptation, config.folder, config.base.model
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out, prefix=".new-") as temporary:
        new = Path(temporary)
        save_whole(own, prepared, new) if own.whole_result else save_part(prepared, new)
        chat_folder.write(
            new,
            prepared.chat_model,
            kind="model" if own.whole_result else "adapter",
            base=name if name == "smollm2" else str(Path(name).resolve()),
            quantize=own.quantize,
            marks=prepared.original_rows is not None and not own.whole_result,
            base_adapter=None if own.whole_result else chat_folder.adapter_sha256(name),
        )
        (out / chat_folder.FILE).unlink(missing_ok=True)
        for path in sorted(new.iterdir(), key=lambda path: path.name == chat_folder.FILE):
            os.replace(path, out / path.name)
    return out


def save_whole(own: Adaptation, prepared: Prepared, folder: Path) -> None:
    """The whole model, updates merged if there are any."""
    model = prepared.chat_model.model
    if own.merge:
        adapt.merge_lora(model, keep=False)
    save_pretrained(model, folder)


def save_part(prepared: Prepared, folder: Path) -> None:
    """What was added, and the rows of the special tokens if they were trained."""
    chat_model, rows = prepared.chat_model, prepared.original_rows
    if rows is None:
        adapt.save_adapter(chat_model.model, folder)
        return
    chat_model.model.token_embedding.requires_grad_(False)
    with set_aside(chat_model.model, special_ids(chat_model), rows, folder):
        adapt.save_adapter(chat_model.model, folder)
