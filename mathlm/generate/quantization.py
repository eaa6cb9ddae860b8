"""A GPT with weights of 8 or 4 bits."""

import math
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from copy import deepcopy
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from ..errors import InputError, InputTypeError
from ..functional import best_activation_scale
from ..layers import MixtureOfExperts
from ..layers.quantization import ByteLinear, NibbleLinear, QuantizedEmbedding, QuantizedLinear
from ..models import GPT
from ..models.files.saving import added_parts, explain_parts
from ..models.gpt_config import require_no_variant
from .decoding import evaluating, require_integer

Method = Literal["nearest", "activation-aware"]
GROUP = 64  # inputs that share a grid of 4 bits
SOURCES = {"W_q": "in", "W_k": "in", "W_v": "in", "W_o": "out"}
SOURCES |= {"W_in": "in", "W_gate": "in", "W_out": "out"}
HUGE = 2.0**64  # weights whose squares float32 does not hold
SAMPLE = 256  # inputs of a matrix that scales are chosen on


def quantize(
    model: GPT,
    bits: int = 8,
    group: int | None = None,
    method: Method = "nearest",
    calibration: Tensor | None = None,
) -> GPT:
    """A copy of a model whose matrices are codes of 8 or 4 bits.

    Computes, for every linear map of every block::

        8 bits:  Ŵ_oi = Δ_o code_oi                     one symmetric grid for each row
        4 bits:  Ŵ_oi = zero_og + Δ_og code_oi          one grid for each group of inputs

    The embedding and the head, which tied models share, have 8 bits a weight in either case:
    an error of theirs is one of the stream's beginning and of the logits. Biases,
    normalizations and learned positions stay as they are.

    Args:
        model: In any floating format; it is not changed.
        bits: 8 or 4.
        group: Inputs that share a grid, of 4 bits alone; the last of a row may be fewer. None =
            64.
        method: "nearest" rounds W; "activation-aware" rounds W diag(s) and divides inputs by
            s, which is chosen for each matrix on the calibration text, of 4 bits alone.
        calibration: Ids (B, T) of a text like those that will be read, for that method.

    Returns:
        A GPT for reading and generating: its matrices have no parameters to train.

    Raises:
        InputTypeError: If it is no GPT of this package, or an argument is of another kind.
        InputError: If an argument does not fit another, a weight is not finite or is 2^64 or
            more, or the model is quantized already or has adapters.
        ConfigError: If the model has a variant.

    Example:
        >>> from mathlm.generate import stored_bytes
        >>> from mathlm.models import GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=64, n_layers=2, n_heads=2)
        >>> model = GPT(GPTConfig(**sizes))
        >>> stored_bytes(quantize(model, bits=8)) < stored_bytes(model) / 3
        True

    References:
        Dettmers et al. (2022), arXiv:2208.07339, section 2.
        Lin et al. (2023), arXiv:2306.00978, section 3.
    """
    require_options(model, bits, group, method, calibration)
    scales: dict[str, Tensor] = {}
    if calibration is not None:
        scales = input_scales(model, calibration, 4, GROUP if group is None else group)
    memo: dict[int, Any] = {}  # what the copy has in the place of each module
    for name, module in inner_maps(model):
        bias = bias_of(module)
        with naming(name):
            weight = moderate(module.weight)
            if bits == 8:
                memo[id(module)] = ByteLinear.of(weight, bias)
            else:
                scale = scales.get(name)
                memo[id(module)] = NibbleLinear.of(
                    weight, bias, scale, GROUP if group is None else group
                )
    memo |= byte_tables(model)
    return deepcopy(model, memo).eval().requires_grad_(False)


def stored_bytes(model: nn.Module) -> int:
    """What the parameters and buffers of a model take; those that are shared count once.

    Returns:
        Memory [bytes].

    Example:
        >>> stored_bytes(torch.nn.Linear(3, 2))  # 8 numbers of 4 bytes
        32
    """
    return sum(t.nbytes for t in (*model.parameters(), *model.buffers()))


@torch.no_grad()
def input_scales(model: GPT, ids: Tensor, bits: int, group: int | None) -> dict[str, Tensor]:
    """Scale of the inputs of every linear map in the blocks, by its name.

    Maps that read the same inputs share one, so that it may be folded into what comes before.

    Args:
        model: A GPT with weights that are not codes.
        ids: Calibration text, (B, T), int64.
        bits: Of the levels that the weights will be rounded to.
        group: Inputs that share a grid; None = all.

    Returns:
        s of each map; see :func:`mathlm.functional.best_activation_scale`.

    Raises:
        InputError: If the model is quantized already, or has adapters.

    Example:
        >>> from mathlm.models import GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=64, n_layers=1, n_heads=2)
        >>> model, ids = GPT(GPTConfig(**sizes)), torch.tensor([list(b"To be, or not to be")])
        >>> scales = input_scales(model, ids, bits=4, group=None)
        >>> scales["blocks.0.attention.W_q"].shape
        torch.Size([64])
    """
    require_plain(model)
    maps = dict(inner_maps(model))
    groups = readers(maps)
    seen = inputs_seen(model, ids, [maps[names[0]] for names in groups])
    scales: dict[str, Tensor] = {}
    for names, x in zip(groups, seen, strict=True):
        every = -(-len(x) // SAMPLE)
        weights = [maps[name].weight.to(x.dtype) for name in names]
        with naming(names[0]):
            s, _ = best_activation_scale(
                weights, x[::every], x.abs().mean(0), bits, group, dtype=torch.bfloat16
            )
        scales |= dict.fromkeys(names, s.to(maps[names[0]].weight.dtype))
    return scales


def inputs_seen(model: GPT, ids: Tensor, maps: Sequence[nn.Module]) -> list[Tensor]:
    """Inputs (n, I) that each map reads while the model reads a text, in float32 or wider."""
    seen: list[Tensor] = []

    def keep(module: nn.Module, inputs: tuple[Tensor]) -> None:
        x = inputs[0].detach().flatten(0, -2)
        seen.append(x if x.dtype == torch.float64 else x.float())

    with ExitStack() as stack, evaluating(model):
        for module in maps:
            hook = module.register_forward_pre_hook(keep)
            stack.callback(hook.remove)
        model(ids)
    return seen


def inner_maps(model: GPT) -> Iterator[tuple[str, nn.Linear]]:
    """The linear maps of the blocks by name, in the order in which they are read."""
    for name, module in model.blocks.named_modules(prefix="blocks"):
        if isinstance(module, nn.Linear):
            yield name, module


def readers(names: Iterable[str]) -> list[list[str]]:
    """Names of maps, those together that read the same inputs."""
    groups: dict[str, list[str]] = {}
    for name in names:
        part, _, last = name.rpartition(".")
        groups.setdefault(f"{part} {SOURCES[last]}", []).append(name)
    return list(groups.values())


def byte_tables(model: GPT) -> dict[int, nn.Module]:
    """What takes the place of the head and the embedding; one table where they are tied."""
    with naming("head"):
        head = ByteLinear.of(moderate(model.head.weight), bias_of(model.head))
    table, weight = head, model.token_embedding.weight
    if weight is not model.head.weight:
        with naming("token_embedding"):
            table = ByteLinear.of(moderate(weight))
    return {id(model.head): head, id(model.token_embedding): QuantizedEmbedding(table)}


def moderate(weight: Tensor) -> Tensor:
    """The weight, once it is known that products with its codes do not overflow at once."""
    weight = weight.detach()
    largest = float(weight.abs().max())
    if HUGE <= largest < math.inf:
        raise InputError(
            f"the largest weight is {largest:.3g}, 2^64 or more: sums of products with its "
            "codes overflow in float32; scale the weights down"
        )
    return weight


def bias_of(module: nn.Linear) -> Tensor | None:
    """A copy of the bias, if there is one."""
    return None if module.bias is None else module.bias.detach().clone()


@contextmanager
def naming(name: str) -> Iterator[None]:
    """Say of which matrix an error speaks."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{name}: {error}") from error


def require_plain(model: GPT) -> None:
    """Refuse a model whose weights are codes, or that has experts or more than weights."""
    if any(isinstance(module, QuantizedLinear) for module in model.modules()):
        raise InputError("the model is quantized already: start from the one it was made of")
    if any(isinstance(module, MixtureOfExperts) for module in model.modules()):
        raise InputError("the model has experts, of which no codes are made: give a plain GPT")
    if added_parts(model):
        raise InputError(f"codes are made of a model without {explain_parts(model)}")


def require_options(
    model: object, bits: int, group: int | None, method: str, calibration: Tensor | None
) -> None:
    """Refuse what is no GPT, and options that do not go together."""
    if not isinstance(model, GPT):
        raise InputTypeError(f"quantize takes a GPT, got {type(model).__name__}")
    require_plain(model)
    require_no_variant(model.config, "quantize")
    require_integer("bits", bits)
    if group is not None:
        require_integer("group", group)
    if bits not in (8, 4):
        raise InputError(f"bits={bits} must be 8 or 4: there is no store of other widths")
    if bits == 8 and group is not None:
        raise InputError(f"group={group}: weights of 8 bits have one grid for each row")
    if method not in get_args(Method):
        raise InputError(f"method={method!r} must be one of {get_args(Method)}")
    aware = method == "activation-aware"
    if aware and bits == 8:
        raise InputError("activation-aware scales are for bits=4: at 8 bits there is no need")
    if aware != (calibration is not None):
        raise InputError(
            f"method={method!r} {'needs' if aware else 'takes no'} calibration ids, (B, T)"
        )
    if calibration is not None and not isinstance(calibration, Tensor):
        raise InputTypeError(
            f"calibration is a {type(calibration).__name__}: give ids, an int64 tensor (B, T)"
        )
