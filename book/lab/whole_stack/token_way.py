"""The numbers of one token's way through a model and its two updates."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from mathlm.chat.model import ChatModel
from mathlm.interpret.lens import streams_of
from mathlm.text import Message

DEPTHS = (0, 10, 20, 25, 28, 30)  # of SmolLM2's 30 blocks
TOP = 5


def best(tokenizer: Any, logits: Tensor) -> list[tuple[str, float]]:
    """The likeliest tokens and their probabilities; logits (V,)."""
    p, ids = torch.softmax(logits.double(), -1).topk(TOP)
    return [
        (tokenizer.decode([i]), round(x, 3))
        for i, x in zip(ids.tolist(), p.tolist(), strict=True)
    ]


@torch.no_grad()
def token_way(
    chat_model: ChatModel, prompt: str, depths: Sequence[int] = DEPTHS
) -> dict[str, Any]:
    """What becomes of a prompt up to the first token of its answer.

    Args:
        chat_model: A model, its tokenizer and its template.
        prompt: What a user writes.
        depths: Blocks after which the stream is read; 0 is the embedding.

    Returns:
        ``pieces`` and ``ids`` of the prompt alone, ``length`` of the whole template [tokens],
        the first entries and the norm of the embedding of the first token, the likeliest token
        at each of ``depths``, and the likeliest tokens at the end.
    """
    tokenizer, model = chat_model.tokenizer, chat_model.model
    ids = tokenizer.encode(prompt)
    chat = chat_model.format.encode([Message("user", prompt)], tokenizer, answer=True)
    whole = torch.from_numpy(chat.ids)[None]
    row = model.token_embedding.weight[ids[0]]
    streams = streams_of(model, whole)
    depths = [min(d, len(streams) - 1) for d in depths]
    lens = {
        d: model.head(model.final_norm(streams[d][0, -1])) for d in {*depths, len(streams) - 1}
    }
    return {
        "prompt": prompt,
        "pieces": [tokenizer.decode([i]) for i in ids],
        "ids": ids,
        "length": whole.shape[1],
        "width": len(row),
        "entries": [round(x, 2) for x in row[:4].tolist()],
        "norm": round(float(row.norm()), 2),
        "depths": [(d, best(tokenizer, lens[d])[0][0]) for d in depths],
        "top": best(tokenizer, lens[len(streams) - 1]),
    }


def steps(
    way: Mapping[str, Any], after: Mapping[str, Sequence[tuple[str, float]]], answer: str
) -> list[dict[str, str]]:
    """Title, chapter and sentence of each stop on the way.

    Args:
        way: Of :func:`token_way`.
        after: Name of each update -> the likeliest first tokens with it.
        answer: The whole answer at the end of the way.
    """

    def shown(top):
        return ", ".join(f"“{token.strip()}” {100 * p:.1f} %" for token, p in top)

    depth = "; ".join(f"after {d}: “{token.strip()}”" for d, token in way["depths"])
    numbers = ", ".join(f"{x:+.2f}" for x in way["entries"])
    found = [
        ("text", "8", way["prompt"]),
        ("tokens", "8", " | ".join(way["pieces"])),
        ("numbers of the tokens", "8", ", ".join(map(str, way["ids"]))),
        ("the chat template", "21", f"roles and marks around them: {way['length']} tokens"),
        ("embedding", "9", f"{numbers}, …: {way['width']} numbers of length {way['norm']:.2f}"),
        ("30 blocks", "10 to 17 and 25", depth),
        ("probabilities", "3 and 18", shown(way["top"])),
    ]
    found += [(name, "21 and 24", shown(top)) for name, top in after.items()]
    found += [("an answer, token by token", "20", answer)]
    return [dict(zip(("title", "chapter", "text"), x, strict=True)) for x in found]
