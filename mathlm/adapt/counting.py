"""What of a model is trained, and how much that is."""

from torch import nn

from ..layers.quantization import QuantizedLinear
from .arguments import require_model


def trainable(model: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters that have gradients, by name; what is shared under its first name."""
    require_model(model)
    return {name: p for name, p in model.named_parameters() if p.requires_grad}


def count_trainable(model: nn.Module) -> tuple[int, int]:
    """How many numbers of a model are trained, and how many there are.

    Parameters that are shared count once, weights that are codes once each. Low-rank updates
    of rank r train Σ r (I + O) numbers over the maps that have them.

    Args:
        model: Any.

    Returns:
        Numbers that have gradients, and all numbers, adapters included.
    """
    require_model(model)
    trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    everything = sum(p.numel() for p in model.parameters())
    for module in model.modules():
        if isinstance(module, QuantizedLinear):
            everything += module.in_features * module.out_features
            everything += 0 if module.bias is None else module.bias.numel()
    return trained, everything
