"""What to look at while a policy is trained, and what an iteration records."""

import math
from typing import Any

import torch
from torch import Tensor

from ...errors import InputError
from ...shapes import Bool, Float
from ...train.objectives import IGNORED, Batch
from ..masks import require_alike, require_columns
from .aggregation import sequence_sum
from .kl import kl_k1, kl_k3


def clip_share(
    logp: Float[Tensor, "*batch"],
    logp_old: Float[Tensor, "*batch"],
    advantages: Float[Tensor, "*batch"],
    clip: float | int = 0.2,
    mask: Bool[Tensor, "*batch"] | None = None,
) -> float:
    """Share of the tokens whose ratio is cut, so that they have no gradient.

    Computes::

        mean of [A > 0 and ρ > 1 + ε] + [A < 0 and ρ < 1 - ε]

    Args:
        logp: log π [nats].
        logp_old: log π_old of the same.
        advantages: A of the same.
        clip: ε in (0, 1).
        mask: True where a token counts; None = everywhere.

    Returns:
        Share in [0, 1].

    Raises:
        InputError: If the shapes differ or no token counts.
        InputTypeError: If the mask is not boolean.

    Example:
        >>> logp, zero = torch.tensor([2.0, 1.0]).log(), torch.zeros(2)
        >>> clip_share(logp, zero, torch.ones(2))
        0.5
    """
    require_alike(logp=logp, logp_old=logp_old, advantages=advantages, mask=mask)
    log_rho, A = (_chosen(x, mask) for x in (logp - logp_old, advantages))
    above = (A > 0) & (log_rho > math.log1p(clip))
    below = (A < 0) & (log_rho < math.log1p(-clip))
    return float((above | below).double().mean())


def approximate_kl(
    logp: Float[Tensor, "*batch"],
    logp_old: Float[Tensor, "*batch"],
    mask: Bool[Tensor, "*batch"] | None = None,
) -> float:
    """How far the policy has gone from the one that wrote, per token.

    Computes::

        mean of ρ - 1 - log ρ,   ρ = π(y) / π_old(y),   y from π_old: unbiased for KL(π_old ‖ π)

    Args:
        logp: log π [nats].
        logp_old: log π_old of the same, under the policy that wrote them.
        mask: True where a token counts; None = everywhere.

    Returns:
        Divergence [nats], mean over the tokens.

    Raises:
        InputError: If the shapes differ or no token counts.
        InputTypeError: If the mask is not boolean.

    Example:
        >>> logp = torch.tensor([0.5]).log()
        >>> round(approximate_kl(logp, torch.zeros(1)), 4)  # 1/2 - 1 + ln 2
        0.1931
    """
    return float(_chosen(kl_k3(logp_old, logp, mask), mask).mean())


def explained_variance(
    values: Float[Tensor, "*batch"],
    returns: Float[Tensor, "*batch"],
    mask: Bool[Tensor, "*batch"] | None = None,
) -> float | None:
    """Share of the spread of what came that the values foresaw.

    Computes::

        1 - Var(R - V) / Var(R)

    Args:
        values: V.
        returns: R.
        mask: True where a number counts; None = everywhere.

    Returns:
        At most 1; 0 for values that are all equal; None if what came is all equal.

    Raises:
        InputError: If the shapes differ or nothing counts.
        InputTypeError: If the mask is not boolean.

    Example:
        >>> explained_variance(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 2.0]))
        1.0
    """
    require_alike(values=values, returns=returns, mask=mask)
    V, R = (_chosen(x, mask) for x in (values, returns))
    if bool((R[0] == R).all()):
        return None
    return float(1 - (R - V).var(correction=0) / R.var(correction=0))


def _chosen(x: Tensor, mask: Tensor | None) -> Tensor:
    """The numbers that count, in a row."""
    chosen = x.detach().flatten() if mask is None else x.detach()[mask]
    if len(chosen) == 0:
        raise InputError("nothing counts: the mask is False everywhere")
    return chosen


def group_record(rewards: Float[Tensor, " rows"], size: int) -> dict[str, float]:
    """How much the rewards of one prompt's answers differ: only this teaches in GRPO.

    Args:
        rewards: Of all rows, the answers to a prompt one after another.
        size: Answers of a prompt; of one there is nothing to compare.

    Returns:
        ``group_std``, the mean over the prompts of the standard deviation within each, and
        ``equal_groups``, the share of prompts whose answers all got the same.

    Example:
        >>> group_record(torch.tensor([0.0, 2.0, 1.0, 1.0]), 2)
        {'group_std': 0.5, 'equal_groups': 0.5}
    """
    if size < 2:
        return {}
    groups = rewards.double().reshape(-1, size)
    equal = (groups == groups[:, :1]).all(1)
    return {
        "group_std": float(groups.std(1, correction=0).mean()),
        "equal_groups": float(equal.double().mean()),
    }


def rollout_record(batch: Batch, group_size: int = 1) -> dict[str, Any]:
    """Numbers of the rollouts of an iteration, as JSON data.

    Args:
        batch: All of them, with ``rewards``, ``logp_old``, ``lengths`` and ``finished``; and
            ``logp_ref``, or ``values`` and ``returns``, if there are.
        group_size: Rows of one prompt, which stand one after another.

    Returns:
        ``reward``, its mean and ``reward_std``; with groups ``group_std``, the mean spread
        within a group, and ``equal_groups``, the share of groups without any; ``entropy``
        [nats/token], estimated by the mean of -log π of the tokens that were drawn; ``length``
        [tokens]; ``finished``, the share that came to an end; with a reference ``kl`` and
        ``kl_k3`` [nats/text], both unbiased for KL(π ‖ π_ref) of texts token by token; with
        values ``value`` and, where the returns differ, ``explained_variance``.

    Raises:
        InputError: If a column is missing.

    Example:
        >>> logp = torch.tensor([[-1.0], [-3.0]])
        >>> batch = {"targets": torch.tensor([[5], [6]]), "logp_old": logp}
        >>> batch |= {"rewards": torch.tensor([0.0, 1.0]), "lengths": torch.tensor([1, 1])}
        >>> rollout_record(batch | {"finished": torch.tensor([True, False])})
        {'reward': 0.5, 'reward_std': 0.5, 'entropy': 2.0, 'length': 1.0, 'finished': 0.5}
    """
    names = ("targets", "logp_old", "rewards", "lengths", "finished")
    require_columns(batch, "rollout_record", *names)
    mask, logp = batch["targets"] != IGNORED, batch["logp_old"]
    rewards = batch["rewards"]
    found: dict[str, Any] = {
        "reward": float(rewards.mean()),
        "reward_std": float(rewards.std(correction=0)),
        **group_record(rewards, group_size),
        "entropy": -float(logp[mask].mean()),
        "length": float(batch["lengths"].double().mean()),
        "finished": float(batch["finished"].double().mean()),
    }
    if "logp_ref" in batch:
        for name, estimate in (("kl", kl_k1), ("kl_k3", kl_k3)):
            each = estimate(logp, batch["logp_ref"])
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

    Example:
        >>> logp = torch.tensor([[-1.0, -3.0]])
        >>> batch = {"targets": torch.tensor([[5, 6]]), "advantages": torch.tensor([1.0])}
        >>> update_record(batch | {"logp_old": logp}, logp, clip=0.2)  # nothing has moved
        {'clip_share': 0.0, 'moved': 0.0}
    """
    mask, A = batch["targets"] != IGNORED, batch["advantages"]
    each = A if A.ndim == 2 else A[:, None].expand_as(logp)
    return {
        "clip_share": clip_share(logp, batch["logp_old"], each, clip, mask),
        "moved": approximate_kl(logp, batch["logp_old"], mask),
    }


SAID = {
    "kl": "KL",
    "explained_variance": "explained variance",
    "equal_groups": "share of equal groups",
}
QUIET = ("iteration", "kl_k3", "reward_std", "group_std")  # these are in the history


def said(record: dict[str, Any]) -> str:
    """The numbers of a record in one line; beside the first KL what it should be."""
    words, first = [f"iteration {record['iteration']}"], record["iteration"] == 0
    for name, x in sorted(record.items(), key=lambda item: item[0] not in ("reward", "kl")):
        if isinstance(x, float | int) and name not in QUIET and (x or name != "dropped"):
            expected = " (expected about 0 if it begins as its reference)"
            tail = expected if first and name == "kl" else ""
            words.append(f"{SAID.get(name, name)} {x:.4g}{tail}")
    return "  ".join(words)


def first_of(samples: list[dict[str, Any]]) -> str:
    """The first completion, in words for a log."""
    if not samples:
        return ""
    return f"  {samples[0]['completion']!r:.120} (reward {samples[0]['reward']:.3g})"


def plain(text: Any) -> Any:
    """A text or its ids, as JSON data."""
    return text.tolist() if isinstance(text, torch.Tensor) else text
