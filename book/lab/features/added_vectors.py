"""A vector from sad to glad sentences, added to the stream of SmolLM2 at several strengths.

    cd book
    python -m lab.features.added_vectors --record added-vectors.json

Measures what the model expects and writes, its loss on plain sentences, and the same for a
random vector.
"""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mathlm.generate import generate
from mathlm.interpret import Steered, losses_without_heads, steering_vector
from mathlm.models import GPT
from mathlm.text import ByteBPE, pretrained
from mathlm.train.record import record_on_cpu

log = logging.getLogger(__name__)
THINGS = ("The film", "My day at work", "The dinner", "Her letter", "The weather", "Our trip")
GLAD = ("was wonderful and I loved it.", "made me happy.", "was a great joy.")
SAD = ("was terrible and I hated it.", "made me sad.", "was a great pity.")
PROMPTS = (
    "I think that the play last night was",
    "When I saw the new house I felt",
    "The food in that place is",
    "To me, the news this morning sounded",
)
GOOD = "good great happy wonderful excellent beautiful amazing perfect lovely"
BAD = "bad terrible sad awful horrible ugly poor boring dreadful"
PLAIN = (
    "The train to the coast leaves at nine and arrives a little before noon.",
    "Water boils at a lower temperature in the mountains than at the sea.",
    "A triangle with three equal sides has three equal angles.",
    "The library keeps its maps on the second floor, next to the newspapers.",
)


def log_odds(model: GPT, prompts: Sequence[Tensor], good: list[int], bad: list[int]) -> float:
    """Mean over prompts of ln p(a good word is next) - ln p(a bad word is next)."""
    found = []
    for ids in prompts:
        with torch.no_grad():
            logp = model(ids.unsqueeze(0))[0, -1].log_softmax(-1)
        found.append(logp[good].logsumexp(0) - logp[bad].logsumexp(0))
    return float(torch.stack(found).mean())


def measure(model: GPT, tokenizer: Any, new_tokens: int) -> dict[str, Any]:
    """What a model expects and writes behind the prompts, and its loss on plain sentences."""
    prompts, plain = ([encode(tokenizer, text) for text in texts] for texts in (PROMPTS, PLAIN))
    good, bad = (
        [tokenizer.encode(f" {word}")[0] for word in words.split()] for words in (GOOD, BAD)
    )
    losses = torch.cat([losses_without_heads(model, ids[None]).flatten() for ids in plain])
    row: dict[str, Any] = {"log_odds": log_odds(model, prompts, good, bad)}
    row["loss"] = float(losses.mean())
    if new_tokens:
        new = [generate(model, ids[None], new_tokens, temperature=0)[0] for ids in prompts]
        row["texts"] = [tokenizer.decode(ids.tolist()) for ids in new]
    return row


def encode(tokenizer: Any, text: str) -> Tensor:
    """Token ids (T,) of a text."""
    return torch.tensor(tokenizer.encode(text))


def study(
    model: GPT, tokenizer: Any, layer: int, strengths: Sequence[float], new_tokens: int = 12
) -> dict[str, Any]:
    """Rows for the vector and for a random one of the same length, at every strength."""
    at = f"blocks.{layer}.resid_post"
    glad, sad = (
        [encode(tokenizer, f"{thing} {end}") for thing in THINGS for end in ends]
        for ends in (GLAD, SAD)
    )
    vector = steering_vector(model, glad, sad, at, skip=1)
    noise = torch.randn(vector.shape, generator=torch.Generator().manual_seed(0)).to(vector)
    noise = noise * vector.norm() / noise.norm()
    found: dict[str, Any] = {"layer": layer, "length": float(vector.norm()), "rows": []}
    for name, v in (("glad - sad", vector), ("random", noise)):
        for strength in strengths:
            steered = Steered(model, {at: strength * v})
            row = measure(steered, tokenizer, new_tokens if name != "random" else 0)
            found["rows"].append({"vector": name, "strength": strength, **row})
            log.info("%s, strength %g: log-odds %.2f", name, strength, row["log_odds"])
    return found


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Steer SmolLM2; returns, and may record, what was measured."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--record", type=Path)
    parser.add_argument("--layer", type=int, default=14)
    parser.add_argument(
        "--strengths", type=float, nargs="+", default=[-2, -1, -0.5, 0, 0.5, 1, 2]
    )
    parser.add_argument("--new-tokens", type=int, default=12)
    args, path = parser.parse_args(argv), pretrained.find("smollm2")
    model, tokenizer = GPT.from_pretrained(path), ByteBPE.from_gguf(path)
    found = study(model, tokenizer, args.layer, args.strengths, args.new_tokens)
    record_on_cpu(args.record, config=vars(args), results=found)
    return found


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    main()
