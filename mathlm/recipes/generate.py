"""Continue a text with a pretrained model, while you watch."""

import logging
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import tyro

from ..chat.folder import load, load_pretrained, read
from ..errors import ConfigError
from ..generate import RegexConstraint, TextStream, stream_text
from ..text import ByteBPE, Bytes, ChatFormat, Message
from ..text.tokenizers.named import Tokenizer
from ..train.distributed import DeviceName
from .command import Maybe, execute, flat, parse

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Sampling:
    """How each token is drawn."""

    temperature: float = 0.8
    """Divides the logits; 0 takes the likeliest token."""
    top_k: Maybe[int] = None
    """Draw from so many of the likeliest tokens; None: all."""
    top_p: Maybe[float] = None
    """Nucleus sampling: draw from the fewest tokens of this probability; None: all."""
    min_p: Maybe[float] = None
    """Draw from tokens this likely beside the likeliest, as a share of it; None: all."""
    typical_p: Maybe[float] = None
    """Draw from the most typical tokens of this probability; None: all."""
    repetition_penalty: float = 1.0
    """Makes tokens that stand there already less likely; 1: none."""
    seed: Maybe[int] = None
    """The same seed draws the same text; None: another one each time."""


@dataclass(frozen=True, kw_only=True)
class GenerateConfig:
    """Continue a text with a pretrained model, while you watch.

    The text goes to standard output as it is written; what it took, and why it ended, to
    standard error.

        mathlm generate --model smollm2 --prompt "The capital of France is"
        mathlm generate --model runs/my-folder --prompt "ROMEO:" --top-p 0.95
    """

    prompt: str
    r"""Text to continue; \n stands for a line break."""
    model: str = "smollm2"
    """'smollm2', a GGUF file, or a folder: of Hugging Face, or a result of these commands."""
    tokenizer: Maybe[str] = None
    """'bytes', a file of ByteBPE.save, or a folder; None: the model's own."""
    chat: bool = False
    """Ask a chat model, in its own form, or in that of SmolLM2 if it has none."""
    max_new_tokens: int = 200
    """Length of the new text at most [tokens]."""
    stop: tyro.conf.UseAppendAction[tuple[str, ...]] = ()
    """End before this text; may be repeated."""
    pattern: Maybe[str] = None
    """Regular expression that the whole new text matches; None: any text."""
    device: DeviceName = "auto"
    """Where to run."""
    sampling: Sampling = Sampling()


def begin(config: GenerateConfig) -> TextStream:
    """The stream that the options ask for."""
    form = None
    if read(Path(config.model)) is None:
        model, tokenizer = load_pretrained(config.model, config.tokenizer, config.device)
    else:  # tuned by one of these commands
        found = load(config.model, tokenizer=config.tokenizer, device=config.device)
        model, tokenizer, form = found.model, found.tokenizer, found.format
    text, stop = with_breaks(config.prompt), [*config.stop]
    if isinstance(tokenizer, ByteBPE | Bytes):
        stop += tokenizer.special  # the marks between texts are no text
    pattern = None if config.pattern is None else RegexConstraint(config.pattern, tokenizer)
    return stream_text(
        model,
        tokenizer,
        asked(text, tokenizer, form) if config.chat else text,
        config.max_new_tokens,
        stop=[with_breaks(s) for s in stop],
        constraint=pattern,
        **flat(config.sampling),
    )


def with_breaks(text: str) -> str:
    r"""A text as it is typed, with line breaks for \n."""
    return text.replace("\\n", "\n")


def asked(text: str, tokenizer: Tokenizer, form: ChatFormat | None = None) -> list[int]:
    """Ids of a question in a form, or in that of SmolLM2, up to where the answer begins."""
    if form is None and not isinstance(tokenizer, ByteBPE):
        raise ConfigError("--chat needs a tokenizer with marks for turns; bytes have none")
    chat = (form or ChatFormat.chatml()).encode([Message("user", text)], tokenizer, answer=True)
    return chat.ids.tolist()


def run(config: GenerateConfig) -> str:
    """Write to the terminal; returns the new text."""
    pieces, began, text = begin(config), time.perf_counter(), ""
    for piece in pieces:
        text += piece
        sys.stdout.write(piece)
        sys.stdout.flush()
    sys.stdout.write("\n")
    took = time.perf_counter() - began
    rate = len(pieces.ids) / took
    log.info("%d tokens, %.1f a second, ended by %s", len(pieces.ids), rate, pieces.finish)
    return text


def main(argv: Sequence[str] | None = None) -> str:
    """The command ``mathlm generate``."""
    return run(parse(GenerateConfig, argv, prog="mathlm generate"))


if __name__ == "__main__":
    execute(main)
