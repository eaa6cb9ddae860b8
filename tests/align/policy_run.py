"""What each process of a run on rollouts ends with; the first writes it."""

import json
import sys
from pathlib import Path

import torch
from align.toy_policies import actor_and_critic, trainer, weights

from mathlm.train.distributed import process_group, rank


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


if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    with process_group(timeout=30):
        found, failed = result(), failing()
        path = Path(sys.argv[1]) / f"{rank()}.json"
        path.write_text(json.dumps({"found": found, "failed": failed}))
