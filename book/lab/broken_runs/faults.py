"""Faults that are planted into healthy runs, one each, and what a record can show of them."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from mathlm.align import (
    TextSampler,
    kl_k3,
    no_baseline,
    target_log_probabilities,
)
from mathlm.align.policy.objectives import GRPO
from mathlm.align.preference.losses import dpo_loss
from mathlm.align.preference.objectives import pair_scores
from mathlm.optim import warmup_cosine
from mathlm.train import next_token
from mathlm.train.objectives import IGNORED, Batch

from . import healthy
from .loop import Setup

Change = Callable[[Batch, int], Batch]


@dataclass(frozen=True, kw_only=True)
class Fault:
    """A planted fault.

    Args:
        name: What was done.
        kind: Of run.
        plant: From a seed to the broken run.
        shows: Names of findings of which one at least is to be found; empty = no number of
            the record tells it from a healthy run.
        instead: How it can be seen where the record does not show it.
    """

    name: str
    kind: str
    plant: Callable[[int], Setup]
    shows: frozenset[str] = frozenset()
    instead: str = ""


def with_batches(setup: Setup, change: Change, also_held_out: bool = True) -> Setup:
    """The same run with other batches."""
    held_out = [change(batch, 0) for batch in setup.held_out]
    data = setup.data
    return replace(
        setup,
        data=lambda step: change(data(step), step),
        held_out=held_out if also_held_out else setup.held_out,
    )


# --- pretraining ----------------------------------------------------------------------------


def inputs_as_targets(batch: Batch, step: int) -> Batch:
    """No shift at all."""
    return batch | {"targets": batch["ids"].clone()}


def shifted_twice(batch: Batch, step: int) -> Batch:
    """The token after the next."""
    targets = torch.full_like(batch["targets"], IGNORED)
    targets[:, :-1] = batch["targets"][:, 1:]
    return batch | {"targets": targets}


def shuffled_targets(batch: Batch, step: int) -> Batch:
    """Targets of other rows and places."""
    targets, draw = batch["targets"], torch.Generator().manual_seed(step)
    order = torch.randperm(targets.numel(), generator=draw)
    return batch | {"targets": targets.flatten()[order].view_as(targets)}


def broken_text(batch: Batch, step: int) -> Batch:
    """At one step random bytes in place of text."""
    if step != 150:
        return batch
    draw = torch.Generator().manual_seed(1)
    return {n: torch.randint(256, x.shape, generator=draw) for n, x in batch.items()}


class SeesAll(nn.Module):
    """A model in which all positions see each other."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor) -> Tensor:
        """Logits of each position."""
        whole = torch.full((len(ids),), ids.shape[1])
        return self.model(ids, prefix=whole)


def sees_all(model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
    """Next tokens, without a causal mask."""
    return next_token(SeesAll(model), batch)


def large_weights(seed: int) -> Setup:
    """All weights ten times as large."""
    setup = healthy.pretraining(seed)
    with torch.no_grad():
        for p in setup.model.parameters():
            p.mul_(10 if p.ndim > 1 else 1)
    return setup


def other_parameters(seed: int) -> Setup:
    """The optimizer was made of a copy of the model."""
    return replace(healthy.pretraining(seed), optimized=healthy.new_model(seed))


def half_precision(seed: int) -> Setup:
    """Weights, gradients and averages of Adam in float16."""
    setup = healthy.pretraining(seed)
    return replace(setup, model=setup.model.half())


def frozen_embeddings(seed: int) -> Setup:
    """Embeddings that stay what they were drawn as."""
    setup = healthy.pretraining(seed)
    setup.model.token_embedding.requires_grad_(False)
    return setup


def few_windows(seed: int) -> Setup:
    """Sixteen windows, again and again."""
    setup = healthy.pretraining(seed)
    ids = healthy.plays()[0][: 16 * healthy.WINDOW + 1]
    return replace(setup, data=healthy.windows(ids, seed))


def dropout_at_evaluation(seed: int) -> Setup:
    """Dropout, and nobody turns it off for the held-out loss."""
    model = healthy.new_model(seed, dropout=0.1)
    return replace(healthy.pretraining(seed), model=model, evaluated_in_training=True)


def pretraining(**changes: Any) -> Callable[[int], Setup]:
    """A healthy run with other options."""
    return lambda seed: replace(healthy.pretraining(seed), **changes)


def pretraining_on(change: Change) -> Callable[[int], Setup]:
    """A healthy run with other batches."""
    return lambda seed: with_batches(healthy.pretraining(seed), change)


ENDED = warmup_cosine(6e-3, 20, 80, final=0.0)
LEAK = frozenset({"too good to be true"})
PRETRAINING = [
    Fault(
        name="targets = inputs",
        kind="pretrain",
        plant=pretraining_on(inputs_as_targets),
        shows=LEAK,
    ),
    Fault(
        name="no causal mask",
        kind="pretrain",
        plant=pretraining(objective=sees_all, steps=400),
        shows=LEAK,
    ),
    Fault(
        name="targets shifted by two",
        kind="pretrain",
        plant=pretraining_on(shifted_twice),
        instead="let it write: every other letter is missing",
    ),
    Fault(
        name="targets shuffled",
        kind="pretrain",
        plant=pretraining_on(shuffled_targets),
        shows=frozenset({"plateau at the frequencies"}),
    ),
    Fault(
        name="weights × 10 at the start",
        kind="pretrain",
        plant=large_weights,
        shows=frozenset({"first loss too high"}),
    ),
    Fault(
        name="step size × 100",
        kind="pretrain",
        plant=pretraining(peak=0.6),
        shows=frozenset({"step size too large for Adam"}),
    ),
    Fault(
        name="step size / 1000",
        kind="pretrain",
        plant=pretraining(peak=6e-6),
        shows=frozenset({"loss flat"}),
    ),
    Fault(
        name="no warm-up",
        kind="pretrain",
        plant=pretraining(warmup=0),
        shows=frozenset({"no warm-up"}),
    ),
    Fault(
        name="schedule ended",
        kind="pretrain",
        plant=pretraining(schedule=ENDED),
        shows=frozenset({"step size is zero"}),
    ),
    Fault(
        name="a broken batch, no clipping",
        kind="pretrain",
        plant=lambda seed: replace(pretraining_on(broken_text)(seed), clip=None),
        shows=frozenset({"loss spike"}),
    ),
    Fault(
        name="weight decay 10",
        kind="pretrain",
        plant=pretraining(weight_decay=10.0),
        shows=frozenset({"weight decay too strong"}),
    ),
    Fault(
        name="zero_grad forgotten",
        kind="pretrain",
        plant=pretraining(zero_grad=False, clip=None),
        shows=frozenset({"gradient grows", "loss rises"}),
    ),
    Fault(
        name="optimizer holds a copy",
        kind="pretrain",
        plant=other_parameters,
        shows=frozenset({"loss flat"}),
    ),
    Fault(
        name="float16 throughout",
        kind="pretrain",
        plant=half_precision,
        shows=frozenset({"not finite"}),
    ),
    Fault(
        name="embeddings frozen",
        kind="pretrain",
        plant=frozen_embeddings,
        instead="count the parameters that are trained",
    ),
    Fault(
        name="dropout on at evaluation",
        kind="pretrain",
        plant=dropout_at_evaluation,
        instead="evaluate twice: two numbers",
    ),
    Fault(
        name="16 windows, again and again",
        kind="pretrain",
        plant=few_windows,
        shows=frozenset({"held-out loss rises", "held-out loss above training loss"}),
    ),
]


# --- fine-tuning ----------------------------------------------------------------------------


def prompt_learned(batch: Batch, step: int) -> Batch:
    """Questions are targets too."""
    targets = batch["targets"].clone()
    ids = batch["ids"]
    targets[:, :-1] = torch.where(ids[:, 1:] == 0, IGNORED, ids[:, 1:])
    return batch | {"targets": targets}


def padding_learned(batch: Batch, step: int) -> Batch:
    """Padding is a target too."""
    targets = batch["targets"].clone()
    ids = batch["ids"]
    targets[:, :-1] = torch.where(ids[:, 1:] == 0, 0, targets[:, :-1])
    return batch | {"targets": targets}


def padded_left(batch: Batch, step: int) -> Batch:
    """Padding before the text, and no mask."""
    blank = (batch["ids"] != 0).sum(1)
    width = batch["ids"].shape[1]
    moved = (torch.arange(width) + blank[:, None]) % width
    return batch | {name: batch[name].gather(1, moved) for name in ("ids", "targets")}


def other_tokenizer(batch: Batch, step: int) -> Batch:
    """Another number for each byte."""
    order = torch.randperm(256, generator=torch.Generator().manual_seed(0))
    targets = batch["targets"]
    known = order[targets.clamp(min=0)]
    return batch | {
        "ids": order[batch["ids"]],
        "targets": torch.where(targets == IGNORED, IGNORED, known),
    }


def without_template(seed: int) -> Setup:
    """Trained on bare text and judged in the template."""
    setup = healthy.tuning(seed)
    marks = torch.tensor([i for name, i in healthy.BYTES.special.items() if i != healthy.END])

    def bare(batch: Batch, step: int) -> Batch:
        ids, targets = [], []
        for row, asked in zip(batch["ids"], batch["targets"], strict=True):
            kept = ~torch.isin(row, marks)
            ids.append(row[kept])
            targets.append(asked[kept])
        pad = nn.utils.rnn.pad_sequence
        return {
            "ids": pad(ids, batch_first=True),
            "targets": pad(targets, batch_first=True, padding_value=IGNORED),
        }

    return with_batches(setup, bare, also_held_out=False)


def new_weights(seed: int) -> Setup:
    """The weights of the base were not loaded."""
    return replace(healthy.tuning(seed), model=healthy.new_model(seed))


def tuning(**changes: Any) -> Callable[[int], Setup]:
    """A healthy run with other options."""
    return lambda seed: replace(healthy.tuning(seed), **changes)


def tuning_on(change: Change) -> Callable[[int], Setup]:
    """A healthy run with other batches."""
    return lambda seed: with_batches(healthy.tuning(seed), change)


KNOWS_NOTHING = frozenset({"base knows nothing"})
TUNING = [
    Fault(name="base not loaded", kind="sft", plant=new_weights, shows=KNOWS_NOTHING),
    Fault(
        name="another tokenizer",
        kind="sft",
        plant=tuning_on(other_tokenizer),
        shows=KNOWS_NOTHING,
    ),
    Fault(
        name="no chat template in training",
        kind="sft",
        plant=without_template,
        instead="print a row of each kind of data as text",
    ),
    Fault(
        name="prompt not masked",
        kind="sft",
        plant=tuning_on(prompt_learned),
        instead="count the targets of a row",
    ),
    Fault(
        name="padding in the loss",
        kind="sft",
        plant=tuning_on(padding_learned),
        shows=KNOWS_NOTHING,
    ),
    Fault(
        name="padding on the left, no mask",
        kind="sft",
        plant=tuning_on(padded_left),
        instead="compare the loss of a row alone with its loss in a batch",
    ),
    Fault(
        name="step size × 100",
        kind="sft",
        plant=tuning(peak=0.2),
        shows=frozenset({"step size too large for Adam"}),
    ),
    Fault(
        name="step size / 1000",
        kind="sft",
        plant=tuning(peak=2e-6),
        shows=frozenset({"loss flat"}),
    ),
]


# --- rewards and preferences ----------------------------------------------------------------


def random_labels(batch: Batch, step: int) -> Batch:
    """Half of the pairs are swapped, others at each step."""
    swap = torch.rand(len(batch["index"]), generator=torch.Generator().manual_seed(step)) < 0.5
    new = dict(batch)
    for name in [name for name in batch if name.startswith("chosen")]:
        other = name.replace("chosen", "rejected")
        width = max(batch[name].shape[-1], batch[other].shape[-1])
        both = [filled(batch[n], width, n) for n in (name, other)]
        where = swap.view(-1, *[1] * (both[0].ndim - 1))
        new[name] = torch.where(where, both[1], both[0])
        new[other] = torch.where(where, both[0], both[1])
    return new


def filled(x: Tensor, width: int, name: str) -> Tensor:
    """Rows as wide as the others."""
    if x.ndim == 1:
        return x
    value = IGNORED if name.endswith("targets") else 0
    return nn.functional.pad(x, (0, width - x.shape[1]), value=value)


def swapped_batches(batch: Batch, step: int) -> Batch:
    """Chosen and rejected exchanged."""
    other = {"chosen": "rejected", "rejected": "chosen"}
    side = {name: name.split("_")[0] for name in batch}
    return {n.replace(s, other.get(s, s), 1): batch[n] for n, s in side.items()}


def moving_reference(model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
    """DPO whose reference is the policy as it is."""
    logp = pair_scores(model, batch).logp
    rewards = healthy.BETA * (logp - logp.detach())
    losses = dpo_loss(rewards[0], rewards[1])
    return losses.sum(), len(losses)


def preferences(**changes: Any) -> Callable[[int], Setup]:
    """A healthy run with other options."""
    return lambda seed: replace(healthy.preferences(seed), **changes)


def base_as_reference(seed: int) -> Setup:
    """The reference is the base, the policy begins after tuning."""
    return healthy.preferences(seed, reference=healthy.base(seed))


def at_once(change: Change, make: Callable[[int], Setup]) -> Callable[[int], Setup]:
    """Other training batches, and the same held-out ones."""
    return lambda seed: with_batches(make(seed), change, also_held_out=False)


STUCK = frozenset({"loss stuck where it began"})
WRONG = frozenset({"ranked the wrong way"})
PREFERENCES = [
    Fault(
        name="labels random",
        kind="reward",
        plant=at_once(random_labels, healthy.rewarding),
        shows=STUCK,
    ),
    Fault(
        name="chosen and rejected swapped",
        kind="reward",
        plant=at_once(swapped_batches, healthy.rewarding),
        shows=WRONG,
    ),
    Fault(
        name="head does not begin at 0",
        kind="reward",
        plant=lambda seed: healthy.rewarding(seed, std=0.3),
        shows=frozenset({"first loss not that of equal answers", "accuracy at the start"}),
    ),
    Fault(
        name="reference moves with the policy",
        kind="dpo",
        plant=preferences(objective=moving_reference),
        shows=STUCK,
    ),
    Fault(
        name="reference is the base",
        kind="dpo",
        plant=base_as_reference,
        shows=frozenset({"first loss not that of equal answers", "accuracy at the start"}),
    ),
    Fault(
        name="chosen and rejected swapped",
        kind="dpo",
        plant=lambda seed: healthy.preferences(seed, swapped=True),
        shows=WRONG,
    ),
    Fault(
        name="β × 100",
        kind="dpo",
        plant=lambda seed: healthy.preferences(seed, beta=10.0),
        shows=frozenset({"margins beyond all doubt"}),
    ),
    Fault(
        name="β / 100",
        kind="dpo",
        plant=lambda seed: healthy.preferences(seed, beta=0.001),
        shows=frozenset({"β too small for the loss"}),
    ),
    Fault(
        name="step size × 100",
        kind="dpo",
        plant=preferences(peak=2e-2),
        shows=frozenset({"chosen answers become unlikely"}),
    ),
]


# --- policies -------------------------------------------------------------------------------


class OldIsNew:
    """GRPO whose old log-probabilities are those of the policy as it is: a ratio of 1."""

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        """Sum over texts, and their number."""
        now = target_log_probabilities(model, batch).detach()
        return GRPO(beta=0.04)(model, batch | {"logp_old": now})


def reversed_kl(model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
    """GRPO that is paid for its divergence."""
    loss, count = GRPO(beta=0.0)(model, batch)
    mask = batch["targets"] != IGNORED
    logp = target_log_probabilities(model, batch)
    each = kl_k3(logp, batch["logp_ref"], mask).sum(1) / mask.sum(1)
    return loss - 0.2 * each.sum(), count


def wrong_sign(model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
    """The loss of GRPO, climbed."""
    return GRPO(beta=0.04)(model, batch | {"advantages": -batch["advantages"]})


def nothing(prompts: Any, completions: Any) -> list[float]:
    """A reward whose pattern no answer matches."""
    return [0.0 for _ in completions]


def long_answers(prompts: Any, completions: Any) -> list[float]:
    """A reward that pays for letters."""
    return [len(text) / 12 for text in completions]


def policy(**options: Any) -> Callable[[int], Setup]:
    """A healthy run with other rollouts."""
    return lambda seed: healthy.policy(seed, **options)


def policy_with(**changes: Any) -> Callable[[int], Setup]:
    """A healthy run with other options of the loop."""
    return lambda seed: replace(healthy.policy(seed), **changes)


POLICY = [
    Fault(
        name="reward constant",
        kind="grpo",
        plant=policy(reward=nothing),
        shows=frozenset({"rewards all equal", "gradient is zero"}),
    ),
    Fault(
        name="sign of the advantage wrong",
        kind="grpo",
        plant=policy_with(objective=wrong_sign),
        shows=frozenset({"reward falls"}),
    ),
    Fault(
        name="reward pays for length",
        kind="grpo",
        plant=policy(reward=long_answers),
        shows=frozenset({"answers grow", "no answer ends"}),
    ),
    Fault(
        name="wrong mark of the end",
        kind="grpo",
        plant=policy(sampler=TextSampler(28, stop=(255,))),
        shows=frozenset({"no answer ends"}),
    ),
    Fault(
        name="sign of the divergence wrong",
        kind="grpo",
        plant=policy_with(objective=reversed_kl),
        instead="run once with β = 0: the divergence must be larger there",
    ),
    Fault(
        name="step size × 100",
        kind="grpo",
        plant=policy_with(peak=3e-2),
        shows=frozenset(
            {
                "divergence explodes",
                "entropy collapses",
                "policy moves too far in an iteration",
            }
        ),
    ),
    Fault(
        name="advantages without a baseline",
        kind="grpo",
        plant=policy(baseline=no_baseline),
        shows=frozenset({"reward falls"}),
    ),
    Fault(
        name="ratio always 1",
        kind="grpo",
        plant=policy_with(objective=OldIsNew()),
        instead="print the ratio at the second step of an iteration: it should differ from 1",
    ),
]

FAULTS: tuple[Fault, ...] = (*PRETRAINING, *TUNING, *PREFERENCES, *POLICY)
