"""Dictionaries of vectors whose directions are known: how many are found, how many units die.

cd book
python -m lab.features.known_directions --record known-directions.json
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import normalize

from mathlm.interpret import (
    SparseAutoencoder,
    SparseReconstruction,
    dictionary_report,
    matched_cosine,
    train_dictionary,
)
from mathlm.train.record import record_on_cpu

FEATURES, WIDTH, VECTORS = 64, 32, 8000
SHARES = (0.05, 0.1, 0.2)  # of the vectors in which a direction is active
PRICE, ACTIVE = 0.3, 4
START = 1000  # of the first weights: with the seed of the directions they would be the same
ARMS: dict[str, dict[str, Any]] = {
    "a price, neither": {"price": PRICE},
    "a price, new directions": {"price": PRICE, "anew": True},
    "the largest, neither": {"active": ACTIVE},
    "the largest, new directions": {"active": ACTIVE, "anew": True},
    "the largest, the loss": {"active": ACTIVE, "revival": 1.0},
    "the largest, both": {"active": ACTIVE, "revival": 1.0, "anew": True},
}


def known(share: float, seed: int, vectors: int = VECTORS) -> tuple[Tensor, Tensor]:
    """Vectors that are sums of few directions, (N, D), and the directions, (64, D)."""
    draw = torch.Generator().manual_seed(seed)
    true = normalize(torch.randn(FEATURES, WIDTH, generator=draw), dim=1)
    on = torch.rand(vectors, FEATURES, generator=draw) < share
    amounts = on * (0.5 + torch.rand(vectors, FEATURES, generator=draw))
    return amounts @ true, true


def share_found(
    share: float, seed: int, steps: int = 250, vectors: int = VECTORS, lr: float = 2e-2
) -> float:
    """Share of the known directions that a dictionary finds to a cosine of 0.9."""
    x, true = known(share, seed, vectors)
    torch.manual_seed(START + seed)
    active = max(2, round(80 * share))
    sae = SparseAutoencoder(WIDTH, 2 * FEATURES, active=active, patience=3000)
    sae.center(x)
    train_dictionary(sae, x, SparseReconstruction(), steps=steps, lr=lr)
    return (matched_cosine(sae.directions.detach(), true) > 0.9).double().mean().item()


def still_dead(
    seed: int, steps: int = 150, vectors: int = VECTORS, *, active: int | None = None,
    price: float = 0.0, revival: float = 0.0, anew: bool = False,
) -> int:  # fmt: skip
    """Units that no vector uses after training, when half of 64 were pushed down before."""
    x, _ = known(SHARES[0], seed, vectors)
    torch.manual_seed(START + seed)
    sae = SparseAutoencoder(WIDTH, FEATURES, active=active, patience=2000)
    sae.threshold.data[:32] = -1.5
    objective, resample = SparseReconstruction(price, revival), (steps // 2,) * anew
    train_dictionary(sae, x, objective, steps=steps, lr=1e-2, resample=resample)
    return dictionary_report(sae, x).unused


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Train every dictionary from every seed; returns, and may record, what became of it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--record", type=Path)
    parser.add_argument("--seeds", type=int, nargs="+", default=(0, 1, 2, 3, 4))
    parser.add_argument("--steps", type=int, nargs=2, default=(250, 150))
    parser.add_argument("--vectors", type=int, default=VECTORS)
    args = parser.parse_args(argv)
    (found, dead), n = args.steps, args.vectors
    results = {
        "found": {str(p): [share_found(p, s, found, n) for s in args.seeds] for p in SHARES},
        "dead": {
            k: [still_dead(s, dead, n, **arm) for s in args.seeds] for k, arm in ARMS.items()
        },
    }
    record_on_cpu(args.record, config=vars(args), results=results)
    return results


if __name__ == "__main__":
    main()
