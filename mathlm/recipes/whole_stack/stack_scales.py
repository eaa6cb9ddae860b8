"""How large each stage of the whole stack is, at three scales.

    python -m mathlm.recipes.whole_stack.stack_scales

Prints them.
"""

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Scale:
    """Sizes of the stages.

    Args:
        documents: Passages of plays to begin with; None = all of them.
        planted: Dirty documents of each kind.
        glosses: Entries of a dictionary that are read and asked for beside the plays.
        vocab_size: Tokens.
        size: Of the model, a name of recipes.pretrain.
        context: Tokens that the model reads.
        batch_size: Windows in a step of pretraining.
        steps: Of pretraining.
        lr: Largest step size of pretraining.
        looks: Evaluations of a training; there it is saved too.
        held_out: Tokens that an evaluation of pretraining scores.
        speeches: Requests for a speech to learn from.
        chitchat: Whether long conversations of two people are learned too.
        tuning_steps: Of instruction tuning.
        tuning_lr: Its largest step size.
        rows: Conversations, or pairs, in a step of tuning.
        answer: Tokens of an answer at most.
        draws: Pairs of answers that are written and compared.
        preference_steps: Of preference tuning.
        preference_lr: Its largest step size.
        judged: Answers that each model is judged by.
    """

    documents: int | None
    planted: int
    glosses: int = 0
    vocab_size: int
    size: str
    context: int
    batch_size: int
    steps: int
    lr: float
    looks: int
    held_out: int
    speeches: int
    chitchat: bool = False
    tuning_steps: int
    tuning_lr: float
    rows: int
    answer: int
    draws: int
    preference_steps: int
    preference_lr: float
    judged: int


TABLE: dict[str, tuple[Any, Any, Any]] = {  # tiny, cpu, gpu
    "documents": (240, None, None),
    "planted": (12, 120, 120),
    "glosses": (0, 0, 80_000),
    "vocab_size": (384, 1024, 8192),
    "size": ("tiny", "small", "base"),
    "context": (80, 128, 256),
    "batch_size": (8, 16, 64),
    "steps": (120, 600, 2400),
    "lr": (1e-2, 3e-3, 1e-3),
    "looks": (5, 10, 12),
    "held_out": (4096, 16_384, 131_072),
    "speeches": (400, 4000, 12_000),
    "chitchat": (False, False, True),
    "tuning_steps": (50, 300, 2000),
    "tuning_lr": (4e-3, 1e-3, 2e-4),
    "rows": (16, 16, 32),
    "answer": (32, 48, 96),
    "draws": (256, 4096, 8192),
    "preference_steps": (12, 160, 300),
    "preference_lr": (5e-4, 1e-4, 2e-5),
    "judged": (64, 512, 1024),
}
SCALES = {
    name: Scale(**{key: row[i] for key, row in TABLE.items()})
    for i, name in enumerate(("tiny", "cpu", "gpu"))
}


if __name__ == "__main__":
    for name, scale in SCALES.items():
        print(name, *(f"  {key}: {value}" for key, value in asdict(scale).items()), sep="\n")
