"""A linear map that is left as it is, and low-rank updates beside it."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ..errors import ConfigError, InputError
from ..functional.low_rank import lora_scale, low_rank_update, merged_weight
from ..shapes import Float
from .quantization import QuantizedLinear


@dataclass(frozen=True, kw_only=True)
class LoRASettings:
    """Choices of one low-rank update.

    Args:
        rank: r, numbers that the update reads from an input.
        alpha: α, its strength.
        dropout: Probability with which an entry of its inputs is set to 0 in training.
        rank_stabilized: Whether the factor is α/√r in place of α/r.

    Raises:
        ConfigError: If the rank is below 1, α is not positive and finite, or the dropout is not
            in [0, 1).

    Example:
        >>> LoRASettings(rank=4, alpha=8).scale  # α / r
        2.0
    """

    rank: int
    alpha: float | int
    dropout: float | int = 0.0
    rank_stabilized: bool = False

    def __post_init__(self) -> None:
        if type(self.rank) is not int or self.rank < 1:
            raise ConfigError(f"rank={self.rank!r} must be a whole number, at least 1")
        if not (is_number(self.alpha) and self.alpha > 0 and math.isfinite(self.alpha)):
            raise ConfigError(f"alpha={self.alpha!r} must be a number, positive and finite")
        if not (is_number(self.dropout) and 0 <= self.dropout < 1):
            raise ConfigError(f"dropout={self.dropout!r} must be a number in [0, 1)")
        if not isinstance(self.rank_stabilized, bool):
            raise ConfigError(f"rank_stabilized={self.rank_stabilized!r} is not True or False")

    @property
    def scale(self) -> float:
        """Factor of the update, s."""
        return lora_scale(self.rank, self.alpha, self.rank_stabilized)


def is_number(value: object) -> bool:
    """Whether it is a number of Python; True and False are none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


class LoRALinear(nn.Module):
    """A linear map that is not trained, and low-rank updates, one of which may be in use.

    Implements eq-small-lora::

        y = W x + b + s B A x,   A (r, I) uniform in ±1/√I,   B (O, r) zero at the start

    so that it starts as the map that it is made of, and r (I + O) numbers are trained. It holds
    the map rather than being one: code that asks for ``weight`` gets an error, not a matrix
    without the update.

    While the update is merged, y = W' x + b with a matrix of its own; W, A and B stay, and the
    state dict does not change. A and B of a map in half precision are in float32, where small
    steps are not lost.

    Args:
        base: The map: a :class:`torch.nn.Linear`, or a :class:`QuantizedLinear`, whose codes
            get no gradient.

    Attributes:
        A: Matrices by the name of the update.
        B: Likewise.
        settings: :class:`LoRASettings` by the name of the update.
        active: Name of the update in use; None = the map alone.
        merged: W' while the update is merged, else None.

    Example:
        >>> base, x = torch.nn.Linear(8, 4), torch.randn(3, 8)
        >>> lora = LoRALinear(base)
        >>> lora.add("mine", LoRASettings(rank=2, alpha=4))
        >>> torch.equal(lora(x), base(x)), lora.A["mine"].shape  # B is 0 at the start
        (True, torch.Size([2, 8]))

    References:
        Hu et al. (2021), arXiv:2106.09685, section 4.1.
        Dettmers et al. (2023), arXiv:2305.14314, section 3.
    """

    merged: Tensor | None

    def __init__(self, base: nn.Linear | QuantizedLinear) -> None:
        super().__init__()
        self.base = base.requires_grad_(False)
        self.in_features, self.out_features = base.in_features, base.out_features
        self.A, self.B = nn.ParameterDict(), nn.ParameterDict()
        self.settings: dict[str, LoRASettings] = {}
        self.active: str | None = None
        self.register_buffer("merged", None, persistent=False)
        self.register_load_state_dict_post_hook(remerge)
        self.train(base.training)

    @property
    def numbers(self) -> Tensor:
        """A tensor of the map: what says its dtype and device."""
        return self.base.step if isinstance(self.base, QuantizedLinear) else self.base.weight

    def add(
        self, name: str, settings: LoRASettings, generator: torch.Generator | None = None
    ) -> None:
        """Put an update beside the map, without using it; it starts as no change.

        Args:
            name: Of the update.
            settings: Its choices; the rank is at most min(I, O).
            generator: Source of A, on the CPU; None = torch's own.

        Raises:
            InputError: If the rank is too great, or there is an update of this name.
        """
        most = min(self.in_features, self.out_features)
        if settings.rank > most:
            raise InputError(
                f"rank={settings.rank} is more than min(inputs, outputs) = {most}: no update "
                f"of a matrix ({self.out_features}, {self.in_features}) has a greater rank"
            )
        if name in self.settings:
            raise InputError(f"there is an update {name!r} already")
        dtype = torch.promote_types(self.numbers.dtype, torch.float32)
        A = torch.empty(settings.rank, self.in_features, dtype=dtype)
        bound = 1 / math.sqrt(self.in_features)
        A = A.uniform_(-bound, bound, generator=generator).to(self.numbers.device)
        self.A[name] = nn.Parameter(A)
        self.B[name] = nn.Parameter(A.new_zeros(self.out_features, settings.rank))
        self.settings[name] = settings

    def remove(self, name: str) -> None:
        """Forget an update."""
        del self.A[name], self.B[name], self.settings[name]
        if self.active == name:
            self.active = self.merged = None

    def forward(self, x: Float[Tensor, "*batch I"]) -> Float[Tensor, "*batch O"]:
        """Apply the map and its update to each vector."""
        if self.merged is not None:
            return self._forward_merged(x, self.merged)
        y = self.base(x)
        if self.active is None:
            return y
        settings = self.settings[self.active]
        dropout = settings.dropout if self.training else 0.0
        A, B = self.A[self.active], self.B[self.active]
        return (y + low_rank_update(x, A, B, settings.scale, dropout)).to(y.dtype)

    def _forward_merged(self, x: Tensor, W: Tensor) -> Tensor:
        if self.training and torch.is_grad_enabled():
            raise InputError(
                f"the update {self.active!r} is merged, and would not learn: call "
                "unmerge_lora(model) to train it, or model.eval() to use it"
            )
        return nn.functional.linear(x, W, self.base.bias)

    def weights(self) -> Float[Tensor, "O I"]:
        """W' of the update in use, in the dtype of W; W itself if none is.

        Raises:
            InputError: If the map is quantized.
        """
        if isinstance(self.base, QuantizedLinear):
            raise InputError(
                f"the map has weights of {self.base.bits} bits, into which no update can be "
                "merged: its steps are greater than the update; use it unmerged"
            )
        if self.active is None:
            return self.base.weight.detach()
        A, B = self.A[self.active].detach(), self.B[self.active].detach()
        scale = self.settings[self.active].scale
        return merged_weight(self.base.weight.detach(), A, B, scale)

    def __getattr__(self, name: str):
        if name == "weight":
            raise AttributeError(
                "a LoRALinear has no matrix of its own: .base.weight is the one that is not "
                "trained, .weights() that with the update; merge_lora(model, keep=False) makes "
                "a plain nn.Linear of it"
            )
        return super().__getattr__(name)

    def extra_repr(self) -> str:
        """Ranks of the updates, and which is in use."""
        ranks = ", ".join(f"{name}: {s.rank}" for name, s in self.settings.items())
        merged = ", merged" if self.merged is not None else ""
        return f"ranks={{{ranks}}}, active={self.active!r}{merged}"


def remerge(module: nn.Module, _: object) -> None:
    """Merge again what was merged before other numbers were loaded."""
    if isinstance(module, LoRALinear) and module.merged is not None:
        module.merged = module.weights()
