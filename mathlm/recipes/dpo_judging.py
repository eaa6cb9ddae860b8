"""What tuning on preferences did: margins of held-out pairs, and what the model writes now.

Used by recipes.dpo.
"""

import argparse
import logging
from typing import Any

import torch
from torch import nn

from ..align import (
    Reference,
    UnpairedBatches,
    completions_of,
    kl_k1,
    kl_k3,
    preference_metrics,
    roll_out,
    target_log_probabilities,
    unpaired_metrics,
)
from ..chat.model import Chatting
from ..train import Trainer, unwrap
from ..train.trainer import Record
from .dpo_data import Batches, Preferred

log = logging.getLogger(__name__)
SHOWN = ("margin", "accuracy", "chosen_change", "rejected_change")
SAMPLED = 1_000_003  # seed of what is written before and after
BETA = 0.1  # of the rewards that are reported, where a loss has none


class PreferenceTrainer(Trainer):
    """A trainer whose log has margins and accuracy beside each held-out loss."""

    beta: float = BETA

    def say(self, record: Record) -> None:
        """Add what held-out answers say, then log."""
        if "held_out_loss" in record:
            found = measured(unwrap(self.model), self.held_out, self.beta)
            record |= {name: found[name] for name in SHOWN if name in found}
        super().say(record)


def measured(model: nn.Module, batches: Any, beta: float) -> dict[str, float]:
    """Metrics of pairs or of judged answers."""
    device = next(model.parameters()).device
    moved = ({name: x.to(device) for name, x in batch.items()} for batch in batches)
    if isinstance(batches, UnpairedBatches):
        return unpaired_metrics(model, moved, beta)
    return preference_metrics(model, moved, beta)


@torch.no_grad()
def written_now(
    args: argparse.Namespace, chatting: Chatting, data: Preferred, reference: Reference
) -> dict[str, Any]:
    """Answers to some prompts, and how far the model is from the reference there."""
    if not data.prompts:
        return {}
    model, device = chatting.model, reference.device
    end = chatting.tokenizer.special[chatting.format.end]
    prompts = [ids.to(device) for ids in data.prompts]
    batch = roll_out(model, prompts, args.max_new_tokens, seed=SAMPLED, stop=(end,))
    both = target_log_probabilities(model, batch), reference.log_probabilities(batch)
    asked = batch["targets"] != -100
    texts = zip(data.prompts, completions_of(batch), strict=True)
    say = chatting.tokenizer.decode
    samples = [{"prompt": say(x.tolist()), "answer": say(y.tolist())} for x, y in texts]
    return {
        "kl_k1": float(kl_k1(*both, mask=asked).sum(1).mean()),
        "kl_k3": float(kl_k3(*both, mask=asked).sum(1).mean()),
        "length": float(batch["lengths"].double().mean()),
        "finished": float(batch["finished"].double().mean()),
        "samples": samples,
    }


def judge(
    args: argparse.Namespace,
    chatting: Chatting,
    data: Preferred,
    reference: Reference,
    when: str,
) -> dict[str, Any]:
    """Everything that is compared before and after; logged."""
    found: dict[str, Any] = {}
    batches: Batches | None = data.held_out
    if batches is not None:
        found |= measured(chatting.model, batches, args.beta or BETA)
    found |= written_now(args, chatting, data, reference)
    numbers = [f"{name} {x:.4g}" for name, x in found.items() if isinstance(x, float)]
    log.info("%s: %s", when, ", ".join(numbers) or "nothing is held out or written")
    for sample in found.get("samples", [])[:2]:
        log.info("%s: %r -> %r", when, sample["prompt"], sample["answer"])
    return found
