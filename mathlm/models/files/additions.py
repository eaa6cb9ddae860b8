"""What a model has beside its own weights, which its class does not say."""

from torch import nn

from ...layers.adapter import AdaptedBlock
from ...layers.low_rank import LoRALinear

ADVICE = {
    "low-rank adapters": "merge_lora(model, keep=False) makes them part of the weights",
    "bottleneck adapters": "remove_adapters(model) takes them away",
    "a prefix or a prompt": "remove_adapters(model) takes it away",
}


def added_parts(model: nn.Module) -> list[str]:
    """The kinds of things that were added to a model.

    Low-rank updates count as long as they stand beside their maps, also while they are merged.

    Returns:
        Names, such as "low-rank adapters"; empty for a model that is as its class says.
    """
    modules = list(model.modules())
    there = {
        "low-rank adapters": any(isinstance(m, LoRALinear) for m in modules),
        "bottleneck adapters": any(isinstance(m, AdaptedBlock) for m in modules),
        "a prefix or a prompt": getattr(model, "virtual", None) is not None,
    }
    return [kind for kind, found in there.items() if found]


def explain_parts(model: nn.Module) -> str:
    """What was added to a model, and how it is removed, as part of an error's sentence."""
    parts = added_parts(model)
    advice = "; ".join(ADVICE[part] for part in parts)
    return f"{' and '.join(parts)}: {advice}"
