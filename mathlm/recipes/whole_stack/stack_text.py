"""From raw text to tokens: the first stages of recipes.whole_stack.

The raw text is passages of plays that were made dirty in known ways, so that what the cleaning
does can be judged: markup, menus, wrong characters, junk, copies, altered copies, and pieces of
the plays that are held out.
"""

import json

import numpy as np

from ...text import ByteBPE, ChatFormat, corpus, read_documents, write_tokens
from .. import prepare
from ..prepare import END
from . import dirty_text
from .dirt import passages
from .stack_run import Result, Run, write_lines

FORMAT = ChatFormat.chatml()


def raw(run: Run) -> Result:
    """Passages of plays as a crawler would bring them."""
    every = len(passages(corpus.split("shakespeare")[0]))
    size = every if run.scale.documents is None else run.scale.documents
    options = {"documents": size, "planted": run.scale.planted, "seed": run.seed}
    flags = [text for name, x in options.items() for text in (f"--{name}", str(x))]
    data = dirty_text.main([*flags, "--out", str(run.place("raw"))])
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
    flags: dict[str, object] = {"data": folder / "documents.jsonl"}
    flags |= {"test": folder / "test.jsonl", "near": 0.5, "index": "numpy"}
    flags |= {"out": run.place("tokens"), "quality": "gopher"}
    args = prepare.parse([text for k, x in flags.items() for text in (f"--{k}", str(x))])
    texts, report = prepare.prepared_texts(args)
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
    texts = with_glosses(run, list(read_documents(run.place("documents.jsonl"), "text")))
    special = [END, *FORMAT.special]
    bpe = ByteBPE.train(texts, run.scale.vocab_size, special=special)
    bpe.save(run.place("tokenizer.json"))
    manifest = write_tokens(texts, run.place("tokens"), bpe, end_id=bpe.special[END])
    held_out = "".join(held_out_texts(run))
    pieces = bpe.encode(held_out)
    return {
        "tokens": manifest.tokens,
        "vocab_size": bpe.vocab_size,
        "bytes_per_token": len(held_out.encode()) / len(pieces),
        "sample": [bpe.decode([i]) for i in pieces[:24]],
    }


def with_glosses(run: Run, texts: list[str]) -> list[str]:
    """Plays and entries of a dictionary in a random order, so that both are held out."""
    if not run.scale.glosses:
        return texts
    texts = [*texts, *corpus.documents("glosses")[: run.scale.glosses]]
    return [texts[i] for i in np.random.default_rng(run.seed).permutation(len(texts))]


def held_out_texts(run: Run) -> list[str]:
    """Passages of the plays that no stage learns from."""
    return list(read_documents(run.place("raw", "test.jsonl"), "text"))
