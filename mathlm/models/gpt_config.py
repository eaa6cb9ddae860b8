"""Sizes and choices of a GPT."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from ..errors import ConfigError, InputError
from ..functional import RopeScaling, scaled_frequencies
from ..layers.attention import require_heads
from ..layers.feedforward import Activation, default_width
from .block_variant import BlockVariant


def require_choices(config: Any, choices: Mapping[str, Sequence]) -> None:
    """Refuse a field whose value is not one of its choices."""
    for name, known in choices.items():
        if getattr(config, name) not in known:
            listed = ", ".join(map(repr, known))
            raise ConfigError(f"{name}={getattr(config, name)!r} is not one of {listed}")


def require_sizes(config: Any, names: Sequence[str], optional: Sequence[str] = ()) -> None:
    """Refuse a field that is not a positive integer, or None where that means a default."""
    for name in (*names, *optional):
        value = getattr(config, name)
        if value is None and name in optional:
            continue
        if not isinstance(value, int) or isinstance(value, bool):
            raise ConfigError(f"{name}={value!r} must be an integer")
        if value < 1:
            advice = ", or None for the default" if name in optional else ""
            raise ConfigError(f"{name}={value} must be at least 1{advice}")


def require_numbers(config: Any) -> None:
    """Refuse a dropout that is not a probability below 1, and an ε below 0."""
    for name in ("dropout", "norm_eps"):
        value = getattr(config, name)
        if not isinstance(value, int | float) or isinstance(value, bool):
            raise ConfigError(f"{name}={value!r} must be a number")
    if not 0.0 <= config.dropout < 1.0:
        raise ConfigError(f"dropout={config.dropout} is outside 0 <= dropout < 1")
    if not 0.0 <= config.norm_eps < math.inf:
        raise ConfigError(f"norm_eps={config.norm_eps} is outside 0 <= norm_eps < inf")


def require_no_variant(config: Any, what: str) -> None:
    """Refuse a GPT with a variant where only the plain one is known."""
    if getattr(config, "variant", None) is not None:
        raise ConfigError(f"{what} knows no GPT with variant={config.variant}")


Norm = Literal["layer", "rms"]
Position = Literal["learned", "sinusoidal", "rope", "alibi", "relative", "none"]
CHOICES: dict[str, tuple] = {
    "norm": get_args(Norm),
    "activation": get_args(Activation),
    "position": get_args(Position),
    "bias": (True, False, "qkv"),
}
OPTIONAL = ("n_kv_heads", "d_head", "d_ff", "window")
SIZES = ("vocab_size", "context", "d_model", "n_layers", "n_heads")


@dataclass(frozen=True, kw_only=True)
class GPTConfig:
    """Sizes and choices of a GPT; the defaults are GPT-2 small without dropout.

    Args:
        vocab_size: V [tokens].
        context: Longest sequence [tokens].
        d_model: Width of the residual stream, D.
        n_layers: Blocks, L.
        n_heads: Query heads, H.
        n_kv_heads: Key/value heads, G; must divide ``n_heads``. None = ``n_heads``.
        d_head: Width of one head, K. None = D / H, which must then be whole.
        d_ff: Width inside the feed-forward network, F. None = 4 D, or with swiglu and
            geglu_tanh, which have a third matrix, 8/3 D rounded up to a multiple of 8.
        norm: Layer normalization or root mean square.
        norm_eps: ε of every normalization.
        activation: Of the feed-forward network.
        position: How a token's place enters: added to its vector (learned, sinusoidal), by
            turning queries and keys (rope), as a penalty on distance (alibi), as a learned
            number for each distance (relative), or not at all.
        rope_base: Base of the wavelengths of rope.
        rope_scaling: How rope's frequencies change for a context longer than the trained one.
        window: Keys that a query may see, itself included; None = all earlier ones.
        qk_norm: Whether queries and keys are RMS-normalized.
        bias: True: every linear map but the head, and layer norm, has one; "qkv": only the
            maps to queries, keys and values; False: none.
        tie_embeddings: Whether the head is the token embedding itself.
        dropout: Probability of dropping an entry, in training.
        variant: What current models change in blocks, embedding and head; None = nothing.

    Raises:
        ConfigError: If a choice is not known or sizes do not fit.

    Example:
        >>> llama = dict(norm="rms", activation="swiglu", position="rope", bias=False)
        >>> sizes = dict(vocab_size=256, context=64, d_model=32, n_layers=2, n_heads=4)
        >>> GPTConfig(**sizes, **llama, n_kv_heads=2).head_width
        8
    """

    vocab_size: int = 50_257
    context: int = 1024
    d_model: int = 768
    n_layers: int = 12
    n_heads: int = 12
    n_kv_heads: int | None = None
    d_head: int | None = None
    d_ff: int | None = None
    norm: Norm = "layer"
    norm_eps: float = 1e-5
    activation: Activation = "gelu_tanh"
    position: Position = "learned"
    rope_base: float = 10_000.0
    rope_scaling: RopeScaling | None = None
    window: int | None = None
    qk_norm: bool = False
    bias: bool | Literal["qkv"] = True
    tie_embeddings: bool = True
    dropout: float = 0.0
    variant: BlockVariant | None = None

    def __post_init__(self) -> None:
        require_choices(self, CHOICES)
        require_sizes(self, SIZES, OPTIONAL)
        require_numbers(self)
        require_heads(self.d_model, self.n_heads, self.kv_heads, self.d_head)
        self._require_positions()
        if self.variant is not None:
            self._require_variant(self.variant)

    @property
    def kv_heads(self) -> int:
        """Key/value heads G, with the default filled in."""
        return self.n_heads if self.n_kv_heads is None else self.n_kv_heads

    @property
    def head_width(self) -> int:
        """Width of one head K, with the default filled in."""
        return self.d_model // self.n_heads if self.d_head is None else self.d_head

    @property
    def ff_width(self) -> int:
        """Width inside the feed-forward network F, with the default filled in."""
        if self.d_ff is not None:
            return self.d_ff
        return default_width(self.d_model, self.activation)

    @property
    def windows(self) -> tuple[int | None, ...]:
        """The window of each layer [tokens]; None = all earlier keys."""
        every = None if self.variant is None else self.variant.full_every
        full = [every is not None and (i + 1) % every == 0 for i in range(self.n_layers)]
        return tuple(None if all_keys else self.window for all_keys in full)

    @property
    def rotary_width(self) -> int:
        """Features of each head that rope turns, R."""
        fraction = 1.0 if self.variant is None else self.variant.rotary_fraction
        return int(self.head_width * fraction)

    def _require_positions(self) -> None:
        if self.position == "rope" and self.head_width % 2:
            raise ConfigError(f"rope turns pairs of features: d_head={self.head_width} is odd")
        if self.position == "sinusoidal" and self.d_model % 2:
            raise ConfigError(
                f"sinusoidal positions come in pairs: d_model={self.d_model} is odd"
            )
        if self.rope_base <= 0.0:
            raise ConfigError(f"rope_base={self.rope_base} must be positive")
        if self.rope_scaling is not None:
            self._require_scaling(self.rope_scaling)

    def _require_variant(self, variant: BlockVariant) -> None:
        if not isinstance(variant, BlockVariant):
            raise ConfigError(f"variant={variant!r} must be a BlockVariant")
        if self.norm != "rms" and (variant.centered or variant.placement != "before"):
            raise ConfigError(
                f"placement={variant.placement!r} and centered={variant.centered} need "
                f"norm='rms', not {self.norm!r}"
            )
        if self.window is None and variant.full_every is not None:
            raise ConfigError(f"full_every={variant.full_every} needs a window")
        if self.position != "rope" and (variant.local_rope_base or variant.rotary_fraction < 1):
            raise ConfigError(
                f"local_rope_base={variant.local_rope_base} and "
                f"rotary_fraction={variant.rotary_fraction} need position='rope', "
                f"not {self.position!r}"
            )
        if variant.local_rope_base and self.window is None:
            raise ConfigError(f"local_rope_base={variant.local_rope_base} needs a window")
        R = self.rotary_width
        if self.position == "rope" and (R % 2 or R < 2):
            raise ConfigError(
                f"rope turns pairs: rotary_fraction={variant.rotary_fraction} of "
                f"d_head={self.head_width} is {R} features"
            )
        if variant.score_cap is not None and self.position in ("alibi", "relative"):
            raise ConfigError(
                f"score_cap={variant.score_cap} goes with no position={self.position!r}, which "
                "adds to the scores"
            )

    def _require_scaling(self, scaling: RopeScaling) -> None:
        if self.position != "rope":
            raise ConfigError(f"rope_scaling needs position='rope', not {self.position!r}")
        if not isinstance(scaling, RopeScaling):
            raise ConfigError(f"rope_scaling={scaling!r} must be a RopeScaling")
        try:
            scaled_frequencies(self.rotary_width, self.rope_base, scaling)
        except InputError as error:
            raise ConfigError(f"rope_scaling: {error}") from error


def _gpt2(d_model: int, n_layers: int, n_heads: int) -> GPTConfig:
    return GPTConfig(d_model=d_model, n_layers=n_layers, n_heads=n_heads)


def _smollm2(d_model: int, n_layers: int, n_heads: int, n_kv_heads: int) -> GPTConfig:
    return GPTConfig(
        vocab_size=49_152,
        context=8192,
        d_model=d_model,
        n_layers=n_layers,
        n_heads=n_heads,
        n_kv_heads=n_kv_heads,
        d_ff=d_model * 8 // 3,
        norm="rms",
        activation="swiglu",
        position="rope",
        rope_base=100_000.0,
        bias=False,
    )


PRESETS: dict[str, GPTConfig] = {
    "gpt2": _gpt2(768, 12, 12),
    "gpt2-medium": _gpt2(1024, 24, 16),
    "gpt2-large": _gpt2(1280, 36, 20),
    "gpt2-xl": _gpt2(1600, 48, 25),
    "smollm2-135m": _smollm2(576, 30, 9, 3),
    "smollm2-360m": _smollm2(960, 32, 15, 5),
}
