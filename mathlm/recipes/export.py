"""Write the GPT of a pretraining run as a Hugging Face folder.

    python -m mathlm.recipes.export runs/mine models/mine --dtype float16

The folder is read by ``GPT.from_pretrained`` and by the transformers package. It holds no
tokenizer: keep the one that the run was trained with.
"""

import argparse
import json
import logging
import sys
from collections.abc import Sequence
from pathlib import Path

import torch

from ..errors import CheckpointMismatchError, MathLMError
from ..models import GPT, GPTConfig, load_weights, save_pretrained
from ..train import load_checkpoint
from ..train.checkpoint import locate


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Options from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    add = parser.add_argument
    add(
        "run", type=Path, help="a checkpoint, or a folder of them, of which the newest is taken"
    )
    add("folder", type=Path, help="where to write the model")
    add("--dtype", choices=["float16", "bfloat16", "float32"], help="of the weights")
    return parser.parse_args(argv)


def load(run: Path) -> GPT:
    """The model of the newest checkpoint.

    Raises:
        CheckpointError: If there is no checkpoint.
        CheckpointMismatchError: If its model is not a GPT.
    """
    path = locate(run)
    sizes = json.loads((path / "state.json").read_text())["config"].get("model", {})
    if sizes.pop("class", None) != GPTConfig.__name__:
        raise CheckpointMismatchError(f"{path} holds no GPT: a run of recipes.pretrain does")
    dtype = next(iter(load_weights(path).values())).dtype
    model = GPT(GPTConfig(**sizes)).to(dtype)
    load_checkpoint(path, model)
    return model.eval()


def main(argv: Sequence[str] | None = None) -> Path:
    """Read and write; returns the folder."""
    args = parse(argv)
    dtype = None if args.dtype is None else getattr(torch, args.dtype)
    return save_pretrained(load(args.run), args.folder, dtype=dtype)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        logging.info("%s", main())
    except MathLMError as error:
        sys.exit(f"error: {error}")
