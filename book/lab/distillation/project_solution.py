"""Reference solution of the project: SmolLM2 distilled into a tenth of its size."""

from bisect import bisect_right
from typing import Any

import torch
from torch import Tensor, nn

from mathlm.functional import distillation_loss
from mathlm.models import GPT, GPTConfig
from mathlm.shapes import Bool, Float, Int


def make_student(vocab_size: int, parameters: int) -> GPT:
    """A GPT with tied embeddings that has at most so many parameters, and at least half.

    Args:
        vocab_size: V, that of the teacher.
        parameters: Most that it may have.

    Raises:
        ValueError: If no width up to 512 gives that size.
    """

    def config(width: int) -> GPTConfig:
        sizes: dict[str, Any] = {"context": 128, "d_model": width, "n_layers": 4, "n_heads": 4}
        options: dict[str, Any] = {"position": "rope", "tie_embeddings": True}
        return GPTConfig(vocab_size=vocab_size, **sizes, **options)

    def size(width: int) -> int:
        with torch.device("meta"):  # counted without being made
            return sum(p.numel() for p in GPT(config(width)).parameters())

    widths = range(8, 513, 8)
    fitting = bisect_right(widths, parameters, key=size)  # how many of them are small enough
    if fitting == 0 or 2 * size(widths[fitting - 1]) < parameters:
        least = parameters // 2
        raise ValueError(f"no width up to 512 gives {least} to {parameters} parameters")
    return GPT(config(widths[fitting - 1]))


def loss(
    student: Float[Tensor, "B T V"],
    teacher: Float[Tensor, "B T V"],
    targets: Int[Tensor, "B T"],
    real: Bool[Tensor, "B T"],
    temperature: float | int,
    share: float,
) -> Tensor:
    """The teacher's part and the text's, a mean over real targets.

    Computes::

        share · τ² KL(teacher ‖ student) + (1 - share) · cross-entropy

    Args:
        student: Logits.
        teacher: Logits at the same positions; no gradient passes into them.
        targets: The next tokens.
        real: Where the target is no padding.
        temperature: τ of the KL alone.
        share: Of the teacher.
    """
    kl = distillation_loss(student, teacher, temperature)
    hard = nn.functional.cross_entropy(student.mT, targets, reduction="none")
    return (share * kl + (1 - share) * hard)[real].mean()


def text_loss(
    student: nn.Module,
    teacher: nn.Module,
    ids: Int[Tensor, "B T"],
    real: Bool[Tensor, "B T"],
    temperature: float | int,
    share: float,
) -> Tensor:
    """The loss of a padded batch: each position is asked for the token after it.

    Args:
        student: From ids to logits.
        teacher: The same; evaluated without dropout and without a gradient.
        ids: Token ids, padding at the right.
        real: Where a token is no padding.
        temperature: As in :func:`loss`.
        share: As in :func:`loss`.
    """
    teacher.eval()
    with torch.no_grad():
        said = teacher(ids[:, :-1])
    return loss(student(ids[:, :-1]), said, ids[:, 1:], real[:, 1:], temperature, share)
