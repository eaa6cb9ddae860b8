"""What the models of recipes.whole_stack are asked: to speak as somebody, and small talk.

A request for a speech is answered by one from the plays. The speeches of the held-out plays,
and their speakers, judge.
"""

from collections.abc import Iterable

import numpy as np

from ...text import Message, corpus, instructions, read_documents
from .stack_run import Result, Run, write_lines
from .stack_text import held_out_texts

SHORTEST, BYTES_PER_TOKEN = 20, 2.0  # a speech that an answer has room for [bytes]
LONGEST_NAME = 16
Pair = dict[str, str]


def speeches(texts: Iterable[str], longest: int) -> list[tuple[str, str]]:
    """Speaker and speech, of those that are neither too short nor too long [bytes]."""
    found = []
    for part in "\n\n".join(texts).split("\n\n"):
        name, _, speech = part.strip().partition(":\n")
        named = name.isupper() and len(name) <= LONGEST_NAME and "\n" not in name
        if named and SHORTEST <= len(speech.encode()) <= longest:
            found.append((name, speech.strip()))
    return found


def request(name: str) -> str:
    """What is asked for a speech."""
    return f"Speak as {name.title()}."


def as_requests(spoken: Iterable[tuple[str, str]]) -> list[Pair]:
    """Speeches as answers to requests."""
    return [{"prompt": request(name), "response": speech} for name, speech in spoken]


def talk(name: str, longest: int) -> list[Pair]:
    """Questions and answers of an installed set; of a long conversation, each pair of turns."""
    found = []
    for turns in instructions.load(name):
        for asked, answer in zip(turns[::2], turns[1::2], strict=False):
            if len(asked.content.encode()) + len(answer.content.encode()) <= longest:
                found.append({"prompt": asked.content, "response": answer.content})
    return found


def dictionary(number: int, longest: int) -> list[Pair]:
    """Questions for the first meaning of words."""
    lines = [text.split("\n")[0] for text in corpus.documents("glosses")[:number]]
    entries = [line.partition(" : ")[::2] for line in lines if len(line.encode()) <= longest]
    return [{"prompt": f"What does {w} mean?", "response": gloss} for w, gloss in entries]


def longest_speech(run: Run) -> int:
    """Bytes for which an answer has room."""
    return int(run.scale.answer * BYTES_PER_TOKEN)


def drawn(rows: list[Pair], number: int, rng: np.random.Generator) -> list[Pair]:
    """So many rows, or all of them, in a random order."""
    return [rows[i] for i in rng.permutation(len(rows))[:number]]


def instruct(run: Run) -> Result:
    """Requests for speeches, small talk and, at the largest scale, words to explain."""
    rng, scale, room = np.random.default_rng(run.seed), run.scale, longest_speech(run)
    texts = list(read_documents(run.place("documents.jsonl"), "text"))
    kinds = {"speeches": drawn(as_requests(speeches(texts, room)), scale.speeches, rng)}
    kinds["small talk"] = drawn(talk("chatterbot", room), scale.speeches // 2, rng)
    if scale.chitchat:
        kinds["conversations"] = drawn(talk("chitchat", room), 2 * scale.speeches, rng)
    if scale.glosses:
        kinds["dictionary"] = drawn(dictionary(scale.glosses, room), 2 * scale.speeches, rng)
    rows = [row for kind in kinds.values() for row in kind]
    write_lines(run.place("instructions.jsonl"), drawn(rows, len(rows), rng))
    sample = [kind[0] for kind in kinds.values() if kind]
    return {"rows": {k: len(v) for k, v in kinds.items()}, "sample": sample}


def speakers(run: Run) -> tuple[list[str], list[str]]:
    """Requests that the pairs are written for, and those that judge: no speaker in both."""
    texts = list(read_documents(run.place("documents.jsonl"), "text"))
    learned = {row["prompt"] for row in as_requests(speeches(texts, longest_speech(run)))}
    judged = {row["prompt"] for row in held_out_rows(run)}
    return sorted(learned - judged), sorted(judged - learned)


def held_out_rows(run: Run) -> list[Pair]:
    """Requests with speeches of the held-out plays."""
    return as_requests(speeches(held_out_texts(run), longest_speech(run)))


def held_out_conversations(run: Run, number: int) -> list[list[Message]]:
    """Some of them as conversations."""
    rows = drawn(held_out_rows(run), number, np.random.default_rng(run.seed))
    return [[Message("user", r["prompt"]), Message("assistant", r["response"])] for r in rows]
