"""A GPT of two layers whose induction circuit is written by hand: the mechanism is known.

The stream has four parts: the token at hand and its position, put there by the embeddings;
the token before it, written by head 0 of layer 0; the guess, written by head 0 of layer 1,
which alone the logits are read from. Head 1 of both layers looks somewhere and writes nothing.
"""

import math

import torch
from torch import Tensor

from mathlm.models import GPT, GPTConfig

from .induction_rows import START

SHARPNESS = 20.0  # of the score of a key that is meant [nats]
GAIN = 12.0  # of the logit of the guess [nats]


@torch.no_grad()
def blank(vocab_size: int, context: int, d_model: int, n_heads: int, d_head: int) -> GPT:
    """A GPT of two layers whose weights are all 0, with gains of 1: to be written by hand."""
    fields = {"vocab_size": vocab_size, "context": context, "d_model": d_model, "n_layers": 2}
    heads = {"n_heads": n_heads, "d_head": d_head, "d_ff": 1, "tie_embeddings": False}
    kinds = {"norm": "rms", "norm_eps": 1e-12, "position": "learned", "bias": False}
    model = GPT(GPTConfig(**fields, **heads, **kinds))  # type: ignore[arg-type]
    for parameter in model.parameters():
        parameter.zero_()
    model.eval().requires_grad_(False)
    for module in model.modules():
        if hasattr(module, "gamma"):
            module.gamma.data.fill_(1.0)  # type: ignore[union-attr, operator]
    return model


@torch.no_grad()
def induction_by_hand(vocab_size: int = 16, context: int = 24) -> GPT:
    """The model; its rows start with the token 0, which no head copies.

    Head (0, 0) looks at the token before and copies it. Head (0, 1) looks at the start, of
    which it finds nothing to copy. Head (1, 0) looks for the token at hand among the copies,
    rests on the start if there is none, and copies the token it finds. Head (1, 1) looks at
    the token before, and what it finds is not written.

    Args:
        vocab_size: V [tokens].
        context: T [tokens].
    """
    V, T, D = vocab_size, context, 3 * vocab_size + context
    model = blank(V, T, D, n_heads=2, d_head=max(V, T))
    token, place = torch.eye(D)[:V], torch.eye(D)[V : V + T]
    before, guess = torch.eye(D)[V + T : 2 * V + T], torch.eye(D)[2 * V + T :]
    model.token_embedding.weight.copy_(token)
    model.position.weight.copy_(place)  # type: ignore[union-attr, operator]
    model.head.weight.copy_(GAIN * guess / math.sqrt(D / 4))
    said = token.clone()
    said[START] = 0.0
    start = token[START].expand(T, D)
    earlier = place.roll(1, 0)  # feature p of a key is on at position p - 1
    earlier[0] = 0.0
    rest = before + token[START] / 2  # half a match with any query
    first, second = (block.attention for block in model.blocks)
    write(first, 0, place, earlier, said, before, D / 2)
    write(first, 1, place, start, said, before, D / 2)
    write(second, 0, token, rest, said, guess, D / 3)
    write(second, 1, place, earlier, said, None, D / 3)
    return model


def write(
    attention, head: int, q: Tensor, k: Tensor, v: Tensor, out: Tensor | None, size: float
) -> None:
    """Give one head its four matrices, (features, D); ``size`` is an entry's square."""
    K = attention.d_head
    sharp = math.sqrt(SHARPNESS * math.sqrt(K) / size)
    for W, rows, scale in (
        (attention.W_q, q, sharp), (attention.W_k, k, sharp), (attention.W_v, v, size**-0.5),
    ):  # fmt: skip
        W.weight[head * K : head * K + len(rows)] = scale * rows
    if out is not None:
        attention.W_o.weight[:, head * K : head * K + len(out)] = out.T
