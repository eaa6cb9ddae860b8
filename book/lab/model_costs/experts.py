"""Published models with experts, and their parameters in all and per token."""

from dataclasses import dataclass

from mathlm.errors import ConfigError


@dataclass(frozen=True, kw_only=True)
class ExpertConfig:
    """A decoder whose feed-forward networks are SwiGLU experts, of which each token uses a few.

    Args:
        vocab_size: V; the head is not tied.
        d_model: D.
        n_layers: L.
        attention: Parameters of one attention, its norms for queries and keys included.
        d_expert: F, inner width of an expert.
        experts: E, of which a router chooses.
        chosen: k, how many it chooses for each token.
        shared: Experts of the same width that every token uses.
        dense_layers: First layers, which have one network of width ``d_dense`` instead.
        d_dense: Inner width of those.
    """

    vocab_size: int
    d_model: int
    n_layers: int
    attention: int
    d_expert: int
    experts: int
    chosen: int
    shared: int = 0
    dense_layers: int = 0
    d_dense: int = 0

    def __post_init__(self) -> None:
        if not 1 <= self.chosen <= self.experts:
            raise ConfigError(f"chosen={self.chosen} must be 1 to experts={self.experts}")
        if not 0 <= self.dense_layers <= self.n_layers:
            raise ConfigError(
                f"dense_layers={self.dense_layers} must be 0 to n_layers={self.n_layers}"
            )


def grouped(D: int, H: int, G: int, K: int) -> int:
    """Parameters of grouped-query attention without biases."""
    return 2 * (H + G) * K * D


def latent(D: int, H: int, K: int, rotary: int, query: int, key_value: int) -> int:
    """Parameters of latent attention whose queries are compressed too, with both norms."""
    down = D * query + D * (key_value + rotary) + query + key_value
    return down + query * H * (K + rotary) + key_value * H * 2 * K + H * K * D


MIXTURES = {  # as their configurations on Hugging Face have them
    "Mixtral 8x7B": ExpertConfig(
        vocab_size=32_000, d_model=4096, n_layers=32, attention=grouped(4096, 32, 8, 128),
        d_expert=14_336, experts=8, chosen=2,
    ),
    "Qwen3-30B-A3B": ExpertConfig(
        vocab_size=151_936, d_model=2048, n_layers=48,
        attention=grouped(2048, 32, 4, 128) + 2 * 128, d_expert=768, experts=128, chosen=8,
    ),
    "DeepSeek-V3": ExpertConfig(
        vocab_size=129_280, d_model=7168, n_layers=61,
        attention=latent(7168, 128, 128, 64, 1536, 512), d_expert=2048, experts=256, chosen=8,
        shared=1, dense_layers=3, d_dense=18_432,
    ),
}  # fmt: skip


def count(config: ExpertConfig) -> tuple[int, int]:
    """Parameters in all, and those that one token uses; the table of tokens is in both.

    Computes, without the dense layers::

        V D · 2  +  L (attention  +  3 (E + shared) F D  +  E D  +  2 D)  +  D

    and the same with k in place of the first E: a router has to score every expert.
    """
    c, D = config, config.d_model
    expert, sparse = 3 * D * c.d_expert, c.n_layers - c.dense_layers
    rest = c.n_layers * (c.attention + 2 * D) + c.dense_layers * 3 * D * c.d_dense
    rest += sparse * (c.experts * D + c.shared * expert) + 2 * c.vocab_size * D + D
    return rest + sparse * c.experts * expert, rest + sparse * c.chosen * expert
