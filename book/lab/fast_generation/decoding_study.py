"""What decoding does to text: temperatures, truncations and beams, and how people write.

    cd book
    python -m lab.fast_generation.decoding_study smollm2 --new 64 --record decoding.json
    python -m lab.fast_generation.decoding_study plays --model results/shakespeare-gpt \
        --new 192 --length 28 --times 6 --record decoding.json

Each way of decoding continues the same beginnings of held-out plays. The writer prices its own
text, and so does a judge that is not the writer: counts of the other plays.
"""

import argparse
import json
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from mathlm.text import KneserNey, corpus
from mathlm.train.record import record_on_cpu

from .decoding_measures import ORDER, beginnings, by_groups, measure, said_again
from .decoding_texts import (
    Writer,
    Written,
    open_writer,
    read,
    sample,
    search,
    texts,
)

SETTINGS: list[dict[str, Any]] = [
    *({"temperature": t} for t in (0.0, 0.5, 0.7, 0.85, 1.0, 1.2, 1.5)),
    {"top_k": 20},
    *({"top_p": p} for p in (0.5, 0.8, 0.95)),
    *({"min_p": p} for p in (0.05, 0.2)),
    {"typical_p": 0.2},
]
WIDTHS = (8,)  # one beam is temperature 0
SHOWN, CURVES = 3, 1  # texts of each kind in the record, and rows of log-probabilities


def ways(
    writer: Writer, settings: Sequence[dict[str, Any]], widths: Sequence[int]
) -> Iterator[tuple[dict[str, Any], Callable[[], Written]]]:
    """Each way to go on, named by its options, and the texts that it gives."""
    yield {"human": True}, lambda: read(writer, writer.human)
    for options in settings:
        yield options, partial(sample, writer, options)
    for beams in widths:
        yield {"beams": beams}, partial(search, writer, beams)


def compare(
    writer: Writer,
    counts: KneserNey,
    settings: Sequence[dict[str, Any]] = SETTINGS,
    widths: Sequence[int] = WIDTHS,
) -> Iterator[dict[str, Any]]:
    """A row for each way of decoding, and one for how people write."""
    for options, write in ways(writer, settings, widths):
        began = time.process_time()
        written = write()
        row = {"options": options} | measure(writer, written, counts)
        row["groups"] = by_groups(writer, written, counts)
        row["texts"] = texts(writer, written.ids[:SHOWN])
        row["logp"] = [[round(x, 3) for x in r] for r in written.logp[:CURVES].tolist()]
        yield row | {"cpu_seconds": time.process_time() - began}


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Write and measure; returns, and may record, what was found.

    The record keeps what it holds of the other writer.
    """
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("writer", choices=["smollm2", "plays"])
    parser.add_argument("--model", type=Path, help="folder of the model of bytes")
    parser.add_argument("--record", type=Path)
    for name, default in (("number", 64), ("new", 48), ("length", 16), ("times", 10)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args(argv)
    if args.number < 2 or args.times < 1 or not 1 <= args.length <= args.new:
        parser.error("--number must be at least 2, --times 1, and --length within --new")
    writer = open_writer(args.writer, args.model, args.number, args.new)
    counts = KneserNey(ORDER, corpus.split("shakespeare")[0].encode())
    record: dict[str, Any] = {"config": vars(args), "rows": []}
    record["prompts"] = beginnings(writer)[:SHOWN]
    record["said_again"] = said_again(writer, args.length, args.times)
    for row in compare(writer, counts):
        record["rows"].append(row)
        print({k: v for k, v in row.items() if k not in ("texts", "logp")}, flush=True)
        keep(args.record, args.writer, record)
    return record


def keep(path: Path | None, name: str, part: dict[str, Any]) -> None:
    """Write the part of one writer; that of the other stays."""
    known = path is not None and path.exists()
    others = json.loads(path.read_text())["writers"] if path is not None and known else {}
    record_on_cpu(path, writers=others | {name: part})


if __name__ == "__main__":
    main()
