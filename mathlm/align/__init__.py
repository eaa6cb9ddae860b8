"""Training on what people asked for: conversations, and which tokens of them are learned."""

from . import exact
from .answers import answer_log_probabilities, answer_logits, target_log_probabilities
from .chat_batches import ChatBatches
from .policy.advantages import (
    centred_advantages,
    gae,
    group_advantages,
    leave_one_out_advantages,
    returns,
    rewards_with_kl,
)
from .policy.aggregation import fixed_length_mean, sequence_mean, sequence_sum, token_mean
from .policy.batches import PolicyBatches
from .policy.credit import GroupCredit, TokenCredit, batch_mean, no_baseline
from .policy.entropies import token_entropies
from .policy.group_losses import (
    corrected_grpo_loss,
    dapo_loss,
    dr_grpo_loss,
    grpo_loss,
    gspo_loss,
    rloo_loss,
)
from .policy.kl import kl_k1, kl_k2, kl_k3
from .policy.policy_diagnostics import approximate_kl, clip_share, explained_variance
from .policy.policy_losses import ppo_loss, reinforce_loss, value_loss
from .policy.policy_objectives import (
    GRPO,
    PPO,
    CorrectedGRPO,
    DrGRPO,
    PolicyObjective,
    Reinforce,
)
from .policy.rollout_records import rollout_record, update_record
from .policy.rollout_writer import RolloutWriter
from .policy.rollouts import (
    RolloutSampler,
    TextSampler,
    completions_of,
    roll_out,
    rollout_batch,
)
from .policy.whitening import whiten
from .preference.annotators import Annotator, Comparisons, compare
from .preference.judged_batches import JudgedBatches
from .preference.judged_texts import EncodedJudged, encode_judged
from .preference.kto import kto_loss, mismatched_kl
from .preference.kto_objective import KTO
from .preference.metrics import judged_metrics, preference_metrics
from .preference.pair_batches import PairBatches
from .preference.preference_losses import (
    dpo_loss,
    hinge_loss,
    implicit_reward,
    ipo_loss,
    length_normalized_reward,
    robust_dpo_loss,
)
from .preference.preference_objectives import (
    DPO,
    IPO,
    ORPO,
    Hinge,
    LengthNormalizedDPO,
    PairObjective,
    PairScores,
    RobustDPO,
    SimPO,
    pair_scores,
)
from .preference.preference_pairs import EncodedPairs, encode_pairs
from .preference.reference_free import log_odds, orpo_loss, simpo_loss
from .reference_model import Reference, require_other
from .reward.best_of_n import (
    Best,
    best_of_n_kl,
    best_of_n_kl_bound,
    best_of_n_log_probabilities,
    best_of_n_mean,
    draw_best,
)
from .reward.logistic import LinearReward, fit_linear_reward
from .reward.losses import (
    bradley_terry_loss,
    centring_penalty,
    davidson_log_probabilities,
    rao_kupper_log_probabilities,
)
from .reward.model import RewardEnsemble, RewardModel, cautious_reward, ensemble_std, worst_case
from .reward.objective import BradleyTerry, pair_rewards, reward_metrics
from .reward.rewards import RewardFunction, TimedReward, judged
from .reward.strengths import Strengths, count_wins, fit_strengths, fit_strengths_by_mm
from .reward.text_rewards import ArithmeticReward, FormatReward, LengthReward, SentimentReward
from .sft import Encoded, encode_chats
from .value_model import PolicyAndValue, ValueModel, target_values

__all__ = [
    "Annotator",
    "ArithmeticReward",
    "Best",
    "BradleyTerry",
    "ChatBatches",
    "Comparisons",
    "CorrectedGRPO",
    "DPO",
    "DrGRPO",
    "Encoded",
    "EncodedJudged",
    "EncodedPairs",
    "FormatReward",
    "GRPO",
    "GroupCredit",
    "Hinge",
    "IPO",
    "JudgedBatches",
    "KTO",
    "LengthNormalizedDPO",
    "LengthReward",
    "LinearReward",
    "ORPO",
    "PPO",
    "PairBatches",
    "PairObjective",
    "PairScores",
    "PolicyAndValue",
    "PolicyBatches",
    "PolicyObjective",
    "Reference",
    "Reinforce",
    "RewardEnsemble",
    "RewardFunction",
    "RewardModel",
    "RobustDPO",
    "RolloutSampler",
    "RolloutWriter",
    "SentimentReward",
    "SimPO",
    "Strengths",
    "TextSampler",
    "TimedReward",
    "TokenCredit",
    "ValueModel",
    "answer_log_probabilities",
    "answer_logits",
    "approximate_kl",
    "batch_mean",
    "best_of_n_kl",
    "best_of_n_kl_bound",
    "best_of_n_log_probabilities",
    "best_of_n_mean",
    "bradley_terry_loss",
    "cautious_reward",
    "centred_advantages",
    "centring_penalty",
    "clip_share",
    "compare",
    "completions_of",
    "corrected_grpo_loss",
    "count_wins",
    "dapo_loss",
    "davidson_log_probabilities",
    "dpo_loss",
    "dr_grpo_loss",
    "draw_best",
    "encode_chats",
    "encode_judged",
    "encode_pairs",
    "ensemble_std",
    "exact",
    "explained_variance",
    "fit_linear_reward",
    "fit_strengths",
    "fit_strengths_by_mm",
    "fixed_length_mean",
    "gae",
    "group_advantages",
    "grpo_loss",
    "gspo_loss",
    "hinge_loss",
    "implicit_reward",
    "ipo_loss",
    "judged",
    "judged_metrics",
    "kl_k1",
    "kl_k2",
    "kl_k3",
    "kto_loss",
    "leave_one_out_advantages",
    "length_normalized_reward",
    "log_odds",
    "mismatched_kl",
    "no_baseline",
    "orpo_loss",
    "pair_rewards",
    "pair_scores",
    "ppo_loss",
    "preference_metrics",
    "rao_kupper_log_probabilities",
    "reinforce_loss",
    "require_other",
    "returns",
    "reward_metrics",
    "rewards_with_kl",
    "rloo_loss",
    "robust_dpo_loss",
    "roll_out",
    "rollout_batch",
    "rollout_record",
    "sequence_mean",
    "sequence_sum",
    "simpo_loss",
    "target_log_probabilities",
    "target_values",
    "token_entropies",
    "token_mean",
    "update_record",
    "value_loss",
    "whiten",
    "worst_case",
]
