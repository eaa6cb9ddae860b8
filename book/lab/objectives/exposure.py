"""What happens after a model's first slip, where the right letter is known at every place.

The texts of :mod:`repeated_words`: a slip leads to a prefix that no text of the source has.
"""

import torch
from torch import Tensor, nn

from mathlm.generate import generate
from mathlm.models import GPT
from mathlm.shapes import Float

from .repeated_words import CopyConfig, texts


@torch.no_grad()
def forced_slips(
    model: nn.Module, config: CopyConfig, number: int = 400
) -> Float[Tensor, " R"]:
    """Probability of a wrong letter while the source writes: repetition 2, 3, ... from 0."""
    x = texts(config, number, torch.Generator().manual_seed(config.seed + 1))
    right = model(x[:, :-1]).softmax(-1).gather(-1, x[:, 1:, None])[..., 0]
    return 1 - by_repetition(right[:, 2 * config.period - 1 :], config)


@torch.no_grad()
def recoveries(model: nn.Module, config: CopyConfig, number: int = 400) -> Float[Tensor, " R"]:
    """Probability of the right letter one word after a planted slip in repetition 2, 3, ..."""
    rng, found = torch.Generator().manual_seed(config.seed + 2), []
    for repetition in range(2, config.repeats - 1):
        x = texts(config, number, rng)
        drawn = torch.randint(config.period, (number, 1), generator=rng)
        place = repetition * config.period + drawn
        word = x.gather(1, place)
        other = torch.randint(1, config.letters, (number, 1), generator=rng)
        p = model(x.scatter(1, place, (word + other) % config.letters)).softmax(-1)
        at = p[torch.arange(number), place[:, 0] + config.period - 1]  # (N, V)
        found.append(at.gather(-1, word).mean())
    return torch.stack(found)


@torch.no_grad()
def free_slips(model: GPT, config: CopyConfig, number: int = 400) -> Float[Tensor, " R"]:
    """Share of wrong letters while the model writes, after the word said twice."""
    x = texts(config, number, torch.Generator().manual_seed(config.seed + 3))
    given = 2 * config.period
    said = generate(model, x[:, :given], x.shape[1] - given, seed=config.seed)
    return by_repetition((said != x)[:, given:].float(), config)


def by_repetition(x: Float[Tensor, "N T"], config: CopyConfig) -> Float[Tensor, " R"]:
    """Mean over the texts and the letters of a word."""
    return x.unflatten(1, (-1, config.period)).mean((0, 2))


def predicted_slips(slips: Float[Tensor, " R"], back: Float[Tensor, " S"]) -> list[float]:
    """Slips of a model that writes, from those it makes while it reads and its returns.

    Computes::

        e_1 = ε_1,   e_{j+1} = (1 - r_j) e_j + ε_{j+1} (1 - e_j)

    Args:
        slips: ε, of :func:`forced_slips`.
        back: r, of :func:`recoveries`, one fewer.
    """
    e = [float(slips[0])]
    for slip, r in zip(slips[1:].tolist(), back.tolist(), strict=True):
        e.append((1 - r) * e[-1] + slip * (1 - e[-1]))
    return e
