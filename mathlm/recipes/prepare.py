"""From a folder of documents to a file of tokens: clean, filter, deduplicate, tokenize."""

import argparse
import logging
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import DataError, MathLMError
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

RULES = {"none": (), "c4": C4_RULES, "gopher": GOPHER_RULES, "both": GOPHER_RULES + C4_RULES}
END = "<|endoftext|>"


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Options from the command line."""
    defaults = argparse.ArgumentDefaultsHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=defaults)
    add = parser.add_argument
    add("--data", type=Path, required=True, help="file or folder of .txt, .md and .jsonl")
    add("--out", type=Path, required=True, help="file of tokens to write; OUT.json goes beside")
    add("--field", default="text", help="name under which a line of .jsonl has its text")
    add("--common-lines", type=int, help="drop lines that stand in so many documents")
    add("--quality", default="none", choices=RULES, help="rules of thumb, made for web pages")
    add("--near", type=float, default=0.8, help="least similarity of near duplicates; 0: none")
    add(
        "--index", default="datasketch", choices=["datasketch", "numpy"], help="what finds them"
    )
    add("--test", type=Path, help="documents whose runs of 13 words the others may not share")
    add("--tokenizer", default="bytes", help='"bytes", or the file of a saved ByteBPE')
    add("--vocab-size", type=int, help="train a ByteBPE of this size; it is saved beside OUT")
    return parser.parse_args(argv)


def deduplicated(
    texts: list[str], args: argparse.Namespace
) -> tuple[list[str], dict[str, int]]:
    """The first of each group of equal or similar documents, and how many were dropped."""
    first = exact_duplicates(texts)
    kept = [text for i, text in enumerate(texts) if first[i] == i]
    counts = {"exact duplicates": len(texts) - len(kept)}
    if args.near:
        groups = first_of_group(len(kept), near_duplicates(kept, args.near, index=args.index))
        counts["near duplicates"] = int((groups != range(len(kept))).sum())
        kept = [text for i, text in enumerate(kept) if groups[i] == i]
    return kept, counts


def without_test(
    texts: list[str], args: argparse.Namespace
) -> tuple[list[str], dict[str, int]]:
    """The documents that share no run of words with the test documents."""
    if args.test is None:
        return texts, {}
    found = set(contamination(read_documents(args.test, args.field), texts).documents)
    return [text for i, text in enumerate(texts) if i not in found], {"in test": len(found)}


def tokenizer(texts: list[str], args: argparse.Namespace) -> tuple[Any, int | None]:
    """The tokenizer that was asked for, and its id for the end of a document."""
    if args.vocab_size:
        bpe = ByteBPE.train(texts, args.vocab_size, special=[END])
        bpe.save(args.out.with_name(args.out.name + ".tokenizer.json"))
        return bpe, bpe.special[END]
    if args.tokenizer == "bytes":
        return Bytes(), None
    bpe = ByteBPE.load(args.tokenizer)
    return bpe, bpe.special.get(END)


def prepared_texts(args: argparse.Namespace) -> tuple[list[str], dict[str, Any]]:
    """The documents that are kept, and how many each stage dropped."""
    raw = list(read_documents(args.data, args.field))
    lines = common_lines(raw, args.common_lines) if args.common_lines else ()
    cleaned = [clean(text, lines=lines) for text in raw]
    changes = {rule: sum(c.counts[rule] for c in cleaned) for rule in cleaned[0].counts}
    texts = [c.text for c in cleaned if c.text.strip()]
    report = {"documents": len(raw), "changes": changes, "empty": len(raw) - len(texts)}
    kept, broken = filter_quality(texts, RULES[args.quality])
    report["low quality"] = len(texts) - len(kept)
    report["rules"] = {name: count for name, count in broken.items() if count}
    texts, duplicates = deduplicated([texts[i] for i in kept], args)
    texts, leaked = without_test(texts, args)
    if not texts:
        raise DataError(f"none of the {len(raw)} documents of {args.data} is left: {report}")
    return texts, report | duplicates | leaked | {"kept": len(texts)}


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Prepare the documents; returns how many each stage dropped and what was written."""
    args = parse(argv)
    texts, report = prepared_texts(args)
    encoder, end = tokenizer(texts, args)
    manifest = write_tokens(texts, args.out, encoder, end_id=end)
    return report | {"tokens": manifest.tokens}


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        logging.info("%s", main())
    except MathLMError as error:
        sys.exit(f"error: {error}")
