"""Long runs of the study of low ranks: spectra of whole updates, and a LoRA beside one."""

import argparse
from collections.abc import Sequence
from typing import Any

from numpy import ndarray

from mathlm.models import GPT

from .low_rank_cuts import cut, matrices, mean_loss
from .low_rank_data import start_of_pretraining, text
from .low_rank_merging import merging, updates
from .low_rank_tuning import FULL, Way, tune
from .update_spectra import RANKS, product, spectra

LONG_LR = {"chatterbot": 1e-3, "glosses": 1e-3, "product": 3e-3}
RANK = 16  # of the LoRA


def arrays(model: GPT) -> dict[str, ndarray]:
    """The matrices of the blocks for NumPy."""
    return {name: w.clone().numpy() for name, w in matrices(model).items()}


def spectra_of(tuned: GPT, base: GPT, held_out: Sequence) -> dict[str, Any]:
    """Spectra of all updates, and what is left when they are cut."""
    return {
        "matrices": spectra(arrays(tuned), arrays(base), keep="blocks.1."),
        "cut": cut(tuned, base, held_out, RANKS),
        "loss_before": mean_loss(base, held_out),
        "loss_after": mean_loss(tuned, held_out),
    }


def long_runs(base: GPT, args: argparse.Namespace) -> dict[str, Any]:
    """Full tuning on two texts, what pretraining did, and a LoRA on the first text."""
    found: dict[str, Any] = {"updates": {}}
    for name in ("chatterbot", "glosses"):
        data = text(name, args.rows, args.held_rows)
        tuned = tune(base, FULL, data, LONG_LR[name], args.long)
        settings = {"lr": LONG_LR[name], "steps": args.long}
        found["updates"][name] = settings | spectra_of(tuned, base, data.held_out)
        if name == "chatterbot":
            found |= low_rank_run(base, tuned, args)
    plays = text("shakespeare", args.rows, args.held_rows).held_out
    found["updates"]["pretraining"] = spectra_of(base, start_of_pretraining(), plays)
    return found


def low_rank_run(base: GPT, full: GPT, args: argparse.Namespace) -> dict[str, Any]:
    """A LoRA trained as long: its spectra beside the full ones, and merging."""
    data, way = text("chatterbot", args.rows, args.held_rows), Way(rank=RANK)
    model = tune(base, way, data, LONG_LR["product"], args.long)
    start, after = arrays(base), arrays(full)
    found = {
        n: product(d.numpy(), after[n] - start[n], RANK) for n, d in updates(model).items()
    }
    settings = {"rank": RANK, "lr": LONG_LR["product"], "loss": mean_loss(model, data.held_out)}
    return {"product": settings | {"matrices": found}, "merge": merging(model, data.held_out)}
