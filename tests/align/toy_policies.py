"""A policy of a few weights over seven tokens, of which 0 ends a text."""

from dataclasses import fields

import torch

from mathlm.align import (
    PPO,
    GroupCredit,
    PolicyAndValue,
    PolicyBatches,
    Reinforce,
    RolloutLog,
    RolloutReading,
    RolloutSchedule,
    TextSampler,
    TokenCredit,
    ValueModel,
)
from mathlm.align.reference_model import Reference
from mathlm.models import GPT, GPTConfig
from mathlm.optim import AdamW
from mathlm.train import Trainer, TrainerConfig

END, V = 0, 7
GROUPS = {"schedule": RolloutSchedule, "reading": RolloutReading, "record": RolloutLog}
PROMPTS = [torch.tensor(ids) for ids in ([1], [2, 3], [4, 5, 6])]


def policy(seed=0, **options):
    """A model whose texts end after some tokens, not all at the same one."""
    torch.manual_seed(seed)
    sizes = {"d_model": 8, "n_layers": 1, "n_heads": 2, "context": 12, "dropout": 0.1}
    model = GPT(GPTConfig(vocab_size=V, **(sizes | options)))
    with torch.no_grad():
        for weights in model.parameters():
            weights.mul_(8 if weights.ndim == 2 else 1)
    return model


def threes(prompts, completions):
    """How many of the tokens are 3, less a tenth of the length."""
    return [float((y == 3).sum()) - 0.1 * len(y) for y in completions]


def batches(model, credit=None, reward=threes, **options):
    """Rollouts of ``model``, two for each prompt."""
    sampler = TextSampler(5, options.pop("temperature", 1.0), stop=(END,))
    reference = options.pop("reference", Reference(policy()))
    options = {"group_size": 2, "sampler": sampler, "reference": reference} | options
    for name, group in GROUPS.items():
        own = {f.name: options.pop(f.name) for f in fields(group) if f.name in options}
        options[name] = group(**own)
    return PolicyBatches(model, PROMPTS, reward, credit or GroupCredit(beta=0.1), **options)


def actor_and_critic(**options):
    """A policy with values, and their data."""
    model = PolicyAndValue(policy(), ValueModel(policy(1)))
    credit = options.pop("credit", TokenCredit(beta=0.1))
    return model, batches(model.policy, credit, value=model.value, **options)


def trainer(model, data, objective=None, lr=0.01, **config):
    """A trainer of them."""
    objective = objective or (PPO() if isinstance(model, PolicyAndValue) else Reinforce())
    optimizer = AdamW(model.parameters(), lr=lr, weight_decay=0.0)
    return Trainer(model, objective, data, optimizer, TrainerConfig(**({"steps": 4} | config)))


def weights(model):
    """All weights in a row."""
    return torch.cat([p.detach().flatten() for p in model.parameters()])
