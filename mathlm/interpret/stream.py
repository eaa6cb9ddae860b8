"""The residual stream of a pre-norm model as the sum of everything written to it."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from ..errors import InputTypeError
from ..models import GPT
from ..shapes import Float
from .contributions import logit_contributions
from .recording import record
from .steering import require_unsteered


def stream_writes(model: nn.Module, ids: Tensor) -> dict[str, Tensor]:
    """What the embedding and every half of every block write to the stream, in order.

    Implements eq-arch-stream::

        x_L = x_0 + Σ_l (a_l + f_l)

    x_0 is the embedding, a_l what the attention and f_l what the feed-forward network of block
    l return. Their sum is the stream behind the last block, up to rounding.

    Args:
        model: Of pre-norm blocks, so that nothing but additions happens to the stream.
        ids: Token ids (B, T).

    Returns:
        2 L + 1 tensors (B, T, D) under the names of their taps.

    Raises:
        InputTypeError: If the model is not a GPT: behind post-norm blocks there is no sum.
        InputError: As :func:`mathlm.interpret.record`.
    """
    if not isinstance(model, GPT):
        raise InputTypeError(
            f"{type(model).__name__} is not a GPT: only in pre-norm blocks is the stream a sum"
        )
    require_unsteered(model)
    taps = record(model, ids)
    halves = ("attention_out", "feed_forward_out")
    names = [f"blocks.{i}.{half}" for i in range(model.config.n_layers) for half in halves]
    return {name: taps[name] for name in ("embedding", *names)}


@torch.no_grad()
def write_logits(
    model: GPT, writes: Mapping[str, Tensor], token: int
) -> dict[str, Float[Tensor, "B T"]]:
    """Share of every write in the logit of one token.

    Implements eq-arch-shares::

        logit = Σ_i w_i · (γ ⊙ u) / s + β · u,   s of the whole stream

    u is the row of the token in the head, s the root mean square (or standard deviation) by
    which the last normalization divides. Given s the logit is linear in the writes, so that the
    shares add up to it. They do not say what it would be without one of them: s would change,
    and so would what the blocks above write.

    Args:
        model: Whose writes they are.
        writes: From :func:`stream_writes`.
        token: Id of the token.

    Returns:
        One number a position under the name of each write, and, of a layer norm with a bias,
        under ``final_norm.beta``.

    Raises:
        InputError: If the token is not in the vocabulary, or as :func:`logit_contributions`.
        InputTypeError: If the token is no whole number, or as :func:`logit_contributions`.
    """
    if not isinstance(token, int):
        raise InputTypeError(f"token={token!r} must be the id of one token, a whole number")
    shares = logit_contributions(model, writes, torch.tensor([token]))
    return {name: share[..., 0] for name, share in shares.items()}
