"""The same model in another engine: exported folders and GGUF files, in transformers.

    cd book
    python -m lab.serving.engines --record engines.json

For each way the record keeps the largest difference of a logit and whether the greedy tokens
agree. It needs the package transformers (and gguf for the file).
"""

import argparse
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mathlm.generate import generate
from mathlm.models import GPT, save_pretrained
from mathlm.text import ByteBPE, Bytes, pretrained
from mathlm.train.record import record_on_cpu

TEXT = "KING RICHARD:\nThe king is not himself; basely led"


@torch.no_grad()
def compare(ours: GPT, theirs: Any, ids: Tensor, new: int) -> dict[str, Any]:
    """Largest difference of a logit, and whether ``new`` greedy tokens are the same."""
    a, b = ours(ids).double(), theirs(ids).logits.double()
    mine = generate(ours, ids, new, 0.0)
    other = theirs.generate(
        ids, max_new_tokens=new, min_new_tokens=new, do_sample=False, pad_token_id=0
    )
    return {
        "difference": (a - b).abs().max().item(),
        "spread": a.std().item(),
        "same_tokens": torch.equal(mine, other[:, : mine.shape[1]]),
        "new": new,
    }


def through_folder(ours: GPT, ids: Tensor, new: int) -> dict[str, Any]:
    """Write a folder as ``mathlm export`` does, and open it with transformers."""
    import transformers

    with tempfile.TemporaryDirectory() as place:
        folder = save_pretrained(ours, Path(place) / "model")
        theirs = transformers.AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
        return compare(ours, theirs.eval(), ids, new)


def through_gguf(path: Path, ids: Tensor, new: int) -> dict[str, Any]:
    """Open one GGUF file with both."""
    import transformers

    ours = GPT.from_pretrained(path).eval()
    theirs = transformers.AutoModelForCausalLM.from_pretrained(
        path.parent, gguf_file=path.name, dtype=torch.float32
    )
    return compare(ours, theirs.eval(), ids, new)


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Compare the GPT of the plays and SmolLM2, as folders, and SmolLM2 as a GGUF file."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", type=Path)
    parser.add_argument("--new", type=int, default=32)
    args = parser.parse_args(argv)
    path = pretrained.find("smollm2")
    plays = GPT.from_pretrained("results/shakespeare-gpt").eval()
    letters = torch.tensor([Bytes().encode(TEXT)])
    words = torch.tensor([ByteBPE.from_gguf(path).encode(TEXT)])
    found = {"GPT of the plays, folder": through_folder(plays, letters, args.new)}
    smollm2 = GPT.from_pretrained(path).eval()
    found["SmolLM2, folder"] = through_folder(smollm2, words, args.new)
    del smollm2
    found["SmolLM2, GGUF file"] = through_gguf(path, words, args.new)
    record: dict[str, Any] = {"ways": found}
    record["engines"] = {name: version(name) for name in ("transformers", "gguf")}
    record_on_cpu(args.record, **record)
    return record


if __name__ == "__main__":
    print(main())
