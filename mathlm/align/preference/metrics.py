"""What preference training did to both answers, beside its loss."""

from collections.abc import Iterable

import torch
from torch import nn

from ...checks import require_positive
from ...errors import InputError
from ...train.objectives import Batch
from ..answers import LogProbabilities, target_log_probabilities
from ..masks import require_columns
from .objectives import pair_scores

ROUNDING = 1e-6  # of the log-probabilities' sizes; two equal models differ by as much


@torch.no_grad()
def preference_metrics(
    model: nn.Module,
    batches: Iterable[Batch],
    beta: float | int,
    *,
    read: LogProbabilities = target_log_probabilities,
) -> dict[str, float]:
    """Means over pairs of what the policy says of the two answers.

    A loss on pairs sees only a difference. It may fall while both answers become less likely,
    and what they lose goes to texts that nobody has judged: ``chosen_change`` below 0 shows it.

    Args:
        model: The policy.
        batches: Of pairs, such as :class:`PairBatches`; without a reference the policy is
            compared with nothing, and what needs one is left out.
        beta: β > 0 of the implicit rewards.
        read: From model and batch to log-probabilities (B, T) of what is asked.

    Returns:
        ``chosen_logp`` and ``rejected_logp`` [nats], ``chosen_logp_per_token`` and
        ``rejected_logp_per_token`` [nats/token]; with a reference also ``margin`` [reward],
        ``margin_spread``, its standard deviation, ``accuracy``, the share of pairs with a
        positive margin, and half of those whose margin is no more than rounding,
        ``chosen_reward`` and ``rejected_reward``, and the changes against the reference,
        ``chosen_change`` and ``rejected_change`` [nats].

    Raises:
        InputError: If there are no pairs, or some have a reference and some have none.

    Example:
        >>> model = torch.nn.Sequential(torch.nn.Embedding(4, 8), torch.nn.Linear(8, 4))
        >>> with torch.no_grad():
        ...     nothing = [p.zero_() for p in model.parameters()]  # four tokens alike
        >>> answer, other = torch.tensor([[2, 3]]), torch.tensor([[2]])
        >>> batch = {"chosen_ids": torch.tensor([[1, 2]]), "chosen_targets": answer}
        >>> batch |= {"rejected_ids": torch.tensor([[1]]), "rejected_targets": other}
        >>> found = preference_metrics(model, [batch], beta=0.1)
        >>> round(found["chosen_logp"], 4), round(found["rejected_logp"], 4)  # -2 ln 4, -ln 4
        (-2.7726, -1.3863)
    """
    found = [pair_scores(model, batch, read) for batch in batches]
    if not found:
        raise InputError("there are no pairs to measure")
    logp = torch.cat([pairs.logp for pairs in found], 1).double()
    lengths = torch.cat([pairs.lengths for pairs in found], 1)
    means = {"logp": logp.mean(1), "logp_per_token": (logp / lengths).mean(1)}
    if all(pairs.logp_ref is None for pairs in found):
        return by_side(means)
    references = [pairs.required_reference() for pairs in found]
    change = logp - torch.cat(references, 1).double()
    means |= {"reward": beta * change.mean(1), "change": change.mean(1)}
    margin = beta * (change[0] - change[1])
    tie = (change[0] - change[1]).abs() <= ROUNDING * logp.abs().sum(0)
    right = torch.where(tie, 0.5, (margin > 0).double())
    return by_side(means) | {
        "margin": margin.mean().item(),
        "margin_spread": margin.std(correction=0).item(),
        "accuracy": right.mean().item(),
    }


def by_side(means: dict[str, torch.Tensor]) -> dict[str, float]:
    """Pairs of numbers by their names."""
    sides = ("chosen", "rejected")
    return {
        f"{sides[i]}_{name}": pair[i].item() for name, pair in means.items() for i in (0, 1)
    }


@torch.no_grad()
def unpaired_metrics(
    model: nn.Module,
    batches: Iterable[Batch],
    beta: float | int,
    *,
    read: LogProbabilities = target_log_probabilities,
) -> dict[str, float]:
    """Means over unpaired answers of what the policy says of good and of bad ones.

    Args:
        model: The policy.
        batches: Of :class:`UnpairedBatches` with a reference.
        beta: β > 0 of the implicit rewards.
        read: From model and batch to log-probabilities (B, T) of what is asked.

    Returns:
        ``chosen_reward`` and ``rejected_reward``, of desirable and of undesirable answers, and
        ``chosen_change`` and ``rejected_change`` [nats], each if there are such; ``margin``,
        the difference of the rewards, if there are both.

    Raises:
        InputError: If there are no answers, no reference, or a column is missing.

    Example:
        >>> batch = {"ids": torch.tensor([[1], [1]]), "targets": torch.tensor([[2], [3]])}
        >>> batch |= {"desirable": torch.tensor([True, False])}
        >>> batch |= {"logp_ref": torch.tensor([-3.0, -3.0])}
        >>> logp = torch.tensor([[-2.0], [-5.0]])
        >>> read = lambda model, batch: logp
        >>> found = unpaired_metrics(torch.nn.Identity(), [batch], beta=0.5, read=read)
        >>> found["chosen_change"], found["rejected_change"], found["margin"]
        (1.0, -2.0, 1.5)
    """
    require_positive(beta=beta)
    changes, labels = [], []
    for batch in batches:
        if "logp_ref" not in batch:
            raise InputError("the batch has no logp_ref: take with_reference(reference)")
        require_columns(batch, "unpaired_metrics", "ids", "targets", "desirable")
        logp = read(model, batch).sum(1)
        changes.append((logp - batch["logp_ref"].to(logp)).double())
        labels.append(batch["desirable"])
    if not changes:
        raise InputError("there are no answers to measure")
    change, good = torch.cat(changes), torch.cat(labels)
    found: dict[str, float] = {}
    for name, rows in (("chosen", good), ("rejected", ~good)):
        if rows.any():
            mean = change[rows].mean().item()
            found |= {f"{name}_change": mean, f"{name}_reward": beta * mean}
    if len(found) == 4:
        found["margin"] = found["chosen_reward"] - found["rejected_reward"]
    return found
