"""Talk with a model in the terminal.

    python -m mathlm.recipes.chat --model runs/my-smollm2-lora
    python -m mathlm.recipes.chat --model smollm2 --adapter runs/my-smollm2-lora
    echo "What is rain?" | python -m mathlm.recipes.chat --model smollm2

Each line is a question. /reset forgets the conversation, /quit or the end of the input leaves;
Ctrl-C ends an answer. Answers go to standard output, all else to standard error.
"""

import argparse
import logging
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from ..chat.conversation import Conversation
from ..chat.folder import load
from ..errors import InputError, MathLMError

HELP = "/reset forgets the conversation, /quit leaves; a line that begins with a blank is sent"
log = logging.getLogger(__name__)


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Options from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0], epilog=HELP)
    add = parser.add_argument
    add("--model", default="smollm2", help="'smollm2', a GGUF file, or a folder")
    add("--adapter", type=Path, help="folder of an adapter to put on the model")
    add("--tokenizer", help="'bytes', a file of ByteBPE.save or a folder; default: the model's")
    add("--format", default="auto", help="chatml, named, a JSON file; default: the model's")
    add("--system", help="system message: what the model is told before all else")
    add("--max-new-tokens", type=int, default=200, help="tokens of an answer at most")
    add("--temperature", type=float, default=0.7, help="0 takes the likeliest token")
    add("--top-k", type=int, help="draw from so many tokens")
    add("--top-p", type=float, help="draw from the fewest tokens of this probability")
    add("--min-p", type=float, help="draw from tokens this likely beside the likeliest")
    add("--repetition-penalty", type=float, default=1.0, help="1 = none")
    add("--seed", type=int, help="the same questions get the same answers")
    add("--device", default="auto", choices=["cpu", "cuda", "auto"], help="where to run")
    return parser.parse_args(argv)


def begin(args: argparse.Namespace) -> Conversation:
    """The conversation that the options ask for."""
    chat_model = load(
        args.model, args.adapter, tokenizer=args.tokenizer, form=args.format, device=args.device
    )
    return Conversation(
        chat_model,
        args.system,
        args.max_new_tokens,
        temperature=args.temperature,
        top_k=args.top_k,
        top_p=args.top_p,
        min_p=args.min_p,
        repetition_penalty=args.repetition_penalty,
        seed=args.seed,
    )


def lines() -> Iterator[str]:
    """What is typed, or comes through a pipe."""
    while True:
        try:
            yield input("> ") if sys.stdin.isatty() else next(sys.stdin)
        except (EOFError, StopIteration, KeyboardInterrupt):
            return


def talk(conversation: Conversation, questions: Iterable[str]) -> None:
    """Answer each line, until they end or /quit."""
    for line in questions:
        question = line.strip()
        if question in ("/quit", "/exit"):
            return
        if question == "/reset":
            conversation.reset()
            log.info("(the conversation is forgotten)")
        elif line.startswith("/"):
            log.info("(%s is no command: %s)", question.split()[0], HELP)
        elif question:
            answer(conversation, question)


def answer(conversation: Conversation, question: str) -> None:
    """Write one answer while it comes."""
    pieces = conversation.ask(question)
    try:
        for i, piece in enumerate(pieces):
            if i == 0 and conversation.forgotten:
                log.info("(the context is full: %d turns forgotten)", conversation.forgotten)
            sys.stdout.write(piece)
            sys.stdout.flush()
    except InputError as error:
        log.info("(%s)", error)
        return
    except KeyboardInterrupt:
        pieces.close()
        log.info("(ended)")
    sys.stdout.write("\n")
    sys.stdout.flush()
    if conversation.stream is not None and conversation.stream.finish == "length":
        log.info("(cut off after %d tokens)", len(conversation.stream.ids))


def main(argv: Sequence[str] | None = None) -> None:
    """Talk."""
    talk(begin(parse(argv)), lines())


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        main()
    except MathLMError as error:
        sys.exit(f"error: {error}")
    except BrokenPipeError:
        sys.stderr.close()
