"""From how many starts does gradient descent learn XOR and parity? A sweep, recorded.

    cd book
    python -m lab.neural_networks.start_sweep --record starts.json

Every network is trained by :mod:`lab.neural_networks.small_networks` on all inputs of n bits.
"""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from mathlm.reference.network.constructions import all_bits
from mathlm.train.record import write_record

from .small_networks import NetworksConfig, forward, losses, train

XOR = NetworksConfig(count=1000, steps=3000)
PARITY = NetworksConfig(count=100, steps=5000)
XOR_WIDTHS = (1, 2, 3, 4, 6, 8, 16)
RATES = (0.1, 0.5, 2.0, 8.0)  # step sizes, so that each curve can be drawn with its own
SHAPES = {  # hidden layers for n bits
    "one layer of n": lambda n: (n,),
    "one layer of 2n": lambda n: (2 * n,),
    "one layer of 4n": lambda n: (4 * n,),
    "two layers of 2n": lambda n: (2 * n, 2 * n),
    "folds: layers of 2": lambda n: (2,) * int(n - 1).bit_length(),
}


def outcome(config: NetworksConfig) -> tuple[float, list[float]]:
    """Share of the networks that get every input right, and all final losses [nats]."""
    x, y = all_bits(config.widths[0])
    layers = train(x, y, config)
    right = (forward(x, layers, config.activation)[-1] > 0) == (y > 0)
    return float(right.all((1, 2)).mean()), losses(x, y, layers, config).round(4).tolist()


def xor_shares(xor: NetworksConfig) -> dict[str, list[float]]:
    """Share of starts that learn XOR, by activation, one for each width."""
    return {
        name: [outcome(replace(xor, activation=name, widths=(2, m, 1)))[0] for m in XOR_WIDTHS]
        for name in ("relu", "tanh", "sigmoid")
    }


def parity_shares(parity: NetworksConfig, bits: Sequence[int]) -> dict[str, list[float]]:
    """Share of starts that learn parity, by shape, one for each number of bits."""
    return {
        name: [outcome(replace(parity, widths=(n, *shape(n), 1)))[0] for n in bits]
        for name, shape in SHAPES.items()
    }


def sweep(
    xor: NetworksConfig,
    parity: NetworksConfig,
    bits: Sequence[int],
    rates: Sequence[float] = RATES,
) -> dict:
    """Shares for XOR at each of ``rates``, one of them that of ``xor``, and for parity."""
    of_xor = {str(r): xor_shares(replace(xor, learning_rate=r)) for r in rates}
    return {
        "xor": {
            "config": xor,
            "widths": XOR_WIDTHS,
            "shares": of_xor[str(xor.learning_rate)],
            "by_rate": of_xor,
        },
        "parity": {
            "config": parity,
            "bits": list(bits),
            "shares": parity_shares(parity, bits),
        },
    }


def with_best_rate(
    by_rate: Mapping[str, Mapping[str, Sequence[float]]],
) -> dict[str, tuple[float, list[float]]]:
    """For each curve, the step size with the largest mean share, and its shares."""
    found = {}
    for name in next(iter(by_rate.values())):
        best = max(by_rate, key=lambda rate: sum(by_rate[rate][name]))
        found[name] = float(best), list(by_rate[best][name])
    return found


def main(argv: Sequence[str] | None = None) -> None:
    """Run the sweep and write the record."""
    parser = argparse.ArgumentParser(description="Sweep over starts of small networks.")
    parser.add_argument("--record", type=Path, required=True, help="JSON file to write")
    parser.add_argument("--quick", action="store_true", help="5 starts, 50 steps, 3 bits")
    args = parser.parse_args(argv)
    if args.quick:
        quick = replace(XOR, count=5, steps=50)
        found = sweep(quick, quick, (2, 3), (quick.learning_rate,))
    else:
        found = sweep(XOR, PARITY, (2, 3, 4, 5, 6))
    write_record(args.record, device="CPU, 1 thread, float64", **found)
    share = np.mean(found["xor"]["shares"]["relu"])
    print(f"wrote {args.record}; XOR by ReLU, mean over widths: {100 * share:.0f} %")


if __name__ == "__main__":
    main()
