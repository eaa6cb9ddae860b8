"""Activation checkpointing (gradient checkpointing): blocks keep their input alone."""

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils.checkpoint import checkpoint

from ..errors import ConfigError
from .parallel import blocks, unwrap


def checkpoint_activations(model: nn.Module) -> nn.Module:
    """Activation checkpointing (gradient checkpointing): each block keeps its input alone.

    The backward pass runs each block forward once more, with the same random draws: the
    gradients are the same, bit for bit. A step computes up to a third more, and keeps one
    stream for each block instead of every intermediate result. Call it before
    :func:`mathlm.train.distribute`.

    Args:
        model: Changed in place; its blocks are the members of its ModuleLists.

    Returns:
        The model.

    Raises:
        ConfigError: If it has no blocks, or they recompute already.

    Example:
        >>> from mathlm.models import GPT, GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=2, n_heads=2)
        >>> model = GPT(GPTConfig(**sizes))
        >>> checkpoint_activations(model) is model  # before the optimizer and distribute
        True

    References:
        Chen et al. (2016), arXiv:1604.06174.
    """
    found = blocks(unwrap(model))
    if not found:
        raise ConfigError(f"{type(model).__name__} has no ModuleList whose blocks to recompute")
    if any("forward" in vars(block) for block in found):
        raise ConfigError(f"the blocks of {type(model).__name__} recompute already")
    for block in found:
        block.forward = partial(recomputed, block.forward)
    return model


def recomputed(forward: Callable[..., Tensor], x: Tensor, *args: Any, **kwargs: Any) -> Any:
    """``forward(x, …)``, of which only the arguments are kept.

    Without gradients there is nothing to keep; with taps or a cache, which each pass would
    write to, everything is.
    """
    written = kwargs.get("taps") is not None or kwargs.get("cache") is not None
    if written or not torch.is_grad_enabled():
        return forward(x, *args, **kwargs)
    return checkpoint(forward, x, *args, use_reentrant=False, **kwargs)
