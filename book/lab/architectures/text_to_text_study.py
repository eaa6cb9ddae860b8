"""Does filling holes in counting help to learn tasks from few examples?

    cd book
    python -m lab.architectures.text_to_text_study --record text-to-text.json

The runs of :mod:`text_to_text` with all and with few labeled numbers; with the few also after
pretraining on spans and, for comparison, with as many steps on the tasks alone.
"""

import argparse
import itertools
import time
from collections.abc import Sequence
from pathlib import Path

from mathlm.train.record import record_on_cpu

from .small_t5 import TextToTextConfig
from .text_to_text import train


def run(config: TextToTextConfig) -> dict:
    """One run as a row of the record; losses as means over ten steps."""
    began = time.process_time()
    model, before, loss, right = train(config)
    tens = [
        [sum(x[i : i + 10]) / len(x[i : i + 10]) for i in range(0, len(x), 10)]
        for x in (before, loss)
    ]
    return {
        "config": config,
        "parameters": sum(p.numel() for p in model.parameters()),
        "pretraining": tens[0],
        "loss": tens[1],
        "right": right,
        "cpu_seconds": time.process_time() - began,
    }


def main(argv: Sequence[str] | None = None) -> list[dict]:
    """Train with every amount of labels and every seed; returns, and may record, the rows."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", type=Path)
    for name, default in (("steps", 450), ("seeds", 3), ("labeled", 100), ("pretrain", 1000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args, results = parser.parse_args(argv), []
    few, long = args.labeled, args.pretrain + args.steps
    alone = [(None, 0, args.steps), (few, 0, args.steps), (few, 0, long)]
    cases = [*alone, (few, args.pretrain, args.steps)]
    for seed, (labeled, pretrain, steps) in itertools.product(range(args.seeds), cases):
        config = TextToTextConfig(labeled=labeled, pretrain=pretrain, steps=steps, seed=seed)
        results.append(run(config))
        print(f"{labeled or 'all'} labels, {pretrain} + {steps} steps:", results[-1]["right"])
        record_on_cpu(args.record, config=vars(args), results=results)
    return results


if __name__ == "__main__":
    main()
