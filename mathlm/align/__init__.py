"""Training on what people asked for: conversations, and which tokens of them are learned."""

from . import exact
from .advantages import (
    centred_advantages,
    gae,
    group_advantages,
    leave_one_out_advantages,
    returns,
    rewards_with_kl,
)
from .aggregation import fixed_length_mean, sequence_mean, sequence_sum, token_mean
from .annotators import Annotator, Comparisons, compare
from .answers import answer_log_probabilities, answer_logits, target_log_probabilities
from .best_of_n import (
    Best,
    best_of_n_kl,
    best_of_n_kl_bound,
    best_of_n_log_probabilities,
    best_of_n_mean,
    draw_best,
)
from .chat_batches import ChatBatches
from .credit import GroupCredit, TokenCredit, batch_mean, no_baseline
from .entropies import token_entropies
from .group_losses import (
    corrected_grpo_loss,
    dapo_loss,
    dr_grpo_loss,
    grpo_loss,
    gspo_loss,
    rloo_loss,
)
from .judged_batches import JudgedBatches
from .judged_texts import EncodedJudged, encode_judged
from .kl_estimators import kl_k1, kl_k2, kl_k3
from .kto import kto_loss, mismatched_kl
from .kto_objective import KTO
from .logistic import LinearReward, fit_linear_reward
from .pair_batches import PairBatches
from .policy_batches import PolicyBatches
from .policy_diagnostics import approximate_kl, clip_share, explained_variance
from .policy_losses import ppo_loss, reinforce_loss, value_loss
from .policy_objectives import GRPO, PPO, CorrectedGRPO, DrGRPO, PolicyObjective, Reinforce
from .preference_losses import (
    dpo_loss,
    hinge_loss,
    implicit_reward,
    ipo_loss,
    length_normalized_reward,
    robust_dpo_loss,
)
from .preference_measures import judged_metrics, preference_metrics
from .preference_objectives import (
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
from .preference_pairs import EncodedPairs, encode_pairs
from .reference_free import log_odds, orpo_loss, simpo_loss
from .reference_model import Reference, require_other
from .reward_losses import (
    bradley_terry_loss,
    centring_penalty,
    davidson_log_probabilities,
    rao_kupper_log_probabilities,
)
from .reward_model import RewardEnsemble, RewardModel, cautious_reward, ensemble_std, worst_case
from .reward_objective import BradleyTerry, pair_rewards, reward_metrics
from .rewards import RewardFunction, TimedReward, judged
from .rollout_records import rollout_record, update_record
from .rollout_writer import RolloutWriter
from .rollouts import RolloutSampler, TextSampler, completions_of, roll_out, rollout_batch
from .sft import Encoded, encode_chats
from .strengths import Strengths, count_wins, fit_strengths, fit_strengths_by_mm
from .text_rewards import ArithmeticReward, FormatReward, LengthReward, SentimentReward
from .value_model import PolicyAndValue, ValueModel, target_values
from .whitening import whiten

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
