"""Seconds of steps of SmolLM2 on one core, for batches and prompts, and a line through them.

cd book
python -m lab.serving.step_study --record serving-steps.json
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from mathlm.generate import IncrementalReader
from mathlm.models import GPT
from mathlm.scaling.measured import cpu_seconds
from mathlm.text import pretrained
from mathlm.train.record import record_on_cpu

from .scheduler import StepCost

BATCHES, CACHED, PROMPTS = (1, 2, 4, 8, 16), (16, 256), (32, 64, 128, 256)


def fit(rows: Sequence[dict[str, Any]]) -> tuple[StepCost, float]:
    """The cost of a step by least squares of relative errors, and their root mean square."""
    x = np.array([[1.0, r["new"], r["cached"]] for r in rows])
    seconds = np.array([r["seconds"] for r in rows])
    a, *_ = np.linalg.lstsq(x / seconds[:, None], np.ones(len(x)), rcond=None)
    off = x @ a / seconds - 1
    return StepCost(*a.tolist()), float(np.sqrt(np.mean(off**2)))


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Measure; each time is the least of some turns of CPU time."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", type=Path)
    parser.add_argument("--turns", type=int, default=4)
    args = parser.parse_args(argv)
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = GPT.from_pretrained(pretrained.find("smollm2")).eval()
    rows: list[dict[str, Any]] = []
    for B in BATCHES:
        for cached in CACHED:
            reader = IncrementalReader(model, B, cached + 1)
            ids = torch.randint(49_152, (1, cached + 1)).repeat(B, 1)
            reader.read(ids[:, :cached])

            def decode(reader=reader, ids=ids, cached=cached):
                reader.rewind(cached)
                reader.read(ids[:, cached:])

            seconds = cpu_seconds(decode, args.turns)
            rows.append({"new": B, "cached": B * (cached + 1), "seconds": seconds})
            rows[-1]["kind"] = "decode"
    for n in PROMPTS:
        ids = torch.randint(49_152, (1, n))
        seconds = cpu_seconds(lambda n=n, ids=ids: IncrementalReader(model, 1, n).read(ids), 3)
        rows.append({"new": n, "cached": n, "seconds": seconds, "kind": "prefill"})
    cost, off = fit(rows)
    record = {"rows": rows, "cost": vars(cost), "relative_error": off}
    record_on_cpu(args.record, **record)
    return record


if __name__ == "__main__":
    print(main())
