"""How far back the gradient of a recurrent model reaches."""

import torch
from torch import Tensor

from ..errors import InputError
from ..functional import require_token_ids, token_cross_entropy
from ..shapes import Float
from .recurrent import Recurrent


def gradient_reach(model: Recurrent, ids: Tensor) -> Float[Tensor, " S"]:
    """How strongly the last prediction of a sequence depends on each input before it.

    Implements eq-gradient-reach::

        g_k = mean over the batch of ‖∂ℓ_S / ∂x_{S-k}‖,   k = 0 … S - 1

    where S = T - 1 inputs are read, x_t is the embedding of input t, and ℓ_S is the loss of the
    last token given all of them [nats].

    Args:
        model: A recurrent language model; its parameters get no gradient.
        ids: Token ids (B, T), at least two in a row; the last of each row is the target.

    Returns:
        g_0 … g_{S-1}, the nearest input first.

    Raises:
        InputError: If there is no input to reach, or an id is outside the vocabulary.
        InputTypeError: If the ids are not int64.
    """
    if ids.ndim != 2 or ids.shape[1] < 2:
        raise InputError(
            f"ids have shape {tuple(ids.shape)}, expected (batch, tokens) with 2 tokens or more"
        )
    require_token_ids(ids, model.config.vocab_size)
    x = model.token_embedding(ids[:, :-1]).detach().requires_grad_()
    y, _ = model.layers(x, None, None)
    loss = token_cross_entropy(model.head(y[:, -1]), ids[:, -1])
    (dx,) = torch.autograd.grad(loss.sum(), x)
    return dx.norm(dim=-1).mean(0).flip(0)
