"""What each way of tuning does to a model before the first step.

Used by :mod:`fine_tuning_methods`, which has the list.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch

from mathlm import adapt
from mathlm.models import GPT
from mathlm.train import next_token
from mathlm.train.objectives import Batch, Objective

Data = Callable[[int], Batch]


@dataclass(frozen=True, eq=False)
class Start:
    """Where a run of any method starts.

    Args:
        model: A copy of the base, which the method changes.
        data: Step to a batch of conversations.
        old: Step to a batch of old text, of the same shape.
        seed: Of what a method draws.
        prompt: Ids of a real text, for methods that begin with one.
        markers: Ids of the tokens between the turns.
    """

    model: GPT
    data: Data
    old: Data
    seed: int
    prompt: tuple[int, ...]
    markers: tuple[int, ...]


Prepared = tuple[Objective, Data]


def full(start: Start) -> Prepared:
    """Every weight."""
    start.model.requires_grad_(True)
    return next_token, start.data


def towards(start: Start, *, weight: float) -> Prepared:
    """Every weight, drawn back to where it was."""
    start.model.requires_grad_(True)
    return adapt.L2SP(next_token, start.model, weight), start.data


def replay(start: Start, *, share: float) -> Prepared:
    """Every weight; a share of the rows is old text."""
    start.model.requires_grad_(True)
    return next_token, adapt.Replay(start.data, start.old, share, start.seed)


def last_block(start: Start) -> Prepared:
    """The last block and the normalization behind it."""
    last = f"blocks.{start.model.config.n_layers - 1}"
    adapt.freeze(start.model, but=(last, "final_norm"))
    return next_token, start.data


def norms(start: Start) -> Prepared:
    """The gains of the normalizations."""
    for name, p in start.model.named_parameters():
        p.requires_grad_("norm" in name)
    return next_token, start.data


def lora(
    start: Start, *, rank: int, alpha: float | None = None, stabilized: bool = False
) -> Prepared:
    """Low-rank updates of every linear map of the blocks."""
    adapt.add_lora(
        start.model, rank, alpha, "all-linear", rank_stabilized=stabilized, seed=start.seed
    )
    return next_token, start.data


def bottleneck(start: Start, *, width: int) -> Prepared:
    """A small network behind each sublayer."""
    adapt.add_adapters(start.model, width, seed=start.seed)
    return next_token, start.data


def prefix(start: Start, *, length: int, gated: bool) -> Prepared:
    """Keys and values of their own before the text, in every layer."""
    tokens = None if gated else torch.tensor(start.prompt[:length])
    adapt.add_prefix(start.model, length, gated=gated, tokens=tokens, seed=start.seed)
    return next_token, start.data


def prompt(start: Start, *, length: int) -> Prepared:
    """Vectors before the embeddings of the text."""
    adapt.add_prompt(start.model, tokens=torch.tensor(start.prompt[:length]), seed=start.seed)
    return next_token, start.data


def markers(start: Start, *, before: Callable[[Start], Prepared] | None = None) -> Prepared:
    """The embeddings of the markers, alone or with what another method trains."""
    if before is None:
        start.model.requires_grad_(False)
    else:
        before(start)
    train_rows(start.model, start.markers)
    return next_token, start.data


def train_rows(model: GPT, ids: tuple[int, ...]) -> None:
    """Let some rows of the token embeddings be trained; the gradient of the others is 0."""
    weight = model.token_embedding.weight.requires_grad_(True)
    chosen = torch.zeros(len(weight), 1, dtype=weight.dtype)
    chosen[list(ids)] = 1.0
    weight.register_hook(lambda g: g * chosen)
