"""What tells the weights that an adapter was made for from all others."""

import hashlib
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ..errors import InputTypeError
from ..layers.low_rank import LoRALinear
from .additions import additions

SHARD = 1 << 24  # numbers that are hashed together


def base_fingerprint(
    model: nn.Module, *, dtype: torch.dtype | None = None, without: Sequence[str] = ()
) -> str:
    """SHA-256 of the weights below a model's adapters.

    Computes::

        SHA-256 of name, dtype, shape and bytes of every tensor of the base, in order of names

    Adapters change nothing of it, whether they are beside the weights, merged with
    ``keep=True``, in use or not, and neither does a tied head that got a copy of its own. One
    step of training of a base weight changes it.

    Args:
        model: With or without adapters.
        dtype: To which weights are rounded before; None = as they are. bfloat16 makes the
            fingerprint of a base that was read in float32 that of the same base in bfloat16.
        without: Names of tensors that do not count, such as those that are trained too.

    Returns:
        64 hexadecimal digits.
    """
    if dtype is not None and not isinstance(dtype, torch.dtype):
        raise InputTypeError(f"dtype={dtype!r} is none of torch: give torch.bfloat16, or None")
    if isinstance(without, str):
        raise InputTypeError(f"without={without!r} is one word: give a list, [{without!r}]")
    digest = hashlib.sha256()
    for name, tensor in sorted(base_tensors(model).items()):
        if name in without:
            continue
        if dtype is not None and tensor.is_floating_point():
            tensor = tensor.to(dtype)
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        add_bytes(digest, tensor)
    return digest.hexdigest()


def base_tensors(model: nn.Module) -> dict[str, Tensor]:
    """The state of a model without its adapters, under the names that it has without them."""
    added = {name for addition in additions(model) for name in addition.parameters}
    wrappers = [n for n, module in model.named_modules() if isinstance(module, LoRALinear)]
    matrices = tuple(f"{name}.{end}." for name in wrappers for end in "AB")
    bases = {f"{name}.base.": f"{name}." for name in wrappers}
    found = {}
    for name, tensor in model.state_dict().items():
        if name not in added and not name.startswith(matrices):
            wrapped = next((own for own in bases if name.startswith(own)), "")
            found[bases.get(wrapped, "") + name.removeprefix(wrapped)] = tensor
    return found


def trained_tensors(model: nn.Module) -> list[str]:
    """Names of the base's tensors that have gradients, as they are without adapters."""
    places = {p.data_ptr() for p in model.parameters() if p.requires_grad}
    return sorted(n for n, t in base_tensors(model).items() if t.data_ptr() in places)


def add_bytes(digest, tensor: Tensor) -> None:
    """Hash the numbers of a tensor, a part at a time."""
    for part in tensor.detach().contiguous().flatten().split(SHARD):
        digest.update(part.cpu().view(torch.uint8).numpy().data)
