"""Mistakes in carrying weights to a model that raise no error, and what each of them costs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from torch import Tensor

from mathlm.errors import ConfigError
from mathlm.functional import half_split_order
from mathlm.models import GPT
from mathlm.models.files.weights import shapes_only
from mathlm.models.gpt import make_position

State = dict[str, Tensor]
GAIN = "final_norm.gamma"


@dataclass(frozen=True, kw_only=True)
class Mistake:
    """A model that fits its file by every name and shape, and is wrong.

    Args:
        config: Fields of the configuration, and their wrong values.
        edit: Wrong tensors for right ones; None = the right ones.
    """

    config: dict[str, Any] = field(default_factory=dict)
    edit: Callable[[GPT, State], State] | None = None


def unpermuted(model: GPT, state: State) -> State:
    """Queries and keys as a file with neighboring pairs has them."""
    order = half_split_order(model.config.head_width).argsort()
    cut = (-1, len(order))
    names = [n for n in state if n.endswith(("W_q.weight", "W_k.weight"))]
    return {n: state[n].unflatten(0, cut)[:, order].flatten(0, 1) for n in names}


def swapped(first: str, second: str) -> Callable[[GPT, State], State]:
    """Tensors of two names, each under the name of the other."""

    def edit(model: GPT, state: State) -> State:
        names = {n: n.replace(f".{first}.", f".{second}.") for n in state if f".{first}." in n}
        return {n: state[m] for n, m in (names | {m: n for n, m in names.items()}).items()}

    return edit


def dealt_out(model: GPT, state: State) -> State:
    """Query heads in turn to the key heads, h to h mod G, instead of in runs of H / G."""
    H, G, K = model.config.n_heads, model.config.kv_heads, model.config.head_width
    heads = torch.arange(H).unflatten(0, (-1, G)).mT.flatten()
    rows = (heads[:, None] * K + torch.arange(K)).flatten()
    edited = {n: t[rows] for n, t in state.items() if "W_q.weight" in n}
    return edited | {n: t[:, rows] for n, t in state.items() if "W_o.weight" in n}


def drawn_head(model: GPT, state: State) -> State:
    """A head that was never filled."""
    rng, head = torch.Generator().manual_seed(0), state["head.weight"]
    return {"head.weight": 0.02 * torch.randn(head.shape, generator=rng).to(head)}


MISTAKES: dict[str, Mistake] = {
    "norm ε 1e-6, not 1e-5": Mistake(config={"norm_eps": 1e-6}),
    "norm ε 1e-3, not 1e-5": Mistake(config={"norm_eps": 1e-3}),
    "rotary base 10,000, not 100,000": Mistake(config={"rope_base": 10_000.0}),
    "rotary pairs not reordered": Mistake(edit=unpermuted),
    "final gain left at 1": Mistake(edit=lambda m, s: {GAIN: torch.ones_like(s[GAIN])}),
    "W_o transposed": Mistake(edit=lambda m, s: {n: t.mT for n, t in s.items() if "W_o." in n}),
    "head not tied, as drawn": Mistake(config={"tie_embeddings": False}, edit=drawn_head),
    "query heads dealt out in turn": Mistake(edit=dealt_out),
    "two norms swapped": Mistake(edit=swapped("attention_norm", "feed_forward_norm")),
    "gate and input swapped": Mistake(edit=swapped("W_gate", "W_in")),
}


def with_mistake(model: GPT, mistake: Mistake) -> GPT:
    """A model with the same weights, tensor for tensor, but for the mistake."""
    state = dict(model.state_dict())
    edited = {} if mistake.edit is None else mistake.edit(model, state)
    with shapes_only():
        wrong = GPT(replace(model.config, **mistake.config))
    wrong.load_state_dict(state | edited, assign=True)  # strict: every name and shape fits
    wrong.position = make_position(wrong.config)  # its numbers are computed
    return wrong.eval()


@torch.inference_mode()
def harms(model: GPT, ids: Tensor, names: Sequence[str] = tuple(MISTAKES)) -> dict[str, Tensor]:
    """Added loss of each mistake, and its divergence from the right model [nats/token]."""
    if ids.shape[-1] < 2:
        raise ConfigError(f"a text of {ids.shape[-1]} tokens: the loss needs two at least")
    right, found = model(ids[:, :-1]).log_softmax(-1), {}
    for name in names:
        wrong = with_mistake(model, MISTAKES[name])(ids[:, :-1]).log_softmax(-1)
        lost = (right - wrong).gather(-1, ids[:, 1:, None]).mean()
        found[name] = torch.stack([lost, (right.exp() * (right - wrong)).sum(-1).mean()])
    return found
