"""Products of few vectors with a large matrix, on a CPU.

A product of B vectors with W (O, I) reads O I numbers for 2 B O I operations: with few vectors
the memory sets the pace, and one core alone does not draw all that it delivers. The libraries
behind ``torch.mm`` share out products of many rows and leave one of few to a single thread.
A batch of products is shared out whatever its sizes. So W is taken as a batch of slices of its
rows, which is a view of it: no number is moved.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import linear

SLICES = 16  # as many threads find work; the same on each machine, so that sums are, too
LARGE = 2**17  # numbers of W from which on the slices pay
NARROW = 4096  # numbers of x up to which W stands on the left
FEW = 16  # rows of x


def slices_pay(W: Tensor) -> bool:
    """Whether the product in slices is the faster way: float32, large, and torch has MKL.

    Example:
        >>> slices_pay(torch.zeros(8, 8))
        False
    """
    plain = W.dtype == torch.float32 and W.device.type == "cpu" and W.is_contiguous()
    large = W.numel() >= LARGE and len(W) >= 8 * SLICES
    return plain and large and torch.backends.mkl.is_available()


def sliced_product(W: Tensor) -> Callable[[Tensor], Tensor]:
    """The product with a matrix as a function for few vectors, each slice a product of a batch.

    Computes::

        y_bo = Σ_i x_bi W_oi

    Args:
        W: Contiguous, (O, I), on the CPU; the function reads it where it is.

    Returns:
        A function of x, (B, I), whose outputs are (B, O), in any order of memory.

    Example:
        >>> W = torch.arange(70.0).view(35, 2)
        >>> sliced_product(W)(torch.tensor([[1.0, 2.0]]))[0, -2:]  # 66 + 2 · 67, 68 + 2 · 69
        tensor([200., 206.])
    """
    whole = len(W) - len(W) % SLICES
    slices, rest = W[:whole].view(SLICES, -1, W.shape[1]), W[whole:]

    def product(x: Tensor) -> Tensor:
        B, inputs = x.shape
        if B > FEW:
            return linear(x, W)
        x = x.contiguous()  # the kernel is several times slower on vectors side by side
        if x.numel() <= NARROW:
            y = torch.bmm(slices, x.mT.expand(SLICES, inputs, B)).view(whole, B).mT
        else:
            y = torch.bmm(x.expand(SLICES, B, inputs), slices.mT)
            y = y.transpose(0, 1).reshape(B, whole)
        return y if not len(rest) else torch.cat((y, linear(x, rest)), 1)

    return product
