"""Small students of a teacher: what they learn from, how long, and what comes out."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from mathlm.functional import distillation_loss, reverse_distillation_loss
from mathlm.generate import generate
from mathlm.models import GPT, GPTConfig
from mathlm.shapes import Float, Int

BATCH = 4  # rows of a step
LOOK = 50  # steps between two looks at the validation text
PATIENCE = 2  # looks without a better loss after which a run ends
STEPS = 800  # of a run at most
WARMUP = 20
PROMPT = 16  # tokens that are given where a model writes


def cross_entropy(
    logits: Float[Tensor, "*batch V"], targets: Int[Tensor, "*batch"]
) -> Float[Tensor, "*batch"]:
    """-log q of the target at each position [nats]."""
    return F.cross_entropy(logits.flatten(0, -2), targets.flatten(), reduction="none").view(
        targets.shape
    )


def soft_cross_entropy(
    logits: Float[Tensor, "*batch V"], p: Float[Tensor, "*batch V"]
) -> Float[Tensor, "*batch"]:
    """-Σ p log q at each position [nats]: the forward KL and a constant, the entropy of p."""
    return -(p * logits.log_softmax(-1)).sum(-1)


@dataclass(frozen=True)
class Way:
    """How a student is taught.

    Args:
        share: Of the teacher's distribution in the loss; the rest is the text's next token.
        temperature: τ of teacher and student in that part.
        squared: Whether that part is multiplied by τ².
    """

    share: float = 1.0
    temperature: float = 1.0
    squared: bool = True

    def loss(
        self,
        logits: Float[Tensor, "B T V"],
        targets: Int[Tensor, "B T"],
        soft: Float[Tensor, "B T V"] | None,
    ) -> Float[Tensor, "B T"]:
        """Of each position [nats], up to the teacher's entropy."""
        if soft is None or self.share == 0:
            return cross_entropy(logits, targets)
        scale = self.share * (self.temperature**2 if self.squared else 1)
        taught = scale * soft_cross_entropy(logits / self.temperature, soft)
        if self.share == 1:
            return taught
        return taught + (1 - self.share) * cross_entropy(logits, targets)


WAYS: Mapping[str, Way] = {
    "plain": Way(share=0),
    "samples": Way(share=0),
    "greedy": Way(share=0),
    "kl": Way(),
}


def new_student(vocab_size: int, seed: int, width: int = 64, context: int = 64) -> GPT:
    """A GPT of two blocks with tied embeddings, its weights drawn from the seed."""
    torch.manual_seed(seed)
    return GPT(
        GPTConfig(
            vocab_size=vocab_size,
            context=context,
            d_model=width,
            n_layers=2,
            n_heads=4,
            position="rope",
            norm="rms",
            tie_embeddings=True,
        )
    )


@dataclass(frozen=True, eq=False)
class Reading:
    """What a student reads.

    Args:
        rows: Inputs and the targets one further, (n, T + 1).
        soft: The teacher's probabilities at each input (n, T, V); None = there are none.
        first: The first target that counts; those before it are a prompt.
    """

    rows: Int[Tensor, "n T"]
    soft: Float[Tensor, "n S V"] | None = None
    first: int = 0

    def head(self, tokens: int) -> "Reading":
        """As many rows as have this many targets that count."""
        n = tokens // (self.rows.shape[1] - 1 - self.first)
        return Reading(self.rows[:n], None if self.soft is None else self.soft[:n], self.first)


@torch.no_grad()
def mean_loss(model: nn.Module, rows: Int[Tensor, "n T"]) -> float:
    """Cross-entropy per token on rows [nats]."""
    model.eval()
    parts = [cross_entropy(model(r[:, :-1]).float(), r[:, 1:]) for r in rows.split(32)]
    return float(torch.cat(parts).mean())


def optimizer(model: nn.Module, rate: float) -> torch.optim.AdamW:
    """AdamW as all students have it."""
    return torch.optim.AdamW(model.parameters(), rate, betas=(0.9, 0.98), weight_decay=0.1)


def learn(
    reading: Reading,
    way: Way,
    rate: float,
    seed: int,
    validation: Int[Tensor, "n T"],
    vocab_size: int,
    steps: int = STEPS,
) -> tuple[GPT, dict[str, Any]]:
    """Train a new student until its loss on the validation text no longer falls.

    Returns:
        The student as it was at its best, and its steps and loss there.
    """
    model = new_student(vocab_size, seed)
    adam, draws = optimizer(model, rate), torch.Generator().manual_seed(seed)
    best: dict[str, Any] = {"validation": math.inf, "steps": 0}
    kept, order = {}, torch.empty(0, dtype=torch.int64)
    for step in range(1, steps + 1):
        adam.param_groups[0]["lr"] = rate * min(1, step / WARMUP)
        if len(order) < BATCH:
            order = torch.cat([order, torch.randperm(len(reading.rows), generator=draws)])
        chosen, order = order[:BATCH], order[BATCH:]
        descend(model, adam, loss_on_rows(model, reading, way, chosen))
        if step % LOOK == 0 or step == steps:
            found = mean_loss(model, validation)
            if found < best["validation"]:
                best = {"validation": found, "steps": step}
                kept = {k: v.clone() for k, v in model.state_dict().items()}
            if step - best["steps"] >= PATIENCE * LOOK:
                break
    model.load_state_dict(kept)
    return model.eval(), best


def loss_on_rows(
    model: nn.Module, reading: Reading, way: Way, chosen: Int[Tensor, " B"]
) -> Tensor:
    """Mean of a loss over the targets of the chosen rows that count."""
    rows = reading.rows[chosen]
    soft = None if reading.soft is None else reading.soft[chosen].float()
    return way.loss(model(rows[:, :-1]), rows[:, 1:], soft)[:, reading.first :].mean()


def descend(model: nn.Module, adam: torch.optim.Optimizer, loss: Tensor) -> None:
    """One step down, its gradient clipped at norm 1."""
    adam.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    adam.step()


def on_policy(
    student: GPT,
    teacher: GPT,
    prompts: Int[Tensor, "n P"],
    rate: float,
    seed: int,
    steps: int,
    new_tokens: int = 48,
) -> None:
    """Train a student on what it writes itself, by the reverse KL at each of its tokens."""
    adam = optimizer(student, rate)
    draws = torch.Generator().manual_seed(seed)
    for step in range(1, steps + 1):
        adam.param_groups[0]["lr"] = rate * min(1, step / 3)
        chosen = torch.randint(len(prompts), (BATCH,), generator=draws)
        written = generate(student, prompts[chosen], new_tokens, seed=1000 * seed + step)
        first = prompts.shape[1] - 1  # the position that predicts the first own token
        with torch.no_grad():
            judged = teacher(written[:, :-1]).float()[:, first:]
        student.train()
        own = student(written[:, :-1])[:, first:]
        descend(student, adam, reverse_distillation_loss(own, judged).mean())
    student.eval()


@torch.no_grad()
def divergences(
    student: Float[Tensor, "*batch V"], teacher: Float[Tensor, "*batch V"]
) -> dict[str, float]:
    """Means over positions: both divergences, and the entropy of both [nats]."""
    log_q, log_p = student.float().log_softmax(-1), teacher.float().log_softmax(-1)
    entropy = {"student": log_q, "teacher": log_p}
    return {
        "forward": float(distillation_loss(student, teacher).mean()),
        "reverse": float(reverse_distillation_loss(student, teacher).mean()),
    } | {f"{k} entropy": float(-(x.exp() * x).sum(-1).mean()) for k, x in entropy.items()}


def distinct(rows: Int[Tensor, "n T"], n: int) -> float:
    """Different runs of n tokens, as a share of all runs of n tokens."""
    runs = rows.unfold(1, n, 1).reshape(-1, n)
    return len(runs.unique(dim=0)) / len(runs)
