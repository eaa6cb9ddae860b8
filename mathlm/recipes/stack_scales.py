"""How large each stage of the whole stack is, at three scales.

    python -m mathlm.recipes.stack_scales

Prints them.
"""

from dataclasses import asdict, dataclass


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


SCALES = {
    "tiny": Scale(
        documents=240,
        planted=12,
        vocab_size=384,
        size="tiny",
        context=80,
        batch_size=8,
        steps=120,
        lr=1e-2,
        looks=5,
        held_out=4096,
        speeches=400,
        tuning_steps=50,
        tuning_lr=4e-3,
        rows=16,
        answer=32,
        draws=256,
        preference_steps=12,
        preference_lr=5e-4,
        judged=64,
    ),
    "cpu": Scale(
        documents=None,
        planted=120,
        vocab_size=1024,
        size="small",
        context=128,
        batch_size=16,
        steps=600,
        lr=3e-3,
        looks=10,
        held_out=16_384,
        speeches=4000,
        tuning_steps=300,
        tuning_lr=1e-3,
        rows=16,
        answer=48,
        draws=4096,
        preference_steps=160,
        preference_lr=1e-4,
        judged=512,
    ),
    "gpu": Scale(
        documents=None,
        planted=120,
        glosses=60_000,
        vocab_size=8192,
        size="base",
        context=256,
        batch_size=64,
        steps=6000,
        lr=1e-3,
        looks=20,
        held_out=131_072,
        speeches=12_000,
        chitchat=True,
        tuning_steps=2000,
        tuning_lr=2e-4,
        rows=32,
        answer=96,
        draws=8192,
        preference_steps=300,
        preference_lr=2e-5,
        judged=1024,
    ),
}


if __name__ == "__main__":
    for name, scale in SCALES.items():
        print(name, *(f"  {key}: {value}" for key, value in asdict(scale).items()), sep="\n")
