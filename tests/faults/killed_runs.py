"""Children that save or train until they are killed, one after the other in one process."""

import json
import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn
from train.tiny_runs import digest, tiny_trainer

from mathlm.train import checkpoints, load_checkpoint, newest_checkpoint, save_checkpoint
from mathlm.train.checkpoint import step_of
from mathlm.train.folders import remove_unfinished


def killed(work, seconds):
    """Run ``work`` in a child and kill it after ``seconds``; whether it ended before."""
    child = os.fork()
    if child == 0:
        work()
        os._exit(0)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1] == 0


def duration(work):
    """Seconds that ``work`` takes here and now: a busy machine waits longer for each kill."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def constant_model(step):
    """A model whose weights are all equal to ``step``."""
    model = nn.Linear(300, 300)
    for p in model.parameters():
        nn.init.constant_(p, step)
    return model


def save_forever(folder):
    """Checkpoint after checkpoint, each of weights that tell its step."""
    step = step_of(newest_checkpoint(folder)) if checkpoints(folder) else 0
    while True:
        step += 1
        save_checkpoint(folder, step, constant_model(step), keep=2)


def kill_while_saving(folder):
    """Fifty times: what is left loads, is whole, and nothing unfinished stays."""
    probe = folder.parent / "probe"
    one_save = min(
        duration(lambda: save_checkpoint(probe, 1, constant_model(1))) for _ in range(5)
    )
    removed, steps = [], []
    for saves in np.random.default_rng(0).uniform(1.5, 15, 50):
        seconds = saves * one_save
        killed(lambda: save_forever(folder), seconds)
        removed.append(remove_unfinished(folder))
        assert all(p.name.startswith("step_") for p in folder.iterdir()), list(folder.iterdir())
        if checkpoints(folder):
            model = constant_model(-1)
            state = load_checkpoint(folder, model)
            assert all((p == state["step"]).all() for p in model.parameters())
            steps.append(state["step"])
    return {"removed": removed, "steps": steps}


def train(folder, name):
    """Go on from where the last child was killed, or in one go; leaves the model's hash."""
    resumable = {"folder": folder, "save_every": 7} if folder else {}
    trainer = tiny_trainer(steps=300, **resumable)
    trainer.resume()
    trainer.fit()
    name.write_text(digest(trainer.model))


def kill_while_training(folder):
    """Kill and resume up to ten times, then let the run end; compare with an unbroken one."""
    resumed, straight = folder.parent / "resumed", folder.parent / "straight"
    train(folder.parent / "probe", straight)  # imports what training and saving need
    whole = duration(lambda: train(None, straight))
    steps = []
    for share in np.random.default_rng(1).uniform(0.1, 0.6, 10):
        if killed(lambda: train(folder, resumed), share * whole):
            break
        steps.append(step_of(newest_checkpoint(folder)) if checkpoints(folder) else 0)
    train(folder, resumed)
    return {"steps": steps, "straight": straight.read_text(), "resumed": resumed.read_text()}


RUNS = {"save": kill_while_saving, "train": kill_while_training}

if __name__ == "__main__":
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    print(json.dumps(RUNS[sys.argv[1]](Path(sys.argv[2]))))
