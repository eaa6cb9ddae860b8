"""Bottleneck adapters, prefixes and prompts in files: their options, and numbers by name."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ..errors import CheckpointMismatchError, InputError, InputTypeError
from ..models import GPT
from ..models.files.weights import check_tensors_fit
from .additions import Addition, additions
from .bottleneck import add_adapters
from .lora import adapter_names
from .prefix import add_prefix
from .prompt import add_prompt

ADD: dict[str, Callable[..., GPT]] = {
    "adapters": add_adapters,
    "prefix": add_prefix,
    "prompt": add_prompt,
}
OPTIONS = {
    "adapters": {"width", "activation", "places"},
    "prefix": {"length", "gated"},
    "prompt": {"length"},
}


def find_addition(model: nn.Module, name: str) -> Addition:
    """The addition of a kind, or the only one of a model.

    Raises:
        InputError: If there is none, or several.
    """
    found = {addition.kind: addition for addition in additions(model)}
    if name in found:
        return found[name]
    if name == "default" and len(found) == 1:
        return next(iter(found.values()))
    there = ", ".join(map(repr, [*adapter_names(model), *found])) or "none"
    raise InputError(f"the model has no adapter {name!r}; it has {there}")


def add_from_file(model: nn.Module, config: Mapping[str, Any], tensors: Mapping[str, Tensor]):
    """Make an addition of the options of a file, and fill it; all is checked before.

    Raises:
        CheckpointMismatchError: If the model cannot have it, or the numbers do not fit.
        InputError: If the model has one already.
    """
    kind, options = config["kind"], config.get("options")
    if not isinstance(model, GPT):
        raise InputTypeError(
            f"a file of kind {kind!r} is for a GPT, not {type(model).__name__}"
        )
    if kind not in ADD or not isinstance(options, Mapping) or set(options) != OPTIONS[kind]:
        raise CheckpointMismatchError(
            f"adapter_config.json has kind={kind!r} and options={options!r}; known are "
            f"{', '.join(f'{n} with {sorted(x)}' for n, x in OPTIONS.items())}"
        )
    expected = shapes(model, kind, options).items()
    like = {n: torch.empty(s, dtype=torch.float32, device="meta") for n, s in expected}
    widened = {name: tensor.float() for name, tensor in tensors.items()}
    check_tensors_fit(f"the {kind} of the file does not fit the model", widened, like)
    ADD[kind](model, **options, seed=0)
    own = next(a for a in additions(model) if a.kind == kind)
    with torch.no_grad():
        for name, parameter in own.parameters.items():
            parameter.copy_(tensors[name])
    return model


def shapes(model: GPT, kind: str, options: Mapping[str, Any]) -> dict[str, tuple[int, ...]]:
    """Names and shapes of the numbers that an addition to a model has."""
    config, layers = model.config, range(model.config.n_layers)
    for name in {"width", "length"} & set(options):
        if type(options[name]) is not int or options[name] < 1:
            raise CheckpointMismatchError(
                f"adapter_config.json has {name}={options[name]!r}: not a whole number above 0"
            )
    D, G, K = config.d_model, config.kv_heads, config.head_width
    if kind == "prompt":
        return {"virtual.vectors": (options["length"], D)}
    if kind == "prefix":
        own: dict[str, tuple[int, ...]] = dict.fromkeys("kv", (G, options["length"], K))
        own |= {"gate": (config.n_heads,)} if options["gated"] else {}
        return {f"virtual.layers.{i}.{n}": s for i in layers for n, s in own.items()}
    w, places = options["width"], options["places"]
    if not isinstance(places, list):
        raise CheckpointMismatchError(f"adapter_config.json has places={places!r}, not a list")
    own = {"W_down": (w, D), "b_down": (w,), "W_up": (D, w), "b_up": (D,)}
    ends = [f"{place}_adapter.{n}" for place in places for n in own]
    return {f"blocks.{i}.{end}": own[end.split(".")[1]] for i in layers for end in ends}
