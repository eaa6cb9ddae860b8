"""How often draft tokens are accepted, what they save: measured, and by the formulas."""

import time
from collections.abc import Callable
from typing import TypedDict

import numpy as np
from torch import Tensor

from mathlm import generate as gen
from mathlm.functional import expected_tokens
from mathlm.generate import Draft, IncrementalReader, Round
from mathlm.models import GPT


class Fates(TypedDict):
    """What became of draft tokens.

    Args:
        chance: Mean of Σ min(p, q) over the draft tokens that were examined.
        accepted: Share of these that were accepted.
        tokens: Mean over the rounds with as many draft tokens as were asked for [tokens/round].
        formula: What the chance says that this is [tokens/round].
        rounds: Readings of the target.
        silent: Those of them without any draft token.
    """

    chance: float
    accepted: float
    tokens: float
    formula: float
    rounds: int
    silent: int


def measure(
    target: GPT,
    draft: GPT | Draft,
    prompts: Tensor,
    new: int,
    draft_length: int,
    temperature: float | int = 1.0,
    seed: int = 0,
) -> Fates:
    """What becomes of draft tokens while a text is written behind each prompt (N, T)."""
    rounds: list[Round] = []
    for i, ids in enumerate(prompts):
        choices = gen.RandomChoices(np.random.default_rng((seed, i)))
        rounds += gen.speculate(
            target, draft, ids, new, draft_length, choices, gen.Sampler(temperature)
        )
    examined = max(sum(done.examined for done in rounds), 1)
    chance = min(sum(done.chances.sum().item() for done in rounds) / examined, 1.0)
    full = [len(done.tokens) for done in rounds if len(done.draft_tokens) == draft_length]
    return {
        "chance": chance,
        "accepted": sum(done.accepted for done in rounds) / examined,
        "tokens": float(np.mean(full or [1])),
        "formula": expected_tokens(chance, draft_length),
        "rounds": len(rounds),
        "silent": sum(len(done.draft_tokens) == 0 for done in rounds),
    }


def seconds(run: Callable[[], object]) -> float:
    """Processor seconds of one call."""
    start = time.process_time()
    run()
    return time.process_time() - start


def speedup(
    target: GPT,
    draft: GPT | Draft,
    prompt: Tensor,
    new: int,
    draft_length: int,
    temperature: float | int = 1.0,
    turns: int = 3,
) -> float:
    """Time of one text without draft tokens over that with them; the median over turns."""

    def ratio(seed: int) -> float:
        plain = seconds(lambda: gen.generate(target, prompt[None], new, temperature, seed=seed))
        return plain / seconds(
            lambda: gen.speculative_generate(
                target, draft, prompt[None], new, draft_length, temperature, seed=seed
            )
        )

    return float(np.median([ratio(seed) for seed in range(turns)]))


def reading_seconds(model: GPT, prompt: Tensor, count: int, turns: int = 15) -> float:
    """Time in which a model reads ``count`` more tokens; the least of some turns."""
    reader = IncrementalReader(model, 1, len(prompt) + count)
    more = prompt[None, :1].expand(1, count)
    reader.read(prompt[None])
    times = []
    for _ in range(turns):
        times.append(seconds(lambda: reader.read(more, last=False)))
        reader.rewind(len(prompt))
    return min(times)
