"""From a folder of documents to a file of tokens: clean, filter, deduplicate, tokenize."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ..errors import DataError
from ..text import (
    C4_RULES,
    GOPHER_RULES,
    ByteBPE,
    Bytes,
    clean,
    common_lines,
    contamination,
    exact_duplicates,
    filter_quality,
    first_of_group,
    near_duplicates,
    read_documents,
    write_tokens,
)
from ..text.corpora.token_file import END
from ..text.tokenizers.named import Tokenizer
from .command import Maybe, execute, parse
from .result import left_out, places, say

RULES = {"none": (), "c4": C4_RULES, "gopher": GOPHER_RULES, "both": GOPHER_RULES + C4_RULES}
DROPPED = ("empty", "low quality", "exact duplicates", "near duplicates", "in test")


@dataclass(frozen=True, kw_only=True)
class Cleaning:
    """What is dropped."""

    common_lines: Maybe[int] = None
    """Drop lines that stand in so many documents or more, such as menus; None: none."""
    quality: Literal["none", "c4", "gopher", "both"] = "none"
    """Quality filter: rules of thumb, made for web pages."""
    near: float = 0.8
    """Least similarity of near duplicates, 0 to 1, of which one stays; 0: all stay."""
    index: Literal["datasketch", "numpy"] = "datasketch"
    """What finds near duplicates: the package datasketch, or mathlm's own, which is faster."""
    test: Maybe[Path] = None
    """Decontamination: documents whose runs of 13 words no other may share; None: no test."""


@dataclass(frozen=True, kw_only=True)
class Tokens:
    """How the text is cut into tokens."""

    tokenizer: str = "bytes"
    """'bytes', or the file of a saved ByteBPE."""
    vocab_size: Maybe[int] = None
    """Train a byte-level BPE of this size, saved as OUT.tokenizer.json; None: --tokenizer."""


@dataclass(frozen=True, kw_only=True)
class PrepareConfig:
    """Prepare raw text for pretraining: clean, filter, deduplicate, decontaminate, tokenize.

    Says how many documents each step dropped. The file of tokens can be the --data of
    mathlm pretrain, with the same --tokenizer.

        mathlm prepare --data my-texts --out tokens.bin --vocab-size 4096
        mathlm pretrain --data tokens.bin --tokenizer tokens.bin.tokenizer.json
    """

    data: Path
    """File or folder of .txt, .md and .jsonl."""
    out: Path
    """File of tokens to write; OUT.json, which describes it, goes beside."""
    field: str = "text"
    """Name under which a line of .jsonl has its text."""
    cleaning: Cleaning = Cleaning()
    tokens: Tokens = Tokens()


def deduplicated(texts: list[str], rules: Cleaning) -> tuple[list[str], dict[str, int]]:
    """The first of each group of equal or similar documents, and how many were dropped."""
    first = exact_duplicates(texts)
    kept = [text for i, text in enumerate(texts) if first[i] == i]
    counts = {"exact duplicates": len(texts) - len(kept)}
    if rules.near:
        pairs = near_duplicates(kept, rules.near, index=rules.index)
        groups = first_of_group(len(kept), pairs)
        counts["near duplicates"] = int((groups != range(len(kept))).sum())
        kept = [text for i, text in enumerate(kept) if groups[i] == i]
    return kept, counts


def without_test(texts: list[str], config: PrepareConfig) -> tuple[list[str], dict[str, int]]:
    """The documents that share no run of words with the test documents."""
    if config.cleaning.test is None:
        return texts, {}
    test = read_documents(config.cleaning.test, config.field)
    found = set(contamination(test, texts).documents)
    return [text for i, text in enumerate(texts) if i not in found], {"in test": len(found)}


def tokenizer(texts: list[str], config: PrepareConfig) -> tuple[Tokenizer, int | None]:
    """The tokenizer that was asked for, and its id for the end of a document."""
    if config.tokens.vocab_size:
        bpe = ByteBPE.train(texts, config.tokens.vocab_size, special=[END])
        bpe.save(config.out.with_name(config.out.name + ".tokenizer.json"))
        return bpe, bpe.special[END]
    if config.tokens.tokenizer == "bytes":
        return Bytes(), None
    bpe = ByteBPE.load(config.tokens.tokenizer)
    return bpe, bpe.special.get(END)


def prepared_texts(config: PrepareConfig) -> tuple[list[str], dict[str, Any]]:
    """The documents that are kept, and how many each stage dropped."""
    rules = config.cleaning
    raw = list(read_documents(config.data, config.field))
    lines = common_lines(raw, rules.common_lines) if rules.common_lines else ()
    cleaned = [clean(text, lines=lines) for text in raw]
    changes = {rule: sum(c.counts[rule] for c in cleaned) for rule in cleaned[0].counts}
    texts = [c.text for c in cleaned if c.text.strip()]
    report = {"documents": len(raw), "changes": changes, "empty": len(raw) - len(texts)}
    kept, broken = filter_quality(texts, RULES[rules.quality])
    report["low quality"] = len(texts) - len(kept)
    report["rules"] = {name: count for name, count in broken.items() if count}
    texts, duplicates = deduplicated([texts[i] for i in kept], rules)
    texts, leaked = without_test(texts, config)
    if not texts:
        raise DataError(f"none of the {len(raw)} documents of {config.data} is left: {report}")
    return texts, report | duplicates | leaked | {"kept": len(texts)}


def run(config: PrepareConfig) -> dict[str, Any]:
    """Prepare the documents; returns how many each stage dropped and what was written."""
    start = time.perf_counter()
    texts, report = prepared_texts(config)
    encoder, end = tokenizer(texts, config)
    manifest = write_tokens(texts, config.out, encoder, end_id=end)
    found = report | {"tokens": manifest.tokens}
    say_result(config, found, time.perf_counter() - start)
    return found


def say_result(config: PrepareConfig, found: dict[str, Any], seconds: float) -> None:
    """The table at the end."""
    dropped = {n: found[n] for n in DROPPED if n in found}
    rows = [("documents", f"{found['documents']:,}"), *left_out(dropped)]
    rows += [("kept", f"{found['kept']:,}"), ("tokens", f"{found['tokens']:,}")]
    learned = config.out.with_name(config.out.name + ".tokenizer.json")
    own = learned if config.tokens.vocab_size else None
    name = own or (config.tokens.tokenizer if config.tokens.tokenizer != "bytes" else None)
    option = "" if name is None else f" --tokenizer {name}"
    following = [f"mathlm pretrain --data {config.out}{option}"]
    say(rows, places(seconds, following, written_to=config.out, tokenizer=own))


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """The command ``mathlm prepare``."""
    return run(parse(PrepareConfig, argv, prog="mathlm prepare"))


if __name__ == "__main__":
    execute(main)
