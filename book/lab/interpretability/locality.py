"""How far SmolLM2's heads look, by depth, on fifty sentences of newswire.

cd book
python -m lab.interpretability.locality --record locality.json
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from lab.features.words import as_text, prose
from mathlm.interpret import record
from mathlm.models import GPT
from mathlm.text import ByteBPE, pretrained, tagged
from mathlm.train.record import record_on_cpu

WORDS, TOKENS = 15, 32  # least words of a sentence; most tokens that are read


def looks(weights: Tensor, skip: int = 6) -> Tensor:
    """How far the heads of one layer look, as means over heads and queries, (3,).

    Args:
        weights: Attention weights (H, T, T).
        skip: Queries at the start that are left out.

    Returns:
        Weight on the first token; of the rest, the share on the last three tokens, the query's
        own among them, and e^H, over how many tokens it is spread.
    """
    weights = weights[:, skip:]
    T = weights.shape[-1]
    back = (torch.arange(skip, T)[:, None] - torch.arange(1, T)).to(weights.device)
    rest = weights[..., 1:] / weights[..., 1:].sum(-1, keepdim=True)
    near = (rest * ((back >= 0) & (back <= 2))).sum(-1)
    spread = torch.special.entr(rest).sum(-1).exp()
    return torch.stack([weights[..., 0], near, spread]).mean((1, 2))


def by_thirds(model: GPT, tokenizer: ByteBPE, sentences: Sequence[str]) -> Tensor:
    """:func:`looks` of each sentence, as means over each third of the layers, (N, 3, 3)."""
    L, device = model.config.n_layers, model.token_embedding.weight.device
    found = []
    for sentence in sentences:
        ids = torch.tensor([tokenizer.encode(sentence)[:TOKENS]], device=device)
        taps = record(model, ids)
        layers = [looks(taps[f"blocks.{i}.attention.weights"][0]) for i in range(L)]
        found.append(torch.stack(layers).view(3, L // 3, 3).mean(1).cpu())
    return torch.stack(found)


def sentences(count: int) -> list[str]:
    """The first sentences of the tagged newswire that are prose and not short."""
    return [as_text(s.words) for s in prose(tagged.load()) if len(s) >= WORDS][:count]


def main(argv: Sequence[str] | None = None) -> list[Any]:
    """Read the sentences; returns, and may record, a table (sentences, thirds, numbers)."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--record", type=Path)
    args = parser.parse_args(argv)
    torch.set_num_threads(1)
    path = pretrained.find("smollm2")
    model, tokenizer = GPT.from_pretrained(path), ByteBPE.from_gguf(path)
    found = by_thirds(model.requires_grad_(False), tokenizer, sentences(args.count)).tolist()
    record_on_cpu(args.record, config=vars(args), results=found)
    return found


if __name__ == "__main__":
    main()
