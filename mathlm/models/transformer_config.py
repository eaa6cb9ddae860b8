"""Sizes and choices of an encoder-decoder transformer."""

from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch

from ..errors import ConfigError, InputError
from ..functional import relative_buckets
from ..layers.attention import require_heads
from ..layers.feedforward import Activation, default_width
from .gpt_config import require_choices, require_numbers, require_sizes

Norm = Literal["layer", "rms"]
Position = Literal["sinusoidal", "learned", "relative", "none"]
Tie = Literal["none", "inputs", "target", "all"]
FLAGS = ("norm_first", "bias", "scale_embeddings", "attention_scale", "scale_head")
CHOICES: dict[str, tuple] = {
    "norm": get_args(Norm),
    "activation": get_args(Activation),
    "position": get_args(Position),
    "tie_embeddings": get_args(Tie),
}
SIZES = ("vocab_size", "context", "d_model", "n_layers", "n_heads", "n_buckets", "max_distance")
OPTIONAL = ("target_vocab_size", "n_decoder_layers", "d_head", "d_ff")


@dataclass(frozen=True, kw_only=True)
class TransformerConfig:
    """Sizes and choices of an encoder-decoder; the defaults are those of 2017.

    Args:
        vocab_size: V_s, tokens of the source.
        target_vocab_size: V_t, tokens of the target. None = ``vocab_size``.
        context: Longest sequence, on either side [tokens].
        d_model: Width of the residual stream, D.
        n_layers: Blocks of the encoder.
        n_decoder_layers: Blocks of the decoder. None = ``n_layers``.
        n_heads: Heads, H.
        d_head: Width of one head, K. None = D / H, which must then be whole.
        d_ff: Width inside the feed-forward network, F. None = 4 D, or with swiglu and
            geglu_tanh, which have a third matrix, 8/3 D rounded up to a multiple of 8.
        norm: Layer normalization or root mean square.
        norm_eps: ε of every normalization.
        norm_first: Whether each part reads a normalized stream (then each stack ends with one
            more normalization), or each sum is normalized.
        activation: Of the feed-forward network.
        position: How a token's place enters: added to its vector (sinusoidal, learned), as a
            learned number for each distance, of one table a stack, in self-attention
            (relative), or not at all.
        n_buckets: Rows of a table of distances.
        max_distance: Distance from which on all share a row of it [tokens].
        bias: Whether the linear maps, but for the head, and layer norm have one.
        tie_embeddings: Which matrices are one: none; both embeddings (inputs); embedding of
            the target and head (target); all three (all).
        scale_embeddings: Whether vectors of tokens are multiplied by √D.
        attention_scale: Whether scores are divided by √K.
        scale_head: Whether the head reads vectors divided by √D.
        dropout: Probability of dropping an entry, in training, of what is added to the stream.

    Raises:
        ConfigError: If a choice is not known or sizes do not fit.

    Example:
        >>> sizes = dict(vocab_size=100, context=16, d_model=32, n_layers=2, n_heads=4)
        >>> TransformerConfig(**sizes).norm_first  # as published in 2017
        False
    """

    vocab_size: int
    target_vocab_size: int | None = None
    context: int
    d_model: int
    n_layers: int
    n_decoder_layers: int | None = None
    n_heads: int
    d_head: int | None = None
    d_ff: int | None = None
    norm: Norm = "layer"
    norm_eps: float | int = 1e-5
    norm_first: bool = False
    activation: Activation = "relu"
    position: Position = "sinusoidal"
    n_buckets: int = 32
    max_distance: int = 128
    bias: bool = True
    tie_embeddings: Tie = "none"
    scale_embeddings: bool = True
    attention_scale: bool = True
    scale_head: bool = False
    dropout: float | int = 0.0

    def __post_init__(self) -> None:
        require_choices(self, CHOICES)
        require_flags(self, FLAGS)
        require_sizes(self, SIZES, OPTIONAL)
        require_numbers(self)
        require_heads(self.d_model, self.n_heads, self.n_heads, self.d_head)
        self._require_one_vocabulary()
        self._require_positions()

    @property
    def target_vocab(self) -> int:
        """Tokens of the target V_t, with the default filled in."""
        return self.vocab_size if self.target_vocab_size is None else self.target_vocab_size

    @property
    def decoder_layers(self) -> int:
        """Blocks of the decoder, with the default filled in."""
        return self.n_layers if self.n_decoder_layers is None else self.n_decoder_layers

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

    def _require_one_vocabulary(self) -> None:
        shared = self.tie_embeddings in ("inputs", "all")
        if shared and self.target_vocab != self.vocab_size:
            raise ConfigError(
                f"tie_embeddings={self.tie_embeddings!r} needs one vocabulary: vocab_size="
                f"{self.vocab_size}, target_vocab_size={self.target_vocab}"
            )

    def _require_positions(self) -> None:
        if self.position == "sinusoidal" and self.d_model % 2:
            raise ConfigError(
                f"sinusoidal positions come in pairs: d_model={self.d_model} is odd"
            )
        if self.position == "relative":
            self._require_buckets()

    def _require_buckets(self) -> None:
        here = torch.zeros(1, dtype=torch.int64)
        try:
            for both_ways in (True, False):  # encoder and decoder
                relative_buckets(here, self.n_buckets, self.max_distance, both_ways)
        except InputError as error:
            raise ConfigError(f"position='relative': {error}") from error


def require_flags(config: Any, names: tuple[str, ...]) -> None:
    """Refuse a field that is not True or False."""
    for name in names:
        if not isinstance(getattr(config, name), bool):
            raise ConfigError(f"{name}={getattr(config, name)!r} must be True or False")
