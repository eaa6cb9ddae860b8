"""What each rank of a tiny run computes, under each way to share a model out."""

import torch
from torch import nn
from train.tiny_runs import IDS, tiny_data

from lab.training_at_scale.pipeline import pipeline_step
from lab.training_at_scale.rings import all_gather, all_reduce, reduce_scatter
from lab.training_at_scale.tensor_parallel import cut_block
from lab.training_at_scale.zero import ZeroAdam
from mathlm.errors import InputError
from mathlm.layers import Block, FeedForward, SelfAttention
from mathlm.models import GPT, GPTConfig
from mathlm.optim import SGD, Adam, AdamEpsilonHat, AdamW, Muon, RMSProp, warmup_cosine
from mathlm.optim.clipping import whole
from mathlm.train import Trainer, TrainerConfig, distribute, next_token
from mathlm.train.distributed import all_sum, rank, ranks
from mathlm.train.parallel import KINDS, unwrap
from mathlm.train.state import own_state

BATCH = {
    "ids": torch.arange(8).reshape(2, 4),
    "targets": torch.tensor([[1, 2, 3, 4], [5, -100, -100, -100]]),
}
HELD_OUT = tiny_data(context=8, batch_size=2)
EVALUATED = {"held_out": tiny_data(ids=IDS[:42], batch_size=2), "eval_every": 3, "ema": 0.9}
RULES = {
    "SGD": lambda p: SGD(p, lr=0.1, momentum=0.9),
    "RMSProp": lambda p: RMSProp(p, lr=0.01),
    "Adam": lambda p: Adam(p, lr=0.01),
    "AdamEpsilonHat": lambda p: AdamEpsilonHat(p, lr=0.01),
    "AdamW line by line": lambda p: AdamW(p, lr=0.01, fused=False),
}


def blocks_model():
    """Two blocks with tied embeddings; its rows do not divide by the number of ranks."""
    torch.manual_seed(1)
    return GPT(GPTConfig(vocab_size=11, context=8, d_model=6, n_layers=2, n_heads=2))


def trainer(
    kind, rule=None, data=None, objective=next_token, model=None, held_out=None, **config
):
    """A trainer of a model that is shared out as ``kind`` says."""
    model = distribute(model or blocks_model(), kind)
    optimizer = (rule or (lambda p: AdamW(p, weight_decay=0.1)))(model.parameters())
    options = {"steps": 5, "schedule": warmup_cosine(0.05, 2, 20), "clip": 0.5} | config
    config = TrainerConfig(parallel=kind, **options)
    data = data or tiny_data(batch_size=6)
    return Trainer(model, objective, data, optimizer, config, held_out=held_out)


def state(model):
    """All parameters in full, as a list of numbers."""
    return flat(own_state(model))


def flat(tensors):
    """All tensors of a dict in full, as one list of numbers."""
    return torch.cat([whole(t).flatten() for t in tensors.values()]).tolist()


def gradient(model):
    return torch.cat([whole(p.grad).flatten() for p in model.parameters()]).tolist()


def unequal_step(kind, micro_batches=1):
    """Loss and gradient of a step over two sequences with 4 targets and 1."""
    own = trainer(kind, data=lambda step: BATCH, micro_batches=micro_batches, clip=None)
    loss = own.accumulate_gradient(own.micro_batches())
    return {"loss": loss, "gradient": gradient(own.model)}


def five_steps(kind, micro_batches=1):
    """Losses, norms and weights of a clipped run; the last batch of an epoch is small."""
    own = trainer(kind, steps=6, micro_batches=micro_batches)
    history = own.fit()
    return {"history": history, "weights": state(own.model)}


def single_precision(kind):
    """Weights after five steps in float32, which gloo and torch sum by other code.

    Of SGD: Adam divides the rounding of a gradient near 0 by that gradient.
    """
    torch.set_default_dtype(torch.float32)
    try:
        own = trainer(kind, RULES["SGD"])
        own.fit()
        return state(own.model)
    finally:
        torch.set_default_dtype(torch.float64)


def evaluation(kind):
    """The mean loss over 13 batches of two windows, the last of one."""
    assert HELD_OUT.windows == 25
    return trainer(kind, held_out=HELD_OUT).evaluate()


def spare_weight(kind):
    """A weight that only the rank of sample 1 uses, added to the loss by the objective."""
    model = blocks_model()
    model.spare = torch.nn.Parameter(torch.ones(2))

    def objective(model, batch):
        loss, count = next_token(model, batch)
        return loss + (model.spare.sum() if 1 in batch["index"] else 0), count

    own = trainer(kind, data=lambda step: BATCH, objective=objective, model=model, steps=1)
    own.fit()
    return whole(unwrap(own.model).spare).tolist()


def silent(kind):
    """What is said of a step in which no rank has a target."""
    targets = torch.full((2, 4), -100)
    try:
        trainer(kind, data=lambda step: BATCH | {"targets": targets}, steps=1).fit()
    except InputError as error:
        return str(error)


def optimizers(kind):
    """Weights after two steps of each optimizer."""
    runs = {name: trainer(kind, rule, steps=2) for name, rule in RULES.items()}
    for run in runs.values():
        run.fit()
    return {name: state(run.model) for name, run in runs.items()}


def muon(kind, fused):
    """Weights after two steps of Muon on the matrices inside the blocks."""
    model = distribute(blocks_model(), kind)
    matrices = [p for p in unwrap(model).blocks.parameters() if p.ndim == 2]
    rule = Muon(matrices, lr=0.02, fused=fused)
    config = TrainerConfig(steps=2, parallel=kind)
    Trainer(model, next_token, tiny_data(batch_size=6), rule, config).fit()
    return state(model)


def saved(kind, folder, **config):
    """A run of three steps that leaves a checkpoint."""
    run = trainer(kind, steps=3, folder=folder / kind, **EVALUATED, **config)
    run.fit()


def resumed(kind, folder, **config):
    """Weights and averages after six steps of a run that goes on from a copy of ``folder``."""
    run = trainer(kind, steps=6, **EVALUATED, **config)
    run.resume(folder)
    run.fit()
    means = flat(run.averages.values)
    return {"weights": state(run.model), "history": run.history, "averages": means}


def checked(kind):
    """What must not depend on the kind nor on the number of ranks."""
    return {
        "step": unequal_step(kind),
        "cut": unequal_step(kind, micro_batches=2),
        "run": five_steps(kind),
        "evaluation": evaluation(kind),
        "spare": spare_weight(kind),
        "float32": single_precision(kind),
        "silent": silent(kind),
    }


def checkpoints(folder, saved_by_one):
    """Runs saved under each kind and by one process, resumed under each kind."""
    for kind in KINDS:
        saved(kind, folder)
    pairs = [("sum", "fsdp"), ("ddp", "fsdp"), ("fsdp", "ddp"), ("fsdp", "fsdp")]
    found = {f"{old} to {new}": resumed(new, folder / old) for old, new in pairs}
    return found | {f"one to {kind}": resumed(kind, saved_by_one) for kind in ("ddp", "fsdp")}


def two(folder, saved_by_one):
    """What two ranks do."""
    return {
        "checked": {kind: checked(kind) for kind in KINDS},
        "optimizers": {kind: optimizers(kind) for kind in ("sum", "fsdp")},
        "Muon": {
            kind: [muon(kind, fused) for fused in (True, False)] for kind in ("sum", "fsdp")
        },
        "checkpoints": checkpoints(folder, saved_by_one),
    }


def three():
    """What three ranks do, by whose number no shape divides."""
    return {"checked": {kind: checked(kind) for kind in KINDS}, "by hand": by_hand()}


def eight(folder):
    """What eight ranks do, and what they leave for one process to go on from."""
    for kind in KINDS:
        saved(kind, folder)
    return {kind: checked(kind) for kind in KINDS}


def by_hand():
    """The collectives, ZeRO, a cut block and a pipeline, as three ranks compute them."""
    mine = torch.arange(6.0).reshape(6, 1) + 10 * rank()
    return {
        "scattered": reduce_scatter(mine).flatten().tolist(),
        "gathered": all_gather(mine[:1]).flatten().tolist(),
        "reduced": all_reduce(mine).flatten().tolist(),
        "zero": [zero(stage) for stage in range(4)],
        "block": cut_attention(),
        "pipeline": pipelined(),
    }


def three_layers():
    torch.manual_seed(4)
    return [nn.Sequential(nn.Linear(5, 5), nn.Tanh()) for _ in range(3)]


def rows():
    """Six inputs and their targets."""
    torch.manual_seed(5)
    return torch.randn(6, 5), torch.randn(6, 5)


def zero(stage):
    """Parameters and loss after two steps over this rank's rows."""
    x, y = (part.chunk(ranks())[rank()] for part in rows())
    optimizer = ZeroAdam(three_layers(), stage, lr=0.1)
    losses = [optimizer.step(x, lambda out: (out - y).square().sum()) for _ in range(2)]
    return {
        "parameters": optimizer.parameters().tolist(),
        "loss": all_sum(torch.stack(losses)).tolist(),
        "held": optimizer.held_bytes(),
    }


def block_of_three_heads():
    torch.manual_seed(6)
    attention = SelfAttention(6, 3, bias=True)
    network = FeedForward(6, 9, "swiglu")
    return Block(nn.LayerNorm(6), attention, nn.LayerNorm(6), network)


def cut_attention():
    """Output of a block, the gradient of its input, and those of three of its weights."""
    share = cut_block(block_of_three_heads())
    x = torch.randn(2, 4, 6, generator=torch.Generator().manual_seed(7)).requires_grad_()
    y = share(x)
    y.square().sum().backward()
    maps = share.attention.part.W_k, share.feed_forward.part.W_out
    return {
        "y": y.tolist(),
        "dx": x.grad.tolist(),
        "W_k": maps[0].weight.grad.tolist(),
        "W_out": maps[1].weight.grad.tolist(),
        "gain": share.feed_forward_norm.weight.grad.tolist(),
        "bias": share.attention.bias.grad.tolist(),
    }


def pipelined():
    """Loss, and gradient of this rank's layer."""
    layer, (x, y) = three_layers()[rank()], rows()
    losses = [lambda out, part=part: (out - part).square().sum() for part in y.chunk(3)]
    total = pipeline_step(layer, x.chunk(3), losses, torch.empty(2, 5))
    return {"loss": total, "gradient": gradient(layer)}
