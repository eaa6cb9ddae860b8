"""What an iteration of policy training is judged by."""

from typing import Any

import torch
from torch import Tensor

from ...train.batches import Batch
from ...train.objectives import IGNORED
from ..masks import require_columns
from .aggregation import sequence_sum
from .kl import kl_k1, kl_k3
from .policy_diagnostics import approximate_kl, clip_share, explained_variance


def rollout_record(batch: Batch) -> dict[str, Any]:
    """Numbers of the rollouts of an iteration, as JSON data.

    Args:
        batch: All of them, with ``rewards``, ``logp_old``, ``lengths`` and ``finished``; and
            ``logp_ref``, or ``values`` and ``returns``, if there are.

    Returns:
        ``reward``, its mean and ``reward_std``; ``entropy`` [nats/token], estimated by the mean
        of -log π of the tokens that were drawn; ``length`` [tokens]; ``finished``, the share
        that came to an end; with a reference ``kl`` and ``kl_k3`` [nats/text], both unbiased
        for KL(π ‖ π_ref) of texts token by token; with values ``value`` and, where the
        returns differ, ``explained_variance``.

    Raises:
        InputError: If a column is missing.
    """
    names = ("targets", "logp_old", "rewards", "lengths", "finished")
    require_columns(batch, "rollout_record", *names)
    mask, logp = batch["targets"] != IGNORED, batch["logp_old"]
    rewards = batch["rewards"]
    found: dict[str, Any] = {
        "reward": float(rewards.mean()),
        "reward_std": float(rewards.std(correction=0)),
        "entropy": -float(logp[mask].mean()),
        "length": float(batch["lengths"].double().mean()),
        "finished": float(batch["finished"].double().mean()),
    }
    if "logp_ref" in batch:
        for name, estimate in (("kl", kl_k1), ("kl_k3", kl_k3)):
            each = estimate(logp, batch["logp_ref"], mask)
            found[name] = float(sequence_sum(each, mask).mean())
    if "returns" in batch:
        values, returns = batch["values"], batch["returns"]
        found["value"] = float(values[mask].mean())
        explained = explained_variance(values, returns, mask)
        found |= {} if explained is None else {"explained_variance": explained}
    return found


def update_record(batch: Batch, logp: Tensor, clip: float | int) -> dict[str, float]:
    """How far the steps of an iteration have moved the policy on its own rollouts.

    Args:
        batch: The rollouts.
        logp: log π of their tokens after the last step [nats], (B, T).
        clip: ε; the share is that of the tokens whose ratio is cut by now.

    Returns:
        ``clip_share``, and ``moved``: KL(π_old ‖ π) [nats/token].
    """
    mask, A = batch["targets"] != IGNORED, batch["advantages"]
    each = A if A.ndim == 2 else A[:, None].expand_as(logp)
    return {
        "clip_share": clip_share(logp, batch["logp_old"], each, clip, mask),
        "moved": approximate_kl(logp, batch["logp_old"], mask),
    }


def said(record: dict[str, Any]) -> str:
    """The numbers of a record in one line."""
    return ", ".join(f"{k} {v:.4g}" for k, v in record.items() if isinstance(v, float | int))


def first_of(samples: list[dict[str, Any]]) -> str:
    """The first completion, in words for a log."""
    if not samples:
        return ""
    return f"; {samples[0]['completion']!r:.120} (reward {samples[0]['reward']:.3g})"


def plain(text: Any) -> Any:
    """A text or its ids, as JSON data."""
    return text.tolist() if isinstance(text, torch.Tensor) else text
