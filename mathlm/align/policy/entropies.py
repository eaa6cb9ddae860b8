"""How undecided a model is at each token."""

import math

import torch
from torch import Tensor

from ...errors import InputError
from ...shapes import Float, Int
from ...train.objectives import IGNORED


def token_entropies(
    logits: Float[Tensor, "B T V"], targets: Int[Tensor, "B T"]
) -> Float[Tensor, "B T"]:
    """Entropy of the distribution from which each token that is asked for was drawn.

    Computes::

        H[b, t] = -Σ_v p_v log p_v,   p = softmax(logits[b, t])

    Exact: a sum over the vocabulary, not an estimate from the token that was drawn. Gradients
    pass. Logits of -inf, as masks of the vocabulary leave them, count 0.

    Args:
        logits: Divided by the temperature of the draw; half precision is taken in float32.
        targets: -100 where nothing is asked.

    Returns:
        H [nats] in [0, ln V]; exactly 0 where nothing is asked.

    Raises:
        InputError: If the shapes do not fit, or a logit that counts is NaN or +inf.
    """
    if logits.shape[:-1] != targets.shape:
        raise InputError(
            f"logits {tuple(logits.shape)} and targets {tuple(targets.shape)} do not fit"
        )
    asked = targets != IGNORED
    z = logits[asked]
    if (z.isnan() | z.isposinf()).any():
        raise InputError("a logit is NaN or +inf")
    logp = (z.float() if z.dtype in (torch.float16, torch.bfloat16) else z).log_softmax(-1)
    p = logp.exp()
    found = -(p * logp.masked_fill(p == 0, 0.0)).sum(-1)
    bounded = found.clamp(0.0, math.log(logits.shape[-1]))  # but for the last digit it is
    return bounded.new_zeros(targets.shape).masked_scatter(asked, bounded)
