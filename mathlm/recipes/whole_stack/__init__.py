"""From raw text to a chat: every stage of the book with one command.

    python -m mathlm.recipes.whole_stack runs/stack --scale cpu
    python -m mathlm.recipes.chat --model runs/stack/preferred

Raw text is cleaned, a tokenizer learned, a GPT pretrained, tuned on requests, and tuned on
preferences; all three models are judged, and OUT/report.html shows what each stage did. Killed
at any moment, the same command goes on where it was.
"""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path

import torch

from ...train.distributed import resolve_device
from ...train.record import device_name, write_record
from .answers import compare
from .judging import judge
from .report import write_report
from .stack_models import preferred, pretrained, tuned
from .stack_requests import instruct
from .stack_run import Result, Run
from .stack_scales import SCALES
from .stack_text import cleaned, raw, tokens

__all__ = ["STAGES", "main"]

log = logging.getLogger(__name__)
STAGES = {
    "raw": raw,
    "cleaned": cleaned,
    "tokens": tokens,
    "pretrained": pretrained,
    "instructions": instruct,
    "tuned": tuned,
    "pairs": compare,
    "preferred": preferred,
    "judged": judge,
}


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Options from the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    add = parser.add_argument
    add("out", type=Path, help="folder of the run; one that was begun is gone on with")
    add("--scale", choices=SCALES, default="cpu", help="how large the stages are")
    add("--seed", type=int, default=0, help="of every draw")
    add("--device", default="auto", choices=["cpu", "cuda", "auto"], help="where to train")
    add("--threads", type=int, help="of the processor; default: as torch finds best")
    add("--record", type=Path, help="JSON file for the results of all stages")
    return parser.parse_args(argv)


def main(argv: Sequence[str] | None = None) -> dict[str, Result]:
    """Do what is not done yet, and report; returns what each stage found."""
    args = parse(argv)
    if args.threads is not None:
        torch.set_num_threads(args.threads)
    run = Run(args.out, SCALES[args.scale], args.seed, args.device)
    found = run.do(STAGES)
    device = device_name(resolve_device(args.device))
    for path in (run.place("record.json"), args.record):
        if path is not None:
            write_record(path, settings=run.settings, stages=found, device=device)
    log.info("what each stage did: %s", write_report(run.folder, found))
    log.info("talk with it: python -m mathlm.recipes.chat --model %s", run.place("preferred"))
    return found
