"""Ten requests to each of the three models that a run of the whole stack leaves.

    mathlm whole_stack runs/evening --scale evening
    cd book
    python -m lab.whole_stack.ten_prompts ../runs/evening --record evening-prompts.json

The requests were written down before any answer was seen; every answer is kept as it came.
"""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path

from mathlm.chat.folder import load
from mathlm.recipes.whole_stack.answers import answers
from mathlm.recipes.whole_stack.report import MODELS
from mathlm.train.record import record_on_cpu

REQUESTS = (
    "Good morning!",
    "How are you today?",
    "What is your name?",
    "Do you like music?",
    "Where do you live?",
    "Tell me about the sea.",
    "What does river mean?",
    "What does courage mean?",
    "Speak as Juliet.",
    "Speak as Falstaff.",
)


def transcript(
    folder: Path, longest: int, temperature: float, seed: int = 0
) -> list[dict[str, str]]:
    """A row for each request: the answers of the models, uncut; … where one did not end."""
    said = {}
    for name in MODELS:
        model = load(folder / name, device="cpu")
        rows = answers(model, REQUESTS, longest, seed, temperature)
        said[name] = [text if ended else f"{text} …" for text, ended in rows]
    return [
        {"prompt": request} | {name: said[name][i] for name in MODELS}
        for i, request in enumerate(REQUESTS)
    ]


def main(argv: Sequence[str] | None = None) -> list[dict[str, str]]:
    """Ask all ten; returns, and may record, the answers."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path, help="of the run")
    parser.add_argument("--record", type=Path)
    parser.add_argument("--longest", type=int, default=64, help="tokens of an answer, at most")
    parser.add_argument("--temperature", type=float, default=0.7)
    args = parser.parse_args(argv)
    found = transcript(args.folder, args.longest, args.temperature)
    record_on_cpu(args.record, config=vars(args), results=found)
    return found


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    main()
