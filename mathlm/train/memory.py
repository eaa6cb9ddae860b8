"""Bytes that the tensors of a computation take, at the end of a block and at most."""

import weakref
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves


class LiveBytes(TorchDispatchMode):
    """Counts the memory of every tensor that an operation makes within a ``with`` block.

    What existed before, such as parameters, does not count; what autograd keeps for the
    backward pass does. Views take nothing.

    Attributes:
        live: Bytes of the tensors that exist now.
        peak: The largest that ``live`` has been.

    Example:
        >>> with LiveBytes() as memory:
        ...     y = torch.zeros(3, 4, dtype=torch.float64) + 1
        >>> memory.live, memory.peak
        (96, 192)
    """

    def __init__(self) -> None:
        super().__init__()
        self.live = self.peak = 0
        self._known: set[int] = set()

    def __torch_dispatch__(
        self,
        func: Any,
        types: Sequence[type],
        args: tuple = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Run one operation and look at what it made."""
        result = func(*args, **(kwargs or {}))
        before = {self._key(t) for t in tree_leaves((args, kwargs)) if isinstance(t, Tensor)}
        for tensor in tree_leaves(result):
            if isinstance(tensor, Tensor) and self._key(tensor) not in before | self._known:
                self._begin(tensor)
        return result

    def _key(self, tensor: Tensor) -> int:
        return tensor.untyped_storage()._cdata

    def _begin(self, tensor: Tensor) -> None:
        storage = tensor.untyped_storage()
        key, size = storage._cdata, storage.nbytes()
        self._known.add(key)
        self.live += size
        self.peak = max(self.peak, self.live)
        weakref.finalize(storage, self._end, key, size)

    def _end(self, key: int, size: int) -> None:
        self._known.discard(key)
        self.live -= size
