"""What one rank of a tiny distributed run computes."""

import os
import signal

import torch
from train.parallel_run import BATCH, trainer
from train.tiny_runs import gradient, tiny_data, tiny_model, tiny_trainer

from mathlm.train import next_token
from mathlm.train.distributed import rank


def unequal(**config):
    """One step over two sequences with 4 targets and 1."""
    return tiny_trainer(tiny_model(dropout=0.0), lambda step: BATCH, **config)


def step_of_unequal_ranks():
    """Gradient and loss of a step in which ranks have unequal numbers of targets."""
    run = unequal(clip=None)
    loss = run.accumulate_gradient(run.micro_batches())
    return {"loss": loss, "gradient": gradient(run.model).tolist()}


def whole_run():
    """History of a short run with 13 held-out batches."""
    held_out = tiny_data(context=16, batch_size=1)
    assert held_out.windows == 13
    data = tiny_data(batch_size=6)
    return tiny_trainer(tiny_model(dropout=0.0), data, held_out=held_out, eval_every=2).fit()


def unused_weight():
    """A weight that only rank 1 uses, and one that nobody uses."""
    model = tiny_model(dropout=0.0)
    model.spare, model.idle = (torch.nn.Parameter(torch.ones(2)) for _ in range(2))

    def objective(model, batch):
        loss, count = next_token(model, batch)
        return loss + (model.spare.sum() if 1 in batch["index"] else 0), count

    tiny_trainer(model, lambda step: BATCH, objective, steps=1, clip=None).fit()
    return {"spare": model.spare.tolist(), "idle": model.idle.tolist()}


def event(name, at=3):
    """An objective in which something happens to rank 1 in its step number ``at``."""

    def objective(model, batch):
        objective.calls += 1
        loss, count = next_token(model, batch)
        if rank() == 1 and objective.calls == at:
            if name == "nan":
                return loss * torch.nan, count
            os.kill(os.getpid(), {"kill": signal.SIGKILL, "term": signal.SIGTERM}[name])
        return loss, count

    objective.calls = 0
    return objective


def disturbed_run(name, folder, kind="sum"):
    """A run in which rank 1 is killed, interrupted or meets NaN in step 3."""
    run = trainer(kind, objective=event(name), folder=folder, save_every=1, steps=9)
    return run.fit()


def undisturbed():
    """What several ranks must compute as one does."""
    return {"step": step_of_unequal_ranks(), "run": whole_run(), "unused": unused_weight()}
