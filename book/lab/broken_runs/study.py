"""Every planted fault and its healthy twin, from several seeds.

cd book
python -m lab.broken_runs.study --record results/broken-runs.json
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mathlm.train.record import record_on_cpu

from .columns import packed
from .faults import FAULTS
from .healthy import HEALTHY, SHAPE
from .loop import run


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Run all of them; returns and records what each recorded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--kinds", nargs="*", default=[*HEALTHY])
    parser.add_argument("--record", type=Path)
    args = parser.parse_args(argv)
    start = time.process_time()
    twins: dict[str, list[Any]] = {kind: [] for kind in args.kinds}
    chosen = [fault for fault in FAULTS if fault.kind in args.kinds]
    broken: list[dict[str, Any]] = [
        {"name": f.name, "kind": f.kind, "runs": []} for f in chosen
    ]
    result = {"healthy": twins, "broken": broken}
    for seed in range(args.seeds):
        for kind, runs in twins.items():
            runs.append(packed(run(HEALTHY[kind](seed))))
        for fault, entry in zip(chosen, broken, strict=True):
            entry["runs"].append(packed(run(fault.plant(seed))))
        config = {"model": SHAPE, "seeds": seed + 1}
        seconds = round(time.process_time() - start, 1)
        record_on_cpu(args.record, config=config, cpu_seconds=seconds, **result)
    return result


if __name__ == "__main__":
    main()
