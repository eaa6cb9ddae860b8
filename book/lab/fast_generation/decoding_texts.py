"""Texts that a model writes behind the same beginnings, and what each of their tokens cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from mathlm.generate import IncrementalReader, beam_generate, stream
from mathlm.models import GPT
from mathlm.text import ByteBPE, Bytes, corpus, pretrained


@dataclass(frozen=True, eq=False)
class Writer:
    """A model, its tokenizer, and the beginnings that it continues.

    Args:
        model: The language model.
        tokenizer: Text to ids and back.
        prompts: (N, T), beginnings of passages of held-out plays.
        human: (N, n), how the plays go on.
    """

    model: GPT
    tokenizer: ByteBPE | Bytes
    prompts: Tensor
    human: Tensor


@dataclass(frozen=True, eq=False)
class Written:
    """New tokens, their log-probabilities and the entropies that they were drawn at, (N, n)."""

    ids: Tensor
    logp: Tensor
    entropy: Tensor


def passages(
    tokenizer: ByteBPE | Bytes, number: int, given: int, new: int, start: Sequence[int] = ()
) -> tuple[Tensor, Tensor]:
    """Beginnings of held-out passages, from a new line on, and how they go on."""
    text, rows = corpus.split("shakespeare")[1], []
    for i in range(number):
        begin = text.index("\n\n", (2 * i + 1) * len(text) // (2 * number)) + 2
        ids = tokenizer.encode(text[begin : begin + 12 * (given + new)])
        rows.append([*start, *ids[: given + new]])
    whole = torch.tensor(rows)
    return whole[:, : len(start) + given], whole[:, len(start) + given :]


def open_writer(name: str, model: Path | None, number: int, new: int) -> Writer:
    """SmolLM2 behind tokens of plays, or a model of bytes behind bytes of plays."""
    if name == "smollm2":
        path = pretrained.find("smollm2")
        bpe = ByteBPE.from_gguf(path)
        return Writer(GPT.from_pretrained(path), bpe, *passages(bpe, number, 24, new, [0]))
    gpt = GPT.from_pretrained(model or Path("book/results/shakespeare-gpt"))
    return Writer(gpt, Bytes(), *passages(Bytes(), number, 64, new))


def sample(writer: Writer, options: dict[str, Any], seed: int = 0) -> Written:
    """One text behind each prompt, drawn with these options of ``generate``."""
    parts = []
    new = writer.human.shape[1]
    for step in stream(writer.model, writer.prompts, new, seed=seed, **options):
        entropy = torch.special.entr(step.model_log_probabilities.exp()).sum(-1)
        parts.append((step.tokens, step.log_probabilities, entropy))
    return Written(*(torch.stack(column, 1) for column in zip(*parts, strict=True)))


def search(writer: Writer, beams: int) -> Written:
    """The likeliest text behind each prompt, as far as so many beams can see."""
    T, new = writer.prompts.shape[1], writer.human.shape[1]
    found = [beam_generate(writer.model, row, new, beams)[0].ids[T:] for row in writer.prompts]
    return read(writer, torch.stack(found))


@torch.no_grad()
def read(writer: Writer, ids: Tensor) -> Written:
    """What given texts cost behind the prompts, one at a time."""
    logps, entropies = [], []
    for prompt, row in zip(writer.prompts, ids, strict=True):
        whole = torch.cat((prompt, row))[None, :-1]
        logits = IncrementalReader(writer.model, 1, whole.shape[1]).read(whole, last=False)
        logp = logits[0, len(prompt) - 1 :].log_softmax(-1)  # (n, V)
        logps.append(logp.gather(1, row[:, None])[:, 0])
        entropies.append(torch.special.entr(logp.exp()).sum(-1))
    return Written(ids, torch.stack(logps), torch.stack(entropies))


def texts(writer: Writer, ids: Tensor) -> list[str]:
    """The new tokens of each row as text."""
    return [writer.tokenizer.decode(row) for row in ids.tolist()]
