"""Talk with a model in the terminal."""

import logging
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..chat.conversation import Conversation
from ..chat.folder import load
from ..errors import InputError
from ..train.distributed import DeviceName
from .command import Maybe, execute, flat, parse
from .generate import Sampling, with_breaks

HELP = "/reset forgets the conversation, /quit leaves; a line that begins with a blank is sent"
log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class ChatConfig:
    """Talk with a model in the terminal, or ask it one thing.

    Each line is a question. /reset forgets the conversation, /quit or the end of the input
    leaves; Ctrl-C ends an answer. Answers go to standard output, all else to standard error.

        mathlm chat --model runs/my-smollm2-lora
        mathlm chat --model smollm2 --adapter runs/my-smollm2-lora
        mathlm chat --model smollm2 --prompt "What is rain?"
    """

    model: str = "smollm2"
    """'smollm2', a GGUF file, or a folder: of Hugging Face, or a result of these commands."""
    adapter: Maybe[Path] = None
    """Folder of an adapter (LoRA) to put on the model; None: no adapter."""
    prompt: Maybe[str] = None
    r"""One question, whose answer is all; \n stands for a line break. None: a conversation."""
    tokenizer: Maybe[str] = None
    """'bytes', a file of ByteBPE.save, or a folder; None: the model's own."""
    format: str = "auto"
    """Chat template: chatml, named, or a JSON file; auto: the model's own."""
    system: Maybe[str] = None
    """System message: what the model is told before all else; None: nothing."""
    max_new_tokens: int = 200
    """Length of an answer at most [tokens]."""
    device: DeviceName = "auto"
    """Where to run."""
    sampling: Sampling = field(default_factory=lambda: Sampling(temperature=0.7))


def begin(config: ChatConfig) -> Conversation:
    """The conversation that the options ask for."""
    chat_model = load(
        config.model,
        config.adapter,
        tokenizer=config.tokenizer,
        form=config.format,
        device=config.device,
    )
    sampling = flat(config.sampling)
    return Conversation(chat_model, config.system, config.max_new_tokens, **sampling)


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
            try:
                answer(conversation, question)
            except InputError as error:
                log.info("(%s)", error)


def answer(conversation: Conversation, question: str) -> None:
    """Write one answer while it comes.

    Raises:
        InputError: If the question does not fit, or is no text.
    """
    pieces = conversation.ask(question)
    try:
        for i, piece in enumerate(pieces):
            if i == 0 and conversation.forgotten:
                log.info("(the context is full: %d turns forgotten)", conversation.forgotten)
            sys.stdout.write(piece)
            sys.stdout.flush()
    except KeyboardInterrupt:
        pieces.close()
        log.info("(ended)")
    sys.stdout.write("\n")
    sys.stdout.flush()
    if conversation.stream is not None and conversation.stream.finish == "length":
        log.info("(cut off after %d tokens)", len(conversation.stream.ids))


def run(config: ChatConfig) -> None:
    """Talk, or answer the one question."""
    conversation = begin(config)
    if config.prompt is None:
        talk(conversation, lines())
    else:
        answer(conversation, with_breaks(config.prompt))


def main(argv: Sequence[str] | None = None) -> None:
    """The command ``mathlm chat``."""
    run(parse(ChatConfig, argv, prog="mathlm chat"))


if __name__ == "__main__":
    execute(main)
