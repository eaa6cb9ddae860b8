"""Steps of alignment against trl on one small model: preference pairs, and rollouts in groups.

Each library makes its batches by its own rule, asks a reference of its own, and steps the same
AdamW. trl is as it comes, but for what ours has too: 32 bits, kept activations, no reports.
"""

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from datasets.utils.logging import disable_progress_bar as hide_maps
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from torch import Tensor, nn
from transformers import LlamaForCausalLM, PreTrainedTokenizerFast
from transformers.utils.logging import disable_progress_bar as hide_files
from trl import DPOConfig, DPOTrainer, GRPOConfig, GRPOTrainer

from mathlm.align import (
    DPO,
    GRPO,
    EncodedPairs,
    GroupCredit,
    PairBatches,
    PolicyBatches,
    ReadOnce,
    Reference,
    RolloutReading,
    RolloutSchedule,
    TextSampler,
    group_advantages,
    rollout_batch,
    target_log_probabilities,
)
from mathlm.align.answers import LogProbabilities
from mathlm.align.preference.objectives import stacked
from mathlm.models import GPT
from mathlm.text import Chat

from .adaptation import LLAMA
from .timing import Row, compare

END = LLAMA.vocab_size - 1
PAIRS, PROMPT, PROMPTS, GROUP, NEW = 8, 32, 4, 8, 64
PLAIN = {"bf16": False, "gradient_checkpointing": False, "report_to": [], "disable_tqdm": True}
Models = tuple[GPT, Reference, LlamaForCausalLM, str]
Step = Callable[[], float]


def models(folder: str, device: str) -> Models:
    """Ours, its reference, theirs, and the folder of theirs: policies that have moved."""
    hide_files(), hide_maps()
    torch.manual_seed(0)
    reference, moved = str(Path(folder) / "reference"), str(Path(folder) / "moved")
    LlamaForCausalLM(LLAMA).save_pretrained(reference)
    theirs = LlamaForCausalLM.from_pretrained(reference)
    with torch.no_grad():
        for p in theirs.parameters():
            p.add_(0.01 * torch.randn_like(p))
    theirs.save_pretrained(moved)
    ours, start = (GPT.from_pretrained(path).to(device) for path in (moved, reference))
    return ours.train(), Reference(start), theirs.to(device).train(), reference


def words() -> PreTrainedTokenizerFast:
    """Numbers as words, each the token of that number; the last token ends a text."""
    vocabulary = {str(i): i for i in range(END)} | {"<end>": END}
    tokenizer = Tokenizer(WordLevel(vocabulary, unk_token="0"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<end>", pad_token="<end>"
    )


def drawn(count: int, shortest: int, longest: int, seed: int) -> list[str]:
    """Texts of words that end nothing, of lengths in between."""
    rng = np.random.default_rng(seed)
    lengths = rng.integers(shortest, longest + 1, count)
    return [" ".join(map(str, rng.integers(1, END, n))) for n in lengths]


def stepping(model: nn.Module, backward: Callable[[], Tensor | float]) -> Step:
    """A step of AdamW along the gradient that ``backward`` leaves; gives its loss."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)

    def step() -> float:
        loss = float(backward())
        optimizer.step()
        optimizer.zero_grad()
        return loss

    return step


def require_equal(name: str, ours: list[float], theirs: list[float]) -> None:
    """Refuse to time two things that are not the same."""
    if not np.allclose(ours, theirs, rtol=1e-4, atol=1e-5):
        raise AssertionError(f"the {name} differ: {ours} and {theirs}")


def dpo_trainer(folder: str, policy: LlamaForCausalLM, reference: str, device: str) -> Any:
    """Theirs, with pairs of answers of 32 to 96 words."""
    texts = {
        "prompt": [f"{text} " for text in drawn(PAIRS, PROMPT, PROMPT, 0)],
        "chosen": drawn(PAIRS, 32, 96, 1),
        "rejected": drawn(PAIRS, 32, 96, 2),
    }
    trainer = DPOTrainer(
        policy,
        LlamaForCausalLM.from_pretrained(reference),
        DPOConfig(folder, beta=0.1, use_cpu=device == "cpu", **PLAIN),
        train_dataset=Dataset.from_dict(texts),
        processing_class=words(),
    )
    trainer.current_gradient_accumulation_steps = 1
    return trainer


def encoded(rows: list[dict[str, list[int]]]) -> EncodedPairs:
    """The same tokens for ours."""

    def side(name: str) -> list[Chat]:
        texts = [(row["prompt_ids"], row[name]) for row in rows]
        masks = [np.arange(len(x) + len(y)) >= len(x) for x, y in texts]
        return [
            Chat(ids=np.array(x + y), mask=m, mismatches=0)
            for (x, y), m in zip(texts, masks, strict=True)
        ]

    chosen, rejected = side("chosen_ids"), side("rejected_ids")
    index, width = list(range(len(rows))), LLAMA.max_position_embeddings
    return EncodedPairs(
        chosen=chosen, rejected=rejected, index=index, dropped={}, mismatches=0, context=width
    )


def dpo_backward(policy: GPT, reference: Reference, pairs: PairBatches) -> Tensor:
    """Our loss on the next pairs, the reference asked anew, and its gradient."""
    batch = {name: x.to(reference.device) for name, x in pairs(0).items()}
    said = reference.log_probabilities(stacked(batch)).sum(1)
    batch["chosen_logp_ref"], batch["rejected_logp_ref"] = said.chunk(2)
    total, count = DPO(beta=0.1)(policy, batch)
    loss = total / count
    loss.backward()
    return loss.detach()


def dpo_step(device: str) -> Row:
    """Tokens in a second: both answers of each pair, with their prompts."""
    with tempfile.TemporaryDirectory() as folder:
        policy, reference, other, path = models(folder, device)
        trainer = dpo_trainer(folder, other, path, device)
        rows = list(trainer.train_dataset)
        pairs = PairBatches(encoded(rows), PAIRS)
        ours = stepping(policy, partial(dpo_backward, policy, reference, pairs))
        theirs = stepping(
            other, lambda: trainer.training_step(other, trainer.data_collator(rows), None)
        )
        require_equal("first losses", [ours(), ours()], [theirs(), theirs()])
        work = pairs.encoded.tokens
        return compare("dpo-step", "trl", ours, theirs, work=work, unit="tokens/s")


def even(prompts: Any, completions: Any, completion_ids: Any = None, **_: Any) -> list[float]:
    """A reward that costs next to nothing: the share of even words."""
    texts = completions if completion_ids is None else completion_ids
    return [float((torch.as_tensor(y) % 2 == 0).double().mean()) for y in texts]


def grpo_trainer(folder: str, policy: LlamaForCausalLM, prompts: list[str], device: str) -> Any:
    """Theirs, with a reference that it loads itself."""
    config = GRPOConfig(
        folder,
        per_device_train_batch_size=PROMPTS * GROUP,
        num_generations=GROUP,
        steps_per_generation=1,
        max_completion_length=NEW,
        loss_type="grpo",
        beta=0.04,
        use_cpu=device == "cpu",
        **PLAIN,
    )
    trainer = GRPOTrainer(
        policy,
        even,
        config,
        train_dataset=Dataset.from_dict({"prompt": prompts}),
        processing_class=words(),
    )
    trainer.current_gradient_accumulation_steps = 1
    return trainer


def grpo_backward(
    policy: GPT,
    rollouts: Callable[[], dict[str, Tensor]],
    read: LogProbabilities = target_log_probabilities,
) -> Tensor:
    """Our loss on rollouts, and its gradient."""
    total, count = GRPO(beta=0.04, read=read)(policy, rollouts())
    loss = total / count
    loss.backward()
    return loss.detach()


def as_ours(said: dict[str, Tensor], policy: GPT, reference: Reference) -> dict[str, Tensor]:
    """Their rollouts as a batch of ours, with log-probabilities that we read ourselves."""
    texts = zip(said["completion_ids"], said["completion_mask"].bool(), strict=True)
    batch = rollout_batch(list(said["prompt_ids"]), [y[m] for y, m in texts])
    with torch.no_grad():
        batch["logp_old"] = target_log_probabilities(policy, batch)
    batch["logp_ref"] = reference.log_probabilities(batch)
    return batch | {"advantages": said["advantages"]}


def require_equal_steps(policy: GPT, reference: Reference, trainer: Any, rows: list) -> None:
    """The loss of one set of rollouts, and the size of its gradient in the head."""
    said = trainer._prepare_inputs(rows)
    theirs = trainer.compute_loss(trainer.model, said)
    theirs.backward()
    ours = grpo_backward(policy, lambda: as_ours(said, policy, reference))
    heads = policy.head.weight, trainer.model.lm_head.weight
    norms = [float(w.grad.norm()) for w in heads]  # type: ignore[union-attr]
    require_equal(
        "losses and gradients", [float(ours), norms[0]], [float(theirs.detach()), norms[1]]
    )
    policy.zero_grad()
    trainer.model.zero_grad()


def grpo_step(device: str) -> Row:
    """Tokens written in a second: 4 prompts, 8 completions each, of 64 tokens at most."""
    with tempfile.TemporaryDirectory() as folder:
        policy, reference, other, path = models(folder, device)
        other.config._name_or_path = path  # where it loads its reference from
        prompts = drawn(PROMPTS, PROMPT, PROMPT, 0)
        trainer = grpo_trainer(folder, other, prompts, device)
        rows = [{"prompt": text} for text in prompts for _ in range(GROUP)]
        require_equal_steps(policy, reference, trainer, rows)
        read = ReadOnce()  # trl too goes through a policy once where a step follows at once
        batches = PolicyBatches(
            policy,
            [torch.tensor([int(word) for word in text.split()]) for text in prompts],
            even,
            GroupCredit(baseline=group_advantages),
            sampler=TextSampler(NEW, stop=(END,)),
            reference=reference,
            schedule=RolloutSchedule(group_size=GROUP),
            reading=RolloutReading(logp=read),
        )
        steps = iter(range(1_000_000))
        written = partial(grpo_backward, policy, lambda: batches(next(steps)), read)
        ours = stepping(policy, written)
        theirs = stepping(other, lambda: trainer.training_step(other, rows, None))
        work = PROMPTS * GROUP * NEW
        return compare("grpo-step", "trl", ours, theirs, work=work, unit="tokens/s", rounds=7)


BENCHMARKS = {"dpo-step": dpo_step, "grpo-step": grpo_step}
