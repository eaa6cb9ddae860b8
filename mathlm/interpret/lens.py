"""The logit lens: what the head would say if the model ended at an earlier depth."""

import re

import torch
from torch import Tensor, nn

from ..errors import InputTypeError
from ..models import GPT
from ..shapes import Float
from .recording import Watched, run

STREAM = re.compile(r"embedding|blocks\.\d+\.resid_post")


@torch.no_grad()
def logit_lens(
    model: nn.Module, ids: Tensor, mask: Tensor | None = None
) -> Float[Tensor, "depths B T V"]:
    """Logits that the last normalization and the head make of the stream at every depth.

    Implements eq-interp-lens::

        lens[l] = norm(x_l) W_headᵀ,   l = 0 … L

    x_0 is the embedding, x_l the stream behind block l - 1. The mean and the scale by which the
    normalization divides are those of x_l, not those of the last depth: a stream that is still
    short is not read as if it were long. The last row is what the model says.

    Args:
        model: Of pre-norm blocks, whose stream has one meaning at all depths.
        ids: Token ids (B, T).
        mask: Of the model; None = every token is real.

    Returns:
        Logits by depth, L + 1 of them; large, as each depth holds B T V numbers.

    Raises:
        InputTypeError: If the model is not a GPT, as the blocks of others end in a
            normalization of their own.
        InputError: As :func:`mathlm.interpret.record`.

    Example:
        >>> from mathlm.models import GPT, GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=2, n_heads=2)
        >>> model, ids = GPT(GPTConfig(**sizes)), torch.tensor([[72, 105, 33]])
        >>> lens = logit_lens(model, ids)
        >>> lens.shape, torch.allclose(lens[-1], model(ids), atol=1e-5)
        (torch.Size([3, 1, 3, 256]), True)

    References:
        nostalgebraist (2020), interpreting GPT: the logit lens.
        Belrose et al. (2023), arXiv:2303.08112, section 2.
    """
    gpt = require_stream(model)
    return torch.stack([gpt.head(gpt.final_norm(x)) for x in streams_of(gpt, ids, mask)])


def streams_of(model: GPT, ids: Tensor, mask: Tensor | None = None) -> list[Tensor]:
    """The stream of a model in front of its first block and behind every one."""
    streams: list[Tensor] = []

    def watch(name: str, value: Tensor) -> Tensor:
        if STREAM.fullmatch(name):
            streams.append(value)
        return value

    run(model, ids, mask, Watched(watch))
    return streams


def require_stream(model: nn.Module) -> GPT:
    """The model, unless its stream is no sum of what was written to it."""
    if not isinstance(model, GPT):
        raise InputTypeError(
            f"{type(model).__name__} is not a GPT: only in pre-norm blocks is the stream a "
            "sum, which the last normalization and the head can read at any depth"
        )
    return model
