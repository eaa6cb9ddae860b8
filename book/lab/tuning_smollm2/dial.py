"""What a share of the update says: answers between those of the base and of the end of a run.

    cd book
    python -m lab.tuning_smollm2.dial --adapter FOLDER --record results/tuning-smollm2.json

FOLDER holds the adapter, on the page ``results/smollm2-brief``. The record keeps the answers to
the ten prompts of the page for each share, and those of the base and of the share that was
chosen on them to thirty others.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from mathlm.chat import folder

from . import brevity, measures, questions
from .training import load_part

SHARES, CHOSEN = (0.25, 0.4, 0.55), 0.4


def brief(texts: Sequence[str]) -> int:
    """How many answers are not empty and end with a whole sentence."""
    return sum(brevity.whole(text) == text.strip() != "" for text in texts)


def main(argv: Sequence[str] | None = None) -> None:
    """Write the likeliest answers to the prompts that the page shows into the record."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--adapter", required=True)
    parser.add_argument("--record", type=Path, required=True)
    args = parser.parse_args(argv)
    chat_model = folder.load("smollm2", tokenizer=None, form="auto", device="cpu")
    model = chat_model.model.requires_grad_(False)
    found, fresh = {}, {"0.0": measures.greedy(chat_model, questions.FRESH)}
    for i, share in enumerate(SHARES):
        load_part(model, args.adapter, f"part{i}", share)
        found[str(share)] = measures.greedy(chat_model, questions.SHOWN)
        if share == CHOSEN:
            fresh[str(share)] = measures.greedy(chat_model, questions.FRESH)
    record = json.loads(args.record.read_text(encoding="utf-8"))
    text = json.dumps(record | {"shares": found, "fresh": fresh}, indent=1, ensure_ascii=False)
    args.record.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
