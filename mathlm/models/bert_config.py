"""Sizes and choices of a BERT."""

from dataclasses import dataclass
from typing import Literal, get_args

from ..errors import ConfigError
from .gpt_config import require_choices, require_numbers, require_sizes

Activation = Literal["relu", "gelu", "gelu_tanh", "silu"]
SIZES = ("vocab_size", "context", "d_model", "n_layers", "n_heads", "n_segments")


@dataclass(frozen=True, kw_only=True)
class BertConfig:
    """Sizes and choices of a BERT; the defaults are BERT base, uncased, without dropout.

    Args:
        vocab_size: V [tokens].
        context: Longest sequence [tokens].
        d_model: Width of the residual stream, D.
        n_layers: Blocks, L.
        n_heads: Heads, H; must divide ``d_model``.
        d_ff: Width inside the feed-forward network, F. None = 4 D.
        n_segments: Kinds of text that a token may belong to, such as first and second sentence.
        activation: Of the feed-forward network.
        norm_eps: ε of every normalization.
        dropout: Probability of dropping an entry, in training.

    Raises:
        ConfigError: If a choice is not known or sizes do not fit.

    Example:
        >>> BertConfig(vocab_size=100, context=16, d_model=32, n_layers=2, n_heads=4).activation
        'gelu'
    """

    vocab_size: int = 30_522
    context: int = 512
    d_model: int = 768
    n_layers: int = 12
    n_heads: int = 12
    d_ff: int | None = None
    n_segments: int = 2
    activation: Activation = "gelu"
    norm_eps: float | int = 1e-12
    dropout: float | int = 0.0

    def __post_init__(self) -> None:
        require_choices(self, {"activation": get_args(Activation)})
        require_sizes(self, SIZES, optional=("d_ff",))
        require_numbers(self)
        if self.d_model % self.n_heads:
            raise ConfigError(f"n_heads={self.n_heads} must divide d_model={self.d_model}")

    @property
    def ff_width(self) -> int:
        """Width inside the feed-forward network F, with the default filled in."""
        return 4 * self.d_model if self.d_ff is None else self.d_ff
