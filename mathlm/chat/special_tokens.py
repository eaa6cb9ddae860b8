"""Special tokens of the chat template, when a model has never seen them.

Training moves the embeddings of tokens that no text has all in one direction: in the end they
are nearly one vector. A model that is to end its answers by such a token cannot say it rather
than the others, and no method that leaves the embeddings alone can teach it to.
"""

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import torch
from torch import Tensor, nn

from ..errors import CheckpointMismatchError, ConfigError
from ..models import GPT
from ..models.files.atomic import write_files
from ..models.files.weights import read_tensors, to_bytes
from .model import ChatModel

log = logging.getLogger(__name__)
FILE = "marks.safetensors"  # beside an adapter, if their rows were trained
ALIKE = 0.999  # cosine from which two embeddings are one


def special_ids(chat_model: ChatModel) -> list[int]:
    """Ids of the special tokens that the chat template writes."""
    return [chat_model.tokenizer.special[name] for name in chat_model.format.special]


@torch.no_grad()
def likeness(rows: Tensor, ids: Sequence[int]) -> Tensor:
    """Largest cosine of each named row with any other row."""
    unit = nn.functional.normalize(rows.float(), dim=-1)
    cosines = unit[list(ids)] @ unit.T
    cosines[range(len(ids)), list(ids)] = -1.0
    return cosines.amax(1)


def train_special_tokens(chat_model: ChatModel, how: str) -> Tensor | None:
    """Train the embeddings of the special tokens beside what a method trains, if need be.

    Args:
        chat_model: The model, as the method prepared it.
        how: "train", "keep", or "auto": train them if one is like another token.

    Returns:
        The rows that they had, if they are trained.

    Raises:
        ConfigError: If they must be but are quantized.
    """
    weight, ids = chat_model.model.token_embedding.weight, special_ids(chat_model)
    if how == "keep" or weight.requires_grad:
        return None
    if how == "auto" and float(likeness(weight, ids).max()) < ALIKE:
        return None
    if not isinstance(weight, nn.Parameter) or not weight.is_floating_point():
        raise ConfigError(
            "the special tokens between turns were never trained, and in a quantized model "
            "cannot be: leave --quantize out, or tune with --special-tokens keep"
        )
    weight.requires_grad_(True).register_hook(lambda g: only_rows(g, ids))
    log.info("the embeddings of the %d special tokens between turns are trained too", len(ids))
    return weight.detach()[ids].clone()


def only_rows(gradient: Tensor, ids: list[int]) -> Tensor:
    """A gradient that is zero but in some rows."""
    kept = torch.zeros_like(gradient)
    kept[ids] = gradient[ids]
    return kept


@contextmanager
def set_aside(
    model: GPT, ids: list[int], original_rows: Tensor, folder: Path
) -> Iterator[None]:
    """Write the rows of the special tokens; meanwhile the model has its original ones."""
    weight = model.token_embedding.weight
    with torch.no_grad():
        rows = weight[ids].clone()
        content = to_bytes({"ids": torch.tensor(ids), "rows": rows})
        write_files(folder, {FILE: content}, "the special tokens")
        weight[ids] = original_rows.to(weight)
        try:
            yield
        finally:
            weight[ids] = rows


def load_special_tokens(model: GPT, folder: Path) -> None:
    """Give a model the rows that were written.

    Raises:
        CheckpointMismatchError: If they are not for such a model.
    """
    found, weight = read_tensors(folder / FILE), model.token_embedding.weight
    if set(found) != {"ids", "rows"} or found["rows"].shape != (
        len(found["ids"]),
        weight.shape[1],
    ):
        shapes = {name: tuple(t.shape) for name, t in found.items()}
        raise CheckpointMismatchError(
            f"{folder / FILE} holds {shapes}; expected ids and their rows of {weight.shape[1]}"
        )
    outside = [i for i in found["ids"].tolist() if not 0 <= i < len(weight)]
    if outside:
        raise CheckpointMismatchError(
            f"{folder / FILE} has the special token {outside[0]}; expected ids in "
            f"0..{len(weight) - 1}, as the model has {len(weight)} tokens"
        )
    with torch.no_grad():
        weight[found["ids"]] = found["rows"].to(weight)
