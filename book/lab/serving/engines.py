"""The same model in another engine: exported folders and GGUF files.

    cd book
    python -m lab.serving.engines --record engines.json --node FOLDER

For each way through transformers the record keeps the largest difference of a logit and whether
the greedy tokens agree. Given a folder in which ``npm install node-llama-cpp`` was run, which
brings llama.cpp as a compiled library, it also keeps whether llama.cpp writes the same tokens.
"""

import argparse
import json
import subprocess
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mathlm.generate import generate
from mathlm.models import GPT, save_gguf, save_pretrained
from mathlm.text import ByteBPE, Bytes, pretrained
from mathlm.train.record import record_on_cpu

LLAMA_CPP = """
import {getLlama} from "node-llama-cpp";
const [path, ids, count] = process.argv.slice(2);
const llama = await getLlama({gpu: false, build: "never", logLevel: "error"});
const model = await llama.loadModel({modelPath: path});
const context = await model.createContext({contextSize: 256, threads: 2});
const written = [];
const options = {temperature: 0, yieldEogToken: true};
for await (const token of context.getSequence().evaluate(JSON.parse(ids), options)) {
    written.push(token);
    if (written.length >= Number(count)) break;
}
console.log(JSON.stringify(written));
process.exit(0);
"""
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


def through_llama_cpp(
    ours: GPT, path: Path, ids: Tensor, new: int, packages: Path
) -> dict[str, Any]:
    """Whether llama.cpp goes on from ``ids`` with the greedy tokens that we write."""
    script, start = packages / "continue.mjs", json.dumps(ids[0].tolist())
    script.write_text(LLAMA_CPP)  # where Node finds the package
    said = subprocess.run(
        ["node", script.name, str(path.resolve()), start, str(new)],
        cwd=packages,
        check=True,
        capture_output=True,
        text=True,
    )
    mine = generate(ours, ids, new, 0.0)[0, -new:].tolist()
    return {"same_tokens": json.loads(said.stdout) == mine, "new": new}


def in_llama_cpp(smollm2: GPT, ids: Tensor, new: int, packages: Path) -> dict[str, Any]:
    """SmolLM2 as a file that we write, in 32 bits, and as the file that it came in."""
    own = pretrained.find("smollm2")
    with tempfile.TemporaryDirectory() as place:
        path = save_gguf(smollm2, Path(place) / "smollm2.gguf", tokenizer=own)
        written = through_llama_cpp(smollm2, path, ids, new, packages)
    read = through_llama_cpp(smollm2, own, ids, new, packages)
    return {"SmolLM2, written by mathlm": written, "SmolLM2, its own file": read}


def version_of_llama_cpp(packages: Path) -> dict[str, str]:
    """Of the Node package, and of the library in it."""
    home = packages / "node_modules" / "node-llama-cpp"
    said = json.loads((home / "package.json").read_text())["version"]
    built = json.loads((home / "llama" / "binariesGithubRelease.json").read_text())["release"]
    return {"node-llama-cpp": said, "llama.cpp": built}


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Compare the GPT of the plays and SmolLM2, as folders, and SmolLM2 as a GGUF file."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", type=Path)
    parser.add_argument("--new", type=int, default=32)
    parser.add_argument("--node", type=Path, help="folder with the Node package of llama.cpp")
    args = parser.parse_args(argv)
    path = pretrained.find("smollm2")
    plays = GPT.from_pretrained("results/shakespeare-gpt").eval()
    letters = torch.tensor([Bytes().encode(TEXT)])
    words = torch.tensor([ByteBPE.from_gguf(path).encode(TEXT)])
    smollm2 = GPT.from_pretrained(path).eval()
    found = {"GPT of the plays, folder": through_folder(plays, letters, args.new)}
    found["SmolLM2, folder"] = through_folder(smollm2, words, args.new)
    found["SmolLM2, GGUF file"] = through_gguf(path, words, args.new)
    record: dict[str, Any] = {"ways": found}
    record["engines"] = {name: version(name) for name in ("transformers", "gguf")}
    if args.node is not None:
        record["llama_cpp"] = in_llama_cpp(smollm2, words, args.new, args.node)
        record["engines"] |= version_of_llama_cpp(args.node)
    record_on_cpu(args.record, **record)
    return record


if __name__ == "__main__":
    print(main())
