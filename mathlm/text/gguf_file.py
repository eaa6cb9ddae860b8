"""GGUF files: opened quickly, and one tensor read as an array."""

import math
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy import ndarray

from ..errors import DataError, DataNotFoundError, InputError
from ..shapes import Float

INSTALL_GGUF = "pip install 'gguf>=0.17'"  # as the extra `data` in pyproject.toml


def open_gguf(path: str | os.PathLike[str]) -> Any:
    """The reader of the gguf package, over a plain array instead of a memory map.

    The map stays behind the array and nothing is copied. Each slice of a map is an object that
    is costly to make, and a vocabulary of 49,152 tokens needs half a million: without them, and
    with its strings read in two slices each, the file opens several times as fast.

    Args:
        path: A GGUF file.

    Returns:
        A ``gguf.GGUFReader``: ``.fields`` by name, and ``.tensors``.

    Raises:
        DataNotFoundError: If there is no such file, or the gguf package is not installed.
        DataError: If the file is no GGUF file.

    Example:
        >>> import tempfile
        >>> from mathlm.models import GPT, GPTConfig, save_gguf
        >>> llama = dict(norm="rms", activation="swiglu", position="rope", bias=False)
        >>> sizes = dict(vocab_size=256, context=64, d_model=32, n_layers=1, n_heads=2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = save_gguf(GPT(GPTConfig(**sizes, **llama)), f"{folder}/mine.gguf")
        ...     open_gguf(path).tensors[0].name
        'token_embd.weight'
    """
    if not Path(path).is_file():
        raise DataNotFoundError(f"there is no file {path}")
    Reader = _plain_reader()
    try:
        return Reader(path)
    except (ValueError, IndexError, KeyError, OverflowError, OSError) as error:
        raise DataError(f"{path} is not a GGUF file: {error}") from error


def _plain_reader() -> Any:
    """The reader's class; the gguf package is loaded where a file is opened."""
    try:
        from gguf import GGUFReader
    except ImportError as error:
        raise DataNotFoundError(
            f"reading GGUF needs the gguf package: {INSTALL_GGUF}"
        ) from error
    return type("PlainReader", (_Plain, GGUFReader), {})


class _Plain:
    """What a reader does with a plain array; goes before ``GGUFReader``."""

    _plain: ndarray

    @property
    def data(self) -> ndarray:
        return self._plain

    @data.setter
    def data(self, mapped: ndarray) -> None:
        self._plain = mapped.view(ndarray)

    def _get_str(self: Any, offset: int) -> tuple[ndarray, ndarray]:
        """A length and as many bytes: most of what a file with a vocabulary holds."""
        text, number = offset + 8, np.dtype(np.uint64).newbyteorder(self.byte_order)
        length = self._plain[offset:text].view(number)
        return length, self._plain[text : text + int(length[0])]

    def _get_field_parts(self: Any, orig_offs: Any, raw_type: Any) -> Any:
        """A list of strings or numbers in one walk: kind, count, then its entries."""
        from gguf import GGUFValueType

        kind = self._get(orig_offs, np.uint32)
        if raw_type != GGUFValueType.ARRAY or kind[0] == GGUFValueType.ARRAY:
            return super()._get_field_parts(orig_offs, raw_type)  # type: ignore[misc]
        count, end = self._get(orig_offs + 4, np.uint64), orig_offs + 12
        parts, entry = [kind, count], GGUFValueType(kind[0])
        if entry == GGUFValueType.STRING:
            plain, number = self._plain, np.dtype(np.uint64).newbyteorder(self.byte_order)
            for _ in range(count[0]):  # as _get_str, without a call for each string
                length = plain[end : end + 8].view(number)
                start, end = end + 8, end + 8 + int(length[0])
                parts += (length, plain[start:end])
            places = range(3, len(parts), 2)
        else:
            numbers = self._get(end, self.gguf_scalar_to_np[entry], count[0])
            parts.extend(numbers.reshape(-1, 1))
            end += numbers.nbytes
            places = range(2, len(parts))
        types = [GGUFValueType.ARRAY, entry][: 1 + bool(places)]
        return end - orig_offs, parts, list(places), types


def gguf_tensor(path: str | os.PathLike[str], name: str) -> Float[ndarray, "..."]:
    """One tensor of a GGUF file, its quantized numbers written out.

    Args:
        path: A GGUF file.
        name: Name of the tensor, such as "token_embd.weight".

    Returns:
        float32, of the shape that the model has: the last dimension varies fastest.

    Raises:
        DataNotFoundError, DataError: As :func:`open_gguf`.
        InputError: If the file has no tensor of that name.

    Example:
        >>> import tempfile
        >>> from mathlm.models import GPT, GPTConfig, save_gguf
        >>> llama = dict(norm="rms", activation="swiglu", position="rope", bias=False)
        >>> sizes = dict(vocab_size=256, context=64, d_model=32, n_layers=1, n_heads=2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = save_gguf(GPT(GPTConfig(**sizes, **llama)), f"{folder}/mine.gguf")
        ...     gguf_tensor(path, "token_embd.weight").shape
        (256, 32)
    """
    tensors = {tensor.name: tensor for tensor in open_gguf(path).tensors}
    if name not in tensors:
        shown = ", ".join(sorted(tensors)[:5])
        raise InputError(
            f"{path} has no tensor {name!r}; it has {len(tensors)}, such as {shown}"
        )
    return gguf_numbers(tensors[name])


def gguf_numbers(tensor: Any) -> Float[ndarray, "..."]:
    """The numbers of a tensor of an open GGUF file, written out if they are quantized.

    A block of quantized numbers knows nothing of its row. So rows are joined, up to sixteen,
    before the gguf package takes them sixteen at a time: half of its time is spent between
    its calls.

    Args:
        tensor: One of the ``.tensors`` of :func:`open_gguf`.

    Returns:
        float32, of the shape that the model has; a view of the file where nothing is packed.

    Example:
        >>> import tempfile
        >>> from mathlm.models import GPT, GPTConfig, save_gguf
        >>> llama = dict(norm="rms", activation="swiglu", position="rope", bias=False)
        >>> sizes = dict(vocab_size=256, context=64, d_model=32, n_layers=1, n_heads=2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = save_gguf(GPT(GPTConfig(**sizes, **llama)), f"{folder}/mine.gguf")
        ...     first = open_gguf(path).tensors[0]
        ...     first.name, gguf_numbers(first).shape
        ('token_embd.weight', (256, 32))
    """
    from gguf import dequantize

    if tensor.data.dtype.kind in "fi":  # not packed: float or integer of any width
        return np.asarray(tensor.data, dtype=np.float32)
    *rows, width = tensor.data.shape
    joined = tensor.data.reshape(-1, math.gcd(math.prod(rows), 16) * width)
    numbers = dequantize(joined, tensor.tensor_type).reshape(*rows, -1)
    return np.asarray(numbers, dtype=np.float32)


__all__ = ["INSTALL_GGUF", "gguf_numbers", "gguf_tensor", "open_gguf"]
