"""The stages that make text: from raw text to tokens, and to requests with their answers.

The raw text is passages of plays that were made dirty in known ways, so that what the cleaning
does can be judged: markup, menus, wrong characters, junk, copies, altered copies, and pieces of
the plays that are held out. A request for a speech is answered by one from the plays; the
speeches of the held-out plays, and their speakers, judge.
"""

import bz2
import json
import lzma
from collections.abc import Iterable

import numpy as np

from ...text import (
    ByteBPE,
    ChatFormat,
    KneserNey,
    Message,
    bits_per_byte,
    conditional_bits_per_byte,
    corpus,
    instructions,
    read_documents,
    write_tokens,
)
from ...text.corpora.token_file import END
from ...text.tokenizers.named import Tokenizer
from ..prepare import Cleaning, PrepareConfig, prepared_texts
from .dirt import passages, plant, write
from .mix import mixed
from .pipeline import Result, Run, write_lines

FORMAT = ChatFormat.chatml()
SHORTEST, BYTES_PER_TOKEN = 20, 2.0  # a speech that an answer has room for [bytes]
LONGEST_NAME = 16
TEXT = 20_000  # tokens of the held-out plays that are scored
ORDERS = (2, 4, 6)  # letters of the longest run that a table counts
COMPRESSORS = {"xz": lambda data: lzma.compress(data, preset=6), "bz2": bz2.compress}
Pair = dict[str, str]


def raw(run: Run) -> Result:
    """Passages of plays as a crawler would bring them."""
    every = len(passages(corpus.split("shakespeare")[0]))
    size = every if run.scale.documents is None else run.scale.documents
    data = plant(size, run.scale.planted, np.random.default_rng(run.seed))
    write(data, run.place("raw"))
    clean = set(data.originals) - {data.originals[i] for i in data.junk}
    return {
        "documents": len(data.documents),
        "bytes": sum(len(text.encode()) for text in data.documents),
        "planted": {"junk": len(data.junk), "exact": len(data.exact), "near": len(data.near)},
        "right": sum(text in clean for text in data.documents) / len(data.documents),
        "sample": max(data.documents[:40], key=lambda text: text.count("<"))[:240],
    }


def cleaned(run: Run) -> Result:
    """Markup and junk out, copies out, and what repeats the held-out plays."""
    folder = run.place("raw")
    test = folder / "test.jsonl"
    rules = Cleaning(test=test, near=0.5, index="numpy", quality="gopher")
    data, out = folder / "documents.jsonl", run.place("tokens")
    texts, report = prepared_texts(PrepareConfig(data=data, out=out, cleaning=rules))
    write_lines(run.place("documents.jsonl"), [{"text": text} for text in texts])
    return report | against_truth(run, texts)


def against_truth(run: Run, texts: list[str]) -> Result:
    """What is left of the dirt that was put in."""
    originals = list(read_documents(run.place("raw", "originals.jsonl"), "text"))
    truth = json.loads(run.place("raw", "truth.json").read_text(encoding="utf-8"))
    kept, junk = set(texts), {originals[i] for i in truth["junk"]}
    found: Result = {"junk left": len(junk & kept)}
    for kind in ("exact", "near"):
        both = [{originals[i], originals[j]} <= kept for i, j in truth[kind]]
        found[f"{kind} left"] = sum(both)
    right = kept & (set(originals) - junk)
    return found | {
        "right": len(right) / len(texts),
        "sample": min(texts, key=lambda text: abs(len(text) - 600))[:240],
    }


def tokens(run: Run) -> Result:
    """A tokenizer learned from what is left, and the text as its tokens."""
    texts = all_texts(run, list(read_documents(run.place("documents.jsonl"), "text")))
    special = [END, *FORMAT.special]
    bpe = ByteBPE.train(texts, run.scale.vocab_size, special=special)
    bpe.save(run.place("tokenizer.json"))
    manifest = write_tokens(texts, run.place("tokens"), bpe, end_id=bpe.special[END])
    held_out = "".join(held_out_texts(run))
    pieces = bpe.encode(held_out)
    return {
        "tokens": manifest.tokens,
        "vocab_size": bpe.vocab_size,
        "bytes": sum(len(text.encode()) for text in texts),
        "bytes_per_token": len(held_out.encode()) / len(pieces),
        "sample": [bpe.decode([i]) for i in pieces[:24]],
    }


def all_texts(run: Run, texts: list[str]) -> list[str]:
    """Plays and what else a scale reads, in a random order: a part of each is held out."""
    scale, plays = run.scale, len(texts)
    texts = mixed(texts, scale.glosses, scale.encyclopedia, scale.read_talks)
    if len(texts) == plays:
        return texts
    return [texts[i] for i in np.random.default_rng(run.seed).permutation(len(texts))]


def held_out_texts(run: Run) -> list[str]:
    """Passages of the plays that no stage learns from."""
    return list(read_documents(run.place("raw", "test.jsonl"), "text"))


def scored_tokens(run: Run, tokenizer: Tokenizer) -> list[int]:
    """The start of the held-out plays, on which models are compared."""
    return list(tokenizer.encode("".join(held_out_texts(run)))[:TEXT])


def baselines(run: Run) -> Result:
    """What tables of counts and compressors that read the same text charge for the plays."""
    texts = all_texts(run, list(read_documents(run.place("documents.jsonl"), "text")))
    bpe, training = ByteBPE.load(run.place("tokenizer.json")), "".join(texts).encode()
    plays = bpe.decode(scored_tokens(run, bpe)).encode()
    tables = {}
    for order in ORDERS:
        nats = -KneserNey(order, training).log_probabilities(plays).sum()
        tables[f"order {order}"] = bits_per_byte(float(nats), len(plays))
    packed = {
        name: conditional_bits_per_byte(pack, training, plays)
        for name, pack in COMPRESSORS.items()
    }
    return {"held_out_bytes": len(plays), "tables": tables, "compressors": packed}


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
