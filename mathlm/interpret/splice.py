"""What a language model loses when something it computes is put in other words on the way."""

from collections.abc import Callable

import torch
from torch import Tensor

from ..errors import InputError, InputTypeError
from ..models import GPT
from ..shapes import Float
from .harm import require_text, token_losses
from .recording import Watched, run
from .steering import require_tap


@torch.no_grad()
def spliced_losses(
    model: GPT, ids: Tensor, at: str, change: Callable[[Tensor], Tensor]
) -> Float[Tensor, "B targets"]:
    """Loss of each token but the first, where the model goes on with a changed value.

    Computes::

        - ln p(x_t | x_0 … x_{t-1})   with   value ← change(value)   at one tap

    With what :class:`SparseAutoencoder` makes of a value, this says how much of what matters
    to the model is in the dictionary. The identity gives the model's own losses.

    Args:
        model: A GPT.
        ids: The text x, (B, T), T ≥ 2.
        at: Name of a tap through which vectors (B, T, D) pass, as in :class:`Steered`.
        change: From such vectors to others of the same shape.

    Returns:
        Losses of the T - 1 targets [nats]; nothing is averaged.

    Raises:
        InputError: If T is 1, there is no such tap, the shape changes, or what
            comes back is not finite.
        InputTypeError: If the model is no GPT, or what comes back is no tensor, or of another
            dtype or on another device.
    """
    require_text(model, ids)
    require_tap(model, at)

    def watch(name: str, value: Tensor) -> Tensor:
        if name != at:
            return value
        changed = change(value)
        if not isinstance(changed, Tensor) or changed.dtype != value.dtype:
            found = changed.dtype if isinstance(changed, Tensor) else type(changed).__name__
            raise InputTypeError(f"change made {found} of {value.dtype} at {at!r}")
        if changed.device != value.device:
            raise InputTypeError(f"change put {at!r} from {value.device} on {changed.device}")
        if changed.shape != value.shape:
            raise InputError(
                f"change made {tuple(changed.shape)} of {tuple(value.shape)} at {at!r}: the "
                "shape must stay"
            )
        if not changed.isfinite().all():
            raise InputError(f"change made NaN or infinity at {at!r}")
        return changed

    return token_losses(run(model, ids[:, :-1], None, Watched(watch)), ids)
