"""A GPU that is not there: tensors that say they are on CUDA, while a CPU computes with them.

It finds what a run on a GPU stumbles over first: two tensors on two devices, NumPy asked to
read one on the GPU. It knows nothing of kernels, memory, speed or rounding.
"""

from contextlib import contextmanager
from unittest import mock

import torch
from torch import Tensor, nn
from torch._C._functorch import maybe_current_level
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map

CUDA = torch.device("cuda", 0)
MOVES = {Tensor.copy_, Tensor.data.__set__, torch._has_compatible_shallow_copy_type}
READS = {Tensor.numpy, Tensor.__array__}  # what NumPy cannot do with a GPU's memory
ITEMS = {Tensor.__getitem__, Tensor.__setitem__}  # indices of the CPU are read on any device


class OnCuda(Tensor):
    """A tensor that says it is on CUDA."""

    __torch_function__ = torch._C._disabled_torch_function_impl
    device = property(lambda self: CUDA)
    is_cuda = property(lambda self: True)
    is_cpu = property(lambda self: False)

    def __format__(self, how):
        """As torch formats a single number, of its own class alone."""
        return format(self.item() if self.dim() == 0 else repr(self), how)

    def __deepcopy__(self, memo):
        """Another tensor of the same kind."""
        memo[id(self)] = copy = self.detach().clone().requires_grad_(self.requires_grad)
        copy.__class__ = type(self)
        return copy


class ParameterOnCuda(OnCuda, nn.Parameter):
    """A parameter that says so."""

    __torch_function__ = torch._C._disabled_torch_function_impl


def asked_for(func, args, kwargs):
    """The kind of device that a call names, or None."""
    if func in (Tensor.cpu, Tensor.cuda):
        return func.__name__
    named = [kwargs["device"]] if kwargs.get("device") is not None else []
    if func is Tensor.to:
        named += [x for x in args[1:] if isinstance(x, torch.device | str | Tensor)]
    devices = [x.device if isinstance(x, Tensor) else torch.device(x) for x in named]
    return devices[0].type if devices else None


def refuse(func, args, kwargs):
    """Raise what torch raises on a machine with a GPU."""
    tensors = [x for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)]
    here = [x for x in tensors if not isinstance(x, OnCuda) and x.dim()]
    if not any(isinstance(x, OnCuda) for x in tensors) or func in MOVES or func is Tensor.to:
        return
    if maybe_current_level() is not None:  # of torch.func, whose tensors hide where they are
        return
    if func in READS:
        raise TypeError("can't convert cuda:0 device type tensor to numpy")
    if here and not (func in ITEMS and isinstance(args[0], OnCuda)):
        raise RuntimeError(f"{func}: expected all tensors to be on the same device")


def placed(value, cuda):
    """A result on the device where it is."""
    if not isinstance(value, Tensor) or isinstance(value, OnCuda) == cuda:
        return value
    kind = OnCuda if cuda else Tensor
    if value.requires_grad and value.is_leaf:
        return value.detach().as_subclass(kind).requires_grad_()
    return value.as_subclass(kind)


class Pretended(TorchFunctionMode):
    """Follows every call of torch, and says of each result where it would be."""

    def __init__(self):
        super().__init__()
        self.calls = 0

    def __torch_function__(self, func, types, args=(), kwargs=None):
        """Compute on the CPU."""
        kwargs = kwargs or {}
        if func in (torch.device, torch._C._nn._parse_to):  # they only name a device
            return func(*args, **kwargs)
        refuse(func, args, kwargs)
        asked = asked_for(func, args, kwargs)
        cuda = any(isinstance(x, OnCuda) for x in tree_leaves((args, kwargs)))
        if func in ITEMS:
            cuda = isinstance(args[0], OnCuda)
        args, kwargs = tree_map(self.on_cpu, (args, kwargs))
        if asked is not None and asked != ("cuda" if cuda else "cpu"):
            kwargs |= {"copy": True} if func is Tensor.to else {}
        func = {Tensor.cuda: Tensor.clone, Tensor.cpu: Tensor.clone}.get(func, func)
        found = func(*args, **kwargs)
        cuda = cuda if asked is None else asked == "cuda"
        self.calls += cuda
        if func == Tensor.data.__set__ and isinstance(args[1], OnCuda):
            args[0].__class__ = ParameterOnCuda
        return tree_map(lambda x: placed(x, cuda), found)

    @staticmethod
    def on_cpu(value):
        """A device of the call, replaced by the CPU."""
        if isinstance(value, str) and value.startswith("cuda"):
            return "cpu"
        return torch.device("cpu") if isinstance(value, torch.device) else value


@contextmanager
def pretended_cuda():
    """Within it, a GPU seems to be there."""
    states = {"get_rng_state": lambda device: None, "set_rng_state": lambda state, device: None}
    names = {"is_available": lambda: True, "get_device_name": lambda device: "a pretended GPU"}
    with mock.patch.multiple(torch.cuda, **states, **names), Pretended() as mode:
        yield mode
