"""A model in evaluation mode for a while."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def evaluating(model: torch.nn.Module) -> Iterator[None]:
    """Evaluation mode inside, and each module's own mode again afterwards."""
    with without_training(list(model.modules())):
        yield


@contextmanager
def without_training(modules: list[torch.nn.Module]) -> Iterator[None]:
    """Evaluation mode inside, for these modules."""
    training = [module for module in modules if module.training]
    for module in training:
        module.training = False
    try:
        yield
    finally:
        for module in training:
            module.training = True
