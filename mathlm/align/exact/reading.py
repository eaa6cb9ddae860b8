"""A model's probabilities of every token at every prefix, from one forward pass."""

import torch
from torch import Tensor, nn

from ...errors import InputError
from ...generate.modes import evaluating
from ...shapes import Float, Int
from ...train.batches import Batch
from ..answers import answer_logits
from .prefixes import NOTHING, Prefixes


def texts_to_read(prompts: Int[Tensor, "P n"], prefixes: Prefixes) -> Int[Tensor, "B T"]:
    """Each prompt before each row of prefixes: all that must be read, P R texts."""
    P, R = len(prompts), len(prefixes.rows)
    rows = prefixes.rows.to(prompts.device).repeat(P, 1)
    return torch.cat([prompts.repeat_interleave(R, 0), rows], 1)


def at_prefixes(
    read: Float[Tensor, "B T *rest"], prompts: Int[Tensor, "P n"], prefixes: Prefixes
) -> Float[Tensor, "P N *rest"]:
    """What a model said of every text, picked out at the last token of every prefix."""
    by_prompt = read.unflatten(0, (len(prompts), len(prefixes.rows)))
    return by_prompt[:, prefixes.row, prompts.shape[1] - 1 + prefixes.depth]


def token_table(
    model: nn.Module,
    prompts: Int[Tensor, "P n"],
    prefixes: Prefixes,
    temperature: float | int = 1.0,
) -> Float[Tensor, "P N V"]:
    """Log-probability of every token at every prefix, each prefix read once."""
    ids = texts_to_read(prompts, prefixes)
    read = answer_logits(model, {"ids": ids, "targets": ids}, temperature)
    logits = at_prefixes(read, prompts, prefixes)
    V = prefixes.next.shape[1]
    if logits.shape[-1] != V:
        raise InputError(
            f"the model has {logits.shape[-1]} tokens and the completions have {V}: every "
            "token must have its completions"
        )
    return logits.log_softmax(-1)


def value_table(
    model: nn.Module, prompts: Int[Tensor, "P n"], prefixes: Prefixes
) -> Float[Tensor, "P N"]:
    """What a value model, from ids (B, T) to values (B, T), says of every prefix."""
    with evaluating(model):
        values = model(texts_to_read(prompts, prefixes))
    return at_prefixes(values, prompts, prefixes)


def as_batch(
    prompts: Int[Tensor, "P n"],
    prefixes: Prefixes,
    prompt_index: Int[Tensor, " B"],
    completion_index: Int[Tensor, " B"],
) -> Batch:
    """Prompts with completions as a model reads them, and what is asked of it."""
    token, real = prefixes.token[completion_index], prefixes.real[completion_index]
    asked = token.masked_fill(~real, NOTHING)
    before = prompts[prompt_index]
    nothing = torch.full_like(before[:, 1:], NOTHING)
    return {
        "ids": torch.cat([before, token[:, :-1]], 1),
        "targets": torch.cat([nothing, asked], 1),
        "prompt_index": prompt_index,
        "completion_index": completion_index,
    }


def locate(
    prompts: Int[Tensor, "P n"], prefixes: Prefixes, batch: Batch
) -> tuple[Int[Tensor, " B"], Int[Tensor, "B T"]]:
    """The prompt of each row, and the node before each target; -1 where nothing is asked.

    Raises:
        InputError: If a row is no prompt of the world with the beginning of a completion.
    """
    ids, targets, start = batch["ids"], batch["targets"], prompts.shape[1] - 1
    same = (ids[:, None, : start + 1] == prompts).all(-1)
    if not same.any(1).all():
        row = int((~same.any(1)).nonzero()[0])
        raise InputError(f"row {row} begins with {ids[row].tolist()}: no prompt of the world")
    nodes, node = torch.full_like(targets, -1), torch.zeros_like(targets[:, 0])
    for t in range(start, targets.shape[1]):
        asked = targets[:, t] != NOTHING
        if (lost := asked & (node < 0)).any():
            row = int(lost.nonzero()[0])
            raise InputError(f"row {row} asks for a token behind the end of its completion")
        nodes[:, t] = node.where(asked, -1)
        behind = prefixes.next[node.clamp_min(0), targets[:, t].clamp_min(0)]
        node = behind.where(asked, -1)
    return same.int().argmax(1), nodes


def look_up(
    table: Float[Tensor, "P N V"],
    prompt: Int[Tensor, " B"],
    node: Int[Tensor, "B T"],
    token: Int[Tensor, "B T"],
) -> Float[Tensor, "B T"]:
    """Entries of a table; 0 where the node is -1."""
    _, N, V = table.shape
    place = (prompt[:, None] * N + node.clamp_min(0)) * V + token.clamp_min(0)
    found = table.flatten().index_select(0, place.flatten()).view_as(place)
    return found.masked_fill(node < 0, 0.0)
