"""What a model computes on the way to its output, recorded or changed through taps."""

import inspect
from collections.abc import Callable

import torch
from torch import Tensor, nn

from ..errors import InputError, InputTypeError
from ..layers import LoRALinear, Taps


class Watched(dict[str, Tensor]):
    """Taps that hand each value to a function, and give the model what it returns.

    Only the last value is kept, so that watching a large model takes no memory.

    Args:
        watch: Is given the name and the value; returns the value that the model goes on with.

    Example:
        >>> from mathlm.models import GPT, GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=1, n_heads=2)
        >>> seen = []
        >>> watched = Watched(lambda name, value: (seen.append(name), value)[1])
        >>> _ = GPT(GPTConfig(**sizes))(torch.tensor([[72]]), taps=watched)
        >>> seen[0]
        'embedding'
    """

    def __init__(self, watch: Callable[[str, Tensor], Tensor]) -> None:
        super().__init__()
        self.watch = watch

    def __setitem__(self, name: str, value: Tensor) -> None:
        self.clear()
        super().__setitem__(name, self.watch(name, value))


def record(model: nn.Module, ids: Tensor, mask: Tensor | None = None) -> dict[str, Tensor]:
    """Every intermediate value of a model that has a name, without gradients.

    Args:
        model: Takes ``taps``, as :class:`mathlm.models.GPT` and :class:`mathlm.models.Bert` do.
        ids: Token ids (B, T).
        mask: Of the model; None = every token is real.

    Returns:
        Values by name, such as ``blocks.3.attention.weights`` (B, H, T, S); see
        :class:`mathlm.layers.Block`.

    Raises:
        InputTypeError: If the model takes no taps, or ids or mask are no tensors.
        InputError: If it is in training mode with dropout, or the ids do not fit it.

    Example:
        >>> from mathlm.models import GPT, GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=2, n_heads=2)
        >>> taps = record(GPT(GPTConfig(**sizes)), torch.tensor([[72, 105]]))
        >>> taps["blocks.1.resid_post"].shape
        torch.Size([1, 2, 16])
    """
    taps: dict[str, Tensor] = {}
    run(model, ids, mask, taps)
    return taps


@torch.no_grad()
def run(model: nn.Module, ids: Tensor, mask: Tensor | None, taps: Taps) -> Tensor:
    """The output of a model that fills ``taps``, without gradients."""
    return call(model, ids, mask, taps)


def call(model: nn.Module, ids: Tensor, mask: Tensor | None, taps: Taps) -> Tensor:
    """The output of a model that fills ``taps``, once it is known that it can."""
    if not isinstance(model, nn.Module):
        found = model.__name__ if isinstance(model, type) else type(model).__name__
        raise InputTypeError(f"model must be a module made already, got {found}")
    require_ids(ids)
    if mask is not None and not isinstance(mask, Tensor):
        raise InputTypeError(f"mask must be a tensor of bool, got {type(mask).__name__}")
    known = inspect.signature(model.forward).parameters
    if missing := [name for name in ("mask", "taps") if name not in known]:
        found = type(model).__name__
        raise InputTypeError(
            f"{found} takes no {missing[-1]}: give a GPT or a Bert, which read one text"
        )
    if dropped := active_dropout(model):
        raise InputError(f"dropout={dropped[0]} is on: call model.eval() first")
    return model(ids, mask=mask, taps=taps)


def require_ids(ids: Tensor) -> None:
    """Refuse what is no batch of texts."""
    if not isinstance(ids, Tensor):
        raise InputTypeError(f"ids must be a tensor (B, T), got {type(ids).__name__}")
    if ids.ndim != 2:
        raise InputError(f"ids have shape {tuple(ids.shape)}, expected (batch, tokens)")


def active_dropout(model: nn.Module) -> list[float]:
    """The probabilities with which parts of a model drop entries as it stands."""
    found: list[float] = []
    for part in model.modules():
        if isinstance(part, nn.Dropout) and part.training:
            found.append(part.p)
        elif isinstance(part, LoRALinear) and part.training and part.active is not None:
            found.append(float(part.settings[part.active].dropout))
    return [p for p in found if p > 0]
