"""One way of tuning, run for some steps and measured on the way."""

import time
from collections.abc import Callable, Collection
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

import torch

from mathlm.adapt import count_trainable
from mathlm.align import ChatBatches
from mathlm.generate import generate
from mathlm.models import GPT
from mathlm.optim import warmup_cosine
from mathlm.text import ByteBPE, Bytes, ChatFormat, Message
from mathlm.train import TokenWindows, Trainer, TrainerConfig
from mathlm.train.objectives import IGNORED

from .fine_tuning_measures import Measures
from .fine_tuning_methods import METHODS, Start


@dataclass(frozen=True, eq=False)
class Task:
    """A base and what it is to learn and to keep.

    Args:
        base: The model, which no run changes.
        data: From a seed to batches of conversations by step.
        old: From a seed to batches of old text by step.
        measures: What is measured.
        prompt: Ids of a real text, for methods that begin with one.
        markers: Ids of the tokens between the turns.
        tokenizer: Of the base.
        format: How conversations are written.
        questions: Some that are held out.
    """

    base: GPT
    data: Callable[[int], ChatBatches]
    old: Callable[[int], TokenWindows]
    measures: Measures
    prompt: tuple[int, ...]
    markers: tuple[int, ...]
    tokenizer: Bytes | ByteBPE
    format: ChatFormat
    questions: tuple[str, ...]

    def describe(self) -> dict[str, Any]:
        """How much is read and measured."""
        old, own = self.measures.old, self.measures.own.logp.shape
        asked = [int((b["targets"] != IGNORED).sum()) for b in self.measures.report]
        return {
            "data": self.data(0).describe(),
            "answer_tokens": sum(asked),
            "old_tokens": sum(batch["ids"].numel() for batch in old),
            "own_tokens": own[0] * own[1],
            "parameters": count_trainable(self.base)[1],
        }


def training(
    task: Task, name: str, step_size: float, steps: int, seed: int
) -> tuple[GPT, Trainer]:
    """A copy of the base, changed as the method says, and what trains it."""
    model = deepcopy(task.base)
    start = Start(model, task.data(seed), task.old(seed), seed, task.prompt, task.markers)
    objective, data = METHODS[name].prepare(start)
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, step_size, betas=(0.9, 0.95), weight_decay=0.0)
    schedule = warmup_cosine(step_size, steps // 10, steps, step_size / 10)
    config = TrainerConfig(steps=steps, schedule=schedule, seed=seed)
    return model, Trainer(model, objective, data, optimizer, config)


def run(
    task: Task, name: str, step_size: float, steps: int, at: Collection[int], seed: int = 0
) -> tuple[GPT, dict[str, Any]]:
    """Tune, and measure after some of the steps.

    Returns:
        The tuned model, and what came out: the measures by step, and the CPU time of a step.
    """
    model, trainer = training(task, name, step_size, steps, seed)
    curve, seconds = [], 0.0
    while trainer.step < steps:
        clock = time.process_time()
        trainer.train_step()
        seconds += time.process_time() - clock
        if trainer.step in at:
            curve.append({"step": trainer.step, **task.measures(model)})
    result = {"step_size": step_size, "seed": seed, "curve": curve, "seconds": seconds / steps}
    return model, result | {"trained": trained(model, task.markers, name)}


def trained(model: GPT, markers: tuple[int, ...], name: str) -> int:
    """How many numbers a method changes; of the embeddings of markers only their rows."""
    count = count_trainable(model)[0]
    if "markers" in name:
        count -= (model.config.vocab_size - len(markers)) * model.config.d_model
    return count


def samples(model: GPT, task: Task, opening: str, new: int = 60) -> dict[str, str]:
    """The likeliest answers to the questions, and how an old text goes on, drawn."""
    end, written = task.measures.end, {}
    for question in task.questions:
        chat = task.format.encode([Message("user", question)], task.tokenizer, answer=True)
        ids = torch.from_numpy(chat.ids)[None]
        out = generate(model, ids, new, temperature=0, stop=[end])[0, ids.shape[1] :]
        written[question] = task.tokenizer.decode(out.tolist())
    ids = torch.tensor([task.tokenizer.encode(opening)])
    written[opening] = task.tokenizer.decode(generate(model, ids, 2 * new, 0.7)[0].tolist())
    return written
