"""The healthy run of each kind: tiny models of bytes, on plays, short chats and pairs."""

import copy
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import torch
from torch import nn

from mathlm.align import (
    DPO,
    GRPO,
    BradleyTerry,
    ChatBatches,
    GroupCredit,
    PairBatches,
    PolicyBatches,
    Reference,
    RewardModel,
    RolloutReading,
    RolloutSchedule,
    TextSampler,
    encode_chats,
    encode_pairs,
    group_advantages,
    preference_metrics,
    reward_metrics,
)
from mathlm.align.policy.rollouts import RolloutSampler
from mathlm.align.reward.functions import RewardFunction
from mathlm.models import GPT, GPTConfig
from mathlm.text import Bytes, ChatFormat, Message, corpus, instructions
from mathlm.text.corpora.preferences import Preference
from mathlm.train import TokenWindows, next_token

from .loop import Setup, fit

SHAPE: dict[str, Any] = {
    "vocab_size": 256,
    "context": 96,
    "d_model": 48,
    "n_layers": 2,
    "n_heads": 4,
    "norm": "rms",
    "activation": "swiglu",
    "position": "rope",
    "bias": False,
}
WINDOW, WINDOWS = 48, 8  # of a step of pretraining
ROWS, HELD_OUT = 16, 40  # of a step of all others; conversations
LONGEST = 24  # bytes of an answer
BETA = 0.1
WIDER = 4  # times 0.02, which is meant for wider models: about half of 1/√D
FORM = ChatFormat.named()
BYTES = Bytes(FORM.special)
END = BYTES.special[FORM.end]


def new_model(seed: int, dropout: float = 0.0) -> GPT:
    """A model with new weights."""
    torch.manual_seed(seed)
    model = GPT(GPTConfig(**SHAPE, dropout=dropout)).float()
    with torch.no_grad():
        for p in model.parameters():
            p.mul_(WIDER if p.ndim > 1 else 1)
    return model


@cache
def plays() -> tuple[np.ndarray, np.ndarray]:
    """Bytes to train on and bytes held out."""
    parts = corpus.split("shakespeare")
    training, held_out = (np.frombuffer(part.encode(), np.uint8) for part in parts)
    return training, held_out[:2000]


def windows(ids: np.ndarray, seed: int) -> TokenWindows:
    """Windows of a text."""
    return TokenWindows(ids, context=WINDOW, batch_size=WINDOWS, vocab_size=256, seed=seed)


def pretraining(seed: int) -> Setup:
    """Next bytes of plays, from new weights."""
    training, held_out = plays()
    return Setup(
        kind="pretrain",
        model=new_model(seed),
        objective=next_token,
        data=windows(training, seed),
        held_out=[*windows(held_out, 0)],
        peak=6e-3,
        log_every=2,
    )


@cache
def base(seed: int) -> GPT:
    """A model that has read plays for longer."""
    model, setup = new_model(seed), pretraining(seed)
    fit(replace(setup, model=model, held_out=(), steps=600))
    return model.requires_grad_(False)


@cache
def conversations() -> list[list[Message]]:
    """Short questions with short answers."""
    found = [c for name in instructions.available() for c in instructions.load(name)]
    short = [c for c in found if len(c) == 2 and len(c[1].content) <= LONGEST]
    return [c for c in short if len(c[0].content) <= 40 and c[1].content.strip().isascii()]


def chats(learned: bool, form: ChatFormat | None = FORM, **options: Any) -> ChatBatches:
    """The conversations that are learned, or those that are held out."""
    every = conversations()
    some = every[HELD_OUT:] if learned else every[:HELD_OUT]
    encoded = encode_chats(some, form or FORM, BYTES, SHAPE["context"])
    return ChatBatches(encoded, ROWS, packed=False, **options)


def tuning(seed: int) -> Setup:
    """Answers of conversations, from the base."""
    return Setup(
        kind="sft",
        model=copy_of(base(seed)),
        objective=next_token,
        data=chats(True, seed=seed),
        held_out=[*chats(False)],
        steps=100,
        peak=2e-3,
        warmup=10,
        log_every=2,
        eval_every=10,
    )


def copy_of(model: GPT) -> GPT:
    """A model with weights of its own, to be trained."""
    return copy.deepcopy(model).requires_grad_(True)


@cache
def tuned(seed: int) -> GPT:
    """The base after healthy tuning."""
    model = copy_of(base(seed))
    fit(replace(tuning(seed), model=model))
    return model.requires_grad_(False)


def pairs(learned: bool, swapped: bool = False) -> list[Preference]:
    """The answer against the same in capitals; the first is the better."""
    some = conversations()[HELD_OUT:] if learned else conversations()[:HELD_OUT]
    found = []
    for question, answer in some:
        both = (answer.content, answer.content.upper())
        if both[0] != both[1]:
            chosen, rejected = both[::-1] if swapped else both
            found.append(Preference(prompt=(question,), chosen=chosen, rejected=rejected))
    return found


def pair_batches(learned: bool, seed: int = 0, swapped: bool = False) -> PairBatches:
    """Batches of pairs."""
    encoded = encode_pairs(pairs(learned, swapped), FORM, BYTES, SHAPE["context"])
    return PairBatches(encoded, ROWS, seed=seed)


def margins(batches: list[Any], beta: float) -> Callable[[nn.Module], dict[str, float]]:
    """What is measured of held-out pairs."""
    shown = ("margin", "accuracy", "chosen_change", "rejected_change")

    def measure(model: nn.Module) -> dict[str, float]:
        found = preference_metrics(model, batches, beta)
        return {name: found[name] for name in shown}

    return measure


def preferences(
    seed: int, beta: float = BETA, swapped: bool = False, reference: GPT | None = None
) -> Setup:
    """DPO from the tuned model, which is the reference as well."""
    fixed = Reference(copy.deepcopy(reference or tuned(seed)))
    held_out = [*pair_batches(False).with_reference(fixed)]
    return Setup(
        kind="dpo",
        model=copy_of(tuned(seed)),
        objective=DPO(beta=beta),
        data=pair_batches(True, seed, swapped).with_reference(fixed),
        held_out=held_out,
        metrics=margins(held_out, beta),
        steps=40,
        peak=2e-4,
        warmup=5,
        log_every=1,
        eval_every=5,
        more={"objective": {"class": "DPO", "beta": beta}},
    )


def rewarding(seed: int, std: float = 0.0) -> Setup:
    """A reward model of the same pairs, from the tuned model."""
    held_out = [*pair_batches(False)]

    def measure(model: Any) -> dict[str, float]:
        return {"accuracy": reward_metrics(model, held_out)["accuracy"]}

    return Setup(
        kind="reward",
        model=RewardModel(copy_of(tuned(seed)), std=std, seed=seed),
        objective=BradleyTerry(),
        data=pair_batches(True, seed),
        held_out=held_out,
        metrics=measure,
        steps=40,
        peak=7e-4,
        warmup=5,
        log_every=1,
        eval_every=5,
        more={"objective": {"class": "BradleyTerry", "margin": 0.0}},
    )


def near_twelve(prompts: Any, completions: Any) -> list[float]:
    """How near each completion comes to twelve letters; at most 0."""
    return [-abs(len(text) - 12) / 12 for text in completions]


def policy(
    seed: int,
    *,
    reward: RewardFunction = near_twelve,
    baseline: Callable[..., Any] = group_advantages,
    sampler: RolloutSampler | None = None,
    iterations: int = 24,
) -> Setup:
    """GRPO from the tuned model: answers of about twelve letters."""
    model = copy_of(tuned(seed))
    prompts = [FORM.encode(c[:1], BYTES, answer=True).ids for c in conversations()[:64]]
    plan = RolloutSchedule(group_size=8, prompts_per_iteration=4, epochs=2, seed=seed)
    data = PolicyBatches(
        model,
        [torch.from_numpy(ids) for ids in prompts],
        reward,
        GroupCredit(baseline=baseline),
        sampler=sampler or TextSampler(28, stop=(END,)),
        reference=Reference.of(model),
        schedule=plan,
        reading=RolloutReading(decode=text_of),
    )
    return Setup(
        kind="grpo",
        model=model,
        objective=GRPO(beta=0.04),
        data=data,
        steps=iterations * data.steps_per_iteration,
        peak=3e-4,
        warmup=4,
        log_every=1,
    )


def text_of(ids: torch.Tensor) -> str:
    """A completion without the marks of turns."""
    return BYTES.decode([i for i in ids.tolist() if i < 192])


HEALTHY: dict[str, Callable[[int], Setup]] = {
    "pretrain": pretraining,
    "sft": tuning,
    "reward": rewarding,
    "dpo": preferences,
    "grpo": policy,
}
