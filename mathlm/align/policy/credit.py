"""Which tokens are to be thanked for a reward: from rewards of texts to advantages."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from ...checks import require_nonnegative, require_share
from ...errors import ConfigError, InputError
from ...train.objectives import IGNORED, Batch
from ..masks import require_columns
from .advantages import gae, leave_one_out_advantages, rewards_with_kl, whiten

Credit = Callable[[Batch, int], Batch]
Cut = str | float | int  # "score", "bootstrap" or a reward


def no_baseline(rewards: Tensor) -> Tensor:
    """Rewards themselves, (groups, samples), for groups of any size: REINFORCE as it began.

    Example:
        >>> no_baseline(torch.tensor([[1.0, 3.0]]))
        tensor([[1., 3.]])
    """
    return rewards


def batch_mean(rewards: Tensor) -> Tensor:
    """Rewards less the mean of all other samples of a step, whatever their prompt.

    Example:
        >>> batch_mean(torch.tensor([[1.0], [3.0]]))
        tensor([[-2.],
                [ 2.]])
    """
    return leave_one_out_advantages(rewards.reshape(1, -1)).view_as(rewards)


@dataclass(frozen=True, kw_only=True)
class GroupCredit:
    """One advantage for a whole text, from the rewards of the others to its prompt.

    Computes::

        A = baseline(r - β Σ_t (log π_old(y_t) - log π_ref(y_t)))   by groups

    Args:
        baseline: From rewards (groups, samples) to advantages: :func:`group_advantages`,
            :func:`centred_advantages`, :func:`leave_one_out_advantages`, :func:`batch_mean`
            or :func:`no_baseline`.
        beta: β ≥ 0: KL coefficient of a penalty in the reward; 0 leaves it to the objective.
        cut: Reward of a text that had no end when its tokens were used up: a number, or
            "score" for what the reward function says.

    Example:
        >>> batch = {"rewards": torch.tensor([1.0, 3.0]), "finished": torch.ones(2).bool()}
        >>> batch |= {"targets": torch.tensor([[5], [6]]), "logp_old": torch.zeros(2, 1)}
        >>> GroupCredit()(batch, group_size=2)  # each less the mean of the others
        {'advantages': tensor([-2.,  2.])}
    """

    baseline: Callable[[Tensor], Tensor] = leave_one_out_advantages
    beta: float | int = 0.0
    cut: Cut = "score"

    def __post_init__(self) -> None:
        require_nonnegative(beta=self.beta)
        require_cut(self.cut, ("score",))

    def __call__(self, batch: Batch, group_size: int) -> Batch:
        """``advantages`` (B,); the rows of a group follow each other.

        Raises:
            InputError: If a column is missing.
        """
        require_columns(batch, "GroupCredit", "logp_old", "rewards")
        earned = cut_rewards(batch, self.cut)
        if self.beta:
            earned = priced(batch, earned, self.beta).sum(1)
        advantages = self.baseline(earned.reshape(-1, group_size)).flatten()
        return {"advantages": advantages.to(batch["logp_old"])}


@dataclass(frozen=True, kw_only=True)
class TokenCredit:
    """An advantage for each token: what came after it, beyond what the values foresaw.

    Computes::

        r_t = -β (log π_old(y_t) - log π_ref(y_t)) + [t is last] r
        A = gae(r, V, γ, λ),   R = A + V

    Without values V is 0: with λ = 1 the advantage then is all that came after the token.

    Args:
        gamma: γ in [0, 1].
        lam: λ in [0, 1].
        beta: β ≥ 0, the KL coefficient; the penalty is subtracted token by token.
        whiten: Whether the advantages of all tokens of an iteration are brought to mean 0 and
            spread 1; the returns are not.
        cut: What is worth a text that had no end when its tokens were used up: a number, in
            place of its reward; "score", what the reward function says; or "bootstrap", what
            the value model expects to follow, in place of a reward that it did not come to.

    Example:
        >>> batch = {"rewards": torch.tensor([1.0]), "finished": torch.tensor([True])}
        >>> batch |= {"targets": torch.tensor([[5, 6]]), "logp_old": torch.zeros(1, 2)}
        >>> TokenCredit(gamma=0.5, lam=1.0)(batch, group_size=1)["advantages"]
        tensor([[0.5000, 1.0000]])
    """

    gamma: float | int = 1.0
    lam: float | int = 0.95
    beta: float | int = 0.0
    whiten: bool = False
    cut: Cut = "score"

    def __post_init__(self) -> None:
        require_share(gamma=self.gamma, lam=self.lam)
        require_nonnegative(beta=self.beta)
        require_cut(self.cut, ("score", "bootstrap"))

    def __call__(self, batch: Batch, group_size: int) -> Batch:
        """``advantages`` (B, T), and ``returns`` (B, T) if there are values.

        Raises:
            InputError: If a column is missing.
        """
        require_columns(batch, "TokenCredit", "targets", "logp_old", "rewards")
        mask, zero = batch["targets"] != IGNORED, torch.zeros_like(batch["logp_old"])
        values, last = batch.get("values"), 0.0
        bootstrap = self.cut == "bootstrap"
        earned = cut_rewards(batch, 0.0 if bootstrap else self.cut)
        rewards = priced(batch, earned, self.beta)
        before = zero if values is None else torch.where(mask, values, 0.0).to(zero)
        after = value_behind(batch) if bootstrap else last
        A = gae(rewards, before, self.gamma, self.lam, after, mask)
        found = {"advantages": whiten(A, mask) if self.whiten else A}
        return found if values is None else found | {"returns": A + before}


def priced(batch: Batch, rewards: Tensor, beta: float | int) -> Tensor:
    """Reward of each token, (B, T): its KL penalty at once, the text's reward at its end."""
    require_columns(batch, "a KL penalty", "targets")
    logp, mask = batch["logp_old"], batch["targets"] != IGNORED
    if beta and "logp_ref" not in batch:
        raise ConfigError(f"beta={beta} is a KL coefficient and needs a reference: give one")
    return rewards_with_kl(rewards.to(logp), logp, batch.get("logp_ref", logp), mask, beta)


def cut_rewards(batch: Batch, cut: Cut) -> Tensor:
    """Rewards of texts, those without an end as ``cut`` says."""
    if cut == "score":
        return batch["rewards"]
    require_columns(batch, f"cut={cut}", "finished")
    return torch.where(batch["finished"], batch["rewards"], float(cut))


def value_behind(batch: Batch) -> Tensor:
    """Worth of what follows each text: its value where it was cut, 0 where it ended, (B,)."""
    if "values" not in batch:
        raise ConfigError('cut="bootstrap" asks a value model what would follow: give one')
    values, mask = batch["values"], batch["targets"] != IGNORED
    behind = (mask.flip(1).cumsum(1) > 0).sum(1)  # places up to the last token
    if (cut := ~batch["finished"]).any() and int(behind[cut].max()) >= values.shape[1]:
        raise InputError(
            "a text was cut at the last position of the batch: its ids must hold its last "
            "token, as those of rollout_batch do"
        )
    found = values.gather(1, behind.clamp_max(values.shape[1] - 1)[:, None]).squeeze(1)
    return torch.where(cut, found, 0.0)


def require_cut(cut: Cut, words: tuple[str, ...]) -> None:
    """Refuse what is neither one of the words nor a finite number."""
    known = cut in words if isinstance(cut, str) else torch.tensor(float(cut)).isfinite()
    if not known:
        raise ConfigError(f"cut={cut!r} is neither a finite number nor one of {list(words)}")
