"""What the fine-tuning studies teach to which model, and what they measure it on.

Questions and answers of a data package are new; plays are old for our GPT, and glosses are text
of a kind that SmolLM2 was not tuned on.
"""

from pathlib import Path

import numpy as np
import torch

from mathlm.align import ChatBatches
from mathlm.models import GPT
from mathlm.text import ByteBPE, Bytes, ChatFormat, corpus, pretrained
from mathlm.train import TokenWindows

from .fine_tuning_chats import Sizes, conversations, held_out_rows, questions, spread, used
from .fine_tuning_measures import Measures
from .fine_tuning_own_texts import OwnTexts
from .fine_tuning_run import Task

PLAYS = Path(__file__).parents[2] / "results" / "shakespeare-gpt"
FIRST = {Bytes: 10, ByteBPE: 0}  # the base writes behind a new line, at the start of a text
PROMPT = "Answer the question briefly, please. One sentence is enough, no more than that."
USUAL = Sizes()
SMALL = Sizes(held_out=12, old=8, own=8, length=64)
SMOLLM2 = Sizes(rows=1, context=192, held_out=5, old=4, own=8, length=64)


def task(
    base: GPT,
    tokenizer: Bytes | ByteBPE,
    format: ChatFormat,
    texts: tuple[str, str],
    sizes: Sizes,
) -> Task:
    """A task of a base.

    Args:
        base: The model.
        tokenizer: Its tokens, those of the markers among them.
        format: How conversations are written.
        texts: Old text that may be replayed, and old text that is held out.
        sizes: How much is read.
    """
    T, V = sizes.context, base.config.vocab_size
    train, choice, report = conversations(tokenizer, format, T)
    replayed, held_out = (np.array(tokenizer.encode(text)) for text in texts)
    old = spread(held_out, sizes.old, T, V)
    asked = torch.cat([batch["targets"].flatten() for batch in old]).tolist()
    return Task(
        base=base,
        data=lambda seed: ChatBatches(train, sizes.rows, seed=seed),
        old=lambda seed: TokenWindows(
            replayed, context=T, batch_size=sizes.rows, vocab_size=V, seed=seed
        ),
        measures=Measures(
            choice=held_out_rows(choice, sizes.held_out),
            report=held_out_rows(report, sizes.held_out),
            end=tokenizer.special[format.end],
            old=old,
            old_bytes=sum(len(tokenizer.token_bytes(i)) for i in asked),
            own=OwnTexts.of(base, FIRST[type(tokenizer)], sizes.own, sizes.length),
        ),
        prompt=tuple(tokenizer.encode(PROMPT)),
        markers=tuple(tokenizer.special[name] for name in used(format)),
        tokenizer=tokenizer,
        format=format,
        questions=questions(),
    )


def plays(sizes: Sizes = USUAL) -> Task:
    """Our GPT of the plays; bytes that no text has are the markers."""
    format = ChatFormat.named()
    return task(
        GPT.from_pretrained(PLAYS),
        Bytes(format.special),
        format,
        corpus.split("shakespeare"),
        sizes,
    )


def smollm2(sizes: Sizes = SMOLLM2) -> Task:
    """SmolLM2, which was tuned on conversations already; old text are glosses."""
    path = pretrained.find("smollm2")
    replayed, held_out = corpus.split("glosses")
    texts = (replayed[:60_000], held_out[:60_000])
    return task(
        GPT.from_pretrained(path), ByteBPE.from_gguf(path), ChatFormat.chatml(), texts, sizes
    )
