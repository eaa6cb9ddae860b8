"""Token windows over a text of any size: it is encoded into a file and read from there.

    python -m mathlm.recipes.pretrain_data --data my-texts --context 256

Prints what a pretraining run with these options would read.
"""

import argparse
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ConfigError
from ..text import ByteBPE, Bytes, corpus, open_tokens, read_manifest, write_tokens
from ..text.corpora.token_file import manifest_path
from ..text.tokenizers.named import Tokenizer, load_tokenizer
from ..train import TokenWindows
from .pretrain_options import parse

END = "<|endoftext|>"  # written behind each document, if the tokenizer has it
BLOCK = 1 << 20  # tokens that are measured at a time


class TokenizedWindows(TokenWindows):
    """Windows that also say which tokenizer made their tokens."""

    def __init__(self, ids: np.ndarray, tokenizer: Tokenizer, **sizes: Any) -> None:
        super().__init__(ids, vocab_size=tokenizer.vocab_size, **sizes)
        self.tokenizer = tokenizer

    def describe(self) -> dict:
        """What decides the batches, beside the corpus itself."""
        return super().describe() | {"tokenizer_sha256": self.tokenizer.sha256}


def encoded(texts: Path | Iterable[str], tokenizer: Tokenizer) -> tuple[np.ndarray, np.ndarray]:
    """Ids of a text, on the disk until they are used, and where its documents begin."""
    if isinstance(texts, Path) and manifest_path(texts).is_file():
        return open_tokens(texts, tokenizer), np.array(read_manifest(texts).documents)
    end = tokenizer.special.get(END) if isinstance(tokenizer, ByteBPE) else None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "tokens"
        manifest = write_tokens(texts, path, tokenizer, end_id=end)
        return open_tokens(path, verify=False), np.array(manifest.documents)


def split(ids: np.ndarray, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Cut off the last tenth; where a document begins, if one does within half of a tenth."""
    cut, half = len(ids) - len(ids) // 10, len(ids) // 20
    near = starts[np.abs(starts - cut) <= half]
    if len(near):
        cut = int(near[np.abs(near - cut).argmin()])
    return ids[:cut], ids[cut:]


def load(args: argparse.Namespace, tokenizer: Tokenizer) -> tuple[np.ndarray, np.ndarray]:
    """Ids to train on and ids held out, at most as many as ``--held-out`` says."""
    if args.held_out is not None and args.held_out < 2:
        raise ConfigError(f"--held-out {args.held_out} must be 2 tokens or more")
    if args.data is not None:
        training, held_out = split(*encoded(args.data, tokenizer))
    else:
        parts = corpus.split(args.corpus)
        training, held_out = (encoded([text], tokenizer)[0] for text in parts)
    return training, held_out[: args.held_out]


def windows(args: argparse.Namespace) -> tuple[TokenizedWindows, TokenizedWindows]:
    """Windows to train on and windows held out."""
    tokenizer = load_tokenizer(args.tokenizer)
    sizes = {"context": args.context, "batch_size": args.batch_size, "seed": args.seed}
    training, held_out = load(args, tokenizer)
    read = TokenizedWindows(training, tokenizer, **sizes)
    return read, TokenizedWindows(held_out, tokenizer, **sizes)


def bytes_of(ids: np.ndarray, tokenizer: Tokenizer) -> int:
    """Bytes of text that tokens stand for; special ones stand for none."""
    if isinstance(tokenizer, Bytes):
        return len(ids)
    sizes = np.array([len(tokenizer.token_bytes(i)) for i in range(tokenizer.vocab_size)])
    sizes[list(tokenizer.special.values())] = 0
    return sum(int(sizes[ids[i : i + BLOCK]].sum()) for i in range(0, len(ids), BLOCK))


def bytes_per_target(data: TokenizedWindows) -> float:
    """Bytes of text for each target, in the mean; the first token is no target."""
    return bytes_of(data.ids[1:], data.tokenizer) / (len(data.ids) - 1)


def main(argv: Sequence[str] | None = None) -> None:
    """Print the sizes of both parts."""
    args = parse(argv, "Print what a pretraining run would read.")
    for name, part in zip(("training", "held out"), windows(args), strict=True):
        print(f"{name}: {len(part.ids):,} tokens, {part.windows:,} windows,", end=" ")
        print(f"{bytes_per_target(part):.2f} bytes a token")


if __name__ == "__main__":
    main()
