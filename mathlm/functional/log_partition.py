"""The logarithm of the softmax's denominator, which a loss of probabilities leaves free."""

import torch
from torch import Tensor

from ..shapes import Float


def z_loss(logits: Float[Tensor, "*batch V"]) -> Float[Tensor, "*batch"]:
    """Square of the logarithm by which a softmax normalizes.

    Implements eq-z-loss::

        ℓ_z = (log Σ_c exp z_c)²,    ∂ℓ_z/∂z_c = 2 (log Σ exp z) p_c

    Its gradients sum to 2 log Σ exp z where those of a cross-entropy sum to 0: the one loss
    feels a shift of all logits, the other does not. Half-precision logits are taken in
    float32.

    Args:
        logits: Unnormalized log-probabilities z.

    Returns:
        ℓ_z [nats²], unreduced; 0 where the logits are log-probabilities already.

    References:
        Chowdhery et al. (2022), arXiv:2204.02311, section 5.
    """
    if logits.dtype in (torch.float16, torch.bfloat16):
        logits = logits.float()
    return logits.logsumexp(-1).square()
