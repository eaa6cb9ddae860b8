"""Linear maps and embeddings whose weights are codes of 8 or 4 bits."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import linear, pad

from ..errors import InputError
from ..functional.quantization import Levels, affine_levels, symmetric_levels
from ..functional.quantized_product import (
    NIBBLE_GROUPS,
    TAIL,
    byte_kernel,
    byte_product,
    byte_row_product,
    nibble_kernel,
    nibble_product,
    nibble_row_product,
    pack_bytes,
    pack_nibbles,
    unpack_bytes,
    unpack_nibbles,
)
from ..shapes import Float, Int


class QuantizedLinear(nn.Module):
    """A linear map whose weights are codes: what maps of 8 and of 4 bits have in common.

    Computes::

        y = (x ⊘ s) Ŵᵀ + b,   Ŵ = Q(W diag(s))

    Inputs in float32 on the CPU go through torch's kernels if they are few; all others meet
    the weights written out, in their own dtype. Weights get no gradient; inputs do.

    Args:
        blocks: Codes in blocks of columns, (n, I, bytes).
        step: Grids of the codes.
        in_features: I; blocks may have room for more.
        out_features: O, likewise.
        bias: b, (O,); None = none.
        inverse_scale: 1 ⊘ s, (I,); None = 1.
    """

    bits: int
    many: int  # inputs from which on weights are written out rather than codes read
    blocks: Tensor
    step: Tensor
    bias: Tensor | None
    inverse_scale: Tensor | None

    def __init__(
        self,
        blocks: Tensor,
        step: Tensor,
        in_features: int,
        out_features: int,
        bias: Tensor | None = None,
        inverse_scale: Tensor | None = None,
    ) -> None:
        super().__init__()
        self.in_features, self.out_features = in_features, out_features
        self.register_buffer("blocks", blocks)
        self.register_buffer("step", step)
        self.register_buffer("bias", bias)
        self.register_buffer("inverse_scale", inverse_scale)

    def forward(self, x: Float[Tensor, "*batch I"]) -> Float[Tensor, "*batch O"]:
        """Apply the map to each vector."""
        if x.shape[-1] != self.in_features:
            raise InputError(
                f"x has shape {tuple(x.shape)}, and this map reads vectors of "
                f"{self.in_features} numbers"
            )
        if self.inverse_scale is not None:
            x = x * self.inverse_scale
        if self.fits(x):
            y = self.product(x.reshape(-1, self.in_features)).view(*x.shape[:-1], -1)
        else:
            y = linear(x, self.weights(x.dtype))
        return y if self.bias is None else y + self.bias

    def fits(self, x: Tensor) -> bool:
        """Whether the kernel takes such inputs, and is the faster way."""
        few = 0 < x.numel() < self.many * self.in_features
        plain = x.dtype == torch.float32 and x.device.type == "cpu"
        return few and plain and not (x.requires_grad and torch.is_grad_enabled())

    def levels(self) -> Levels:
        """Codes and grids of Ŵ."""
        raise NotImplementedError

    def weights(self, dtype: torch.dtype | None = None) -> Float[Tensor, "O I"]:
        """Write Ŵ out; the inputs that it expects are divided by s."""
        return self.levels().values(dtype)

    def product(self, x: Float[Tensor, "B I"]) -> Float[Tensor, "B O"]:
        """Multiply by Ŵᵀ in the kernel."""
        raise NotImplementedError

    def lean(self) -> Callable[[Tensor], Tensor]:
        """The map as a function that loses no time on one row of inputs, (1, I)."""
        if not self.fits(torch.zeros(1, self.in_features, device=self.blocks.device)):
            return self.forward
        product, scale, bias = self.row_product(), self.inverse_scale, self.bias

        def rows(x: Tensor) -> Tensor:
            if len(x) != 1 or x.dtype != torch.float32 or x.requires_grad:
                return self.forward(x)
            y = product(x if scale is None else x * scale)
            return y if bias is None else y + bias

        return rows

    def row_product(self) -> Callable[[Tensor], Tensor]:
        """What :meth:`product` does with one row, all that can be made beforehand made."""
        raise NotImplementedError

    def extra_repr(self) -> str:
        """Sizes, as torch's layers print them."""
        return f"in_features={self.in_features}, out_features={self.out_features}"


class ByteLinear(QuantizedLinear):
    """A linear map with 8 bits a weight, one symmetric grid for each row; see :meth:`of`.

    Example:
        >>> weight = torch.tensor([[127.0, -3.0]])  # a step of 1
        >>> ByteLinear.of(weight).weights()
        tensor([[127.,  -3.]])
    """

    bits = 8
    many = 17

    @classmethod
    def of(
        cls,
        weight: Float[Tensor, "O I"],
        bias: Float[Tensor, " O"] | None = None,
        scale: Float[Tensor, " I"] | None = None,
    ) -> "ByteLinear":
        """Round the weights of a linear map.

        Args:
            weight: W.
            bias: b; None = none.
            scale: s, factors of the columns; None = 1.

        Raises:
            InputError: As :func:`mathlm.functional.symmetric_levels`.
        """
        levels = symmetric_levels(scaled(weight, scale), 8, dtype=weight.dtype)
        blocks = pack_bytes(levels.codes.flatten(1))
        outputs, inputs = weight.shape
        bias = None if bias is None else bias.detach().clone()
        return cls(blocks, levels.step.flatten(), inputs, outputs, bias, inverse(scale))

    def levels(self) -> Levels:
        """Codes and grids, one a row."""
        codes = unpack_bytes(self.blocks, self.out_features)
        return Levels(codes.unsqueeze(1), self.step.view(-1, 1, 1))

    def rows(self, ids: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch I"]:
        """Rows of Ŵ."""
        width = self.blocks.shape[-1] - TAIL
        codes = self.blocks[ids // width, :, ids % width].to(self.step.dtype) - 128
        return codes * self.step[ids].unsqueeze(-1)

    def product(self, x: Float[Tensor, "B I"]) -> Float[Tensor, "B O"]:
        """Multiply by Ŵᵀ in the kernel."""
        return byte_product(x, self.blocks, self.step)

    def row_product(self) -> Callable[[Tensor], Tensor]:
        """What :meth:`product` does with one row, all that can be made beforehand made."""
        return byte_row_product(self.blocks, self.step)

    def fits(self, x: Tensor) -> bool:
        """Whether the kernel takes such inputs, and is the faster way."""
        return byte_kernel() and self.step.dtype == torch.float32 and super().fits(x)


class NibbleLinear(QuantizedLinear):
    """A linear map with 4 bits a weight and a grid for each group of inputs; see :meth:`of`.

    The grids, with zeros of their own, are kept in bfloat16. torch's kernel rounds inputs and
    outputs to it, too: where it is used, results have 8 binary digits.

    Example:
        >>> weight = torch.arange(16.0)[None]  # 16 levels
        >>> NibbleLinear.of(weight, group=16).weights().tolist() == weight.tolist()
        True
    """

    bits = 4
    many = 65

    @classmethod
    def of(
        cls,
        weight: Float[Tensor, "O I"],
        bias: Float[Tensor, " O"] | None = None,
        scale: Float[Tensor, " I"] | None = None,
        group: int | None = 64,
    ) -> "NibbleLinear":
        """Round the weights of a linear map.

        Args:
            weight: W.
            bias: b; None = none.
            scale: s, factors of the columns; None = 1.
            group: Inputs that share a grid; the last may be fewer. None = all.

        Raises:
            InputError: As :func:`mathlm.functional.affine_levels`.
        """
        levels = affine_levels(scaled(weight, scale), 4, group, torch.bfloat16)
        blocks = pack_nibbles(levels.codes.flatten(1))
        grid = torch.cat((levels.step, levels.value_of_zero()), -1).transpose(0, 1)
        outputs, inputs = weight.shape
        padding = 2 * blocks.shape[0] * blocks.shape[2] - outputs
        step = pad(grid, (0, 0, 0, padding)).contiguous()  # (N, nC, 2)
        bias = None if bias is None else bias.detach().clone()
        return cls(blocks, step, inputs, outputs, bias, inverse(scale))

    def levels(self) -> Levels:
        """Codes and grids, one for each group of a row."""
        codes = unpack_nibbles(self.blocks, self.out_features)
        codes = codes.unflatten(1, (len(self.step), -1))
        grid = self.step[:, : self.out_features].transpose(0, 1)  # (O, N, 2)
        return Levels(codes, grid[..., :1], grid[..., 1:], self.in_features)

    def product(self, x: Float[Tensor, "B I"]) -> Float[Tensor, "B O"]:
        """Multiply by Ŵᵀ in the kernel."""
        return nibble_product(x, self.blocks, self.step)[:, : self.out_features]

    def row_product(self) -> Callable[[Tensor], Tensor]:
        """What :meth:`product` does with one row, all that can be made beforehand made."""
        return nibble_row_product(self.blocks, self.step, self.in_features, self.out_features)

    def fits(self, x: Tensor) -> bool:
        """Whether the kernel takes such inputs, and is the faster way."""
        group = self.blocks.shape[1] // len(self.step)
        ready = nibble_kernel() and self.step.dtype == torch.bfloat16 and group in NIBBLE_GROUPS
        return ready and super().fits(x)


class QuantizedEmbedding(nn.Module):
    """Vectors of tokens from rows of 8 bits, which a tied head reads too.

    Args:
        table: The rows, (V, D); the head itself where it is tied.

    Example:
        >>> table = ByteLinear.of(torch.tensor([[127.0, -3.0], [4.0, 127.0]]))
        >>> QuantizedEmbedding(table)(torch.tensor([1, 0]))
        tensor([[  4., 127.],
                [127.,  -3.]])
    """

    def __init__(self, table: ByteLinear) -> None:
        super().__init__()
        self.table = table

    def forward(self, ids: Int[Tensor, "*batch"]) -> Float[Tensor, "*batch D"]:
        """Look up the vector of each token."""
        return self.table.rows(ids)

    @property
    def weight(self) -> Float[Tensor, "V D"]:
        """The vectors of all tokens, written out: as much memory as an embedding takes."""
        return self.table.weights()


def fused_rows(maps: Sequence[QuantizedLinear]) -> Callable[[Tensor], Tensor]:
    """One map with the outputs of several that read the same inputs, side by side.

    The codes are moved to one place, of which each map then sees its part: they are in memory
    once. Maps that differ in their bits, groups, scales or blocks are applied one by one.

    Args:
        maps: One or more.

    Returns:
        From x (B, I) to (B, ΣO), with the least work around the kernel where B = 1. It keeps
        the codes that the maps have now.

    Raises:
        InputError: If there are none, or they read inputs of different widths.

    Example:
        >>> maps, x = [ByteLinear.of(torch.randn(4, 8)) for _ in range(2)], torch.randn(1, 8)
        >>> side_by_side = torch.cat([m(x) for m in maps], -1)
        >>> torch.allclose(fused_rows(maps)(x), side_by_side, atol=1e-5)
        True
    """
    widths = sorted({m.in_features for m in maps})
    if len(widths) != 1:
        raise InputError(f"maps that are fused read the same inputs; these read {widths}")
    if len(maps) > 1 and not fusable(maps):
        parts = [m.lean() for m in maps]
        return lambda x: torch.cat([part(x) for part in parts], -1)
    return (maps[0] if len(maps) == 1 else fuse(maps)).lean()


def fusable(maps: Sequence[QuantizedLinear]) -> bool:
    """Whether the blocks and grids of the maps may stand one behind the other."""
    first, several = maps[0], len({type(m) for m in maps}) > 1
    blocks = {m.blocks.shape[1:] for m in maps} | {m.blocks.device for m in maps}
    grids = {m.step.dtype for m in maps} | {m.step.shape[:-2] for m in maps}
    full = all(m.out_features == outputs(m) for m in maps)
    scales = all(same(m.inverse_scale, first.inverse_scale) for m in maps)
    return not several and len(blocks) == 2 and len(grids) == 2 and full and scales


def fuse(maps: Sequence[QuantizedLinear]) -> QuantizedLinear:
    """The map that holds the codes of all; see :func:`fused_rows`."""
    first = maps[0]
    blocks = torch.cat([m.blocks for m in maps])
    step = torch.cat([m.step for m in maps], 0 if first.bits == 8 else 1)
    for m, part in zip(maps, blocks.split([len(m.blocks) for m in maps]), strict=True):
        m.blocks = part
    biases = [m.bias for m in maps]
    bias = None
    if any(b is not None for b in biases):
        dtype = next(b.dtype for b in biases if b is not None)
        zeros = [step.new_zeros(m.out_features, dtype=dtype) for m in maps]
        bias = torch.cat([z if b is None else b for b, z in zip(biases, zeros, strict=True)])
    total = sum(m.out_features for m in maps)
    return type(first)(blocks, step, first.in_features, total, bias, first.inverse_scale)


def outputs(m: QuantizedLinear) -> int:
    """Outputs that the blocks have room for."""
    width = m.blocks.shape[2] - TAIL if m.bits == 8 else 2 * m.blocks.shape[2]
    return len(m.blocks) * width


def same(a: Tensor | None, b: Tensor | None) -> bool:
    """Whether two scales are equal."""
    return a is b or (a is not None and b is not None and torch.equal(a, b))


def scaled(weight: Tensor, scale: Tensor | None) -> Tensor:
    """W diag(s)."""
    return weight.detach() if scale is None else weight.detach() * scale


def inverse(scale: Tensor | None) -> Tensor | None:
    """1 ⊘ s."""
    return None if scale is None else 1 / scale
