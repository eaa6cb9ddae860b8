"""Histories that are written by hand: healthy ones, and the same with other columns."""

import math

import numpy as np

from mathlm.train import diagnose, run_history

STEPS = 200
T = np.arange(1, STEPS + 1)
NOISE = 0.01 * np.sin(7.0 * T)
HEALTHY = {
    "pretrain": {
        "loss": 2 + (math.log(256) - 2) * np.exp(-(T - 1) / 40) + NOISE,
        "grad_norm": 0.5 + NOISE,
        "lr": 3e-3 * np.minimum(T / 20, 1.0),
    },
    "sft": {
        "loss": 2 + np.exp(-T / 40) + NOISE,
        "grad_norm": 0.5 + NOISE,
        "lr": 1e-4 + 0 * T,
    },
    "dpo": {
        "loss": 0.2 + (math.log(2) - 0.2) * np.exp(-(T - 1) / 40),
        "grad_norm": 0.5 + NOISE,
        "margin": 0.02 * T,
        "accuracy": 0.9 - 0.4 * np.exp(-T / 40),
        "chosen_change": -0.01 * T,
        "rejected_change": -0.21 * T,
    },
    "grpo": {"loss": 0 * T, "grad_norm": 1 + NOISE},
}
HEALTHY["reward"] = {name: HEALTHY["dpo"][name] for name in ("loss", "grad_norm", "accuracy")}
HEALTHY["ppo"] = HEALTHY["grpo"]
ITERATIONS = np.arange(30)
ROLLOUTS = {
    "reward": 0.5 + 0.01 * ITERATIONS + 0.02 * np.sin(7.0 * ITERATIONS),
    "reward_std": 0.2 + 0 * ITERATIONS,
    "entropy": 2 - 0.02 * ITERATIONS,
    "length": 20 + np.sin(7.0 * ITERATIONS),
    "finished": 0.9 + 0 * ITERATIONS,
    "kl": 0.05 * ITERATIONS,
    "moved": 0.01 + 0 * ITERATIONS,
    "clip_share": 0.05 + 0 * ITERATIONS,
}


def table(columns, at):
    """Records of columns; None leaves one out."""
    kept = {name: np.asarray(c, dtype=float) for name, c in columns.items() if c is not None}
    length = len(next(iter(kept.values())))
    numbers = np.arange(length) + (at == "step")
    return [
        {at: float(numbers[i])} | {name: float(c[i]) for name, c in kept.items()}
        for i in range(length)
    ]


def written(kind, rollouts=(), more=(), **columns):
    """A record of a healthy run, with other columns, other rollouts or other parts."""
    record = {"kind": kind, "vocab_size": 256, "clip": 1.0}
    record["history"] = table(HEALTHY[kind] | columns, "step")
    if kind in ("grpo", "ppo"):
        record["rollouts"] = table(ROLLOUTS | dict(rollouts), "iteration")
    return record | dict(more)


def found(kind, rollouts=(), more=(), **columns):
    """Names of what is found, the severe ones first."""
    record = written(kind, rollouts, more, **columns)
    return [finding.name for finding in diagnose(run_history(record))]
