"""Train a reward model on preferences: ``mathlm reward``; and the reward that it writes."""

import logging
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ..align import BradleyTerry, RewardModel, pair_rewards, reward_metrics
from ..align.reward.model import HEAD_FILE
from ..chat import folder as chat_folder
from ..chat.model import ChatModel
from ..errors import ConfigError, InputError
from ..generate.decoding import evaluating
from ..optim import AdamW
from ..text import Message
from ..train import LogLines, Trainer, distribute, resolve_device
from ..train.activation_checkpointing import checkpoint_activations
from ..train.distributed import DeviceName, process_group, rank
from ..train.objective_batches import padded
from .command import execute, parse
from .data import Pairs, read_pairs
from .more_steps import resume
from .tuning import (
    DataConfig,
    Prepared,
    Schedule,
    Tuning,
    finish,
    parameter_groups,
    prepare,
    say_result,
    trainer_config,
)

log = logging.getLogger(__name__)
CENTRED_ON = 16  # batches of training pairs whose mean reward becomes 0
Prompt = str | Sequence[Message | Mapping[str, str]]


@dataclass(frozen=True, kw_only=True)
class RewardConfig(DataConfig):
    """Train a reward model on preferences (Bradley-Terry).

    A line of the data is {"prompt": ..., "chosen": ..., "rejected": ...} or another form of
    mathlm.text.preferences. The same command resumes a run that was interrupted. The folder
    that it writes can be the --reward of mathlm ppo and mathlm grpo.

        mathlm reward --data my.jsonl --lora-rank 16 --out runs/mine
        mathlm score --reward runs/mine --prompt "Hi" --completion "Hello!"
    """

    margin: float = 0.0
    """Difference of the rewards that is asked for [nats]."""
    centring: float = 0.01
    """Pull of the rewards towards 0 [1/nat]; 0 = none."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.adaptation.l2_sp is not None:
            raise ConfigError("--l2-sp is for mathlm sft: a reward model has a new head")

    @property
    def names(self) -> tuple[str, ...]:
        """Data and model."""
        return Path(self.data).stem, Path(self.base.model).stem, "reward"


def prepare_reward(config: RewardConfig) -> tuple[Prepared, RewardModel]:
    """The base model with a head for rewards, which is trained beside it."""
    prepared = prepare(config)
    model = prepared.chat_model.model
    if not model.config.tie_embeddings:
        model.head.requires_grad_(False)  # no reward depends on it
    return prepared, RewardModel(model)


def log_lines(config: RewardConfig) -> LogLines:
    """How the log is worded: the head begins at 0, so that all answers are worth the same."""
    first = math.log1p(math.exp(config.margin))
    because = f"ln(1 + e^{config.margin:g})" if config.margin else "ln 2"
    return LogLines(unit="pairs", first_loss=first, because=because)


def build(
    config: RewardConfig,
    schedule: Schedule,
    prepared: Prepared,
    model: RewardModel,
    data: Pairs,
) -> Trainer:
    """Trainer of a run."""
    machine = config.machine
    if machine.activation_checkpointing:
        checkpoint_activations(model.body)
    decay = config.optimization.weight_decay
    head = {"params": [model.head.weight], "weight_decay": decay}
    objective = BradleyTerry(margin=config.margin, centring=config.centring)
    return Trainer(
        distribute(model, machine.parallel, resolve_device(machine.device)),
        Tuning(objective, config.identity),
        data.training,
        AdamW([*parameter_groups(config, model.body, prepared), head]),
        trainer_config(config, schedule, log_lines(config)),
        data.held_out,
    )


def judged(model: RewardModel, data: Pairs) -> dict[str, float]:
    """What the reward is worth on the held-out pairs, and what length is worth there."""
    if data.held_out is None:
        return {}
    device = model.offset.device
    batches = ({k: t.to(device) for k, t in batch.items()} for batch in data.held_out)
    return reward_metrics(model, batches)


def compare_with_length(found: dict[str, float]) -> bool | None:
    """Whether the reward tells more than length does, by two standard errors; says so."""
    if not found:
        return None
    gain, error = found["beyond_length"], found["beyond_length_error"]
    more = gain > 2 * error
    log.info(
        "%s: accuracy %.3f, of length alone %.3f, a gain of %.3f ± %.3f",
        "the reward tells more than length" if more else "LENGTH ALONE DOES AS WELL",
        *(found["accuracy"], found["length_accuracy"], gain, error),
    )
    return more


@torch.no_grad()
def centre(model: RewardModel, data: Pairs) -> None:
    """Give the rewards of training answers the mean 0."""
    device, some = model.offset.device, islice(data.training, CENTRED_ON)
    with evaluating(model):
        batches = ({k: t.to(device) for k, t in batch.items()} for batch in some)
        model.centre(torch.cat([pair_rewards(model, batch).flatten() for batch in batches]))


def run(config: RewardConfig) -> dict[str, Any]:
    """Train, evaluate, write the result and the record.

    Returns:
        ``step``, ``dropped``, ``seconds``, ``before`` and ``after``: loss, accuracy and
        calibration of held-out pairs; ``more_than_length``, whether it tells more than length.
    """
    with process_group(config.machine.device, timeout=config.machine.timeout):
        prepared, model = prepare_reward(config)
        data, start = read_pairs(config, prepared.chat_model), time.perf_counter()
        per_epoch, width = data.training.steps_per_epoch, model.body.config.d_model
        schedule = Schedule.of_passes(config, per_epoch, width)
        trainer = build(config, schedule, prepared, model, data)
        before = judged(model, data)
        resume(trainer, config.output.more_steps, config.output.allow_change)
        trainer.fit()
        centre(model, data)
        after = judged(model, data)
        found: dict[str, Any] = {"step": trainer.step, "dropped": data.encoded.dropped}
        found |= {"before": before, "after": after}
        found |= {"more_than_length": compare_with_length(after)}
        found |= {"seconds": time.perf_counter() - start}
        if rank() == 0:
            (config.folder / chat_folder.FILE).unlink(missing_ok=True)
            model.save_head(config.folder)
            place = finish(config, schedule, trainer, prepared, found)
            say_result(config, found, place, f"mathlm grpo --reward {place} --prompts FILE")
        return found


class LearnedReward:
    """A reward model as a reward function: from prompts and completions to numbers.

    A prompt is what a user said, or a list of messages; a completion is the answer to it. Both
    are written in the reward model's own format.

    Args:
        chat_model: The body, its tokenizer and its chat template.
        model: The reward model of this body.
        batch_size: Conversations that are read together.
    """

    def __init__(self, chat_model: ChatModel, model: RewardModel, batch_size: int = 16) -> None:
        self.chat_model, self.model, self.batch_size = chat_model, model.eval(), batch_size

    @torch.no_grad()
    def __call__(self, prompts: Sequence[Prompt], completions: Sequence[str]) -> list[float]:
        """The reward of each completion.

        Raises:
            InputError: If a conversation is longer than the context; it has its number.
        """
        ids = [self.ids(*both) for both in zip(prompts, completions, strict=True)]
        for i, one in enumerate(ids):
            if len(one) > self.chat_model.context:
                raise InputError(
                    f"conversation {i} has {len(one)} tokens, the reward model reads "
                    f"{self.chat_model.context}"
                )
        found = list[float]()
        for start in range(0, len(ids), self.batch_size):
            found += self.rewards(ids[start : start + self.batch_size]).tolist()
        return found

    def ids(self, prompt: Prompt, completion: str) -> Tensor:
        """A conversation as ids, up to the end of the answer."""
        said = [Message("user", prompt)] if isinstance(prompt, str) else list(prompt)
        turns = [*said, Message("assistant", completion)]
        chat = self.chat_model.format.encode(turns, self.chat_model.tokenizer)
        last = int(chat.mask.nonzero()[0][-1])
        return torch.from_numpy(chat.ids[: last + 1])

    def rewards(self, ids: list[Tensor]) -> Tensor:
        """Rewards of conversations, padded to one width."""
        lengths = torch.tensor([len(one) for one in ids])
        rows = padded([one.numpy() for one in ids], 0)
        mask = torch.arange(rows.shape[1]) < lengths[:, None]
        device = self.model.offset.device
        return self.model(rows.to(device), mask.to(device)).double().cpu()


def load_reward(folder: str | Path, device: DeviceName = "auto") -> LearnedReward:
    """The reward that this command wrote into a folder.

    Raises:
        ConfigError: If the folder holds no reward.
    """
    if not (Path(folder) / HEAD_FILE).is_file():
        raise ConfigError(f"{folder} holds no {HEAD_FILE}: give a folder of mathlm reward")
    chat_model = chat_folder.load(folder, device="cpu")
    model = RewardModel(chat_model.model).load_head(folder).to(resolve_device(device))
    return LearnedReward(chat_model, model.requires_grad_(False))


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Run by the options of the command line."""
    return run(parse(RewardConfig, argv, prog="mathlm reward"))


if __name__ == "__main__":
    execute(main)
