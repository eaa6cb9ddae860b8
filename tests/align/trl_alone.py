"""trl's own loss functions on numbers that are given, without a model and without data.

Its trainers compute their losses in methods that read a model's log-probabilities, so a
stand-in gives them: what runs between the log-probabilities and the loss is theirs.
"""

import os
from collections import defaultdict
from types import SimpleNamespace

import torch

os.environ["TRL_EXPERIMENTAL_SILENCE"] = "1"  # its experimental part warns when it is imported


class OneProcess:
    """What trl asks of accelerate."""

    device, num_processes, sync_gradients = torch.device("cpu"), 1, True
    gather = gather_for_metrics = staticmethod(lambda x: x)
    reduce = staticmethod(lambda x, reduction: x)


def trainer(**settings):
    """Settings that all their trainers have, and others."""
    usual = {
        "model": SimpleNamespace(training=True),
        "accelerator": OneProcess,
        "args": SimpleNamespace(
            delta=None,
            use_bias_correction_kl=False,
            steps_per_generation=1,
            sapo_temperature_pos=0.9,
            sapo_temperature_neg=1.2,
        ),
        "aux_loss_enabled": False,
        "precompute_ref_logps": True,
        "_tp_size": 1,
        "_total_train_tokens": 0,
        "_metrics": {"train": defaultdict(list)},
    }
    return SimpleNamespace(**(usual | settings))


def read_by(tokens):
    """A model that gives each row these log-probabilities of its tokens."""
    zeros = torch.zeros_like(tokens)
    said = SimpleNamespace(
        log_probs=tokens, entropy=zeros, mean_logits=zeros, is_top1=zeros > 0
    )
    return lambda **inputs: said


def rows_of(logp, lengths):
    """Token log-probabilities with these sums, behind a prompt of one token; and their mask."""
    lengths = torch.as_tensor(lengths)
    asked = torch.arange(int(lengths.max())) < lengths[:, None]
    tokens = torch.where(asked, (logp / lengths)[:, None], 0.0)
    mask = torch.cat([torch.zeros(len(logp), 1), asked], 1).long()
    return tokens, mask


def dpo(chosen, rejected, ref_chosen, ref_rejected, kind, lengths, beta, smoothing=0.0):
    """Mean loss of pairs with these log-probabilities, by DPOTrainer."""
    from trl.trainer.dpo_trainer import DPOTrainer

    tokens, mask = rows_of(torch.cat([chosen, rejected]), lengths)
    inputs = {
        "input_ids": mask,
        "attention_mask": torch.ones_like(mask),
        "completion_mask": mask,
        "ref_chosen_logps": ref_chosen,
        "ref_rejected_logps": ref_rejected,
    }
    own = trainer(
        beta=beta,
        label_smoothing=smoothing,
        loss_types=[kind],
        loss_weights=[1.0],
        f_divergence_type="reverse_kl",
        ld_alpha=None,
        use_weighting=False,
    )
    return DPOTrainer._compute_loss(own, read_by(tokens), inputs, False)


def kto(logp, logp_ref, desirable, kl, beta, weights):
    """Mean loss of judged texts with these log-probabilities, by KTOTrainer."""
    from trl.trainer.kto_trainer import KTOTrainer

    tokens, mask = rows_of(logp, [1] * len(logp))
    inputs = {
        "input_ids": mask,
        "attention_mask": torch.ones_like(mask),
        "completion_mask": mask,
        "label": desirable,
        "ref_logps": logp_ref,
        "ref_KL_logps": torch.zeros(len(logp)),
    }
    own = trainer(
        beta=beta,
        loss_type="kto",
        calculate_KL=True,
        desirable_weight=weights[0],
        undesirable_weight=weights[1],
        _compute_kl_logps=lambda model, batch: torch.full((len(logp),), kl),
    )
    return KTOTrainer._compute_loss(own, read_by(tokens), inputs, False)


def grpo(
    logp, old, ref, advantages, mask, kind="grpo", level="token", clips=(0.2, 0.2), **more
):
    """Mean loss of texts with these log-probabilities, by GRPOTrainer; and its metrics."""
    from trl.trainer.grpo_trainer import GRPOTrainer

    own = trainer(
        loss_type=kind,
        importance_sampling_level=level,
        epsilon_low=clips[0],
        epsilon_high=clips[1],
        top_entropy_quantile=1.0,
        off_policy_mask_threshold=None,
        use_vllm=False,
        _entropy_bonus_enabled=False,
        current_gradient_accumulation_steps=1,
        _get_per_token_logps_and_entropies=lambda *a, **k: (logp, torch.zeros_like(logp), None),
        **({"beta": 0.0, "max_completion_length": logp.shape[1]} | more),
    )
    nothing = torch.zeros(len(logp), 0).long()
    inputs = {
        "prompt_ids": nothing,
        "prompt_mask": nothing,
        "completion_ids": mask.long(),
        "completion_mask": mask.long(),
        "advantages": advantages,
        "old_per_token_logps": old,
        "ref_per_token_logps": ref,
        "num_items_in_batch": mask.sum(),
    }
    return GRPOTrainer._compute_loss(own, None, inputs), own._metrics["train"]


def rloo(logp, old, advantages, mask):
    """Mean loss of texts with these log-probabilities, by RLOOTrainer."""
    from trl.trainer.rloo_trainer import RLOOTrainer

    own = trainer(
        epsilon_low=0.2,
        epsilon_high=0.2,
        _get_per_token_logps_and_entropies=lambda *a, **k: (logp, torch.zeros_like(logp), None),
    )
    nothing = torch.zeros(len(logp), 0).long()
    inputs = {
        "prompt_ids": nothing,
        "prompt_mask": nothing,
        "completion_ids": mask.long(),
        "completion_mask": mask.long(),
        "advantages": advantages,
        "old_logps": old,
    }
    return RLOOTrainer._compute_loss(own, None, inputs)


def reward(chosen, rejected, margin=None, centre=None):
    """Mean loss of pairs of rewards, by RewardTrainer."""
    from trl.trainer.reward_trainer import RewardTrainer

    own = trainer(args=SimpleNamespace(center_rewards_coefficient=centre))
    logits = torch.cat([chosen, rejected])[:, None]
    inputs = {"attention_mask": torch.ones(len(logits), 1)}
    if margin is not None:
        inputs["margin"] = margin
    return RewardTrainer.compute_loss(own, lambda **i: SimpleNamespace(logits=logits), inputs)


def simpo(chosen, rejected, beta, gamma):
    """Losses of pairs of mean log-probabilities, by CPOTrainer."""
    from trl.experimental.cpo.cpo_trainer import CPOTrainer

    own = trainer(
        alpha=0.0, beta=beta, loss_type="simpo", simpo_gamma=gamma, label_smoothing=0.0
    )
    return CPOTrainer.cpo_loss(own, chosen, rejected)[0]


def conservative(chosen, rejected, beta, smoothing):
    """Losses of pairs of log-ratios with labels that may be wrong, by CPOTrainer."""
    from trl.experimental.cpo.cpo_trainer import CPOTrainer

    own = trainer(alpha=0.0, beta=beta, loss_type="sigmoid", label_smoothing=smoothing)
    return CPOTrainer.cpo_loss(own, chosen, rejected)[0]


def odds_ratio(chosen, rejected, weight):
    """What ORPO adds to the surprise, of pairs of mean log-probabilities, by ORPOTrainer."""
    from trl.experimental.orpo.orpo_trainer import ORPOTrainer

    return -ORPOTrainer.odds_ratio_loss(trainer(beta=weight), chosen, rejected)[0]
