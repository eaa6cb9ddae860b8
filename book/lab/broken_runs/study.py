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
    start, seeds = time.process_time(), range(args.seeds)
    twins = {k: [packed(run(HEALTHY[k](seed))) for seed in seeds] for k in args.kinds}
    broken = [
        {
            "name": fault.name,
            "kind": fault.kind,
            "runs": [packed(run(fault.plant(seed))) for seed in seeds],
        }
        for fault in FAULTS
        if fault.kind in args.kinds
    ]
    result = {"healthy": twins, "broken": broken}
    seconds = round(time.process_time() - start, 1)
    config = {"model": SHAPE, "seeds": args.seeds}
    record_on_cpu(args.record, config=config, cpu_seconds=seconds, **result)
    return result


if __name__ == "__main__":
    main()
