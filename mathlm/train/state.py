"""States as tensors and JSON: optimizers, frozen and sharded models, random numbers."""

import hashlib
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..errors import CheckpointMismatchError
from ..models.files.weights import alone, named, plain, refuse, unique_tensors
from ..optim.clipping import is_sharded, local, part_like, whole
from .distributed import answering, rank
from .parallel import unwrap


def optimizer_tensors(optimizer: torch.optim.Optimizer) -> tuple[dict[str, Tensor], dict]:
    """The state of ``optimizer``: tensors under names such as ``3.m``, and the rest as JSON."""
    state = optimizer.state_dict()
    values = {f"{i}.{k}": v for i, entry in state["state"].items() for k, v in entry.items()}
    tensors = {name: value for name, value in values.items() if isinstance(value, Tensor)}
    numbers = {name: value for name, value in values.items() if name not in tensors}
    kind = {"class": type(optimizer).__name__, "library": library_of(optimizer)}
    return tensors, kind | {"numbers": numbers, "groups": state["param_groups"]}


def library_of(optimizer: torch.optim.Optimizer) -> str:
    """The package of its class, such as ``torch``."""
    return type(optimizer).__module__.split(".")[0]


def load_optimizer(
    optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor], rest: Mapping[str, Any]
) -> None:
    """Give ``optimizer`` the state that :func:`optimizer_tensors` returned, known to fit.

    The state of a sharded parameter is cut as the parameter is.
    """
    params = [p for group in optimizer.param_groups for p in group["params"]]
    state: dict[int, dict] = {}
    for name, value in {**tensors, **rest["numbers"]}.items():
        i, key = name.split(".", 1)
        p = params[int(i)]
        cut = isinstance(value, Tensor) and value.ndim > 0 and value.shape == p.shape
        value = part_like(value, p) if cut else value
        state.setdefault(int(i), {})[key] = value
    groups = [
        {k: tuple(v) if isinstance(v, list) and k != "params" else v for k, v in group.items()}
        for group in rest["groups"]
    ]
    optimizer.load_state_dict({"state": state, "param_groups": groups})


def check_optimizer_fits(
    optimizer: torch.optim.Optimizer, tensors: Mapping[str, Tensor], rest: Mapping[str, Any]
) -> None:
    """Refuse a state that was not made by such an optimizer over such parameters.

    A checkpoint that does not say of what class its optimizer was is taken by its shapes. A
    tensor may have 1 in the place of a size: Adafactor keeps means of rows and of columns.
    """
    name = type(optimizer).__name__
    if rest.get("class", name) != name:
        raise CheckpointMismatchError(
            f"state does not fit the optimizer: it was made by {rest['class']}, and this is "
            f"{name}, which keeps other averages under other options; load the weights alone"
        )
    own_library = library_of(optimizer)
    library = rest.get("library", own_library)
    if {library, own_library} == {"torch", "mathlm"}:  # others may move between files
        raise CheckpointMismatchError(
            f"state does not fit the optimizer: it was made by {library}'s {name}, and this is "
            f"{own_library}'s, which keeps its averages under other names; take {library}'s, "
            "or load the weights alone"
        )
    found = [len(group["params"]) for group in rest["groups"]]
    own = [len(group["params"]) for group in optimizer.param_groups]
    if found != own:
        raise CheckpointMismatchError(
            f"state does not fit the optimizer: groups of {found} parameters, expected {own}"
        )
    params = [p for group in optimizer.param_groups for p in group["params"]]
    numbered = [(name, t, int(name.split(".")[0])) for name, t in tensors.items()]
    extra = [named(name, t) for name, t, i in numbered if i >= len(params)]
    shapes = [
        f"{name} {plain(t.shape)} ≠ {plain(params[i].shape)}"
        for name, t, i in numbered
        if i < len(params) and t.ndim and not is_mean_of(t.shape, params[i].shape)
    ]
    refuse("state does not fit the optimizer", unexpected=extra, shape=shapes)


def is_mean_of(shape: torch.Size, whole: torch.Size) -> bool:
    """Whether ``shape`` is ``whole``, or has 1 in the place of some of its sizes."""
    same = len(shape) == len(whole)
    return same and all(n in (1, m) for n, m in zip(shape, whole, strict=True))


def own_state(model: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers by name, a tied one under its first; shards as they are."""
    model = unwrap(model)
    if not any(is_sharded(p) for p in model.parameters()):
        return unique_tensors(model)
    first: dict[int, tuple[str, Tensor]] = {}
    for name, tensor in model.state_dict(keep_vars=True).items():
        first.setdefault(id(tensor), (name, tensor))
    return {name: tensor.detach() for name, tensor in first.values()}


def gathered(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """``tensors`` in full on rank 0; on the others nothing, though they must ask as well.

    One tensor at a time is put together, so that no rank but the first holds them all.
    """
    with answering("while a checkpoint was put together", only_network=True):
        return {name: full for name, full in full_tensors(tensors) if rank() == 0}


def full_tensors(tensors: Mapping[str, Tensor]) -> Iterator[tuple[str, Tensor]]:
    """Each tensor in full; a shard leaves the device, where only parts may fit."""
    for name, tensor in tensors.items():
        yield name, whole(tensor).cpu() if is_sharded(tensor) else tensor


def copy_full(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Copy ``tensors``, in full and known to fit, into the model or this rank's part of it."""
    state = own_state(model)
    with torch.no_grad():
        for name, tensor in tensors.items():
            local(state[name]).copy_(local(part_like(tensor, state[name])))


def trained_state(model: nn.Module) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The state of a model in two parts: what a checkpoint must hold, and what is frozen.

    Frozen are parameters without ``requires_grad``, if others have it. Of a sharded model, and
    of one that is not trained at all, everything is held.
    """
    state, parameters = own_state(model), dict(unwrap(model).named_parameters())
    trained = any(p.requires_grad for p in parameters.values())
    if not trained or any(is_sharded(p) for p in parameters.values()):
        return state, {}
    frozen = {n for n, p in parameters.items() if not p.requires_grad} & state.keys()
    held = {name: t for name, t in state.items() if name not in frozen}
    return held, {name: state[name] for name in frozen}


def expected_state(
    model: nn.Module, weights: Mapping[str, Tensor], frozen: str | None
) -> dict[str, Tensor]:
    """The part of a model's state that a checkpoint with these weights is to fill.

    Args:
        model: The model that is loaded into.
        weights: What the checkpoint holds.
        frozen: Hash of what it does not hold; None = it holds everything.

    Raises:
        CheckpointMismatchError: If the model has other values than the frozen ones were.
    """
    state = own_state(model)
    if frozen is None:
        return state
    rest = {name: t for name, t in state.items() if name not in weights}
    if tensors_sha256(rest) != frozen:
        raise CheckpointMismatchError(
            f"the checkpoint holds the {len(weights)} tensors that were trained; the other "
            f"{len(rest)} of this model are not those that were frozen then: begin with the "
            "same model, prepared in the same way"
        )
    return {name: t for name, t in state.items() if name in weights}


def tensors_sha256(tensors: Mapping[str, Tensor]) -> str:
    """Hash of names, shapes, dtypes and bytes, whatever the order."""
    digest = hashlib.sha256()
    for name, tensor in sorted(tensors.items()):
        digest.update(f"{name} {tuple(tensor.shape)} {tensor.dtype}\n".encode())
        values: Any = alone(tensor.detach().cpu()).flatten().view(torch.uint8).numpy()
        digest.update(memoryview(values))
    return digest.hexdigest()


def seed_torch(*place: int) -> None:
    """Seed torch's generators with a function of ``place``, such as (seed, step, rank)."""
    word = np.random.SeedSequence(place).generate_state(1, np.uint64)
    if torch.accelerator.is_available():
        torch.manual_seed(int(word[0]))
    else:  # torch.manual_seed would format a traceback, 1 ms, for a GPU that is not there
        torch.default_generator.manual_seed(int(word[0]))


@contextmanager
def kept_rng(device: torch.device) -> Iterator[None]:
    """Give torch's generators back as they were before the block.

    On the CPU those of all GPUs in use, which :func:`seed_torch` seeds too.
    """
    used = range(torch.cuda.device_count()) if torch.cuda.is_initialized() else []
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else used):
        yield


def rng_state() -> dict[str, Any]:
    """The states of the global generators of Python, NumPy and torch, as JSON data."""
    version, words, gauss = random.getstate()
    name, keys, *rest = np.random.get_state()  # noqa: NPY002 (an objective may draw from it)
    return {
        "python": [version, list(words), gauss],
        "numpy": [name, [int(key) for key in keys], *rest],
        "torch": torch.get_rng_state().numpy().tobytes().hex(),
        "cuda": [s.numpy().tobytes().hex() for s in cuda_states()],
    }


def set_rng_state(state: dict[str, Any]) -> None:
    """Restore what :func:`rng_state` returned."""
    version, words, gauss = state["python"]
    random.setstate((version, tuple(words), gauss))
    name, keys, *rest = state["numpy"]
    np.random.set_state((name, np.array(keys, np.uint32), *rest))  # noqa: NPY002
    torch.set_rng_state(from_hex(state["torch"]))
    if len(state["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all([from_hex(s) for s in state["cuda"]])


def cuda_states() -> list[torch.Tensor]:
    """One state for each GPU; none where CUDA has not been used."""
    return torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []


def from_hex(text: str) -> torch.Tensor:
    """The bytes that ``text`` spells, as a tensor of uint8."""
    return torch.tensor(list(bytes.fromhex(text)), dtype=torch.uint8)
