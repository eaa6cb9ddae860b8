"""Sizes and choices of the encoder-decoder."""

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any, Literal

from ...errors import ConfigError
from .feedforward import ACTIVATIONS

SIZES = ("vocab_size", "context", "d_model", "n_layers", "n_heads")
OPTIONAL = ("target_vocab_size", "n_decoder_layers", "d_ff")
TIES = ("none", "target", "all")


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """Sizes and choices of an encoder-decoder with post-norm blocks.

    Args:
        vocab_size: V_s, tokens of the source.
        target_vocab_size: V_t, tokens of the target. None = V_s.
        context: Longest source and longest target [tokens].
        d_model: Width of the stream, D; even, for the sinusoids.
        n_layers: Blocks of the encoder, L.
        n_decoder_layers: Blocks of the decoder. None = L.
        n_heads: Heads, H; must divide ``d_model``.
        d_ff: Width inside the feed-forward networks, F. None = 4 D, or with swiglu, which has a
            third matrix, 8/3 D rounded up to a multiple of 8.
        norm_eps: ε of every normalization.
        activation: Of the feed-forward networks: relu, gelu, gelu_tanh, silu or swiglu.
        bias: Whether linear maps and normalizations have a shift; the head has none.
        tie_embeddings: Which tables are one: "none"; "target", the target's embedding and the
            head; "all", the source's too, which needs one vocabulary.
        dropout: Share of entries that training drops; what is dropped is given by
            :func:`draw_dropout`.

    Raises:
        ConfigError: If a choice is not known or sizes do not fit.

    Example:
        >>> sizes = dict(vocab_size=10, context=8, d_model=4, n_layers=1, n_heads=2)
        >>> TransformerConfig(**sizes).activation
        'relu'
    """

    vocab_size: int
    target_vocab_size: int | None = None
    context: int
    d_model: int
    n_layers: int
    n_decoder_layers: int | None = None
    n_heads: int
    d_ff: int | None = None
    norm_eps: float | int = 1e-5
    activation: str = "relu"
    bias: bool = True
    tie_embeddings: Literal["none", "target", "all"] = "none"
    dropout: float | int = 0.0

    def __post_init__(self) -> None:
        _require_sizes(self)
        _require_choices(self)
        if self.d_model % self.n_heads:
            raise ConfigError(f"n_heads={self.n_heads} must divide d_model={self.d_model}")
        if self.d_model % 2:
            raise ConfigError(
                f"d_model={self.d_model} must be even: positions are pairs of sine and cosine"
            )
        if self.tie_embeddings == "all" and self.target_vocab != self.vocab_size:
            raise ConfigError(
                f"tie_embeddings='all' needs one vocabulary, got vocab_size={self.vocab_size} "
                f"and target_vocab_size={self.target_vocab_size}; tie 'target' or 'none'"
            )

    @property
    def target_vocab(self) -> int:
        """Tokens of the target, V_t, with the default filled in."""
        return self.vocab_size if self.target_vocab_size is None else self.target_vocab_size

    @property
    def decoder_layers(self) -> int:
        """Blocks of the decoder, with the default filled in."""
        return self.n_layers if self.n_decoder_layers is None else self.n_decoder_layers

    @property
    def ff_width(self) -> int:
        """Width inside the feed-forward networks F, with the default filled in."""
        if self.d_ff is not None:
            return self.d_ff
        D = self.d_model
        return -(-D // 3) * 8 if self.activation == "swiglu" else 4 * D


def _require_sizes(config: TransformerConfig) -> None:
    for name in (*SIZES, *OPTIONAL):
        value = getattr(config, name)
        if value is None and name in OPTIONAL:
            continue
        if not isinstance(value, Integral) or isinstance(value, bool):
            raise ConfigError(f"{name}={value!r} must be an integer")
        if value < 1:
            raise ConfigError(f"{name}={value} must be at least 1")


def _require_choices(config: TransformerConfig) -> None:
    for name, known in (("activation", tuple(ACTIVATIONS)), ("tie_embeddings", TIES)):
        if getattr(config, name) not in known:
            raise ConfigError(f"{name}={getattr(config, name)!r} is not one of {known}")
    if not isinstance(config.bias, bool):
        raise ConfigError(f"bias={config.bias!r} must be True or False")
    if not _is_number(config.norm_eps) or not 0 < config.norm_eps < float("inf"):
        raise ConfigError(f"norm_eps={config.norm_eps!r} must be a positive finite number")
    if not _is_number(config.dropout) or not 0 <= config.dropout < 1:
        raise ConfigError(f"dropout={config.dropout!r} is outside 0 <= dropout < 1")


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


__all__ = ["TransformerConfig"]
