"""Training on what people asked for: conversations, and which tokens of them are learned."""

from .advantages import (
    centred_advantages,
    gae,
    group_advantages,
    leave_one_out_advantages,
    returns,
    rewards_with_kl,
)
from .aggregation import fixed_length_mean, sequence_mean, sequence_sum, token_mean
from .answers import answer_log_probabilities, answer_logits, target_log_probabilities
from .chat_batches import ChatBatches
from .entropies import token_entropies
from .group_losses import (
    corrected_grpo_loss,
    dapo_loss,
    dr_grpo_loss,
    grpo_loss,
    gspo_loss,
    rloo_loss,
)
from .kl_estimators import kl_k1, kl_k2, kl_k3
from .kto import kto_loss, mismatched_kl
from .policy_diagnostics import approximate_kl, clip_share, explained_variance
from .policy_losses import ppo_loss, reinforce_loss, value_loss
from .preference_losses import (
    dpo_loss,
    hinge_loss,
    implicit_reward,
    ipo_loss,
    length_normalized_reward,
    robust_dpo_loss,
)
from .reference_free import log_odds, orpo_loss, simpo_loss
from .sft import Encoded, encode_chats
from .whitening import whiten

__all__ = [
    "ChatBatches",
    "Encoded",
    "answer_log_probabilities",
    "answer_logits",
    "approximate_kl",
    "centred_advantages",
    "clip_share",
    "corrected_grpo_loss",
    "dapo_loss",
    "dpo_loss",
    "dr_grpo_loss",
    "encode_chats",
    "explained_variance",
    "fixed_length_mean",
    "gae",
    "group_advantages",
    "grpo_loss",
    "gspo_loss",
    "hinge_loss",
    "implicit_reward",
    "ipo_loss",
    "kl_k1",
    "kl_k2",
    "kl_k3",
    "kto_loss",
    "leave_one_out_advantages",
    "length_normalized_reward",
    "log_odds",
    "mismatched_kl",
    "orpo_loss",
    "ppo_loss",
    "reinforce_loss",
    "returns",
    "rewards_with_kl",
    "rloo_loss",
    "robust_dpo_loss",
    "sequence_mean",
    "sequence_sum",
    "simpo_loss",
    "target_log_probabilities",
    "token_entropies",
    "token_mean",
    "value_loss",
    "whiten",
]
