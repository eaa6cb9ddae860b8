"""Products with weights that are kept in 8 or 4 bits.

Codes are kept as blocks of columns of Wᵀ: block j holds, for every input i, the codes of its C
outputs side by side, so that x Wᵀ is a sum of short rows weighted by x. That is what a bag of
embeddings is, too: the kernel of 8 bits is torch's sum of quantized embedding rows, which reads
float32 inputs as they are. The kernel of 4 bits is that of ``torch._weight_int4pack_mm``, which
rounds inputs and outputs to bfloat16. Where a kernel does not fit, weights are written out and
multiplied.
"""

from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor
from torch.nn.functional import pad

from ..shapes import Float, Int, UInt

WIDTHS = (96, 80, 64, 48, 32, 16)  # outputs side by side that stay in registers
TAIL = 8  # bytes behind the codes of a row: the kernel wants a scale and an offset there
NIBBLE_GROUPS = (32, 64, 128, 256)


def byte_block(outputs: int) -> int:
    """Outputs in a block of bytes: the widest of those that waste least."""
    return min(WIDTHS, key=lambda C: -(-outputs // C) * C)


@cache
def nibble_block() -> int:
    """Outputs in a block of nibbles, as torch's kernel wants them on this machine."""
    return 64 if "AVX512" in torch.backends.cpu.get_cpu_capability() else 32


def pack_bytes(codes: Int[Tensor, "O I"]) -> UInt[Tensor, "n I C8"]:
    """Codes of 8 bits in blocks of columns, each row with the kernel's scale 1 and offset -128.

    Args:
        codes: int8, -128 … 127.

    Returns:
        code + 128 as uint8, and 8 bytes more in each row; outputs padded with zeros.
    """
    blocks = in_blocks(codes, byte_block(len(codes))).view(torch.uint8) ^ 128  # code + 128
    tail = torch.tensor([1.0, -128.0], dtype=torch.float32, device=codes.device)
    rows = tail.view(torch.uint8).expand(*blocks.shape[:2], TAIL)
    return torch.cat((blocks, rows), -1)


def pack_nibbles(codes: Int[Tensor, "O I"]) -> UInt[Tensor, "n I c"]:
    """Codes of 4 bits in blocks of columns, two to a byte.

    Args:
        codes: int8, -8 … 7.

    Returns:
        code + 8 as uint8: outputs of the first half of a block in the low four bits, of the
        second half in the high ones; outputs padded with zeros.
    """
    low, high = (in_blocks(codes, nibble_block()) + 8).view(torch.uint8).chunk(2, -1)
    return low | high << 4


def unpack_bytes(blocks: UInt[Tensor, "n I C8"], outputs: int) -> Int[Tensor, "O I"]:
    """The codes that were packed."""
    return from_blocks((blocks[..., :-TAIL] ^ 128).view(torch.int8), outputs)


def unpack_nibbles(blocks: UInt[Tensor, "n I c"], outputs: int) -> Int[Tensor, "O I"]:
    """The codes that were packed."""
    return from_blocks(torch.cat((blocks & 15, blocks >> 4), -1).view(torch.int8) - 8, outputs)


def byte_product(
    x: Float[Tensor, "B I"], blocks: UInt[Tensor, "n I C8"], step: Float[Tensor, " O"]
) -> Float[Tensor, "B O"]:
    """Product with weights of 8 bits, through torch's weighted sums of quantized rows.

    Computes::

        y_o = Δ_o Σ_i x_i code_oi

    The kernel sums x_i (code_oi + 128) - 128 x_i in float32.

    Args:
        x: Inputs, float32, on the CPU.
        blocks: Codes as :func:`pack_bytes` lays them out.
        step: Δ of each output.

    Returns:
        Outputs, without a gradient.
    """
    (B, _), (n, I, _) = x.shape, blocks.shape  # noqa: E741
    ids, offsets = bags(n, I, B)
    y = torch.ops.quantized.embedding_bag_byte_rowwise_offsets.default(
        blocks.flatten(0, 1), ids, offsets, False, 0, False, x.expand(n, B, I).flatten(),
        None, True,
    )  # fmt: skip
    y = y if B == 1 else y.view(n, B, -1).transpose(0, 1)  # spares one row three calls
    return y.reshape(B, -1)[:, : len(step)] * step


def byte_row_product(
    blocks: UInt[Tensor, "n I C8"], step: Float[Tensor, " O"]
) -> Callable[[Tensor], Tensor]:
    """:func:`byte_product` of one row, (1, I): what does not change is made once."""
    n, inputs, _ = blocks.shape
    ids, ends = bags(n, inputs, 1)
    rows, wide = blocks.flatten(0, 1), len(step) < n * (blocks.shape[2] - TAIL)
    with torch.inference_mode(False):  # to be written to in either mode, whichever is on now
        copies = torch.empty(n, inputs, dtype=torch.float32)  # of x, one for each block
        weights = copies.flatten()
    kernel = torch.ops.quantized.embedding_bag_byte_rowwise_offsets.default

    def product(x: Tensor) -> Tensor:
        copies.copy_(x)
        y = kernel(rows, ids, ends, False, 0, False, weights, None, True).view(1, -1)
        return y[:, : len(step)] * step if wide else y.mul_(step)

    return product


def nibble_product(
    x: Float[Tensor, "B _"], blocks: UInt[Tensor, "n I c"], grid: Float[Tensor, "N nC 2"]
) -> Float[Tensor, "B nC"]:
    """Product with weights of 4 bits, through torch's kernel.

    Computes::

        y_o = Σ_i x_i (zero_og + Δ_og code_oi),   g = group of input i

    Inputs and outputs are rounded to bfloat16 on the way, 8 binary digits.

    Args:
        x: Inputs, on the CPU; those that the last group lacks are 0.
        blocks: Codes as :func:`pack_nibbles` lays them out.
        grid: Δ and zero of each group of inputs and each output, padding included, bfloat16.

    Returns:
        Outputs in the dtype of ``x``, padding included, without a gradient.
    """
    packed = blocks.view(grid.shape[1], -1)
    inputs = blocks.shape[1]
    x16 = pad(x.bfloat16(), (0, inputs - x.shape[1]))
    y = torch.ops.aten._weight_int4pack_mm_for_cpu(x16, packed, inputs // len(grid), grid)
    return y.to(x.dtype)


def nibble_row_product(
    blocks: UInt[Tensor, "n I c"], grid: Float[Tensor, "N nC 2"], inputs: int, outputs: int
) -> Callable[[Tensor], Tensor]:
    """:func:`nibble_product` of one row, (1, I): what does not change is made once."""
    packed, group = blocks.view(grid.shape[1], -1), blocks.shape[1] // len(grid)
    kernel = torch.ops.aten._weight_int4pack_mm_for_cpu.default
    wide, missing = outputs < grid.shape[1], blocks.shape[1] - inputs

    def product(x: Tensor) -> Tensor:
        x16 = x.bfloat16() if missing == 0 else pad(x.bfloat16(), (0, missing))
        y = kernel(x16, packed, group, grid).float()
        return y[:, :outputs] if wide else y

    return product


@cache
def bags(n: int, inputs: int, rows: int) -> tuple[Tensor, Tensor]:
    """Which rows of the store each sum takes: all of one block, for each row of x."""
    blocks = torch.arange(n * inputs, dtype=torch.int32).view(n, 1, inputs)
    ends = torch.arange(0, n * rows * inputs + 1, inputs, dtype=torch.int32)
    return blocks.expand(n, rows, inputs).flatten(), ends


@cache
def byte_kernel() -> bool:
    """Whether torch has its compiled kernel for weighted sums of rows of bytes."""
    return "fbgemm" in torch.backends.quantized.supported_engines


@cache
def nibble_kernel() -> bool:
    """Whether torch has its kernel of 4 bits, and lays weights out as we do."""
    if "AVX" not in torch.backends.cpu.get_cpu_capability():
        return False
    # no two rows and no two columns alike
    codes = torch.arange(64 * 32).view(64, 32).mul(733).bitwise_right_shift(8) % 16
    theirs = torch.ops.aten._convert_weight_to_int4pack_for_cpu(codes.int(), 1)
    return torch.equal(theirs.flatten(), pack_nibbles(codes.to(torch.int8) - 8).flatten())


def in_blocks(codes: Tensor, width: int) -> Tensor:
    """(O, I) as (n, I, width), n = ⌈O / width⌉."""
    outputs, inputs = codes.shape
    padded = pad(codes, (0, 0, 0, -outputs % width))
    return padded.view(-1, width, inputs).transpose(1, 2).contiguous()


def from_blocks(blocks: Tensor, outputs: int) -> Tensor:
    """(n, I, width) as (O, I)."""
    return blocks.permute(1, 0, 2).flatten(1)[:, :outputs].mT
