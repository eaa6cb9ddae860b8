"""What a trained reward is worth: on pairs it has not seen, and beside the length alone.

Used by recipes.reward.
"""

import logging
from itertools import islice

import torch

from ..align import RewardModel, pair_rewards, reward_metrics
from ..generate.decoding import evaluating
from .reward_data import Pairs

log = logging.getLogger(__name__)
CENTRED_ON = 16  # batches of training pairs whose mean reward becomes 0


def judged(model: RewardModel, data: Pairs, when: str) -> dict[str, float]:
    """What the reward is worth on the held-out pairs, and what length is worth there."""
    if data.held_out is None:
        return {}
    device = model.offset.device
    batches = ({k: t.to(device) for k, t in batch.items()} for batch in data.held_out)
    found = reward_metrics(model, batches)
    said = ", ".join(f"{name} {value:.4f}" for name, value in found.items())
    log.info("held-out pairs %s: %s", when, said)
    return found


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
