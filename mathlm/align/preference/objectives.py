"""Preference losses as objectives of a trainer: from batches to a sum and a number."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ...errors import InputError
from ...shapes import Float
from ...train.objectives import IGNORED, Batch
from ..answers import LogProbabilities, target_log_probabilities
from ..masks import require_columns
from ..reference_model import require_trained
from .losses import (
    dpo_loss,
    hinge_loss,
    implicit_reward,
    ipo_loss,
    kto_loss,
    length_normalized_reward,
    mismatched_kl,
    orpo_loss,
    robust_dpo_loss,
    simpo_loss,
)

Both = tuple[Float[Tensor, " B"], Float[Tensor, " B"]]


@dataclass(frozen=True, kw_only=True, eq=False)
class PairScores:
    """What a policy says of both answers of some pairs; made by :func:`pair_scores`.

    Args:
        logp: Log-probabilities of the chosen and the rejected answers, (2, B) [nats].
        lengths: Their tokens, with the ends of the turns, (2, B).
        logp_ref: What the reference says of them, (2, B) [nats]; None = there is none.

    Example:
        >>> logp, logp_ref = torch.tensor([[-1.0], [-3.0]]), torch.tensor([[-2.0], [-2.0]])
        >>> pairs = PairScores(logp=logp, lengths=torch.tensor([[1], [2]]), logp_ref=logp_ref)
        >>> pairs.rewards(beta=0.5), pairs.rewards_per_token(beta=0.5)
        ((tensor([0.5000]), tensor([-0.5000])), (tensor([0.5000]), tensor([-0.2500])))
    """

    logp: Tensor
    lengths: Tensor
    logp_ref: Tensor | None

    def rewards(self, beta: float | int) -> Both:
        """Implicit rewards of the chosen and of the rejected answers."""
        both = implicit_reward(self.logp, self.required_reference(), beta)
        return both[0], both[1]

    def rewards_per_token(self, beta: float | int) -> Both:
        """Implicit rewards, each divided by the length of its answer."""
        both = length_normalized_reward(
            self.logp, self.required_reference(), self.lengths, beta
        )
        return both[0], both[1]

    def mean_logp(self) -> Both:
        """Log-probabilities, each divided by the length of its answer [nats/token]."""
        both = self.logp / self.lengths
        return both[0], both[1]

    def required_reference(self) -> Tensor:
        """What the reference says; an error if it was not asked."""
        if self.logp_ref is None:
            raise InputError(
                "the batch has no chosen_logp_ref and rejected_logp_ref, and this loss needs "
                "them: train on PairBatches(...).with_reference(reference)"
            )
        return self.logp_ref


def pair_scores(
    model: nn.Module, batch: Batch, read: LogProbabilities = target_log_probabilities
) -> PairScores:
    """Log-probabilities of both answers of each pair, in one pass of the model.

    Args:
        model: From ``ids`` to logits.
        batch: Of :class:`PairBatches`.
        read: From model and batch to log-probabilities (B, T) of what is asked.

    Raises:
        InputError: If an answer has no token, or the batch is not one of pairs.

    Example:
        >>> model = torch.nn.Sequential(torch.nn.Embedding(4, 8), torch.nn.Linear(8, 4))
        >>> with torch.no_grad():
        ...     nothing = [p.zero_() for p in model.parameters()]  # four tokens alike
        >>> answer, other = torch.tensor([[2, 3]]), torch.tensor([[2]])
        >>> batch = {"chosen_ids": torch.tensor([[1, 2]]), "chosen_targets": answer}
        >>> batch |= {"rejected_ids": torch.tensor([[1]]), "rejected_targets": other}
        >>> pair_scores(model, batch).logp.detach()  # -2 ln 4 and -ln 4
        tensor([[-2.7726],
                [-1.3863]])
    """
    both = stacked(batch)
    lengths = (both["targets"] != IGNORED).sum(1).unflatten(0, (2, -1))
    if (lengths == 0).any():
        side, row = (lengths == 0).nonzero()[0].tolist()
        name = ("chosen", "rejected")[side]
        raise InputError(f"the {name} answer of row {row} has no token that is asked for")
    logp = read(model, both).sum(1).unflatten(0, (2, -1))
    names = ("chosen_logp_ref", "rejected_logp_ref")
    known = all(name in batch for name in names)
    logp_ref = torch.stack([batch[name] for name in names]).to(logp) if known else None
    return PairScores(logp=logp, lengths=lengths, logp_ref=logp_ref)


def stacked(batch: Batch) -> Batch:
    """The chosen rows above the rejected ones, filled up to one width."""
    names = ("chosen_ids", "chosen_targets", "rejected_ids", "rejected_targets")
    require_columns(batch, "an objective on pairs", *names)
    width = max(batch["chosen_ids"].shape[1], batch["rejected_ids"].shape[1])
    rows: Batch = {}
    for key, fill in (("ids", 0), ("targets", IGNORED)):
        sides = [batch[f"{name}_{key}"] for name in ("chosen", "rejected")]
        full = [nn.functional.pad(x, (0, width - x.shape[1]), value=fill) for x in sides]
        rows[key] = torch.cat(full)
    return rows


@dataclass(frozen=True, kw_only=True)
class PairObjective:
    """Base of the objectives on pairs: :meth:`losses` says what is summed over them.

    Args:
        read: From model and batch to log-probabilities (B, T) of what is asked.

    Example:
        >>> class Difference(PairObjective):
        ...     def losses(self, pairs):
        ...         return pairs.logp[1] - pairs.logp[0]
        >>> logp = torch.tensor([[-1.0], [-3.0]])
        >>> pairs = PairScores(logp=logp, lengths=torch.tensor([[1], [2]]), logp_ref=None)
        >>> Difference().losses(pairs)
        tensor([-2.])
    """

    read: LogProbabilities = target_log_probabilities

    def losses(self, pairs: PairScores) -> Float[Tensor, " B"]:
        """Loss of each pair."""
        raise NotImplementedError

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        """Loss summed over pairs, and their number."""
        losses = self.losses(pair_scores(model, batch, self.read))
        require_trained(model, losses)
        return losses.sum(), len(losses)


@dataclass(frozen=True, kw_only=True)
class DPO(PairObjective):
    """Direct preference optimization: :func:`dpo_loss` of implicit rewards.

    Args:
        read: As for all.
        beta: β > 0.
        label_smoothing: Share of the labels that are taken to be wrong; conservative if > 0.

    Example:
        >>> from mathlm.align import PairBatches, Reference, encode_pairs
        >>> from mathlm.models import GPT, GPTConfig
        >>> from mathlm.optim import AdamW
        >>> from mathlm.text import Bytes, ChatFormat, Message, Preference
        >>> from mathlm.train import Trainer, TrainerConfig
        >>> asked = (Message("user", "2 + 3?"),)
        >>> pairs = [Preference(prompt=asked, chosen="5", rejected="6")]
        >>> form = ChatFormat.named()
        >>> encoded = encode_pairs(pairs, form, Bytes(form.special), context=64)
        >>> sizes = dict(vocab_size=256, context=64, d_model=16, n_layers=1, n_heads=2)
        >>> policy = GPT(GPTConfig(**sizes))
        >>> batches = PairBatches(encoded, batch_size=1).with_reference(Reference.of(policy))
        >>> optimizer = AdamW(policy.parameters(), lr=1e-3)
        >>> history = Trainer(policy, DPO(), batches, optimizer, TrainerConfig(steps=5)).fit()
        >>> round(history[0]["loss"], 4)  # ln 2: policy and reference are one
        0.6931
        >>> history[-1]["loss"] < history[0]["loss"]
        True
    """

    beta: float | int = 0.1
    label_smoothing: float | int = 0.0

    def losses(self, pairs: PairScores) -> Float[Tensor, " B"]:
        """Loss of each pair [nats]."""
        return dpo_loss(*pairs.rewards(self.beta), self.label_smoothing)


@dataclass(frozen=True, kw_only=True)
class LengthNormalizedDPO(DPO):
    """DPO on implicit rewards per token: :func:`length_normalized_reward`.

    Example:
        >>> logp, logp_ref = torch.tensor([[-1.0], [-3.0]]), torch.tensor([[-2.0], [-2.0]])
        >>> pairs = PairScores(logp=logp, lengths=torch.tensor([[1], [2]]), logp_ref=logp_ref)
        >>> objective = LengthNormalizedDPO(beta=np.log(3) / 1.5)  # 1 and -1/2 nats per token
        >>> objective.losses(pairs)  # a margin of ln 3: ln(4/3)
        tensor([0.2877])
    """

    def losses(self, pairs: PairScores) -> Float[Tensor, " B"]:
        """Loss of each pair [nats]."""
        return dpo_loss(*pairs.rewards_per_token(self.beta), self.label_smoothing)


@dataclass(frozen=True, kw_only=True)
class RobustDPO(PairObjective):
    """DPO without the bias that flipped labels bring: :func:`robust_dpo_loss`.

    Args:
        read: As for all.
        beta: β > 0.
        flip: Share of the labels that are flipped, below 1/2.

    Example:
        >>> zero = torch.zeros(2, 1)
        >>> pairs = PairScores(logp=zero, lengths=torch.ones(2, 1), logp_ref=zero)
        >>> RobustDPO(flip=0.25).losses(pairs)  # ln 2: no opinion, whatever is flipped
        tensor([0.6931])
    """

    beta: float | int = 0.1
    flip: float | int = 0.1

    def losses(self, pairs: PairScores) -> Float[Tensor, " B"]:
        """Loss of each pair [nats]."""
        return robust_dpo_loss(*pairs.rewards(self.beta), self.flip)


@dataclass(frozen=True, kw_only=True)
class IPO(PairObjective):
    """Identity preference optimization: :func:`ipo_loss`, of sums or of means over tokens.

    Args:
        read: As for all.
        beta: β > 0; τ in the paper.
        per_token: Whether log-ratios are divided by the lengths of their answers.

    Example:
        >>> logp, logp_ref = torch.tensor([[-1.0], [-3.0]]), torch.tensor([[-2.0], [-2.0]])
        >>> pairs = PairScores(logp=logp, lengths=torch.tensor([[1], [2]]), logp_ref=logp_ref)
        >>> IPO(beta=0.5).losses(pairs)  # a log-ratio of 2 where 1 / (2 β) is asked for
        tensor([1.])
    """

    beta: float | int = 0.1
    per_token: bool = False

    def losses(self, pairs: PairScores) -> Float[Tensor, " B"]:
        """Loss of each pair [nats²]."""
        rewards = pairs.rewards_per_token if self.per_token else pairs.rewards
        return ipo_loss(*rewards(self.beta), self.beta)


@dataclass(frozen=True, kw_only=True)
class Hinge(PairObjective):
    """:func:`hinge_loss` of implicit rewards.

    Args:
        read: As for all.
        beta: β > 0.

    Example:
        >>> logp, logp_ref = torch.tensor([[-1.0], [-3.0]]), torch.tensor([[-2.0], [-2.0]])
        >>> pairs = PairScores(logp=logp, lengths=torch.tensor([[1], [2]]), logp_ref=logp_ref)
        >>> Hinge(beta=0.25).losses(pairs)  # a margin of 1/4 + 1/4
        tensor([0.5000])
    """

    beta: float | int = 0.1

    def losses(self, pairs: PairScores) -> Float[Tensor, " B"]:
        """Loss of each pair [reward]."""
        return hinge_loss(*pairs.rewards(self.beta))


@dataclass(frozen=True, kw_only=True)
class ORPO(PairObjective):
    """:func:`orpo_loss`; no reference is asked.

    Args:
        read: As for all.
        weight: λ, of the odds ratio.

    Example:
        >>> logp = torch.tensor([[0.5], [0.5]]).log()
        >>> pairs = PairScores(logp=logp, lengths=torch.tensor([[1], [1]]), logp_ref=None)
        >>> ORPO(weight=1).losses(pairs)  # ln 2 of the answer, and ln 2 of equal odds
        tensor([1.3863])
    """

    weight: float | int = 0.1

    def losses(self, pairs: PairScores) -> Float[Tensor, " B"]:
        """Loss of each pair [nats]."""
        return orpo_loss(*pairs.mean_logp(), self.weight)


@dataclass(frozen=True, kw_only=True)
class SimPO(PairObjective):
    """:func:`simpo_loss`; no reference is asked.

    Args:
        read: As for all.
        beta: β > 0.
        gamma: γ >= 0.

    Example:
        >>> logp = torch.tensor([[-1.0], [-3.0]])  # -1 and -3/2 nats per token
        >>> pairs = PairScores(logp=logp, lengths=torch.tensor([[1], [2]]), logp_ref=None)
        >>> SimPO(beta=2.0, gamma=1.0).losses(pairs)  # just the margin that is asked for: ln 2
        tensor([0.6931])
    """

    beta: float | int = 2.0
    gamma: float | int = 1.0

    def losses(self, pairs: PairScores) -> Float[Tensor, " B"]:
        """Loss of each pair [nats]."""
        return simpo_loss(*pairs.mean_logp(), self.beta, self.gamma)


@dataclass(frozen=True, kw_only=True)
class KTO:
    """:func:`kto_loss` of unpaired answers, in batches of :class:`UnpairedBatches`.

    The reference point is estimated from the rows that are read together, as in the paper. So
    this is the one objective whose gradient depends, through that number, on how a batch is
    cut into micro-batches and over ranks.

    Args:
        read: From model and batch to log-probabilities (B, T) of what is asked.
        beta: β > 0.
        desirable_weight: λ_D >= 0.
        undesirable_weight: λ_U >= 0.

    Example:
        >>> ids = torch.tensor([[5, 6]])
        >>> batch = {"ids": ids, "targets": ids, "desirable": torch.tensor([True])}
        >>> batch |= {"kl_ids": ids, "kl_targets": ids}
        >>> batch |= {"logp_ref": torch.zeros(1), "kl_logp_ref": torch.zeros(1)}
        >>> equal = torch.zeros(1, 2, requires_grad=True)  # says what the reference says
        >>> loss, answers = KTO(read=lambda model, batch: equal)(torch.nn.Identity(), batch)
        >>> loss.item(), answers  # 1 - σ(0)
        (0.5, 1)
    """

    read: LogProbabilities = target_log_probabilities
    beta: float | int = 0.1
    desirable_weight: float | int = 1.0
    undesirable_weight: float | int = 1.0

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        """Loss summed over answers, and their number.

        Raises:
            InputError: If the batch has no log-probabilities of a reference, or is not one of
                unpaired answers.
        """
        if "logp_ref" not in batch:
            raise InputError(
                "the batch has no logp_ref, and this loss needs it: train on "
                "UnpairedBatches(...).with_reference(reference)"
            )
        names = ("ids", "targets", "desirable", "kl_ids", "kl_targets", "kl_logp_ref")
        require_columns(batch, "KTO", *names)
        kl = self.reference_point(model, batch)
        logp = self.read(model, batch).sum(1)
        losses = kto_loss(
            implicit_reward(logp, batch["logp_ref"].to(logp), self.beta),
            batch["desirable"],
            kl,
            self.beta,
            self.desirable_weight,
            self.undesirable_weight,
        )
        require_trained(model, losses)
        return losses.sum(), len(losses)

    @torch.no_grad()
    def reference_point(self, model: nn.Module, batch: Batch) -> Float[Tensor, ""]:
        """Estimate of KL(π ‖ π_ref) from prompts with the answers of others [nats]."""
        other = (batch["kl_targets"] != IGNORED).any(1)
        if not other.any():
            return batch["kl_logp_ref"].new_zeros(())
        rows = {"ids": batch["kl_ids"][other], "targets": batch["kl_targets"][other]}
        logp = self.read(model, rows).sum(1)
        return mismatched_kl(logp, batch["kl_logp_ref"][other].to(logp))
