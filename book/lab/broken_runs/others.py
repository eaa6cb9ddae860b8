"""Runs of other pages, by which no threshold was chosen, as records to diagnose."""

import json
from collections.abc import Iterator
from typing import Any

from .columns import RECORD

STACKS = ("whole-stack", "whole-stack-one-thread", "whole-stack-smollm2", "whole-stack-evening")
STAGES = {"pretrained": "pretrain", "tuned": "sft", "preferred": "dpo"}


def read(name: str) -> dict[str, Any]:
    """A record of another page."""
    return json.loads((RECORD.parent / f"{name}.json").read_text(encoding="utf-8"))


def stages() -> Iterator[tuple[str, dict[str, Any]]]:
    """Each stage of the runs of chapter 27: pretraining, tuning, preferences."""
    for name in STACKS:
        size = 49_152 if "smollm2" in name else 2048
        for stage, kind in STAGES.items():
            found = read(name)["stages"].get(stage, {})
            if "history" in found:
                record = {"kind": kind, "vocab_size": size, "history": found["history"]}
                yield f"{name}, {stage}", record | {"results": found}


def policies() -> Iterator[tuple[str, dict[str, Any]]]:
    """The policies of the page on reward hacking, by what they paid for their divergence."""
    for name, found in read("steering")["plays"].items():
        history = [{"step": len(found["history"]), "loss": 0.0}]
        yield name, {"kind": "grpo", "history": history, "rollouts": found["history"]}
