"""Continue a text with a pretrained model, while you watch.

    python -m mathlm.recipes.generate --model smollm2 --prompt "The capital of France is"
    python -m mathlm.recipes.generate --model book/results/shakespeare-gpt --prompt "ROMEO:"

The text goes to standard output as it is written; what it took, and why it ended, to standard
error.
"""

import argparse
import logging
import sys
import time
from collections.abc import Sequence

from ..chat.folder import load_pretrained
from ..errors import ConfigError, MathLMError
from ..generate import RegexConstraint, TextStream, stream_text
from ..text import ByteBPE, ChatFormat, Message
from ..text.tokenizers.named import Tokenizer


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Options from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    add = parser.add_argument
    add("--model", default="smollm2", help="'smollm2', a GGUF file, or a Hugging Face folder")
    add("--tokenizer", help="'bytes', a file of ByteBPE.save or a folder; default: the model's")
    add("--prompt", required=True, help=r"text to continue; \n stands for a line break")
    add("--chat", action="store_true", help="ask a chat model, in the form of SmolLM2")
    add("--max-new-tokens", type=int, default=200, help="tokens at most")
    add("--temperature", type=float, default=0.8, help="0 takes the likeliest token")
    add("--top-k", type=int, help="draw from so many tokens")
    add("--top-p", type=float, help="draw from the fewest tokens of this probability")
    add("--min-p", type=float, help="draw from tokens this likely beside the likeliest")
    add("--typical-p", type=float, help="draw from the most typical of this probability")
    add("--repetition-penalty", type=float, default=1.0, help="1 = none")
    add("--stop", action="append", default=[], help="end before this text; may be repeated")
    add("--pattern", help="regular expression that the whole new text matches")
    add("--seed", type=int, help="the same numbers draw the same text")
    add("--device", default="auto", choices=["cpu", "cuda", "auto"], help="where to run")
    return parser.parse_args(argv)


def begin(args: argparse.Namespace) -> TextStream:
    """The stream that the options ask for."""
    model, tokenizer = load_pretrained(args.model, args.tokenizer, args.device)
    text, stop = args.prompt.replace("\\n", "\n"), list(args.stop)
    if isinstance(tokenizer, ByteBPE):
        stop += tokenizer.special  # the marks between texts are no text
    pattern = None if args.pattern is None else RegexConstraint(args.pattern, tokenizer)
    return stream_text(
        model,
        tokenizer,
        asked(text, tokenizer) if args.chat else text,
        args.max_new_tokens,
        args.temperature,
        top_k=args.top_k,
        top_p=args.top_p,
        min_p=args.min_p,
        typical_p=args.typical_p,
        repetition_penalty=args.repetition_penalty,
        stop=[s.replace("\\n", "\n") for s in stop],
        constraint=pattern,
        seed=args.seed,
    )


def asked(text: str, tokenizer: Tokenizer) -> list[int]:
    """Ids of a question, in the form of SmolLM2, up to where the answer begins."""
    if not isinstance(tokenizer, ByteBPE):
        raise ConfigError("--chat needs a tokenizer with marks for turns; bytes have none")
    chat = ChatFormat.chatml().encode([Message("user", text)], tokenizer, answer=True)
    return chat.ids.tolist()


def main(argv: Sequence[str] | None = None) -> str:
    """Write to the terminal; the new text."""
    pieces, began, text = begin(parse(argv)), time.perf_counter(), ""
    for piece in pieces:
        text += piece
        sys.stdout.write(piece)
        sys.stdout.flush()
    sys.stdout.write("\n")
    took = time.perf_counter() - began
    rate = len(pieces.ids) / took
    logging.info("%d tokens, %.1f a second, ended by %s", len(pieces.ids), rate, pieces.finish)
    return text


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        main()
    except MathLMError as error:
        sys.exit(f"error: {error}")
