"""Low-rank updates that become part of the matrices, and come out again."""

import torch
from torch import Tensor, nn

from ..errors import InputError
from ..layers.low_rank import LoRALinear
from ..layers.quantization import QuantizedLinear
from .arguments import require_flag
from .lora import Model, adapter_names, low_rank_layers, require_unmerged
from .targets import sites


@torch.no_grad()
def merge_lora(model: Model, *, keep: bool = True) -> Model:
    """Make the low-rank update in use part of the matrices, so that it costs no time.

    Computes, for every map that has it::

        W' = round(W + s B A)

    The sum is taken in float32 at least and rounded to the dtype of W. In bfloat16, of 8
    digits, that loses what of an update is smaller than half a step of W's grid.

    Args:
        model: With an update in use.
        keep: True: W, A and B are kept, and :func:`unmerge_lora` goes back to them bit for bit;
            W' takes memory beside W. False: the maps are plain :class:`torch.nn.Linear` with W'
            in the place of W, as saving, quantizing and exporting need them; the update is
            gone. They stay frozen.

    Returns:
        The same model.

    Raises:
        InputError: If no update is in use, one is merged already, a map is quantized, W' is not
            finite, or, with ``keep=False``, there are other updates, which would be lost.

    References:
        Hu et al. (2021), arXiv:2106.09685, section 4.1.
    """
    require_flag("keep", keep)
    layers = dict(low_rank_layers(model))
    require_mergeable(model, layers, keep)
    merged = {name: finite_weights(name, layer) for name, layer in layers.items()}
    for name, layer in layers.items():
        if keep:
            layer.merged = merged[name]
        elif layer.active is not None:
            layer.numbers.copy_(merged[name])
    if not keep:
        unwrap(model)
    return model


def unmerge_lora(model: Model) -> Model:
    """Take the update out of the matrices again: they are what they were, bit for bit.

    Args:
        model: That :func:`merge_lora` merged with ``keep=True``.

    Returns:
        The same model, with the update beside its maps, in use and not merged.

    Raises:
        InputError: If nothing is merged.
    """
    layers = [layer for _, layer in low_rank_layers(model) if layer.merged is not None]
    if not layers:
        raise InputError(
            "no adapter of this model is merged: merge_lora(model, keep=True) comes first; "
            "with keep=False the matrices before are gone"
        )
    for layer in layers:
        layer.merged = None
    return model


def unwrap(model: nn.Module) -> None:
    """Put the maps themselves back in their places."""
    for site in list(sites(model)):
        if isinstance(site.module, LoRALinear):
            setattr(site.parent, site.attribute, site.module.base)


def require_mergeable(model: nn.Module, layers: dict[str, LoRALinear], keep: bool) -> None:
    """Refuse a model that has no update in use, or one that cannot be merged."""
    names = adapter_names(model)
    if not names:
        raise InputError("the model has no low-rank adapter to merge: add_lora(model, rank)")
    require_unmerged(model, "merging again")
    active = {layer.active for layer in layers.values()} - {None}
    if not active:
        raise InputError(
            f"no adapter is in use: use_adapter(model, {names[0]!r}) before merging"
        )
    for name, layer in layers.items():
        if isinstance(layer.base, QuantizedLinear):
            raise InputError(
                f"{name} has weights of {layer.base.bits} bits, whose grid is coarser than an "
                "update: merge into the model that it was quantized from, then quantize"
            )
    others = [name for name in names if name not in active]
    if others and not keep:
        raise InputError(
            f"merging with keep=False would lose {', '.join(map(repr, others))}: call "
            "remove_adapter for each, or merge a copy.deepcopy(model)"
        )


def finite_weights(name: str, layer: LoRALinear) -> Tensor:
    """W' of a map, if all of its numbers are finite."""
    weights = layer.weights()
    bad = int((~weights.isfinite()).sum())
    if bad:
        raise InputError(
            f"{name}: {bad} of {weights.numel()} merged weights are not finite in "
            f"{str(weights.dtype).removeprefix('torch.')}: the adapter has diverged, or the "
            "dtype is too narrow"
        )
    return weights
