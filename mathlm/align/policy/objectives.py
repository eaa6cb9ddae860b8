"""Policy losses as objectives of a trainer, and the entropy of the next-token distribution."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import torch
from torch import Tensor, nn

from ...checks import require_nonnegative
from ...errors import ConfigError, InputError
from ...functional import token_cross_entropy
from ...shapes import Bool, Float, Int
from ...train.objectives import IGNORED, Batch
from ..answers import LogProbabilities, answer_logits, target_log_probabilities
from ..masks import require_columns
from ..value_model import PolicyAndValue, target_values
from .aggregation import token_mean
from .kl import kl_k2
from .losses import (
    corrected_grpo_loss,
    dr_grpo_loss,
    grpo_loss,
    ppo_loss,
    reinforce_loss,
    value_loss,
)
from .rollouts import Values


def token_entropies(
    logits: Float[Tensor, "B T V"], targets: Int[Tensor, "B T"]
) -> Float[Tensor, "B T"]:
    """Entropy of the distribution from which each token that is asked for was drawn.

    Computes::

        H[b, t] = -Σ_v p_v log p_v,   p = softmax(logits[b, t])

    Exact: a sum over the vocabulary, not an estimate from the token that was drawn. Gradients
    pass. Logits of -inf, as masks of the vocabulary leave them, count 0.

    Args:
        logits: Divided by the temperature of the draw; half precision is taken in float32.
        targets: -100 where nothing is asked.

    Returns:
        H [nats] in [0, ln V]; exactly 0 where nothing is asked.

    Raises:
        InputError: If the shapes do not fit, or a logit that counts is NaN or +inf.

    Example:
        >>> token_entropies(torch.zeros(1, 1, 2), torch.tensor([[0]]))  # ln 2
        tensor([[0.6931]])
    """
    if logits.shape[:-1] != targets.shape:
        raise InputError(
            f"logits {tuple(logits.shape)} and targets {tuple(targets.shape)} do not fit"
        )
    asked = targets != IGNORED
    z = logits[asked]
    if (z.isnan() | z.isposinf()).any():
        raise InputError("a logit is NaN or +inf")
    logp = (z.float() if z.dtype in (torch.float16, torch.bfloat16) else z).log_softmax(-1)
    p = logp.exp()
    found = -(p * logp.masked_fill(p == 0, 0.0)).sum(-1)
    bounded = found.clamp(0.0, math.log(logits.shape[-1]))  # but for the last digit it is
    return bounded.new_zeros(targets.shape).masked_scatter(asked, bounded)


Estimate = Callable[[Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True, kw_only=True)
class PolicyObjective:
    """What the objectives share: how log-probabilities are read.

    Args:
        read: From model and batch to log-probabilities (B, T) of what is asked.

    Example:
        >>> class Imitation(PolicyObjective):
        ...     needs = ()
        ...     def __call__(self, model, batch):
        ...         logp = self.logp(model, batch)
        ...         return -logp.sum(), len(logp)
        >>> logp = torch.tensor([[-1.0, -1.0]])
        >>> imitation = Imitation(read=lambda model, batch, temperature: logp)
        >>> imitation(torch.nn.Identity(), {"targets": torch.tensor([[5, 6]])})
        (tensor(2.), 1)
    """

    read: LogProbabilities = target_log_probabilities
    needs: ClassVar[tuple[str, ...]] = ("advantages",)

    def columns(self, batch: Batch) -> tuple[Tensor, ...]:
        """The columns that the loss needs.

        Raises:
            InputError: If one is missing.
        """
        missing = [name for name in self.needs if name not in batch]
        if missing:
            raise InputError(
                f"{type(self).__name__} needs {', '.join(missing)}, and the batch has "
                f"{', '.join(sorted(batch))}: logp_ref comes of a reference, values and "
                "returns of a value model and TokenCredit"
            )
        return tuple(batch[name] for name in self.needs)

    def logp(self, model: nn.Module, batch: Batch) -> Float[Tensor, "B T"]:
        """Log π of the tokens, at the temperature of the draw."""
        return self.read(policy_of(model), batch, temperature=temperature_of(batch))


@dataclass(frozen=True, kw_only=True)
class Reinforce(PolicyObjective):
    """Log-probabilities of texts, weighed by advantages of texts or of tokens.

    Computes::

        (Σ_b Σ_t -A_bt log π(y_t), B)

    With :func:`leave_one_out_advantages` in :class:`GroupCredit` and a β there it is RLOO. Its
    expected gradient is exact on texts of the policy itself: one step for each iteration.

    Example:
        >>> logp = torch.tensor([[-1.0, -1.0]])
        >>> batch = {"targets": torch.tensor([[5, 6]]), "advantages": torch.tensor([0.5])}
        >>> objective = Reinforce(read=lambda model, batch, temperature: logp)
        >>> objective(torch.nn.Identity(), batch)  # -A log π
        (tensor(1.), 1)

    References:
        Williams (1992), Simple statistical gradient-following algorithms.
        Ahmadian et al. (2024), arXiv:2402.14740.
    """

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Float[Tensor, ""], int]:
        """Sum over texts, and their number."""
        (A,) = self.columns(batch)
        logp = self.logp(model, batch)
        each = A if A.ndim == 2 else A[:, None].expand_as(logp)
        return reinforce_loss(logp, each, asked(batch)).sum(), len(logp)


@dataclass(frozen=True, kw_only=True)
class GRPO(PolicyObjective):
    """:func:`grpo_loss`, as published; with :func:`group_advantages`.

    Args:
        clip: ε in (0, 1).
        beta: β ≥ 0, weight of k₃.

    Example:
        >>> logp = torch.tensor([[-1.0, -1.0]])
        >>> batch = {"targets": torch.tensor([[5, 6]]), "advantages": torch.tensor([0.5])}
        >>> batch |= {"logp_old": logp, "logp_ref": logp}
        >>> objective = GRPO(read=lambda model, batch, temperature: logp)
        >>> objective(torch.nn.Identity(), batch)  # a mean over tokens
        (tensor(-0.5000), 1)
    """

    clip: float | int = 0.2
    beta: float | int = 0.04
    needs = ("logp_old", "logp_ref", "advantages")

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Float[Tensor, ""], int]:
        """Sum over texts, each the mean of its tokens, and their number."""
        old, ref, A = self.columns(batch)
        logp = self.logp(model, batch)
        loss = grpo_loss(logp, old, ref, A, asked(batch), self.clip, self.beta)
        return loss.sum(), len(loss)


@dataclass(frozen=True, kw_only=True)
class CorrectedGRPO(PolicyObjective):
    """:func:`corrected_grpo_loss`: sums of tokens, and k₂ of whole texts.

    With :func:`leave_one_out_advantages` and one step an iteration, its expected gradient is
    that of the regularised reward.

    Args:
        clip: ε in (0, 1).
        beta: β ≥ 0, weight of the divergence.

    Example:
        >>> logp = torch.tensor([[-1.0, -1.0]])
        >>> batch = {"targets": torch.tensor([[5, 6]]), "advantages": torch.tensor([0.5])}
        >>> batch |= {"logp_old": logp, "logp_ref": logp}
        >>> objective = CorrectedGRPO(read=lambda model, batch, temperature: logp)
        >>> objective(torch.nn.Identity(), batch)
        (tensor(-1.), 1)
    """

    clip: float | int = 0.2
    beta: float | int = 0.04
    needs = ("logp_old", "logp_ref", "advantages")

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Float[Tensor, ""], int]:
        """Sum over texts, and their number."""
        old, ref, A = self.columns(batch)
        logp = self.logp(model, batch)
        loss = corrected_grpo_loss(logp, old, ref, A, asked(batch), self.clip, self.beta)
        return loss.sum(), len(loss)


@dataclass(frozen=True, kw_only=True)
class DrGRPO(PolicyObjective):
    """:func:`dr_grpo_loss`: every text is divided by the same length, and nothing by a spread.

    With :func:`centred_advantages`; a KL penalty belongs into the credit.

    Args:
        length: L, the most tokens that a completion may have.
        clip: ε in (0, 1).

    Example:
        >>> logp = torch.tensor([[-1.0, -1.0]])
        >>> batch = {"targets": torch.tensor([[5, 6]]), "advantages": torch.tensor([2.0])}
        >>> dr_grpo = DrGRPO(length=4, read=lambda model, batch, temperature: logp)
        >>> dr_grpo(torch.nn.Identity(), batch | {"logp_old": logp})  # two of four tokens
        (tensor(-1.), 1)
    """

    length: int
    clip: float | int = 0.2
    needs = ("logp_old", "advantages")

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Float[Tensor, ""], int]:
        """Sum over texts, and their number."""
        old, A = self.columns(batch)
        logp = self.logp(model, batch)
        loss = dr_grpo_loss(logp, old, A, asked(batch), self.length, self.clip)
        return loss.sum(), len(loss)


@dataclass(frozen=True, kw_only=True)
class PPO(PolicyObjective):
    """Clipped ratios, squared errors of the values, and entropy, token by token.

    Computes::

        Σ_t ppo_t + c_v value_t - c_H H_t + β k(y_t)   over all tokens of the batch

    With :class:`TokenCredit` and a :class:`PolicyAndValue`. The KL penalty is
    usually in the credit (KL in the reward); ``beta`` puts it into the loss.

    Args:
        clip: ε in (0, 1).
        value_weight: c_v ≥ 0; 0 for a policy without values.
        value_clip: How far values may move from the old ones before the worse counts; None =
            as far as they like.
        entropy_bonus: c_H ≥ 0. Above 0 the logits are read in full, not by ``read``.
        beta: β ≥ 0 of a divergence in the loss.
        kl: Its estimate for each token: :func:`kl_k2` or :func:`kl_k3`.
        aggregate: From losses (B, T) and mask to sum and count.
        read_values: From value model and batch to values (B, T).

    Raises:
        InputError: If a weight is negative.

    Example:
        >>> logp = torch.tensor([[-1.0, -1.0]])
        >>> batch = {"targets": torch.tensor([[5, 6]]), "logp_old": logp}
        >>> batch |= {"advantages": torch.tensor([[1.0, 2.0]])}
        >>> ppo = PPO(value_weight=0, read=lambda model, batch, temperature: logp)
        >>> ppo(torch.nn.Identity(), batch)  # ratios of 1
        (tensor(-3.), 2)

    References:
        Schulman et al. (2017), arXiv:1707.06347; Ziegler et al. (2019), arXiv:1909.08593.
    """

    clip: float | int = 0.2
    value_weight: float | int = 0.5
    value_clip: float | int | None = None
    entropy_bonus: float | int = 0.0
    beta: float | int = 0.0
    kl: Estimate = kl_k2
    aggregate: Callable[[Tensor, Tensor], tuple[Tensor, int]] = token_mean
    read_values: Values = target_values
    needs = ("logp_old", "advantages")

    def __post_init__(self) -> None:
        require_nonnegative(
            value_weight=self.value_weight, entropy_bonus=self.entropy_bonus, beta=self.beta
        )

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Float[Tensor, ""], int]:
        """Sum over tokens, and their number."""
        old, A = self.columns(batch)
        mask = asked(batch)
        logp, entropies = self._read(model, batch)
        each = A if A.ndim == 2 else A[:, None].expand_as(logp)
        loss = ppo_loss(logp, old, each, self.clip, mask)
        if entropies is not None:
            loss = loss - self.entropy_bonus * entropies
        if self.beta:
            loss = loss + self.beta * self.kl(logp, self._column(batch, "logp_ref"), mask)
        if self.value_weight:
            loss = loss + self.value_weight * self._value_losses(model, batch, mask)
        return self.aggregate(loss, mask)

    def _read(self, model: nn.Module, batch: Batch) -> tuple[Tensor, Tensor | None]:
        """Log-probabilities, and entropies where they are asked for."""
        if not self.entropy_bonus:
            return self.logp(model, batch), None
        logits = answer_logits(policy_of(model), batch, temperature_of(batch))
        targets = batch["targets"]
        return -token_cross_entropy(logits, targets), token_entropies(logits, targets)

    def _value_losses(self, model: nn.Module, batch: Batch, mask: Tensor) -> Tensor:
        if not isinstance(model, PolicyAndValue):
            raise ConfigError(
                f"value_weight={self.value_weight} asks for values: train a PolicyAndValue, or "
                "set it to 0"
            )
        values = self.read_values(model.value, batch)
        old, returns = (self._column(batch, name) for name in ("values", "returns"))
        return value_loss(values, old.to(values), returns.to(values), self.value_clip, mask)

    def _column(self, batch: Batch, name: str) -> Tensor:
        """A column that only some settings need."""
        if name not in batch:
            raise InputError(
                f"PPO needs {name}, and the batch has {', '.join(sorted(batch))}: logp_ref "
                "comes of a reference, values and returns of a value model and TokenCredit"
            )
        return batch[name]


def asked(batch: Batch) -> Bool[Tensor, "B T"]:
    """Where a token was written."""
    require_columns(batch, "an objective on rollouts", "targets")
    return batch["targets"] != IGNORED


def temperature_of(batch: Batch) -> float:
    """At which the texts of a batch were drawn; 1 where it is not said."""
    return float(batch["temperature"][0]) if "temperature" in batch else 1.0


def policy_of(model: nn.Module) -> nn.Module:
    """The policy itself."""
    return model.policy if isinstance(model, PolicyAndValue) else model
