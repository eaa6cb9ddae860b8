"""Fine-tune a model on preferences: ``mathlm dpo``, or ``torchrun -m mathlm.recipes.dpo``."""

import logging
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from ..align import (
    DPO,
    IPO,
    KTO,
    ORPO,
    Hinge,
    LengthNormalizedDPO,
    PairBatches,
    Reference,
    RobustDPO,
    SimPO,
    UnpairedBatches,
    completions_of,
    encode_unpaired,
    kl_k1,
    kl_k3,
    preference_metrics,
    roll_out,
    target_log_probabilities,
    unpaired_metrics,
)
from ..chat.model import ChatModel
from ..errors import ConfigError
from ..optim import AdamW
from ..text import Message, preferences
from ..train import LogLines, Trainer, distribute, resolve_device, unwrap
from ..train.activation_checkpointing import checkpoint_activations
from ..train.distributed import process_group, rank
from ..train.objectives import Objective
from ..train.trainer import Record
from .command import Maybe, execute, parse
from .data import context_of, read_pairs, split
from .more_steps import resume
from .tuning import (
    DataConfig,
    Prepared,
    Schedule,
    Tuning,
    finish,
    own_options,
    parameter_groups,
    prepare,
    say_result,
    trainer_config,
)

log = logging.getLogger(__name__)
LOSSES: dict[str, Any] = {
    "dpo": DPO,
    "robust": RobustDPO,
    "ipo": IPO,
    "hinge": Hinge,
    "length-normalized": LengthNormalizedDPO,
    "kto": KTO,
    "orpo": ORPO,
    "simpo": SimPO,
}
OWN = {  # options that a loss has, with its defaults
    name: {f.name: f.default for f in fields(loss) if f.name != "read"}
    for name, loss in LOSSES.items()
}
FREE = ("orpo", "simpo")  # of a reference
SHOWN = ("margin", "accuracy", "chosen_change", "rejected_change")
SAMPLED = 1_000_003  # seed of what is written before and after
BETA = 0.1  # of the implicit rewards that are reported, where a loss has none


@dataclass(frozen=True, kw_only=True)
class Loss:
    """What is minimized; a loss refuses the options of the others."""

    loss: Literal[
        "dpo", "robust", "ipo", "hinge", "length-normalized", "kto", "orpo", "simpo"
    ] = "dpo"
    """Name of the preference loss; kto learns from single answers that are good or bad."""
    beta: Maybe[float] = None
    """Price of the divergence from the reference [1/nat]; 0.1, of simpo 2, if not given."""
    label_smoothing: Maybe[float] = None
    """Of dpo: share of wrong labels (conservative DPO); 0 if not given."""
    flip: Maybe[float] = None
    """Of robust: share of flipped labels; 0.1 if not given."""
    per_token: bool = False
    """Of ipo: means over tokens."""
    weight: Maybe[float] = None
    """Of orpo: weight of the odds ratio; 0.1 if not given."""
    gamma: Maybe[float] = None
    """Of simpo: margin that is asked for; 1 if not given."""
    desirable_weight: Maybe[float] = None
    """Of kto: weight of good answers; 1 if not given."""
    undesirable_weight: Maybe[float] = None
    """Of kto: weight of bad answers; 1 if not given."""

    def __post_init__(self) -> None:
        own_options(self, "loss", OWN)

    @property
    def options(self) -> dict[str, Any]:
        """The options of the loss, with its defaults where they were not given."""
        return own_options(self, "loss", OWN)

    @property
    def objective(self) -> Objective:
        """The objective, with its options."""
        return LOSSES[self.loss](**self.options)

    @property
    def reported_beta(self) -> float:
        """β of the implicit rewards that are reported."""
        return self.options.get("beta") or BETA


@dataclass(frozen=True, kw_only=True)
class DPOConfig(DataConfig):
    """Fine-tune a model on preferences: DPO, IPO, KTO, ORPO, SimPO and others.

    A line of the data is {"prompt": ..., "chosen": ..., "rejected": ...} or another form of
    mathlm.text.preferences; of --loss kto it is {"prompt": ..., "completion": ..., "label":
    true}. The reference is the model as it was; with --method lora it costs no memory, and it
    is asked once. The same command resumes a run that was interrupted.

        mathlm dpo --data pairs.jsonl --model smollm2 --loss dpo --beta 0.1
        mathlm chat --model runs/pairs-smollm2-dpo
    """

    samples: int = 16
    """Prompts that the model answers, before and after."""
    max_new_tokens: int = 64
    """Longest such answer [tokens]."""
    loss: Loss = Loss()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.adaptation.l2_sp is not None:
            raise ConfigError("--l2-sp is for mathlm sft: take a larger --beta")
        if self.adaptation.lora_dropout:
            raise ConfigError(
                "--lora-dropout: a policy is compared with its reference without dropout"
            )
        if self.samples < 0 or self.max_new_tokens < 1:
            raise ConfigError(
                f"--samples {self.samples} must not be negative, --max-new-tokens "
                f"{self.max_new_tokens} be positive"
            )

    @property
    def names(self) -> tuple[str, ...]:
        """Data, model and loss."""
        return Path(self.data).stem, Path(self.base.model).stem, self.loss.loss

    @property
    def filled(self) -> dict[str, Any]:
        """All options by name, with the defaults of the choices that were made."""
        return super().filled | self.loss.options


Batches = PairBatches | UnpairedBatches


@dataclass(frozen=True, eq=False)
class Preferences:
    """Batches to train on and to evaluate on, what was left out, and prompts to answer."""

    training: Batches
    held_out: Batches | None
    dropped: dict[str, int]
    prompts: list[Tensor]

    def with_reference(self, reference: Reference, loss: str) -> "Preferences":
        """The same, compared with a reference; training without one asks for none."""
        held_out = None if self.held_out is None else self.held_out.with_reference(reference)
        free = loss in FREE
        training = self.training if free else self.training.with_reference(reference)
        return replace(self, training=training, held_out=held_out)


def read_preferences(config: DPOConfig, chat_model: ChatModel) -> Preferences:
    """The preferences, or judged answers, of ``--data`` as batches."""
    training: Batches
    held_out: Batches | None
    if config.loss.loss == "kto":
        training, held_out, dropped = read_unpaired(config, chat_model)
        texts: Sequence[Any] = preferences.read_unpaired(config.data)
    else:
        found = read_pairs(config, chat_model)
        training, held_out, dropped = found.training, found.held_out, found.encoded.dropped
        texts = preferences.read(config.data)
    seen = (training if held_out is None else held_out).encoded.index
    asked = list(dict.fromkeys(tuple(texts[i].prompt) for i in seen))
    return Preferences(training, held_out, dropped, prompt_ids(config, chat_model, asked))


def read_unpaired(
    config: DPOConfig, chat_model: ChatModel
) -> tuple[UnpairedBatches, UnpairedBatches | None, dict[str, int]]:
    """Answers that were found good or bad, as batches."""
    context, seed = context_of(config, chat_model), config.optimization.seed
    given = preferences.read_unpaired(config.data)
    whole = encode_unpaired(given, chat_model.format, chat_model.tokenizer, context)
    sides = split([given[i].prompt for i in whole.index], config.held_out, seed)
    batches = list[UnpairedBatches]()
    for rows in filter(None, sides):
        names = ("chats", "labels", "index")
        some: dict[str, Any] = {name: [getattr(whole, name)[i] for i in rows] for name in names}
        if batches:  # held out: the answers of training may stand behind its few prompts
            some["others"] = batches[0].encoded.chats
        size = config.passes.batch_size
        batches.append(UnpairedBatches(replace(whole, **some), batch_size=size, seed=seed))
    log.info("%d answers to train on, %d held out", *map(len, sides))
    return batches[0], batches[1] if sides[1] else None, whole.dropped


def prompt_ids(
    config: DPOConfig, chat_model: ChatModel, asked: list[tuple[Message, ...]]
) -> list[Tensor]:
    """Ids of the first prompts that leave room for an answer."""
    found: list[Tensor] = []
    for prompt in asked:
        ids = chat_model.format.encode(prompt, chat_model.tokenizer, answer=True).ids
        room = len(ids) + config.max_new_tokens <= chat_model.context
        if len(found) < config.samples and room:
            found.append(torch.from_numpy(ids))
    if len(found) < min(config.samples, len(asked)):
        log.info(
            "%d of %d prompts leave room for %d tokens",
            len(found),
            len(asked),
            config.max_new_tokens,
        )
    return found


class PreferenceTrainer(Trainer):
    """A trainer whose log has margins and accuracy beside each held-out loss."""

    def __init__(self, *parts: Any, beta: float) -> None:
        super().__init__(*parts)
        self.beta = beta

    def say(self, record: Record) -> None:
        """Add what held-out answers say, then log."""
        if "held_out_loss" in record:
            found = metrics(unwrap(self.model), self.held_out, self.beta)
            record |= {name: found[name] for name in SHOWN if name in found}
        super().say(record)


def metrics(model: nn.Module, batches: Any, beta: float) -> dict[str, float]:
    """Metrics of pairs or of judged answers."""
    device = next(model.parameters()).device
    moved = ({name: x.to(device) for name, x in batch.items()} for batch in batches)
    if isinstance(batches, UnpairedBatches):
        return unpaired_metrics(model, moved, beta)
    return preference_metrics(model, moved, beta)


@torch.no_grad()
def answers(
    config: DPOConfig, chat_model: ChatModel, prompts: list[Tensor], reference: Reference
) -> dict[str, Any]:
    """Answers to some prompts, and the divergence of the model from the reference there."""
    if not prompts:
        return {}
    model, device = chat_model.model, reference.device
    end = chat_model.tokenizer.special[chat_model.format.end]
    asked = [ids.to(device) for ids in prompts]
    batch = roll_out(model, asked, config.max_new_tokens, seed=SAMPLED, stop=(end,))
    both = target_log_probabilities(model, batch), reference.log_probabilities(batch)
    mask = batch["targets"] != -100
    texts = zip(prompts, completions_of(batch), strict=True)
    say = chat_model.tokenizer.decode
    samples = [{"prompt": say(x.tolist()), "answer": say(y.tolist())} for x, y in texts]
    return {
        "kl_k1": float(kl_k1(*both, mask=mask).sum(1).mean()),
        "kl_k3": float(kl_k3(*both, mask=mask).sum(1).mean()),
        "length": float(batch["lengths"].double().mean()),
        "finished": float(batch["finished"].double().mean()),
        "samples": samples,
    }


def judge(
    config: DPOConfig, chat_model: ChatModel, data: Preferences, reference: Reference, when: str
) -> dict[str, Any]:
    """Everything that is compared before and after; two answers are logged."""
    found: dict[str, Any] = {}
    if data.held_out is not None:
        found |= metrics(chat_model.model, data.held_out, config.loss.reported_beta)
    found |= answers(config, chat_model, data.prompts, reference)
    for sample in found.get("samples", [])[:2]:
        log.info("%s: %r -> %r", when, sample["prompt"], sample["answer"])
    return found


def log_lines(config: DPOConfig) -> LogLines:
    """How the log is worded: the first loss is known where the policy begins as its reference.

    All implicit rewards are 0 there, and no divergence is.
    """
    name, own = config.loss.loss, config.loss.options
    begins: dict[str, tuple[float | None, str]] = dict.fromkeys(
        ("dpo", "robust", "length-normalized"), (math.log(2), "ln 2")
    )
    begins["hinge"] = (1.0, "")
    if name == "ipo":
        begins["ipo"] = (1 / (4 * own["beta"] ** 2), "1/(4 beta^2)")
    if name == "kto" and own["desirable_weight"] == own["undesirable_weight"]:
        begins["kto"] = (own["desirable_weight"] / 2, "")
    virtual = config.adaptation.method in ("prefix", "prompt")  # they change the policy at once
    first, because = (None, "") if virtual else begins.get(name, (None, ""))
    unit = "answers" if name == "kto" else "pairs"
    return LogLines(unit=unit, first_loss=first, because=because)


def build(
    config: DPOConfig,
    schedule: Schedule,
    prepared: Prepared,
    model: nn.Module,
    data: Preferences,
) -> PreferenceTrainer:
    """Trainer of a run; ``model`` is the prepared one, distributed."""
    return PreferenceTrainer(
        model,
        Tuning(config.loss.objective, config.identity),
        data.training,
        AdamW(parameter_groups(config, prepared.chat_model.model, prepared)),
        trainer_config(config, schedule, log_lines(config)),
        data.held_out,
        beta=config.loss.reported_beta,
    )


def run(config: DPOConfig) -> dict[str, Any]:
    """Fine-tune, evaluate, write the result and the record.

    Returns:
        ``step``, ``dropped``, ``seconds``, ``reference_sha256``, and ``before`` and ``after``:
        margins and accuracy of held-out pairs, divergence from the reference, samples.
    """
    machine = config.machine
    with process_group(machine.device, timeout=machine.timeout):
        prepared = prepare(config)
        chat_model = prepared.chat_model
        data = read_preferences(config, chat_model)
        if machine.activation_checkpointing:
            checkpoint_activations(chat_model.model)
        model = distribute(chat_model.model, machine.parallel, resolve_device(machine.device))
        reference = Reference.of(chat_model.model)
        data, start = data.with_reference(reference, config.loss.loss), time.perf_counter()
        per_epoch, width = data.training.steps_per_epoch, chat_model.model.config.d_model
        schedule = Schedule.of_passes(config, per_epoch, width, slower=10)
        trainer = build(config, schedule, prepared, model, data)
        before = judge(config, chat_model, data, reference, "before")
        resume(trainer, config.output.more_steps, config.output.allow_change)
        trainer.fit()
        after = judge(config, chat_model, data, reference, "after")
        found = {"step": trainer.step, "dropped": data.dropped, "before": before}
        found |= {"after": after, "reference_sha256": reference.sha256}
        found |= {"seconds": time.perf_counter() - start}
        if rank() == 0:
            place = finish(config, schedule, trainer, prepared, found)
            say_result(config, found, place, f"mathlm chat --model {place}")
        return found


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Run by the options of the command line."""
    return run(parse(DPOConfig, argv, prog="mathlm dpo"))


if __name__ == "__main__":
    execute(main)
