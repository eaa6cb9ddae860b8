"""What each of two ranks ends a run on rollouts with.

Run as ``python -m align.policy_run FOLDER``: the ranks are forked from one process.
"""

import json
import sys
from pathlib import Path

import torch
from align.toy_policies import actor_and_critic, trainer, weights
from train.forked import group

from mathlm.train.distributed import rank


def result():
    """Weights and history after four steps of PPO."""
    model, data = actor_and_critic(epochs=2)
    history = trainer(model, data).fit()
    return {"weights": weights(model).tolist(), "losses": history, "rollouts": data.history}


def failing():
    """The error of each process when the reward fails in the second."""

    def reward(prompts, completions):
        return [float("nan") if rank() == 1 else 0.0] * len(completions)

    model, data = actor_and_critic(reward=reward)
    try:
        trainer(model, data).fit()
    except Exception as error:
        return str(error)


def both():
    return {"found": result(), "failed": failing()}


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    folder = Path(sys.argv[1])
    ranks = group(2, folder / "ranks", both)
    (folder / "found.json").write_text(json.dumps(ranks))
