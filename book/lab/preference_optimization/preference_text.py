"""Preferences on text: our GPT of the plays learns from a judge who likes glad speeches.

    cd book
    python -m lab.preference_optimization.preference_text \
        --texts 2400 --steps 120 --record record.json

The model writes two speeches to each opening, a lexicon of rated words says which sounds
gladder, and DPO learns from the answer. Pairs that sound alike are left out and counted.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from lab.fine_tuning.fine_tuning_tasks import PLAYS
from mathlm.align import DPO, answer_log_probabilities
from mathlm.models import GPT
from mathlm.optim import AdamW
from mathlm.train import Trainer, TrainerConfig
from mathlm.train.record import record_on_cpu

from .preference_speeches import as_batch, compared, judged, speech, write

BETA = 0.1


@torch.no_grad()
def look(model: GPT, base: GPT, number: int = 128) -> dict[str, Any]:
    """Gladness of new speeches, their divergence from the base, and the first few."""
    texts = write(model, number, seed=77)
    batch, scores = as_batch(texts), judged(texts)
    drift = answer_log_probabilities(model, batch) - answer_log_probabilities(base, batch)
    shown = [speech(row) for row in texts[:4]]
    return {"score": float(scores.mean()), "kl": float(drift.mean()), "speeches": shown}


def tune(number: int, steps: int, *, rows: int = 16, seed: int = 0, lr: float = 1e-4) -> dict:
    """Write, compare, train, and look before and after."""
    base, model = (GPT.from_pretrained(PLAYS).eval() for _ in range(2))
    data, ties = compared(base, number, rows, seed)
    config = TrainerConfig(steps=steps, seed=seed, log_every=max(1, steps // 10))
    trainer = Trainer(model, DPO(beta=BETA), data, AdamW(model.parameters(), lr=lr), config)
    found: dict[str, Any] = {
        "before": look(model, base),
        "ties": ties,
        "pairs": len(data.chosen),
    }
    trainer.fit()
    with torch.no_grad():
        pairs = [as_batch(texts[:256]) for texts in (data.chosen, data.rejected)]
        logp = torch.stack([answer_log_probabilities(model, part) for part in pairs])
    shift = (logp - data.logp_ref[:, :256]).mean(1).tolist()
    return found | {"after": look(model, base), "shift": shift, "history": trainer.history}


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Tune once for each seed; returns what came out, and may write the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", type=Path)
    for name, default in (("texts", 1200), ("steps", 100), ("seeds", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args(argv)
    found = {"runs": [tune(args.texts, args.steps, seed=seed) for seed in range(args.seeds)]}
    record_on_cpu(args.record, config=vars(args) | {"beta": BETA}, **found)
    return found


if __name__ == "__main__":
    print({k: v for k, v in main()["runs"][0].items() if k != "history"})
