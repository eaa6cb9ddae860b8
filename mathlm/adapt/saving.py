"""Adapters as folders: what is written, and put on a model again."""

import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from ..errors import ConfigError, InputError, InputTypeError
from ..layers.low_rank import LoRALinear, LoRASettings
from ..models.files.weights import plain, refuse
from .additions import additions
from .files import (
    add_from_file,
    base_of,
    find_addition,
    read_adapter,
    require_base,
    write_adapter,
)
from .lora import (
    Model,
    low_rank_layers,
    require_new_name,
    require_unmerged,
    require_untied,
    separate,
    use_adapter,
    wrap,
)
from .peft import (
    FUSED,
    Updates,
    from_tensors,
    linear_sites,
    missing_maps,
    require_options,
    settings_of,
    their_names,
    to_config,
    to_tensors,
)
from .targets import Site, require_flag, require_model

log = logging.getLogger(__name__)


def save_adapter(
    model: nn.Module,
    folder: str | Path,
    name: str = "default",
    *,
    names: Literal["peft", "own"] | None = None,
) -> Path:
    """Write one adapter of a model as ``adapter_config.json`` and safetensors.

    A low-rank update is written as the peft package writes it, with Hugging Face's names of the
    maps, so that peft puts it on the same base. Bottleneck adapters, a prefix or a prompt are
    written under our names. The configuration also holds :func:`base_fingerprint`, by which
    :func:`load_adapter` knows the base again.

    Args:
        model: With the adapter; the update may be merged with ``keep=True``.
        folder: Made if it is not there; it must not hold an adapter.
        name: Of a low-rank update, or "adapters", "prefix" or "prompt"; "default" is also the
            only such addition of a model without low-rank updates.
        names: Of the maps in the file: "peft" or "own"; None = peft's where the model is of one
            of Hugging Face's types and they have a name there, which queries, keys and values
            of GPT-2 have not, else our own, and that is logged.

    Returns:
        The folder.

    Raises:
        InputError: If the model has no such adapter.
        ConfigError: If the maps have no names for peft, and ``names`` asks for them.
        CheckpointError: If the folder holds an adapter, or cannot be written.

    Example:
        >>> import tempfile
        >>> from mathlm.adapt import add_lora, load_adapter
        >>> from mathlm.models import GPT, GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=1, n_heads=2)
        >>> base = GPT(GPTConfig(**sizes))
        >>> other = GPT(base.config)
        >>> same = other.load_state_dict(base.state_dict())
        >>> tuned, ids = add_lora(base, rank=2), torch.tensor([[72, 105]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = save_adapter(tuned, f"{folder}/mine")
        ...     again = load_adapter(other, path)
        >>> torch.equal(again(ids), tuned(ids))
        True
    """
    require_model(model)
    folder = as_folder(folder)
    if not isinstance(name, str):
        raise InputTypeError(f"name={name!r} is no word: give that of an adapter of the model")
    if names not in (None, "peft", "own"):
        raise ConfigError(f"names={names!r} is not 'peft', 'own' or None")
    layers = {n: x for n, x in low_rank_layers(model) if name in x.settings}
    base = base_of(model)
    if not layers:
        addition = find_addition(model, name)
        config = {"kind": addition.kind, "options": addition.options, "base": base}
        numbers: dict[str, Tensor] = dict(addition.parameters)
        require_trained(numbers)
        return write_adapter(folder, config, numbers)
    require_frozen_maps(layers)
    tensors = to_tensors(known := file_names(model, layers, names), layers, name)
    require_trained(tensors)
    config = to_config(known, layers, name) | {"auto_mapping": base}
    for kind in (addition.kind for addition in additions(model)):
        log.info("the %s of the model: to be saved apart, save_adapter(..., %r)", kind, kind)
    return write_adapter(folder, config, tensors)


def file_names(
    model: nn.Module, layers: Mapping[str, LoRALinear], names: str | None
) -> dict[str, str]:
    """What the maps of a model are called in a file."""
    theirs = their_names(model)
    fused = [name for name in layers if theirs.get(name, "").endswith(FUSED)]
    if theirs and not fused and names != "own":
        return theirs
    if not theirs:
        why = "the model is of none of the types of Hugging Face that mathlm writes"
    else:
        why = (
            f"{fused[0] if fused else 'nothing'} is a part of {FUSED}, one matrix for queries, "
            "keys and values"
        )
    if names == "peft":
        raise ConfigError(
            f"peft has no name for these maps: {why}; choose other targets, or names='own', "
            "which mathlm reads"
        )
    if names is None:
        log.info("saved under our own names, which peft does not read: %s", why)
    return {name: name for name in linear_sites(model)}


def load_adapter(
    model: Model, folder: str | Path, *, name: str | None = None, other_base: bool = False
) -> Model:
    """Put an adapter from a folder on a model, and use it; all else is frozen.

    The folder may be one of :func:`save_adapter` or of the peft package's LoRA, with a rank
    for each map and rank-stabilized scales if it says so. Everything is checked before the
    model changes. An update of a tied head unties it.

    Args:
        model: The base, which may have other adapters.
        folder: With ``adapter_config.json`` and ``adapter_model.safetensors``.
        name: What a low-rank update is called on this model; None = "default".
        other_base: Whether it may be put on weights that are not those that it was made on,
            as on a quantized copy.

    Returns:
        The same model.

    Raises:
        CheckpointError: If a file is missing.
        CheckpointCorruptError: If a file cannot be read, or a number is NaN or infinite.
        CheckpointMismatchError: If it is for another base, by names, shapes or fingerprint, of
            another kind, or has an option that mathlm does not; or the weights are a pickle.
        InputError: If there is an adapter of this name, or one is merged.
        InputTypeError: If the model is none.

    Example:
        >>> import copy, tempfile
        >>> from mathlm.adapt import add_lora, save_adapter
        >>> from mathlm.models import GPT, GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=1, n_heads=2)
        >>> base, ids = GPT(GPTConfig(**sizes)), torch.tensor([[72, 105]])
        >>> tuned = add_lora(copy.deepcopy(base), rank=2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     again = load_adapter(base, save_adapter(tuned, f"{folder}/mine"))
        >>> torch.allclose(again(ids), tuned(ids))
        True
    """
    require_model(model)
    require_flag("other_base", other_base)
    folder = as_folder(folder)
    config, tensors = read_adapter(folder)
    if "kind" in config:
        if not other_base:
            require_base(model, config.get("base"), folder)
        if name is not None:
            raise InputError(
                f"name={name!r}, but {folder} holds {config['kind']!r}, of which a model has "
                "one, under this name: leave it; names are for low-rank updates"
            )
        return add_from_file(model, config, tensors)
    called = "default" if name is None else name
    return add_low_rank(model, folder, config, tensors, called, other_base)


def require_frozen_maps(layers: Mapping[str, LoRALinear]) -> None:
    """Refuse maps whose own weights are trained too: the file has none of them."""
    for name, layer in layers.items():
        if any(p.requires_grad for p in layer.base.parameters()):
            raise InputError(
                f"{name}.base has requires_grad=True, and a file holds A and B alone: "
                "save the state_dict() if it was trained, else model.requires_grad_(False) and "
                "use_adapter(model, name) before saving"
            )


def as_folder(folder: Any) -> Path:
    """A path; an error for what is none."""
    if not isinstance(folder, str | Path):
        raise InputTypeError(f"folder={folder!r} is a {type(folder).__name__}: give a path")
    return Path(folder)


def require_trained(tensors: Mapping[str, Tensor]) -> None:
    """Refuse to write numbers that no reader takes."""
    for key, tensor in tensors.items():
        bad = int((~tensor.detach().isfinite()).sum())
        if bad:
            raise InputError(
                f"{key}: {bad} of {tensor.numel()} numbers are NaN or infinite; the adapter "
                "has diverged, and is not written: go back to an earlier state of it"
            )


def add_low_rank(
    model: Model,
    folder: Path,
    config: dict[str, Any],
    tensors: dict[str, Tensor],
    name: str,
    other_base: bool,
) -> Model:
    """Put matrices of a file beside the maps that they are for, once all is known to fit."""
    require_new_name(model, name)
    require_unmerged(model, "loading an adapter")
    require_options(config)
    updates, called = from_tensors(model, tensors)
    complaint = f"{folder} does not fit the model"
    refuse(complaint, shape=wrong_shapes(model, updates, called))
    refuse(complaint, missing=missing_maps(config, called, model))
    settings = {n: settings_of(config, called[n]) for n in updates}
    ranks = {n: (len(A), settings[n].rank) for n, (A, _) in updates.items()}
    wrong = [f"{called[n]} {a} ≠ {b}" for n, (a, b) in ranks.items() if a != b]
    refuse(f"{folder} has matrices of other ranks than its configuration says", rank=wrong)
    if not other_base:
        require_base(model, config.get("auto_mapping"), folder)
    return put(model, updates, settings, name)


def wrong_shapes(model: nn.Module, updates: Updates, called: Mapping[str, str]) -> list[str]:
    """Matrices that do not fit their maps: file's name, shape, and the shape that would fit."""
    found, sites = [], linear_sites(model)
    for n, (A, B) in updates.items():
        module: Any = sites[n].module
        rank = A.shape[0] if A.ndim else 0
        expected = {"A": (rank, module.in_features), "B": (module.out_features, rank)}
        for end, tensor in (("A", A), ("B", B)):
            if tuple(tensor.shape) != expected[end]:
                like = plain(torch.Size(expected[end]))
                found.append(f"{called[n]}.lora_{end}.weight {plain(tensor.shape)} ≠ {like}")
    return found


def put(model: Model, updates: Updates, settings: dict[str, LoRASettings], name: str) -> Model:
    """Add updates that are known to fit; a tied map gets a matrix of its own."""
    sites = linear_sites(model)
    tied = tied_among(model, [sites[n] for n in updates])
    model.requires_grad_(False)
    for site in tied:
        separate(site)
    for n, (A, B) in updates.items():
        wrap([sites[n]], name, settings[n], torch.Generator())
        layer: Any = model.get_submodule(n)
        with torch.no_grad():
            layer.A[name].copy_(A)
            layer.B[name].copy_(B)
    return use_adapter(model, name)


def tied_among(model: nn.Module, chosen: list[Site]) -> list[Site]:
    """Those of some maps whose matrix something else reads too."""
    try:
        return require_untied(model, chosen, untie=False)
    except InputError:
        return require_untied(model, chosen, untie=True)
