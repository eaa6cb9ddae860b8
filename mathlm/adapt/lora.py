"""Low-rank updates of a model's linear maps: adding them, choosing one, removing them."""

import copy
import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

from ..errors import InputError, InputTypeError
from ..layers.low_rank import LoRALinear, LoRASettings
from ..layers.quantization import QuantizedLinear
from .targets import Site, drawn_by, find_targets, require_flag, require_model, sites

Model = TypeVar("Model", bound=nn.Module)
OTHER_KINDS = ("adapters", "prefix", "prompt")


def add_lora(
    model: Model,
    rank: int,
    alpha: float | int | None = None,
    targets: str | Sequence[str] = ("W_q", "W_v"),
    *,
    dropout: float | int = 0.0,
    rank_stabilized: bool = False,
    name: str = "default",
    untie: bool = False,
    seed: int | None = None,
) -> Model:
    """Put a low-rank update beside linear maps of a model; all else is frozen.

    Computes, for every target::

        y = W x + b + s B A x,   s = α/r or α/√r,   A (r, I) uniform in ±1/√I,   B (O, r) = 0

    The model's outputs are those that it had, bit for bit, until B is trained; the trainable
    numbers are Σ r (I + O) over the targets. The new update is in use, and it alone has
    gradients: what was added before stays beside it, see :func:`use_adapter`.

    Args:
        model: With linear maps in its blocks; changed in place. Its maps may be quantized.
        rank: r, at most min(I, O) of every target.
        alpha: α; None = r, so that s = 1, or √r if ``rank_stabilized``.
        targets: Last parts of the names of maps, such as "W_q", "attention.W_q",
            "blocks.0.attention.W_q" or "head"; or "all-linear", every linear map of the blocks.
            An embedding is no linear map.
        dropout: Probability with which an entry of an update's input is 0 in training.
        rank_stabilized: Whether s = α/√r.
        name: Of the update; no dot.
        untie: Whether a target whose matrix something else reads too, such as a tied head, gets
            a copy of its own, which it keeps.
        seed: Of A; None = from torch's generator.

    Returns:
        The same model.

    Raises:
        InputError: If a target names no linear map, the rank or another number is out of range,
            there is an update of this name, one is merged, or a target is tied.
        InputTypeError: If an argument is of another kind.

    Example:
        >>> from mathlm.adapt import count_trainable
        >>> from mathlm.models import GPT, GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=1, n_heads=2)
        >>> model, ids = GPT(GPTConfig(**sizes)), torch.tensor([[72, 105]])
        >>> before = model(ids)
        >>> model = add_lora(model, rank=2)  # W_q and W_v, each 2 · (16 + 16) numbers
        >>> count_trainable(model)[0], torch.equal(model(ids), before)  # B starts at 0
        (128, True)

    References:
        Hu et al. (2021), arXiv:2106.09685, section 4.1.
        Kalajdzievski (2023), arXiv:2312.03732, section 4.
    """
    require_kinds(model, rank)
    require_flag("untie", untie)
    generator = drawn_by(seed)
    settings = LoRASettings(
        rank=rank,
        alpha=rank if alpha is None else alpha,
        dropout=dropout,
        rank_stabilized=rank_stabilized,
    )
    require_new_name(model, name)
    require_unmerged(model, "adding an adapter")
    found = find_targets(model, targets)
    require_room(found, rank)
    tied = require_untied(model, found, untie)
    model.requires_grad_(False)
    for site in tied:
        separate(site)
    wrap(found, name, settings, generator)
    return use_adapter(model, name)


def wrap(
    found: list[Site], name: str, settings: LoRASettings, generator: torch.Generator | None
) -> None:
    """Give each map its update; a map that is reached twice gets one."""
    wrappers: dict[int, LoRALinear] = {}
    for site in found:
        module: Any = site.parent._modules[site.attribute]
        if id(module) not in wrappers:
            wrapper = module if isinstance(module, LoRALinear) else LoRALinear(module)
            wrapper.add(name, settings, generator)
            wrappers[id(module)] = wrappers[id(wrapper)] = wrapper
        setattr(site.parent, site.attribute, wrappers[id(module)])


def use_adapter(model: Model, name: str | None) -> Model:
    """Use one of a model's low-rank updates, which then is the one that may be trained.

    Maps without an update of this name are used as they are. Of all low-rank updates only the
    one in use has ``requires_grad``.

    Args:
        model: With updates that are not merged.
        name: Of the update; None = none, which gives the outputs of the model before.

    Returns:
        The same model.

    Raises:
        InputError: If there is no such update, or one is merged.

    Example:
        >>> from mathlm.adapt import add_lora
        >>> from mathlm.models import GPT, GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=1, n_heads=2)
        >>> model, ids = GPT(GPTConfig(**sizes)), torch.tensor([[72, 105]])
        >>> before = model(ids)
        >>> plain = use_adapter(add_lora(model, rank=2), None)  # the model without its update
        >>> torch.equal(plain(ids), before)
        True
    """
    if name is not None:
        require_name(model, name)
    require_unmerged(model, "using another adapter")
    for _, layer in low_rank_layers(model):
        layer.active = name if name in layer.settings else None
        for matrices in (layer.A, layer.B):
            for own, matrix in matrices.items():
                matrix.requires_grad_(own == name)
    return model


def adapter_names(model: nn.Module) -> list[str]:
    """Names of a model's low-rank updates, in the order in which its maps hold them.

    Example:
        >>> from mathlm.adapt import add_lora
        >>> from mathlm.models import GPT, GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=1, n_heads=2)
        >>> adapter_names(add_lora(GPT(GPTConfig(**sizes)), rank=2, name="mine"))
        ['mine']
    """
    return list(dict.fromkeys(n for _, layer in low_rank_layers(model) for n in layer.settings))


def remove_adapter(model: Model, name: str) -> Model:
    """Forget a low-rank update; maps that have none left are plain again, and still frozen.

    If it was in use, none is afterwards. ``model.requires_grad_(True)`` makes the model
    trainable again.

    Args:
        model: With updates that are not merged.
        name: Of the update.

    Returns:
        The same model.

    Raises:
        InputError: If there is no such update, or one is merged.

    Example:
        >>> from mathlm.models import GPT, GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=1, n_heads=2)
        >>> model = add_lora(GPT(GPTConfig(**sizes)), rank=2)
        >>> type(remove_adapter(model, "default").blocks[0].attention.W_q).__name__
        'Linear'
    """
    require_name(model, name)
    require_unmerged(model, "removing an adapter")
    for site in list(sites(model)):
        layer = site.module
        if isinstance(layer, LoRALinear):
            if name in layer.settings:
                layer.remove(name)
            if not layer.settings:
                setattr(site.parent, site.attribute, layer.base)
    return model


def low_rank_layers(model: nn.Module) -> Iterator[tuple[str, LoRALinear]]:
    """The maps of a model that have low-rank updates, by name."""
    require_model(model)
    for name, module in model.named_modules():
        if isinstance(module, LoRALinear):
            yield name, module


def require_kinds(model: object, rank: object) -> None:
    """Refuse what is no model or no rank."""
    require_model(model)
    if isinstance(model, LoRALinear | nn.Linear | QuantizedLinear):
        raise InputTypeError("the model is one linear map: use mathlm.layers.LoRALinear")
    if type(rank) is not int:
        raise InputTypeError(f"rank={rank!r} must be a whole number")


def require_new_name(model: nn.Module, name: str) -> None:
    """Refuse a name that is in use, or that no parameter may have."""
    if (
        not isinstance(name, str)
        or not name
        or "." in name
        or hasattr(nn.ParameterDict(), name)
    ):
        raise InputError(
            f"name={name!r} cannot name an adapter: give a word without a dot that is no "
            'attribute of torch.nn.ParameterDict, such as "default"'
        )
    if name in OTHER_KINDS:
        raise InputError(
            f"name={name!r} is what save_adapter calls another kind of addition: give a "
            "low-rank adapter another name"
        )
    if name in adapter_names(model):
        raise InputError(
            f"the model has an adapter {name!r} already: give another name, or call "
            f"remove_adapter(model, {name!r}) before"
        )


def require_name(model: nn.Module, name: str) -> None:
    """Refuse the name of an update that there is not."""
    known = adapter_names(model)
    if name not in known:
        raise InputError(
            f"the model has no adapter {name!r}; it has {', '.join(map(repr, known)) or 'none'}"
        )


def require_unmerged(model: nn.Module, doing: str) -> None:
    """Refuse a model with a merged update."""
    for name, layer in low_rank_layers(model):
        if layer.merged is not None:
            raise InputError(
                f"adapter {layer.active!r} is merged into {name} and others: call "
                f"unmerge_lora(model) before {doing}"
            )


def require_room(found: list[Site], rank: int) -> None:
    """Refuse a rank that a target's matrix cannot have."""
    for site in found:
        module: Any = site.module
        inputs, outputs = module.in_features, module.out_features
        if rank > min(inputs, outputs):
            raise InputError(
                f"rank={rank} is more than min(inputs, outputs) = {min(inputs, outputs)} of "
                f"{site.name}: no update of a matrix ({outputs}, {inputs}) has a greater rank"
            )


def require_untied(model: nn.Module, found: list[Site], untie: bool) -> list[Site]:
    """The targets whose matrix is read elsewhere too; an error if they are not to be untied."""
    mine = {(id(site.parent), site.attribute) for site in found}
    readers: dict[int, list[Site]] = {}
    for site in sites(model):
        for numbers in site.module.parameters(recurse=False):
            readers.setdefault(id(numbers), []).append(site)
        if isinstance(site.module, QuantizedLinear):
            readers.setdefault(id(site.module), []).append(site)
    tied = []
    for site in found:
        others = [o for o in shared_with(site, readers) if not same_target(site, o, mine)]
        if others and not untie:
            raise InputError(
                f"{site.name} and {others[0].name} are one matrix: an update of {site.name} "
                f"alone unties them; say untie=True, and {site.name} gets a copy of its own"
            )
        tied += [site] if others else []
    if untie and not tied:
        raise InputError("untie=True, but no target shares its matrix with anything: leave it")
    return tied


def shared_with(site: Site, readers: dict[int, list[Site]]) -> list[Site]:
    """Other places that read the matrix of a map."""
    module = site.module
    key = module if isinstance(module, QuantizedLinear) else getattr(module, "weight", None)
    here = (id(site.parent), site.attribute)
    found = [] if key is None else readers.get(id(key), [])
    return [other for other in found if (id(other.parent), other.attribute) != here]


def same_target(site: Site, other: Site, mine: set[tuple[int, str]]) -> bool:
    """Whether another place is the same map, and is a target too."""
    return other.module is site.module and (id(other.parent), other.attribute) in mine


def separate(site: Site) -> None:
    """Give a map a matrix of its own, and have the configuration say so."""
    module = copy.deepcopy(site.module)
    setattr(site.parent, site.attribute, module.requires_grad_(False))
    holder: Any = site.parent
    config: Any = getattr(holder, "config", None)
    if isinstance(getattr(holder, "tie_embeddings", None), bool):
        holder.tie_embeddings = False
    if hasattr(config, "tie_embeddings"):
        rest = {"all": "inputs", "target": "none"}
        said = config.tie_embeddings
        holder.config = dataclasses.replace(
            config, tie_embeddings=False if isinstance(said, bool) else rest.get(said, said)
        )


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

    Example:
        >>> from mathlm.adapt import add_lora
        >>> from mathlm.models import GPT, GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=1, n_heads=2)
        >>> model, ids = add_lora(GPT(GPTConfig(**sizes)), rank=2), torch.tensor([[72, 105]])
        >>> before = model.eval()(ids)
        >>> torch.allclose(merge_lora(model)(ids), before, atol=1e-5)
        True

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
        unwrap_layers(model)
    return model


def unmerge_lora(model: Model) -> Model:
    """Take the update out of the matrices again: they are what they were, bit for bit.

    Args:
        model: That :func:`merge_lora` merged with ``keep=True``.

    Returns:
        The same model, with the update beside its maps, in use and not merged.

    Raises:
        InputError: If nothing is merged.

    Example:
        >>> from mathlm.adapt import add_lora, merge_lora
        >>> from mathlm.models import GPT, GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=1, n_heads=2)
        >>> model, ids = add_lora(GPT(GPTConfig(**sizes)), rank=2), torch.tensor([[72, 105]])
        >>> before = model(ids)
        >>> torch.equal(unmerge_lora(merge_lora(model))(ids), before)
        True
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


def unwrap_layers(model: nn.Module) -> None:
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
