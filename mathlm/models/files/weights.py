"""Weights as safetensors, read and written here alone; nothing is unpickled."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save, save_file
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from ...errors import CheckpointCorruptError, CheckpointError, CheckpointMismatchError

FILE = "model.safetensors"
HEADER_LIMIT = 100_000_000  # bytes
GROUP = 8  # tensors that are read at once
PICKLES = (b"PK\x03\x04", b"\x80", b"\x93NUMPY")  # torch.save, pickle, numpy.save
PICKLE_SUFFIXES = {".bin", ".pt", ".pth", ".ckpt", ".pkl"}


class _Undrawn(TorchFunctionMode):
    """Random tensors stay as they are; positions are counted, in memory.

    Without memory, ``torch.arange`` and what is computed of it run in Python, which loads the
    compiler: two seconds. Tables of positions are small, and no weights.
    """

    def __torch_function__(self, func, types, args=(), kwargs=None):
        if func.__name__ in {"normal_", "uniform_"}:
            return args[0] if args else kwargs["tensor"]
        if func is torch.arange:
            kwargs = {"device": "cpu", **(kwargs or {})}
        return func(*args, **(kwargs or {}))


@contextmanager
def shapes_only() -> Iterator[None]:
    """Models made inside take no memory, time or random numbers: their weights have no values.

    For a model whose weights are all about to be put in place by
    ``model.load_state_dict(…, assign=True)``.
    """
    with torch.device("meta"), _Undrawn():
        yield


def load_weights(folder: str | Path) -> dict[str, Tensor]:
    """The tensors of a model's folder, by name, from its file ``model.safetensors``.

    Args:
        folder: Such as :func:`mathlm.text.corpora.pretrained.find` returns it.

    Raises:
        CheckpointError: If there is no such file.
        CheckpointCorruptError: If its header is not valid.
        CheckpointMismatchError: If the folder offers a pickle instead.

    Example:
        >>> import tempfile
        >>> from mathlm.models import GPT, GPTConfig, save_pretrained
        >>> sizes = dict(vocab_size=256, context=64, d_model=32, n_layers=2, n_heads=4)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = save_pretrained(GPT(GPTConfig(**sizes)), f"{folder}/mine")
        ...     max(load_weights(path).values(), key=len).shape  # a vector for each token
        torch.Size([256, 32])
    """
    folder = Path(folder)
    if (folder / FILE).is_file():
        return read_tensors(folder / FILE)
    found = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else None
    for name in found or ():
        if Path(name).suffix in PICKLE_SUFFIXES and (folder / name).is_file():
            refuse_pickle(folder / name)
    inside = "is not a folder" if found is None else f"holds {', '.join(found) or 'nothing'}"
    raise CheckpointError(f"{folder / FILE} is missing: {folder} {inside}")


def read_tensors(path: Path) -> dict[str, Tensor]:
    """Tensors of a safetensors file, checked before memory is taken for them.

    Raises:
        CheckpointCorruptError: If the header is not valid.
        CheckpointMismatchError: If the file is a pickle.
    """
    refuse_pickle(path)
    size = path.stat().st_size
    with open(path, "rb") as file:
        header = int.from_bytes(file.read(8), "little")
    if not 2 <= header <= min(size - 8, HEADER_LIMIT):
        raise CheckpointCorruptError(
            f"{path} has an invalid header: {header:,} bytes in a file of {size:,}"
        )
    try:
        with safe_open(path, "pt") as file:
            names = list(file.keys())
        groups = (names[i : i + GROUP] for i in range(0, len(names), GROUP))
        return {n: tensor for group in groups for n, tensor in copies(path, group)}
    except (SafetensorError, ValueError, KeyError) as error:
        raise CheckpointCorruptError(f"{path} has an invalid header: {error}") from error


def copies(path: Path, names: list[str]) -> Iterator[tuple[str, Tensor]]:
    """Tensors of a safetensors file in memory of their own.

    The file is mapped into memory meanwhile, and what was read of it stays there until it is
    closed: reading it in parts takes no more memory than the copies.
    """
    with safe_open(path, "pt") as file:
        for name in names:
            yield name, file.get_tensor(name).clone()


def refuse_pickle(path: Path) -> None:
    """Refuse files that other programs would unpickle, which can run any code."""
    with open(path, "rb") as file:
        start = file.read(9)
    if start.startswith(PICKLES) and start[8:] != b"{":
        raise CheckpointMismatchError(
            f"{path} contains objects that are not tensors; mathlm does not unpickle: convert "
            "it to safetensors where it was made"
        )


def to_bytes(tensors: Mapping[str, Tensor]) -> bytes:
    """``tensors`` as the content of a safetensors file."""
    return save(on_their_own(tensors))


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write a safetensors file from the memory that the tensors have.

    Raises:
        OSError: If the disk refuses.
    """
    path.touch()
    mode = path.stat().st_mode  # what the umask leaves; safetensors makes files of mode 600
    try:
        save_file(on_their_own(tensors), path)
    except SafetensorError as error:
        number = re.search(r"(?:os error|code:) (\d+)", str(error))
        if number is None:
            raise
        code = int(number[1])
        raise OSError(code, os.strerror(code)) from error
    path.chmod(mode)


def on_their_own(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Each in row order, on the CPU, in memory that no other shares."""
    return {name: alone(tensor.detach().cpu()) for name, tensor in tensors.items()}


def alone(tensor: Tensor) -> Tensor:
    """``tensor`` in memory of its own, in row order."""
    shared = tensor.untyped_storage().nbytes() != tensor.nbytes
    return tensor.clone() if shared else tensor.contiguous()


def unique_tensors(model: nn.Module) -> dict[str, Tensor]:
    """The state of ``model``, with a tensor that has several names under the first of them."""
    tensors: dict[str, Tensor] = {}
    seen = set()
    for name, tensor in model.state_dict().items():
        place = (tensor.data_ptr(), tensor.shape, tensor.stride())
        if tensor.numel() == 0 or place not in seen:
            tensors[name] = tensor
        seen.add(place)
    return tensors


def copy_weights(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Copy ``tensors``, known to fit, into the model."""
    with torch.no_grad():
        for name, tensor in unique_tensors(model).items():
            tensor.copy_(tensors[name])


def check_weights_fit(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Refuse tensors that are not those of ``model``, all differences at once."""
    check_tensors_fit("state does not fit the model", tensors, unique_tensors(model))


def check_tensors_fit(
    complaint: str, tensors: Mapping[str, Tensor], expected: Mapping[str, Tensor]
) -> None:
    """Refuse tensors of other names, shapes or dtypes than expected, all at once.

    Raises:
        CheckpointMismatchError: ``complaint``, and the names that differ.
    """
    both = [(name, tensors[name], own) for name, own in expected.items() if name in tensors]
    refuse(
        complaint,
        missing=[named(n, t) for n, t in expected.items() if n not in tensors],
        unexpected=[named(n, t) for n, t in tensors.items() if n not in expected],
        shape=[
            f"{name} {plain(found.shape)} ≠ {plain(own.shape)}"
            for name, found, own in both
            if found.shape != own.shape
        ],
        dtype=[
            f"{name} {plain(found.dtype)} ≠ {plain(own.dtype)}"
            for name, found, own in both
            if found.dtype != own.dtype
        ],
    )


def refuse(complaint: str, **differences: list[str]) -> None:
    """Raise one error that lists all ``differences``, if there are any."""
    parts = [listed(kind, names) for kind, names in differences.items() if names]
    if parts:
        raise CheckpointMismatchError(f"{complaint}: {'; '.join(parts)}")


def listed(kind: str, names: list[str]) -> str:
    """The first ten ``names``, and how many more there are."""
    more = f" and {len(names) - 10} more" if len(names) > 10 else ""
    text = ", ".join(names[:10]) + more
    return (
        f"{kind} {len(names)} ({text})"
        if kind in {"missing", "unexpected"}
        else f"{kind} {text}"
    )


def named(name: str, tensor: Tensor) -> str:
    """A tensor in a list: its name and its shape."""
    return f"{name} {plain(tensor.shape)}"


def plain(value: torch.Size | torch.dtype) -> str:
    """A shape as ``(64,32)``, a dtype as ``float32``."""
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    return f"({','.join(map(str, value))})"
