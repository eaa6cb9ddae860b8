"""Two models steered by rewards, what they write then, and what stops them from cheating.

    cd book
    python -m lab.reward_hacking.steering --pieces pieces --record steering.json

The GPT of the plays is to sound glad, by a list of rated words; SmolLM2 is to get sums right.
The record holds:

- ``config``: openings, bytes of held-out plays, tolerance;
- ``plays``: by name ("no price", "small price", "large price", "ppo", "one judge", "three
  judges") a run: ``setting``; ``history``, a record of each iteration (reward, reward_std, kl
  and kl_k3 [nats/text], entropy [nats/token], length, finished; of PPO also value,
  explained_variance, clip_share, moved); ``looks``, every 6 iterations, the first at 0:
  iteration, reward (the run's own), all_words (score by all rated words), judge (score by a
  quarter of the words that no part knows), kl, kl_k3, entropy, plays (surprise of held-out
  plays [bits/byte]), distinct (share of different words), samples (8 of prompt, completion,
  reward); ``cpu_seconds``;
- ``early_stop``: by name, the last look before held-out plays surprise by more than the
  tolerance above the start, with its iteration;
- ``sums``: a run of SmolLM2 with LoRA: looks at sums not trained on, each asked 8 times (reward
  = share that is right, right = that of each sum; plays in nats/token), history, setting,
  cpu_seconds.

A study keeps its pieces and goes on where it was stopped.
"""

import argparse
import logging
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from lab.fine_tuning.fine_tuning_search import kept
from mathlm.train.record import record_on_cpu

from .steering_looks import HELD_OUT, OPENINGS
from .steering_plays import Steering, steer
from .steering_sums import steer_sums

TOLERANCE = 0.5  # bits/byte that held-out plays may surprise more
RUNS = {
    "no price": Steering(beta=0.0),
    "small price": Steering(beta=0.02),
    "large price": Steering(beta=0.1),
    "ppo": Steering(method="ppo", beta=0.02),
    "one judge": Steering(reward="one judge", beta=0.0),
    "three judges": Steering(reward="three judges", beta=0.0),
}


def early_stop(run: dict[str, Any]) -> dict[str, Any]:
    """The last look before the plays surprise by more than the tolerance above the start."""
    looks, kept_look = run["looks"], run["looks"][0]
    for seen in looks:
        if seen["plays"] > looks[0]["plays"] + TOLERANCE:
            break
        kept_look = seen
    return {k: v for k, v in kept_look.items() if k != "samples"}


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Run what is missing; with all runs there, write the record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--pieces", type=Path, default=Path("pieces"))
    parser.add_argument("--record", type=Path)
    args = parser.parse_args(argv)
    runs = {}
    for name, setting in RUNS.items():
        make = partial(steer, setting)
        runs[name] = kept(args.pieces, f"steering {name}", make)
        logging.info("%s: %s", name, runs[name]["looks"][-1]["samples"][:2])
    sums = kept(args.pieces, "steering sums", steer_sums)
    config = {"openings": OPENINGS, "held_out_bytes": HELD_OUT, "tolerance": TOLERANCE}
    stops = {name: early_stop(run) for name, run in runs.items()}
    record_on_cpu(args.record, config=config, plays=runs, early_stop=stops, sums=sums)
    return {"plays": runs, "early_stop": stops, "sums": sums}


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    main()
