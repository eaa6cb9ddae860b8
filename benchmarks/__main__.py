"""``make bench``: print the table of ratios and write ``benchmarks/results.json``.

A run of every row also writes ``book/results/bench.json``.
"""

import argparse
import json
import logging
import platform
import sys
from dataclasses import asdict
from pathlib import Path

import torch

from mathlm.train import write_record
from mathlm.train.record import device_name

from . import (
    adaptation,
    alignment,
    attention,
    generation,
    gpt,
    layers,
    optimizers,
    recurrent,
    reference,
    smollm2,
    tokenizers,
    training,
)
from .timing import Row

ALL = {
    **gpt.BENCHMARKS,
    **training.BENCHMARKS,
    **training.ON_CUDA,
    **attention.BENCHMARKS,
    **layers.BENCHMARKS,
    **optimizers.BENCHMARKS,
    **recurrent.BENCHMARKS,
    **tokenizers.BENCHMARKS,
    **smollm2.BENCHMARKS,
    **generation.BENCHMARKS,
    **adaptation.BENCHMARKS,
    **alignment.BENCHMARKS,
    **reference.BENCHMARKS,
}
HERE = Path(__file__).parent
RECORD = HERE.parent / "book" / "results" / "bench.json"
HEAD = (
    f"{'name':25} {'peer':30} {'version':19} {'ours':>10} {'theirs':>10} {'unit':10} "
    f"{'ratio':>6} {'of the rounds':>14}"
)


def processor() -> str:
    """The processor as Linux names it, and the widest instructions that torch uses on it."""
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    name = names[0] if names else platform.processor()
    return f"{name}, {torch.backends.cpu.get_cpu_capability()}"


def line(row: Row) -> str:
    """One row of the table."""
    numbers = f"{row.ours:>10} {row.theirs:>10} {row.unit:10} {row.ratio:>6}"
    spread = "" if row.spread is None else "{:.2f} to {:.2f}".format(*row.spread)
    return f"{row.name:25} {row.peer:30} {row.version:19} {numbers} {spread:>14}"


def main(argv: list[str]) -> int:
    """Run the benchmarks that are named, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"some of {', '.join(ALL)}")
    parser.add_argument("--device", default="cpu")
    args = parser.parse_args(argv)
    if unknown := set(args.names) - set(ALL):
        parser.error(f"no benchmark is called {', '.join(sorted(unknown))}")
    logging.getLogger("transformers").setLevel(logging.ERROR)
    print(f"{args.device}, {torch.get_num_threads()} threads, torch {torch.__version__}")
    print(HEAD)
    rows = []
    usual = [name for name in ALL if args.device != "cpu" or name not in training.ON_CUDA]
    for name in args.names or usual:
        rows.append(ALL[name](args.device))
        print(line(rows[-1]), flush=True)
    table = [asdict(row) | {"version": row.version} for row in rows]
    (HERE / "results.json").write_text(json.dumps(table, indent=1) + "\n")
    if not args.names:
        device = device_name(torch.device(args.device))
        write_record(RECORD, device=device, processor=processor(), rows=table)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
