"""Training a reward on pairs: the objective, and what of its success is mere length."""

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ...errors import ConfigError, InputError
from ...functional import expected_calibration_error
from ...generate.decoding import evaluating
from ...shapes import Bool, Float, Int
from ...train.objectives import IGNORED, Batch
from ..preference.objectives import stacked
from .losses import bradley_terry_loss, centring_penalty


@dataclass(frozen=True, kw_only=True)
class BradleyTerry:
    """Objective of a reward model: :func:`bradley_terry_loss` over pairs, a sum and a number.

    Args:
        margin: Asked-for difference [nats].
        centring: Weight of :func:`centring_penalty`; 0 leaves the constant as it is.

    Raises:
        ConfigError: If a number is negative.

    Example:
        >>> answer, other = torch.tensor([[2, 3]]), torch.tensor([[2]])
        >>> batch = {"chosen_ids": torch.tensor([[1, 2]]), "chosen_targets": answer}
        >>> batch |= {"rejected_ids": torch.tensor([[1]]), "rejected_targets": other}
        >>> BradleyTerry()(lambda ids, mask: torch.zeros(len(ids)), batch)  # ln 2: no opinion
        (tensor(0.6931), 1)
    """

    margin: float | int = 0.0
    centring: float | int = 0.0

    def __post_init__(self) -> None:
        for name in ("margin", "centring"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise ConfigError(f"{name}={getattr(self, name)} must be at least 0 and finite")

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        """Loss summed over pairs [nats], and their number."""
        chosen, rejected = pair_rewards(model, batch)
        loss = bradley_terry_loss(chosen, rejected, self.margin)
        if self.centring:
            loss = loss + self.centring * centring_penalty(chosen, rejected)
        return loss.sum(), len(loss)


def pair_rewards(model: nn.Module, batch: Batch) -> Float[Tensor, "2 B"]:
    """Rewards of the chosen and of the rejected answers, in one pass of the model.

    Args:
        model: Such as :class:`RewardModel`: from ``ids`` and ``mask`` to one number a row.
        batch: Of :class:`PairBatches`.

    Raises:
        InputError: If an answer has no token, or the batch is not one of pairs.

    Example:
        >>> answer, other = torch.tensor([[2, 3]]), torch.tensor([[2]])
        >>> batch = {"chosen_ids": torch.tensor([[1, 2]]), "chosen_targets": answer}
        >>> batch |= {"rejected_ids": torch.tensor([[1]]), "rejected_targets": other}
        >>> pair_rewards(lambda ids, mask: mask.sum(1).float(), batch)  # tokens of the texts
        tensor([[3.],
                [2.]])
    """
    both = stacked(batch)
    return model(*whole_texts(both["ids"], both["targets"])).unflatten(0, (2, -1))


def whole_texts(
    ids: Int[Tensor, "B T"], targets: Int[Tensor, "B T"]
) -> tuple[Int[Tensor, "B S"], Bool[Tensor, "B S"]]:
    """Rows up to their last target, which no position follows and ``ids`` may lack, S = T + 1.

    Args:
        ids: What is read.
        targets: -100 where nothing is asked; at position t stands the token of t + 1.

    Returns:
        The ids, and a mask that is True where a token is real.

    Raises:
        InputError: If nothing is asked in a row.
    """
    asked = targets != IGNORED
    empty = ~asked.any(1)
    if bool(empty.any()):
        raise InputError(f"row {int(empty.nonzero()[0])} has no token that is asked for")
    T, rows = ids.shape[1], torch.arange(len(ids), device=ids.device)
    last = T - 1 - asked.flip(1).to(torch.uint8).argmax(1)
    whole = nn.functional.pad(ids, (0, 1))
    whole[rows, last + 1] = targets[rows, last]
    return whole, torch.arange(T + 1, device=ids.device) <= last[:, None] + 1


@torch.no_grad()
def reward_metrics(model: nn.Module, batches: Iterable[Batch]) -> dict[str, float]:
    """How well a reward tells the chosen answers, and how well their lengths do alone.

    Equal rewards or lengths count as half right. Length alone prefers the longer answer, or the
    shorter one if that is more often right on these pairs.

    Args:
        model: The reward model; in evaluation mode meanwhile.
        batches: Of pairs, such as :class:`PairBatches`.

    Returns:
        ``loss`` [nats/pair] and ``accuracy``; ``calibration``, the expected calibration error
        of the probabilities that each answer of a pair is the chosen one; ``reward``, the mean
        over all answers, and ``reward_spread``, their standard deviation;
        ``length_accuracy``; ``length_correlation``, of rewards and lengths over all answers (0
        if one of them is constant); ``beyond_length``, the gain in accuracy over length alone,
        and ``beyond_length_error``, its standard error.

    Raises:
        InputError: If there are no pairs.

    Example:
        >>> from mathlm.align import RewardModel
        >>> from mathlm.models import GPT, GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=1, n_heads=2)
        >>> answer, other = torch.tensor([[2, 3]]), torch.tensor([[2]])
        >>> batch = {"chosen_ids": torch.tensor([[1, 2]]), "chosen_targets": answer}
        >>> batch |= {"rejected_ids": torch.tensor([[1]]), "rejected_targets": other}
        >>> found = reward_metrics(RewardModel(GPT(GPTConfig(**sizes))), [batch])  # untrained
        >>> found["accuracy"], found["length_accuracy"], round(found["loss"], 4)
        (0.5, 1.0, 0.6931)
    """
    with evaluating(model):
        found = [(pair_rewards(model, batch), answer_lengths(batch)) for batch in batches]
    if not found:
        raise InputError("there are no pairs to measure")
    rewards = torch.cat([r for r, _ in found], 1).double()
    lengths = torch.cat([n for _, n in found], 1).double()
    margin, longer = rewards[0] - rewards[1], lengths[0] - lengths[1]
    right, by_length = half_ties(margin), half_ties(longer)
    if by_length.mean() < 0.5:
        by_length = 1 - by_length
    said = torch.cat((margin, -margin)).sigmoid()
    chosen = torch.arange(len(said)) < len(margin)
    gain = right - by_length
    return {
        "loss": bradley_terry_loss(rewards[0], rewards[1]).mean().item(),
        "accuracy": right.mean().item(),
        "calibration": expected_calibration_error(said, chosen.to(said.device)),
        "reward": rewards.mean().item(),
        "reward_spread": rewards.std(correction=0).item(),
        "length_accuracy": by_length.mean().item(),
        "length_correlation": correlation(rewards.flatten(), lengths.flatten()),
        "beyond_length": gain.mean().item(),
        "beyond_length_error": gain.std(correction=0).item() / len(gain) ** 0.5,
    }


def answer_lengths(batch: Batch) -> Int[Tensor, "2 B"]:
    """Tokens of the chosen and of the rejected answers, with the ends of their turns."""
    return (stacked(batch)["targets"] != IGNORED).sum(1).unflatten(0, (2, -1))


def half_ties(difference: Float[Tensor, " N"]) -> Float[Tensor, " N"]:
    """1 where positive, 0 where negative, a half at 0."""
    return (difference.sign() + 1) / 2


def correlation(x: Float[Tensor, " N"], y: Float[Tensor, " N"]) -> float:
    """Pearson's, or 0 if one of the two does not vary."""
    x, y = x - x.mean(), y - y.mean()
    size = (x.norm() * y.norm()).item()
    return (x @ y).item() / size if size > 0 else 0.0
