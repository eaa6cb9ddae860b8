"""Fine-tune a model on conversations: ``mathlm sft``, or ``torchrun -m mathlm.recipes.sft``."""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from ..adapt import L2SP, Replay
from ..align import ChatBatches, Encoded, encode_chats
from ..chat.model import ChatModel
from ..errors import ConfigError
from ..optim import AdamW
from ..text import corpus, encode_corpus, instructions
from ..train import (
    LogLines,
    TokenizedWindows,
    Trainer,
    distribute,
    next_token,
    resolve_device,
)
from ..train.activation_checkpointing import checkpoint_activations
from ..train.distributed import process_group, rank
from ..train.objectives import Batch, Objective
from ..train.state import kept_rng
from .command import Maybe, execute, parse
from .data import context_of, split
from .more_steps import resume
from .tuning import (
    DataConfig,
    Prepared,
    Schedule,
    Tuning,
    finish,
    parameter_groups,
    prepare,
    require_convergence,
    say_result,
    trainer_config,
)

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class SFTConfig(DataConfig):
    """Fine-tune a model on conversations (SFT): by LoRA, adapters, prefixes, or all weights.

    A line of the data is {"prompt": ..., "response": ...}, {"instruction": ..., "output": ...},
    {"messages": [...]} or, as ShareGPT's, {"conversations": [...]}; the answers alone are
    learned. The same command resumes a run that was interrupted. The folder that it writes
    holds an adapter or a model, the tokenizer and the chat template.

        mathlm sft --data my.jsonl --model smollm2 --lora-rank 16
        mathlm chat --model runs/my-smollm2-lora
    """

    data: str
    """File of JSON lines, or an installed set: chatterbot, chitchat."""
    packed: bool = False
    """Several conversations in a row of --context tokens."""
    replay: Maybe[str] = None
    """Old text among the rows, against forgetting: file, folder or known corpus; None: none."""
    replay_share: Maybe[float] = None
    """Share of the rows that is old; 0.1 if not given."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.replay is None and self.replay_share is not None:
            raise ConfigError("--replay-share needs --replay")

    @property
    def names(self) -> tuple[str, ...]:
        """Data, model and method."""
        return Path(self.data).stem, Path(self.base.model).stem, self.adaptation.method

    @property
    def filled(self) -> dict[str, Any]:
        """All options by name, with the defaults of the choices that were made."""
        given = self.replay is None or self.replay_share is not None
        return super().filled | ({} if given else {"replay_share": 0.1})


@dataclass(frozen=True)
class Conversations:
    """Batches to train on and to evaluate on, and how many steps a pass over them takes."""

    training: Callable[[int], Batch]
    held_out: ChatBatches | None
    steps_per_epoch: int
    encoded: Encoded


def read_conversations(config: SFTConfig, chat_model: ChatModel) -> Conversations:
    """The conversations of ``--data`` as batches, with old text among them if asked for."""
    context, seed = context_of(config, chat_model), config.optimization.seed
    given = read(config.data)
    chats = encode_chats(given, chat_model.format, chat_model.tokenizer, context)
    rows, out = split([given[i] for i in chats.index], config.held_out, seed)
    learned = some(chats, rows)
    log.info(
        "%d conversations to train on (%d tokens, %d of them learned), %d held out",
        len(learned),
        learned.tokens,
        learned.targets,
        len(out),
    )
    sizes: dict[str, Any] = {"batch_size": config.passes.batch_size, "seed": seed}
    sizes["packed"] = config.packed
    batches = ChatBatches(learned, **sizes)
    held_out = ChatBatches(some(chats, out), **sizes) if out else None
    training = batches if config.replay is None else replayed(config, chat_model, batches)
    return Conversations(training, held_out, batches.steps_per_epoch, chats)


def read(name: str) -> list[instructions.Conversation]:
    """The conversations of a set or of a file."""
    known = name in instructions.available() and not Path(name).exists()
    return instructions.load(name) if known else instructions.read(name)


def some(chats: Encoded, rows: list[int]) -> Encoded:
    """Those of the conversations with these numbers."""
    picked = [chats.chats[i] for i in rows]
    return replace(chats, chats=picked, index=[chats.index[i] for i in rows])


def replayed(config: SFTConfig, chat_model: ChatModel, batches: ChatBatches) -> Replay:
    """The batches with rows of old text, as long as the longest conversation."""
    name, tokenizer = str(config.replay), chat_model.tokenizer
    known = name in corpus.available() and not Path(name).exists()
    text = [corpus.split(name)[0]] if known else Path(name)
    longest = max(map(len, batches.encoded.chats))
    old = TokenizedWindows(
        encode_corpus(text, tokenizer)[0],
        tokenizer,
        context=batches.context if config.packed else longest,
        batch_size=config.passes.batch_size,
        seed=config.optimization.seed,
    )
    return Replay(batches, old, config.filled["replay_share"], config.optimization.seed)


def build(
    config: SFTConfig, schedule: Schedule, prepared: Prepared, data: Conversations
) -> Trainer:
    """Trainer of a run."""
    gpt, machine = prepared.chat_model.model, config.machine
    if machine.activation_checkpointing:
        checkpoint_activations(gpt)
    objective: Objective = next_token
    if config.adaptation.l2_sp is not None:
        objective = L2SP(next_token, gpt, config.adaptation.l2_sp)
    return Trainer(
        distribute(gpt, machine.parallel, resolve_device(machine.device)),
        Tuning(objective, config.identity),
        data.training,
        AdamW(parameter_groups(config, gpt, prepared)),
        trainer_config(config, schedule, LogLines(unit="tokens")),
        held_out=data.held_out,
    )


@torch.no_grad()
def last_loss(trainer: Trainer) -> float:
    """Loss on the batch of the last step after that step, where nothing is held out [nats]."""
    trainer.model.eval()
    with kept_rng(trainer.device):
        loss, count = trainer.loss_of(trainer.to_device(trainer.data(trainer.step - 1)))
    return float(loss) / count


def judged(trainer: Trainer, before: float) -> dict[str, float]:
    """Held-out loss before and after [nats/token]."""
    losses = {r["step"]: r["held_out_loss"] for r in trainer.history if "held_out_loss" in r}
    least = min(losses, key=lambda step: losses[step])
    after = losses[least] if trainer.best else losses[trainer.step]
    if after > losses[least]:
        log.info("the least was %.4f at step %d: --patience ends there", losses[least], least)
    return {"held_out_loss_before": before, "held_out_loss": after}


def run(config: SFTConfig) -> dict[str, Any]:
    """Fine-tune, evaluate, write the result and the record.

    Returns:
        ``step``, ``dropped``, ``seconds``, and, if some conversations are held out,
        ``held_out_loss_before`` and ``held_out_loss`` [nats/token].
    """
    with process_group(config.machine.device, timeout=config.machine.timeout):
        prepared = prepare(config)
        data, start = read_conversations(config, prepared.chat_model), time.perf_counter()
        width = prepared.chat_model.model.config.d_model
        schedule = Schedule.of_passes(config, data.steps_per_epoch, width)
        trainer = build(config, schedule, prepared, data)
        before = None if data.held_out is None else trainer.evaluate()
        resume(trainer, config.output.more_steps, config.output.allow_change)
        trainer.fit()
        found: dict[str, Any] = {"step": trainer.step, "dropped": data.encoded.dropped}
        found |= {} if before is None else judged(trainer, before)
        last = last_loss(trainer) if before is None else found["held_out_loss"]
        first = trainer.history[0]["loss"] if before is None else before
        require_convergence(first, last, prepared.chat_model.model.config.vocab_size)
        found |= {"seconds": time.perf_counter() - start}
        if rank() == 0:
            place = finish(config, schedule, trainer, prepared, found)
            told: dict[str, Any] = {} if before is None else {"held_out_loss": before}
            both = {"before": told, "after": found}
            say_result(config, found | both, place, f"mathlm chat --model {place}")
        return found


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Run by the options of the command line."""
    return run(parse(SFTConfig, argv, prog="mathlm sft"))


if __name__ == "__main__":
    execute(main)
