"""What ppo and grpo share: prompts, rewards, and a run that writes, is judged and learns."""

import copy
import sys
import time
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Annotated, Any

import torch
import tyro
from torch import Tensor, nn

from ..align import (
    ArithmeticReward,
    FormatReward,
    LengthReward,
    PolicyAndValue,
    PolicyBatches,
    PolicyObjective,
    ReadOnce,
    Reference,
    RewardFunction,
    RolloutLog,
    RolloutReading,
    RolloutSchedule,
    SentimentReward,
    TextSampler,
    ValueModel,
    completions_of,
    rollout_record,
    target_log_probabilities,
)
from ..align.answers import LogProbabilities
from ..align.policy.credit import Credit
from ..chat.model import ChatModel
from ..errors import ConfigError, DataError, DataNotFoundError, MathLMError
from ..models import GPT
from ..optim import AdamW
from ..text.corpora.instructions import json_lines, json_object
from ..text.tokenizers.named import Tokenizer
from ..train import Trainer, distribute, resolve_device
from ..train.activation_checkpointing import checkpoint_activations
from ..train.distributed import DeviceName, process_group, rank
from ..train.objectives import Objective
from .columns import with_columns
from .command import Maybe
from .more_steps import resume
from .reward import load_reward
from .tuning import (
    Prepared,
    Schedule,
    Tuning,
    TuningConfig,
    finish,
    parameter_groups,
    prepare,
    require_positive,
    say_result,
    trainer_config,
)

JUDGED = 1_000_003  # seed of what is judged before and after
BUILT_IN = ("sentiment", "length", "arithmetic", "format")
FORMS = (
    '{"prompt": "..."}, {"prompt": [messages]} or {"messages": [...]}, the user speaking last'
)


@dataclass(frozen=True, kw_only=True)
class Rollouts:
    """What the policy writes in an iteration, and how often it learns from it."""

    iterations: int = 100
    """Times that the policy writes."""
    group_size: int = 8
    """Completions of each prompt."""
    prompts_per_iteration: int = 8
    """Prompts of an iteration."""
    max_new_tokens: int = 64
    """Longest completion [tokens]."""
    temperature: float = 1.0
    """Divides the logits of every draw."""
    epochs: int = 1
    """Passes over the rollouts of an iteration."""
    minibatches: int = 1
    """Optimizer steps in a pass."""
    clip_ratio: float = 0.2
    """How far the ratio of new to old probability may go from 1."""
    beta: float = 0.05
    """Price of the divergence from the reference, KL [reward/nat]."""
    cut: float | str = "score"
    """Reward of a text without an end: score, of ppo also bootstrap, or a number."""
    at_once: Maybe[int] = None
    """Rows written and read together; all if not given."""

    def __post_init__(self) -> None:
        require_positive(self, "iterations", "group_size", "minibatches", "max_new_tokens")


@dataclass(frozen=True, kw_only=True)
class Rewarding:
    """What is rewarded."""

    reward: str
    """sentiment, length, arithmetic, format, a folder of mathlm reward, or module:function,
    of a file in the current folder or of what is installed; a function gets prompts,
    completions and, by name, the other keys of the prompts' lines."""
    target: int = 100
    """Of --reward length: how long an answer is to be [characters]."""
    pattern: Maybe[str] = None
    """Of --reward format: regular expression of a whole completion; None: of other rewards."""

    def function(self, device: DeviceName) -> RewardFunction:
        """The reward function; ``device`` is that of a learned one."""
        return find_reward(self.reward, self.target, self.pattern, device)


@dataclass(frozen=True, kw_only=True)
class PolicyConfig(Rewarding, TuningConfig):
    """Options of the commands that train a policy on a reward."""

    prompts: str
    """JSON lines with a prompt each: {"prompt": "..."} or {"prompt": [messages]}."""
    plain: bool = False
    """Prompts are text to continue, without turns."""
    stop: Annotated[tuple[str, ...], tyro.conf.UseAppendAction] = ()
    """End a completion at this text too; may be repeated."""
    judge: int = 16
    """Prompts to judge by, before and after."""
    rollouts: Rollouts = Rollouts()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.adaptation.l2_sp is not None:
            raise ConfigError("--l2-sp is for mathlm sft: take a larger --beta")
        if self.plain and (self.base.format != "auto" or self.base.template):
            raise ConfigError(
                "--plain prompts have no turns: leave --format and --template out"
            )

    @property
    def identity(self) -> dict[str, Any]:
        """What of the method decides a run: it is resumed with the same."""
        return super().identity | {"plain": self.plain}


@dataclass(frozen=True, eq=False)
class Prompts:
    """Prompts as ids, how they were asked, and what ends an answer.

    Args:
        ids: Ids (tokens,) of each.
        texts: What was asked, by its ids: a string, or a list of messages.
        rows: The other keys of the line of each.
        tokenizer: Of the completions.
        stop: Ids, or sequences of ids, that end a completion.
    """

    ids: list[Tensor]
    texts: dict[tuple[int, ...], Any]
    rows: list[dict[str, Any]]
    tokenizer: Tokenizer
    stop: tuple[Any, ...]

    def decode(self, ids: Tensor) -> Any:
        """A prompt as it was asked; any other ids as text."""
        known = self.texts.get(tuple(ids.tolist()))
        return self.tokenizer.decode(ids.tolist()) if known is None else known


def read(path: str | Path) -> list[tuple[Any, dict[str, Any]]]:
    """The prompts of a file in JSON lines, each with the other keys of its line.

    Raises:
        DataNotFoundError: If there is no such file.
        DataError: If a line holds no prompt; the message has its number.
    """
    file = Path(path)
    if not file.is_file():
        raise DataNotFoundError(f"{file} is no file: give one with lines such as {FORMS}")
    found = []
    for where, line in json_lines(file):
        content = json_object(line, where, FORMS)
        prompt = content.get("prompt", content.get("messages"))
        if not (prompt and isinstance(prompt, str | list)):
            raise DataError(f"{where} has no prompt; expected {FORMS}")
        rest = {name: x for name, x in content.items() if name not in ("prompt", "messages")}
        found.append((prompt, rest))
    if not found:
        raise DataError(f"{file} holds no prompt; expected lines such as {FORMS}")
    return found


def read_prompts(config: PolicyConfig, chat_model: ChatModel) -> Prompts:
    """The prompts of ``--prompts``, as a model sees them.

    Raises:
        DataError: If a prompt that is to be continued is a list of messages, or a conversation
            does not end with the user.
    """
    lines, tokenizer = read(config.prompts), chat_model.tokenizer
    given = [prompt for prompt, _ in lines]
    ids = [
        torch.tensor(encoded(prompt, chat_model, config.plain, number))
        for number, prompt in enumerate(given)
    ]
    ends = [tokenizer.encode(text.replace("\\n", "\n")) for text in config.stop]
    own = [] if config.plain else [tokenizer.special[chat_model.format.end]]
    texts = {tuple(x.tolist()): asked for x, asked in zip(ids, given, strict=True)}
    rows = [row for _, row in lines]
    return Prompts(ids, texts, rows, tokenizer, (*own, *map(tuple, ends)))


def encoded(prompt: Any, chat_model: ChatModel, plain: bool, number: int) -> list[int]:
    """Ids of a prompt."""
    if plain and not isinstance(prompt, str):
        raise DataError(f"prompt {number} is a list of messages: leave --plain out")
    if plain:
        return list(chat_model.tokenizer.encode(prompt))
    turns = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    try:
        return chat_model.format.encode(turns, chat_model.tokenizer, answer=True).ids.tolist()
    except MathLMError as error:
        raise DataError(f"prompt {number}: {error}") from error


def find_reward(
    name: str, target: int = 100, pattern: str | None = None, device: DeviceName = "auto"
) -> RewardFunction:
    """A reward function by name: built in, learned by mathlm reward, or one of your own.

    Args:
        name: sentiment, length, arithmetic, format, a folder, or "module:function".
        target: Of length: characters.
        pattern: Of format: regular expression that a whole completion matches.
        device: Of a learned reward.

    Raises:
        ConfigError: If there is none of that name, or it lacks its option.
    """
    if name == "format":
        if pattern is None:
            raise ConfigError("--reward format needs --pattern, a regular expression")
        return FormatReward(pattern)
    built_in: dict[str, RewardFunction] = {
        "sentiment": SentimentReward(),
        "length": LengthReward(target),
        "arithmetic": ArithmeticReward(),
    }
    if name in built_in:
        return built_in[name]
    if Path(name).is_dir():
        return load_reward(name, device)
    return own_function(name)


def own_function(name: str) -> RewardFunction:
    """The function ``name`` of a module, "module:function".

    The folder from which the command was started comes first, as with ``python -m``; a console
    script has its own folder there instead.

    Raises:
        ConfigError: If there is none.
    """
    module, _, attribute = name.partition(":")
    if not attribute:
        raise ConfigError(
            f"--reward {name} is none of {', '.join(BUILT_IN)}, no folder of mathlm reward, "
            "and no module:function"
        )
    here = str(Path.cwd())
    if not (sys.flags.safe_path or sys.path[:1] in ([""], [here])):
        sys.path.insert(0, here)
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"--reward {name} cannot be imported: {error}") from error
    if not callable(found):
        raise ConfigError(f"--reward {name} is a {type(found).__name__}, not a function")
    return found


@dataclass(frozen=True)
class Plan:
    """What distinguishes one command from the other."""

    objective: Objective
    credit: Credit
    values: str | None = None  # "own", "shared" or None
    read: LogProbabilities = target_log_probabilities

    def reading_once(self, rollouts: Rollouts) -> "Plan":
        """The same; rollouts that a step takes whole are read once for both."""
        objective = self.objective
        whole = rollouts.minibatches == 1 and rollouts.at_once is None
        full = getattr(objective, "entropy_bonus", False)  # all logits are read there
        if full or not (whole and isinstance(objective, PolicyObjective)):
            return self
        read = ReadOnce()
        return replace(self, objective=replace(objective, read=read), read=read)


def value_model(policy: GPT, kind: str) -> ValueModel:
    """Values of the policy's own weights, or of a copy of those that are trained."""
    if kind == "shared":
        return ValueModel(policy)
    kept: dict[int, Any] = {id(p): p for p in policy.parameters() if not p.requires_grad}
    return ValueModel(copy.deepcopy(policy, kept))


def batches(
    config: PolicyConfig, plan: Plan, policy: GPT, value: ValueModel | None, asked: Prompts
) -> PolicyBatches:
    """Rollouts of the policy, judged, as the data of a trainer."""
    own = config.rollouts
    prompts = [asked.decode(ids) for ids in asked.ids]
    return PolicyBatches(
        policy,
        asked.ids,
        with_columns(config.function(config.machine.device), prompts, asked.rows),
        plan.credit,
        sampler=TextSampler(own.max_new_tokens, own.temperature, asked.stop),
        reference=Reference.of(policy),
        value=value,
        schedule=RolloutSchedule(
            group_size=own.group_size,
            prompts_per_iteration=min(own.prompts_per_iteration, len(asked.ids)),
            epochs=own.epochs,
            minibatches=own.minibatches,
            seed=config.optimization.seed,
        ),
        reading=RolloutReading(decode=asked.decode, at_once=own.at_once, logp=plan.read),
        record=RolloutLog(clip=own.clip_ratio),
    )


def build(
    config: PolicyConfig, plan: Plan, prepared: Prepared
) -> tuple[PolicyBatches, Schedule, Trainer]:
    """Data, schedule and trainer of a run."""
    policy, machine = prepared.chat_model.model, config.machine
    device = resolve_device(machine.device)
    if machine.activation_checkpointing:
        checkpoint_activations(policy)
    policy.to(device)
    value = None if plan.values is None else value_model(policy, plan.values).to(device)
    whole: nn.Module = policy if value is None else PolicyAndValue(policy, value)
    plan = plan.reading_once(config.rollouts)
    spread = distribute(whole, machine.parallel, device)
    data = batches(config, plan, policy, value, read_prompts(config, prepared.chat_model))
    steps = config.rollouts.iterations * data.steps_per_iteration
    schedule = Schedule.of(config, steps, policy.config.d_model, slower=10)
    trainer = Trainer(
        spread,
        Tuning(plan.objective, config.identity),
        data,
        AdamW(parameter_groups(config, whole, prepared)),
        trainer_config(config, schedule),
    )
    return data, schedule, trainer


def judge(config: PolicyConfig, data: PolicyBatches) -> dict[str, Any]:
    """Reward, divergence and texts of the first prompts, drawn with the same numbers."""
    chosen = data.kept[: config.judge]
    if not chosen:
        return {}
    asked = [data.given[i] for i in chosen]
    writer = replace(data.writer, read=target_log_probabilities)  # no step follows
    batch = writer.write(asked, JUDGED)
    texts = data.writer.asked(asked), data.writer.texts(completions_of(batch))
    rewards = batch["rewards"].tolist()
    samples = [
        {"prompt": x, "completion": y, "reward": r}
        for x, y, r in zip(*texts, rewards, strict=True)
    ]
    return rollout_record(batch) | {"samples": samples}


def run_plan(config: PolicyConfig, plan: Plan) -> dict[str, Any]:
    """Train, judge, write the result and the record.

    Returns:
        ``iterations``, ``dropped`` prompts, ``seconds``, and ``before`` and ``after``: reward,
        divergence from the reference, samples.
    """
    with process_group(config.machine.device, timeout=config.machine.timeout):
        prepared = prepare(config)
        data, schedule, trainer = build(config, plan, prepared)
        before, start = judge(config, data), time.perf_counter()
        resume(trainer, config.output.more_steps, config.output.allow_change)
        trainer.fit()
        data.look_back()
        after = judge(config, data)
        found: dict[str, Any] = {"iterations": config.rollouts.iterations}
        found |= {"dropped": data.dropped}
        found |= {"before": before, "after": after, "seconds": time.perf_counter() - start}
        if rank() == 0:
            more = {"rollouts": data.history}
            place = finish(config, schedule, trainer, prepared, found, **more)
            say_result(config, found, place, f"mathlm chat --model {place}")
        return found
